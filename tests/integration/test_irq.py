# SPDX-License-Identifier: GPL-2.0-or-later
"""From a card's interrupt on: every packet has it, it is true, and perf's netdev-times, which works
from the kernel's own trace, finds the same times.  Needs two network cards: tests/vm/run --nics."""

import bisect
import statistics
import time

import pytest

from lab import delay, journeys, netdev_times, nics, pump, sockets

PORT = 7777
COUNT = 1000
PAYLOAD = 1000
LENGTH = PAYLOAD + 8 + 20  # as netif_receive_skb has it, the Ethernet header taken off
STALLS, BURST, STALL_MS = 20, 5, 50
SAME_NS = 50_000  # two readings of the clock at one event are nearer than that

pytestmark = pytest.mark.usefixtures("bpf")


@pytest.fixture
def wire(lab):
    reason = nics.why_not()
    if reason:
        pytest.skip(reason)
    return nics.pair(lab)


@pytest.fixture
def perf(wire):
    reason = netdev_times.why_not()
    if reason:
        pytest.skip(reason)


def send(wire, window):
    """COUNT datagrams, never more than `window` at once; each is read."""
    pumped = pump.pump("udp", wire.left, wire.right, wire.RIGHT4, PORT, COUNT, size=PAYLOAD,
                       window=window)
    assert pumped.messages_read == COUNT


def delivered(daemon, wire, count, port=PORT):
    """The record of each but for those that the ledger says were not seen to their end: the kernel
    does not run a program on top of itself, and an interrupt may come at any time.  None is
    impossible."""
    records = journeys.wait_for(daemon, count, wire.right_device, "delivered",
                                filter=f"udp dst port {port}")
    inflight = daemon.status()["inflight"]
    lost = inflight["missed"] + inflight["overwritten"] + inflight["invalidated"]
    assert count - lost <= len(records) <= count, inflight
    for record in records:
        journeys.check(record)
    return records


def with_irq(records, count):
    """Those with the interrupt, 99 % of all; of the others it is said why not."""
    found = [r for r in records if journeys.at(r, "irq") is not None]
    for record in records:
        if record not in found:
            assert "irq" in journeys.missing(record) and not record["comparable"], record
    print(f"irq in {len(found)} of {count}")
    assert len(found) >= 0.99 * count
    return found


def monotonic(record, offset):
    """{stage: ns}"""
    first = journeys.nanoseconds_of(record["stages"][0]["time"]) - offset
    return {stage["stage"]: first + stage["at_ns"] for stage in record["stages"]}


def nearest(times, moment):
    at = bisect.bisect(times, moment)
    return min((i for i in (at - 1, at) if 0 <= i < len(times)), key=lambda i: abs(times[i] - moment))


def pairs(theirs, records):
    """(what netdev-times shows of a packet, the stages of its record), found by the moment of
    `receive`.  Wall-clock time is told apart from CLOCK_MONOTONIC by the packets themselves, for
    reading both clocks takes a while."""
    offset = time.time_ns() - time.monotonic_ns()
    stages = sorted((monotonic(r, offset) for r in records), key=lambda s: s["receive"])
    times = [s["receive"] for s in stages]
    for _ in range(3):
        off = statistics.median(p.receive - times[nearest(times, p.receive)] for p in theirs)
        times = [moment + off for moment in times]
    found = [(p, nearest(times, p.receive)) for p in theirs]
    return [(p, stages[i]) for p, i in found if abs(times[i] - p.receive) < SAME_NS]


def compare(theirs, records, *segments):
    """The medians of the packets that both show; at most 10 % apart."""
    both = pairs(theirs, records)
    # It shows no packet of a softirq that was not raised by an interrupt's handler.
    assert len(both) > len(records) / 3, (len(both), len(theirs))
    medians = {(begin, end): (statistics.median(getattr(p, end) - getattr(p, begin) for p, _ in both),
                              statistics.median(s[end] - s[begin] for _, s in both))
               for begin, end in segments}
    print(f"both show {len(both)} of {len(records)}; medians (netdev-times, records): {medians}")
    for median, measured in medians.values():
        assert abs(measured - median) <= 0.10 * median, medians


@pytest.mark.parametrize("window", [1, 4, 32])
def test_interrupt_of_each_packet(start, wire, window):
    daemon = start(*journeys.EVERY)
    send(wire, window)
    with_irq(delivered(daemon, wire, COUNT), COUNT)


def test_times_are_those_of_netdev_times(start, wire, perf, tmp_path):
    daemon = start(*journeys.EVERY)
    with netdev_times.recording(tmp_path):
        send(wire, window=32)
    records = with_irq(delivered(daemon, wire, COUNT), COUNT)
    # Its two parts are as short as what perf and our programs take between two readings of the
    # clock, at least in emulation; they are compared where they are long, below.
    compare(shown(tmp_path), records, ("irq", "receive"))


def shown(folder):
    return [p for p in netdev_times.received(folder) if p.length == LENGTH]


def burst_into_stall(wire, port):
    """A burst comes while the CPU serves no softirqs; ns from its first packet to the end of that.
    None when this machine was too slow to send it in time."""
    with sockets.udp(wire.left, wire.right, wire.RIGHT4, port) as (sender, reader):
        with delay.on_cpu(1), delay.Stall(nics.INTERRUPT_CPU, STALL_MS) as stall:
            until = stall.begin()
            sent = time.monotonic_ns()
            for _ in range(BURST):
                sender.send(b"x" * PAYLOAD)
            in_time = time.monotonic_ns() < until
            stall.wait()
        for _ in range(BURST):
            reader.recv(PAYLOAD)
    return until - sent if in_time else None


def test_known_wait_from_interrupt_to_softirq(start, wire, perf, tmp_path):
    """All of a burst has waited since its first packet's interrupt."""
    if not delay.two_cpus():
        pytest.skip("one CPU: whoever sends could not run beside what keeps the CPU busy")
    daemon, waits = start(*journeys.EVERY), {}
    with netdev_times.recording(tmp_path):
        for port in range(PORT, PORT + 3 * STALLS):
            wait = burst_into_stall(wire, port)
            if wait:
                waits[port] = wait
            if len(waits) == STALLS:
                break
    assert len(waits) == STALLS, "the scenario did not work"
    records = [r for port in waits for r in delivered(daemon, wire, BURST, port)]
    records = with_irq(records, STALLS * BURST)
    off = [journeys.between(r, "irq", "softirq_entry") - waits[journeys.destination_port(r)]
           for r in records]
    print(f"made {statistics.median(waits.values())} ns; measured that and {sorted(off)}")
    assert abs(statistics.median(off)) <= 1e6
    compare(shown(tmp_path), records, ("irq", "softirq_entry"), ("irq", "receive"))

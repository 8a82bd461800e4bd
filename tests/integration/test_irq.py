# SPDX-License-Identifier: GPL-2.0-or-later
"""From a card's interrupt on: every packet has it, it is true, and perf's netdev-times, which works
from the kernel's own trace, finds the same times.  Needs two network cards: tests/vm/run --nics."""

import statistics
import time

import pytest

from lab import delay, journeys, netdev_times, nics, pump, sockets

PORT = 7777
COUNT = 2000
PAYLOAD = 1000
LENGTH = PAYLOAD + 8 + 20  # as netif_receive_skb has it, the Ethernet header taken off
STALLS, BURST, STALL_MS = 8, 25, 40

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


def delivered(daemon, wire, count):
    """The record of each but for those that the ledger says were not seen to their end: the kernel
    does not run a program on top of itself, and an interrupt may come at any time.  None is
    impossible."""
    records = journeys.to_port(journeys.wait_for(daemon, count, wire.right_device, "delivered"), PORT)
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


def compare(theirs, records, *segments):
    """The medians, of all packets that either has; at most 10 % apart."""
    expected = {
        ("irq", "softirq_entry"): [p.softirq_entry for p in theirs],
        ("softirq_entry", "receive"): [p.receive - p.softirq_entry for p in theirs],
        ("irq", "receive"): [p.receive for p in theirs],
    }
    medians = {segment: (statistics.median(expected[segment]),
                         statistics.median(journeys.between(r, *segment) for r in records))
               for segment in segments}
    print(f"netdev-times shows {len(theirs)}; medians (netdev-times, records): {medians}")
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
    theirs = [p for p in netdev_times.received(tmp_path) if p.length == LENGTH]
    # It shows no packet of a softirq that was not raised by an interrupt's handler.
    assert COUNT / 2 < len(theirs) <= COUNT
    # The parts of it are as short as what perf and our programs take between two readings of the
    # clock, at least in emulation; so they are compared where they are long, below.
    compare(theirs, records, ("irq", "receive"))


def burst_into_stall(sender, reader):
    """The CPU serves no softirqs when a burst comes; ns from the burst to the end of that."""
    with delay.on_cpu(1), delay.Stall(nics.INTERRUPT_CPU, STALL_MS) as stall:
        until = stall.begin()
        sent = time.monotonic_ns()
        for _ in range(BURST):
            sender.send(b"x" * PAYLOAD)
        assert time.monotonic_ns() < until, "the scenario did not work"
        stall.wait()
    for _ in range(BURST):
        reader.recv(PAYLOAD)
    return until - sent


def test_known_wait_from_interrupt_to_softirq(start, wire, perf, tmp_path):
    """All of a burst has waited since its first packet's interrupt."""
    if not delay.two_cpus():
        pytest.skip("one CPU: whoever sends could not run beside what keeps the CPU busy")
    daemon, count = start(*journeys.EVERY), STALLS * BURST
    with netdev_times.recording(tmp_path), \
            sockets.udp(wire.left, wire.right, wire.RIGHT4, PORT) as (sender, reader):
        waits = [burst_into_stall(sender, reader) for _ in range(STALLS)]
    records = with_irq(delivered(daemon, wire, count), count)
    measured = sorted(journeys.between(r, "irq", "softirq_entry") for r in records)
    median = statistics.median(waits)
    print(f"made: {waits}; median measured {statistics.median(measured)}, longest {measured[-1]}")
    assert abs(statistics.median(measured) - median) <= max(0.05 * median, 1e6)
    theirs = [p for p in netdev_times.received(tmp_path) if p.length == LENGTH]
    assert count / 2 < len(theirs) <= count
    compare(theirs, records, ("irq", "softirq_entry"), ("softirq_entry", "receive"),
            ("irq", "receive"))

# SPDX-License-Identifier: GPL-2.0-or-later
"""From a card's interrupt on: every packet has it, and perf's netdev-times, which works from the
kernel's own trace, finds the same times.  Needs two network cards: tests/vm/run --nics."""

import bisect
import os
import statistics
import time

import pytest

from lab import journeys, netdev_times, nics, pump

PORT = 7777
COUNT = 1000
PAYLOAD = 1000
LENGTH = PAYLOAD + 8 + 20  # as netif_receive_skb has it, the Ethernet header taken off
# Two readings of the clock at one event, by perf and by us, are nearer than that.
SAME_NS = 50_000
# At either end of a segment perf reads the clock after us, by what our program and its own take:
# that is the accuracy with which two tracers can agree at all.
CLOCK_NS = 15_000 if os.environ.get("NETFLOWD_VM") else 2_000
SEGMENTS = (("irq", "softirq_entry", CLOCK_NS), ("softirq_entry", "receive", CLOCK_NS),
            ("irq", "receive", 0))

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
    `receive`.  The packets themselves tell how far the two clocks are apart, for reading both takes
    a while."""
    offset = time.time_ns() - time.monotonic_ns()
    stages = sorted((monotonic(r, offset) for r in records), key=lambda s: s["receive"])
    times = [s["receive"] for s in stages]
    apart = 0
    for _ in range(3):
        apart += statistics.median(p.receive - apart - times[nearest(times, p.receive - apart)]
                                   for p in theirs)
    found = ((p, nearest(times, p.receive - apart)) for p in theirs)
    return [(p, stages[i]) for p, i in found if abs(p.receive - apart - times[i]) < SAME_NS]


def compare(theirs, records):
    """The medians of the packets that both show are at most 10 % apart."""
    both = pairs(theirs, records)
    # It shows no packet of a softirq that was not raised by an interrupt's handler.
    assert len(both) > COUNT / 4, (len(both), len(theirs))
    for begin, end, tolerance_ns in SEGMENTS:
        expected = statistics.median(getattr(p, end) - getattr(p, begin) for p, _ in both)
        measured = statistics.median(s[end] - s[begin] for _, s in both)
        print(f"{begin}→{end} of {len(both)}: netdev-times {expected:.0f}, records {measured} ns")
        assert abs(measured - expected) <= max(0.10 * expected, tolerance_ns), (expected, measured)


@pytest.mark.parametrize("window", [1, 4, 32])
def test_interrupt_of_each_packet(start, wire, window):
    daemon = start(*journeys.EVERY)
    send(wire, window)
    with_irq(delivered(daemon, wire, COUNT), COUNT)


def test_times_are_those_of_netdev_times(start, wire, perf, tmp_path):
    daemon = start(*journeys.EVERY)
    with netdev_times.recording(tmp_path):
        send(wire, window=4)
    records = with_irq(delivered(daemon, wire, COUNT), COUNT)
    # An interrupt that came after the softirq was entered is shown with that run too.
    compare([p for p in netdev_times.received(tmp_path)
             if p.length == LENGTH and p.irq < p.softirq_entry], records)

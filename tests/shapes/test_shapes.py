# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth in every shape of network and load.  What is exactly known of a cell is asked exactly:

transmitted  the skbs that the kernel counts on the sender's device
queued       the same, unless the kernel splits skbs between the device's queue and its driver
forwarded    of each router in between: the datagrams that were sent
delivered    the datagrams that were read, all but 5 % from 6.18 on; of a stream, at least an skb
             for each read with data, and at most those that the receiver's devices counted
quantiles    no packet waits longer in the receiver than from before it was sent until it was read
faults       none
"""

import contextlib
import dataclasses
import math
import time

import pytest

import shape_loads
import topologies
from lab import attempts, chance, hidden, kernel, waiting
from replies import Answer, between

SETTLE_SECONDS = 1
QUIET_SECONDS = 0.2
# 1 in 100 is not timed, 1 in 20 where the host takes the reader's CPU away.
TIMED = 0.95
BUCKET = 1.125  # percentiles come from a histogram
CLASSES = ("fault", "unknown")


def counters(shape):
    """What the kernel counts: (sent by the sender's device, received by the receiver's devices)."""
    received = sum(device.statistics()["rx"]["packets"]
                   for device in topologies.devices(shape.right))
    return shape.sends.statistics()["tx"]["packets"], received


def places(shape):
    """{question: (devices, direction, segment)}"""
    return {
        "transmitted": ([shape.sends], "tx", "start_xmit_to_xmit"),
        "queued": ([shape.sends], "tx", "queue_to_start_xmit"),
        "delivered": (topologies.devices(shape.right), "rx", "receive_to_copy"),
        **{f"forwarded {number}": (topologies.devices(namespace), "fwd", "receive_to_queue")
           for number, namespace in enumerate(shape.forwards, 1)}}


def ask(daemon, shape):
    """{question: Answer} about the devices of a shape."""
    reply = daemon.call("GetLatency", all=True, max_age_ms=0, limit=1 << 20)
    return {question: Answer(reply, *place) for question, place in places(shape).items()}


def faults(daemon, shape):
    wanted = {(device.namespace.inode, device.ifindex)
              for namespace in (shape.left, shape.right, *shape.forwards)
              for device in topologies.devices(namespace)}
    return [row for row in daemon.call("GetDrops")["rows"]
            if (row.get("netns"), row.get("ifindex")) in wanted and row.get("class") in CLASSES]


@dataclasses.dataclass
class Made:
    """A load that took place: what the tool and the kernel know, and netflowd showed before."""

    shape: topologies.Shape
    sent: shape_loads.Sent
    before: dict  # {governor: what ask() returned}
    began: tuple  # counters() at the same time
    counted: list  # counters() of the load alone


def ask_all(daemons, shape):
    """(counters(), {governor: ask()}) of a moment at which no packet comes."""
    def once():
        before = counters(shape)
        asked = {governor: ask(daemon, shape) for governor, daemon in daemons.items()}
        return (before, asked) if counters(shape) == before else None

    quiet = waiting.until(once, bool)
    attempts.need(quiet, "the new devices send all the time")
    return quiet


def since(began, shape):
    return [after - before for before, after in zip(began, counters(shape))]


def attempt(cell, build, lab, daemons, exempted):
    """Build the shape and run the load.  A lossy network delays what it repeats."""
    shape = build(lab)
    with contextlib.ExitStack() as stack:
        stack.enter_context(shape.stack)
        # The devices that came up have reported their multicast groups.
        time.sleep(QUIET_SECONDS)
        before, asked = ask_all(daemons, shape)
        with hidden.nothing(exempted):
            sent = shape_loads.run(cell.load, shape, cell.family)
        attempts.need(sent.took_place() or shape.loses, sent)
        stack.pop_all()
    return Made(shape, sent, asked, before, since(before, shape))


def floor(read):
    """From 6.18 on, a datagram that a reader takes before netflowd sees it in the queue has no
    latency: README.md, "What it does not see"."""
    return read if kernel.release() < (6, 18) else math.floor(TIMED * read)


def truths(cell, made):
    """{question: (low, high)} of all that is known."""
    shape, sent, known = made.shape, made.sent, {}
    # What came after the load, too, since a new device sends now and then.
    counted = since(made.began, shape)
    whole = cell.load.whole and not shape.loses
    known["transmitted"] = (made.counted[0], counted[0])
    # A veth of 5.10 has no segmentation of UDP.
    if whole or not shape.splits and cell.load.send != "gso":
        known["queued"] = known["transmitted"]
    if cell.load.kind == "udp" and whole:
        known["delivered"] = (floor(sent.read), sent.read)
        known.update((f"forwarded {number}", (sent.sent, sent.sent))
                     for number, _ in enumerate(shape.forwards, 1))
    elif cell.load.kind == "tcp":
        known["delivered"] = (sent.calls, counted[1])
    elif not shape.loses:
        # UDP splits an skb for a reader that takes single datagrams.
        single = cell.load.read != "gro"
        known["delivered"] = (floor(sent.read) if single else 1, sent.read)
    return known


def quantiles(load, sent, rows):
    """(question, truth, shown) for a receiver that one device feeds."""
    if len(rows) != 1 or not sent.max_ns:
        return
    for name in ("p50_ns", "p99_ns", "max_ns"):
        yield name, (0, round(BUCKET * getattr(sent, name))), rows[0][name]
    if load.slow_one_in:
        yield "the slowest", (sent.max_ns // 2, sent.max_ns), rows[0]["max_ns"]


@pytest.fixture(name="made")
def fixture_made(cell, lab, daemons, exempted):
    try:
        build = topologies.BUILDERS[cell.topology]
        made = attempts.valid(lambda: attempt(cell, build, lab, daemons, exempted))
    except topologies.Lacking as lacking:
        pytest.skip(str(lacking))
    with made.shape.stack:
        yield made


def answers(cell, made, governor, daemon):
    """(question, truth, shown, margin)"""
    known = truths(cell, made)
    asked = settled(governor, lambda: ask(daemon, made.shape), known)
    for question, truth in truths(cell, made).items():
        seen = between(made.before[governor][question], asked[question])
        yield question, truth, seen.count, seen.margin
    if governor == "off":
        for question, truth, number in quantiles(cell.load, made.sent, asked["delivered"].rows):
            yield question, truth, number, None
    wrong = faults(daemon, made.shape)
    print(*(" ".join(map(str, (row["packets"], row.get("reason"), row.get("location"),
                               row.get("protocol")))) for row in wrong), sep="\n")
    yield "faults", (0, 0), sum(row["packets"] for row in wrong), None


def test_cell(cell, made, daemons, judge):
    wrong = [f"governor {governor}: {question}: {shown} ± {margin or 0}, not {truth}"
             for governor, daemon in daemons.items()
             for question, truth, shown, margin in answers(cell, made, governor, daemon)
             if not judge.number(cell, governor, question, truth, shown, margin)]
    assert not wrong, "\n".join((str(made.sent), *wrong))


def settled(governor, read, known):
    """What is exact may take a moment; an estimate is not waited for until it is right."""
    if governor == "on":
        time.sleep(0.1)
        return read()
    return waiting.until(read, lambda asked: all(asked[question].count() >= low
                                                 for question, (low, _) in known.items()),
                         seconds=SETTLE_SECONDS)


def test_margins(judge):
    """95 of 100 estimates are within their margin."""
    misses, estimates = judge.misses()
    print(f"{misses} of {estimates} estimates miss their margin of 95 %")
    assert chance.believable(misses, estimates), f"{misses} of {estimates}"

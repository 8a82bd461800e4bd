# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth in every shape of network and load.  What is exactly known of a cell is asked exactly:

transmitted  the skbs that the kernel counts on the sender's device
forwarded    of each router in between: the datagrams that were sent
delivered    the datagrams that were read, all but 1 % from 6.18 on; of a stream, at least an skb
             for each read with data, and at most those that the receiver's devices counted
quantiles    no packet waits longer in the receiver than from before it was sent until it was read
faults       none
"""

import dataclasses
import math
import time

import pytest

import shape_loads
import topologies
from judge import CHANCE, at_least
from lab import kernel, waiting

ATTEMPTS = 3
SETTLE_SECONDS = 1
QUIET_SECONDS = 0.2
UNTIMED = 0.99
SEEN_SECONDS = 2  # a load of this length is seen, whatever was shed
BUCKET = 1.125  # percentiles come from a histogram
CLASSES = ("fault", "unknown")


def counters(shape):
    """What the kernel counts: (sent by the sender's device, received by the receiver's devices)."""
    received = sum(device.statistics()["rx"]["packets"]
                   for device in topologies.devices(shape.right))
    return shape.sends.statistics()["tx"]["packets"], received


class Shown:
    """One daemon's answers about a shape: about its own devices, because a namespace can have the
    number of one that is gone.  No two devices of a run have the same ifindex."""

    def __init__(self, daemon, shape):
        self.daemon, self.shape = daemon, shape

    def rows(self, devices, direction, segment):
        wanted = {(device.namespace.inode, device.ifindex) for device in devices}
        reply = self.daemon.call("GetLatency", all=True, max_age_ms=0,
                                 netns=str(devices[0].namespace.inode))
        return [row for row in reply["latencies"]
                if (row.get("netns"), row.get("ifindex")) in wanted
                and (row["direction"], row["segment"]) == (direction, segment)]

    def transmitted(self):
        return self.rows([self.shape.sends], "tx", "queue_to_start_xmit")

    def delivered(self):
        return self.rows(topologies.devices(self.shape.right), "rx", "receive_to_copy")

    def forwarded(self, namespace):
        return self.rows(topologies.devices(namespace), "fwd", "receive_to_queue")

    def faults(self):
        wanted = {(device.namespace.inode, device.ifindex)
                  for namespace in (self.shape.left, self.shape.right, *self.shape.forwards)
                  for device in topologies.devices(namespace)}
        return [row for row in self.daemon.call("GetDrops")["rows"]
                if (row.get("netns"), row.get("ifindex")) in wanted
                and row.get("class") in CLASSES]


def total(rows):
    """The count of rows, and its margin, None if all are exact; variances add up."""
    margins = [row["count_margin"] for row in rows if "count_margin" in row]
    margin = round(sum(m * m for m in margins) ** 0.5) if margins else None
    return sum(row["count"] for row in rows), margin


@dataclasses.dataclass
class Made:
    """A load that took place: what the tool and the kernel know, and netflowd showed before."""

    shape: topologies.Shape
    sent: shape_loads.Sent
    counted: list  # counters() of the load alone
    before: dict  # {governor: rows of `transmitted`}


def attempt(cell, build, lab, daemons):
    """Build the shape and run the load, again if the machine did not let it take place.  A lossy
    network delays what it repeats."""
    for _ in range(ATTEMPTS):
        shape = build(lab)
        # The devices that came up have reported their multicast groups.
        time.sleep(QUIET_SECONDS)
        before = counters(shape)
        shown = {governor: total(Shown(daemon, shape).transmitted())
                 for governor, daemon in daemons.items()}
        sent = shape_loads.run(cell.load, shape, cell.family)
        if sent.took_place() or shape.loses:
            after = counters(shape)
            return Made(shape, sent, [b - a for a, b in zip(before, after)], shown)
        shape.stack.close()
    return pytest.skip(f"this machine did not let the load take place: {sent}")


def floor(read):
    """From 6.18 on, a datagram that a reader takes before netflowd sees it in the queue has no
    latency: README.md, "What it does not see"."""
    return read if kernel.release() < (6, 18) else math.floor(UNTIMED * read)


def questions(cell, made, governor, shown):
    """(question, truth, a function for (count, margin)) of all that is known."""
    shape, sent = made.shape, made.sent
    whole = cell.load.whole and not shape.loses
    if whole or not shape.splits:
        yield "transmitted", made.counted[0], \
            lambda: since(made.before[governor], total(shown.transmitted()))
    if cell.load.kind == "udp" and whole:
        yield "delivered", (floor(sent.read), sent.read), lambda: total(shown.delivered())
        for number, namespace in enumerate(shape.forwards, 1):
            yield f"forwarded {number}", sent.sent, lambda n=namespace: total(shown.forwarded(n))
    elif cell.load.kind == "tcp":
        yield "delivered", (sent.calls, made.counted[1]), lambda: total(shown.delivered())
    elif not shape.loses:
        # UDP may split an skb for readers that cannot take it whole: how many of the parts have a
        # journey is not known.
        yield "delivered", (1, sent.read), lambda: total(shown.delivered())


def since(before, after):
    """What came between two counts with their margins."""
    margin = None
    if before[1] is not None or after[1] is not None:
        margin = round(max(0, (after[1] or 0) ** 2 - (before[1] or 0) ** 2) ** 0.5)
    return after[0] - before[0], margin


def quantiles(load, sent, rows):
    """(question, truth, shown) for a receiver that one device feeds."""
    if len(rows) != 1 or not sent.max_ns:
        return
    for name in ("p50_ns", "p99_ns", "max_ns"):
        yield name, (0, round(BUCKET * getattr(sent, name))), rows[0][name]
    if load.slow_one_in:
        yield "the slowest", (sent.max_ns // 2, sent.max_ns), rows[0]["max_ns"]


@pytest.fixture(name="made")
def fixture_made(cell, lab, daemons):
    try:
        made = attempt(cell, topologies.BUILDERS[cell.topology], lab, daemons)
    except topologies.Lacking as lacking:
        pytest.skip(str(lacking))
    with made.shape.stack:
        yield made


def answers(cell, made, governor, daemon):
    """(question, truth, shown, margin)"""
    shown = Shown(daemon, made.shape)
    for question, truth, ask in questions(cell, made, governor, shown):
        settled(governor, ask, truth[0] if isinstance(truth, tuple) else truth)
        count, margin = ask()
        # A load that was over before it was looked at has no number, which is not a false one.
        if count or governor == "off" or cell.load.seconds >= SEEN_SECONDS:
            yield question, truth, count, margin
    if governor == "off":
        for question, truth, number in quantiles(cell.load, made.sent, shown.delivered()):
            yield question, truth, number, None
    faults = shown.faults()
    print(*(" ".join(map(str, (row["packets"], row.get("reason"), row.get("location"),
                               row.get("protocol")))) for row in faults), sep="\n")
    yield "faults", 0, sum(row["packets"] for row in faults), None


def test_cell(cell, made, daemons, judge):
    wrong = [f"governor {governor}: {question}: {shown} ± {margin or 0}, the truth is {truth}"
             for governor, daemon in daemons.items()
             for question, truth, shown, margin in answers(cell, made, governor, daemon)
             if not judge.number(cell, governor, question, truth, shown, margin)]
    assert not wrong, "\n".join((str(made.sent), *wrong))


def settled(governor, ask, low):
    """What is exact may take a moment; an estimate is not waited for until it is right."""
    if governor == "off":
        waiting.until(lambda: ask()[0], lambda count: count >= low, seconds=SETTLE_SECONDS)
    else:
        time.sleep(0.1)


def test_margins(judge):
    """95 of 100 estimates are within their margin."""
    misses, estimates = judge.misses()
    print(f"{misses} of {estimates} estimates miss their margin of 95 %")
    assert at_least(misses, estimates) > CHANCE, f"{misses} of {estimates}"


def test_what_is_known_is_still_false(judge, pytestconfig):
    """Only all cells together can show that a line of KNOWN has to go."""
    if pytestconfig.getoption("--sample"):
        pytest.skip("a sample shows some cells of each line")
    assert not judge.mended()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Bursts in many networks, one after the other, with default settings: in 95 of 100 the truth is
within the margin of the burst, it is never a plain zero, and one of 2 s is seen."""

import collections
import concurrent.futures
import time

import pytest

import shape_loads
import topologies
from lab import attempts, chance, hidden, patience
from lab.daemon import Daemon
from replies import between
from test_shapes import QUIET_SECONDS, ask, counters, floor

SEEN_SECONDS, SEEN_JOURNEYS = 2, 100
FLOOD = shape_loads.here(shape_loads.Load("flood", "udp", 20000, 4))
SMALL, SMALL_FLOWS = shape_loads.Load("small", "udp", 100, 0.25), 8

Seen = collections.namedtuple("Seen", "burst question seconds low high estimate")
SEEN = []


@pytest.fixture(scope="module", name="governed")
def fixture_governed(tmp_path_factory):
    topologies.prepared()
    daemon = Daemon(tmp_path_factory.mktemp("bursts"), "cost.governor=on").start()
    yield daemon
    daemon.stop()


def truths(burst, shape, sent, counted):
    """(question, low, high); of a stream, an skb for each read with data at least."""
    yield "transmitted", counted[0], counted[0]
    if burst.load.kind == "udp":
        yield "delivered", floor(sent.read), sent.read
        for number, _ in enumerate(shape.forwards, 1):
            yield f"forwarded {number}", sent.sent, sent.sent
    else:
        yield "delivered", floor(sent.calls), counted[1]


def send(burst, lab, daemon, exempted):
    """What was seen of a burst."""
    shape = topologies.BUILDERS[burst.topology](lab)
    with shape.stack:
        time.sleep(QUIET_SECONDS)
        asked, counted = ask(daemon, shape), counters(shape)
        with hidden.nothing(exempted):
            sent = shape_loads.run(burst.load, shape, burst.family)
        attempts.need(sent.took_place(), sent)
        counted = [after - before for before, after in zip(counted, counters(shape))]
        time.sleep(QUIET_SECONDS)
        answers = ask(daemon, shape)
    return [Seen(burst, question, burst.load.seconds, low, high,
                 between(asked[question], answers[question]))
            for question, low, high in truths(burst, shape, sent, counted)]


def test_burst_is_no_plain_zero(burst, lab, governed, exempted):
    try:
        seen = attempts.valid(lambda: send(burst, lab, governed, exempted))
    except topologies.Lacking as lacking:
        pytest.skip(str(lacking))
    SEEN.extend(seen)
    for s in seen:
        print(s.question, s.low, s.high, s.estimate)
        assert s.estimate.count or s.estimate.margin, f"{s.question}: 0 of {s.low}"


def is_outside(seen):
    off = max(seen.low - seen.estimate.count, seen.estimate.count - seen.high)
    return off > (seen.estimate.margin or 0)


@pytest.mark.parametrize("question", ("transmitted", "delivered", "forwarded 1"))
def test_margins_of_bursts(question):
    """Of each question by itself: the numbers of one burst are not independent."""
    asked = [s for s in SEEN if s.question == question]
    outside = [s for s in asked if is_outside(s)]
    print(f"{question}: {len(outside)} of {len(asked)} bursts are outside of their margin")
    assert chance.believable(len(outside), len(asked)), "\n".join(map(str, outside))


@patience.needs_real_cpus
def test_bursts_are_seen():
    """By 100 journeys on each path, if they last for 2 s."""
    asked = [s for s in SEEN if s.seconds >= SEEN_SECONDS]
    missed = [s for s in asked if s.estimate.journeys < SEEN_JOURNEYS]
    print(f"{len(missed)} of {len(asked)} are seen by fewer than {SEEN_JOURNEYS} journeys")
    assert not missed, "\n".join(map(str, missed))


def test_small_flows_beside_a_flood(lab, governed):
    """They share N with it: few of their packets are drawn, or none, and their margins say so."""
    flood, small = topologies.direct(lab), topologies.direct(lab)
    seen = []
    with flood.stack, small.stack, concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(shape_loads.run, FLOOD, flood, 4)
        time.sleep(QUIET_SECONDS)
        for _ in range(SMALL_FLOWS):
            asked = ask(governed, small)["delivered"]
            sent = shape_loads.run(SMALL, small, 4)
            estimate = between(asked, ask(governed, small)["delivered"])
            seen.append(Seen(SMALL, "delivered", SMALL.seconds, floor(sent.read), sent.read,
                             estimate))
        running.result()
    outside = [s for s in seen if is_outside(s)]
    print(*seen, sep="\n")
    assert chance.believable(len(outside), len(seen)), "\n".join(map(str, outside))

# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two programs saw the same events, when both read one clock at each, but count from
different moments.

The machine can stop between the two readings for any time, so their distance says little.  But the
events of a series come one after the other.  So a time of one program, moved by the distance of the
clocks, is not before the event before its own, and not after the event after it, in the series of
the other.  That limits what the distance of the clocks can be, and one distance must fit all."""

import bisect
import collections
import time

from . import patience

# A time limit between two events that are this far apart is halfway between them: nothing stops a
# machine for so long, and a series that is off by one event shows there.
PAUSE_NS = 10_000_000 * patience.FACTOR
ROUNDING_NS = 2000  # the kernel's trace prints whole µs
# The clock that the kernel gives to programs and to its trace, ktime_get_mono_fast_ns(), can step
# back when the kernel corrects the clock's rate.  On emulated CPUs, which stand still now and then,
# it does so often: a few times may be off by this much there.
STEP_NS = 1_000_000 if patience.FACTOR > 1 else 0
STEPS_ONE_IN = 10

# Of two series that lack events of each other.
NEAR_NS, VOTE_NS = 2_000_000, 10_000


def of_day():
    """The time of day minus CLOCK_MONOTONIC, in ns."""
    def once():
        before, day, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        return after - before, day - before

    return min(once() for _ in range(1000))[1]


def apart(ours, theirs):
    """The distance of the clocks, theirs minus ours, to 2 * VOTE_NS, if it is at most NEAR_NS and
    the two sorted series have most events in common: the distances of common events are alike, and
    those of others are not."""
    votes = collections.Counter()
    for moment in theirs:
        near = ours[bisect.bisect_left(ours, moment - NEAR_NS):
                    bisect.bisect_right(ours, moment + NEAR_NS)]
        votes.update((moment - one) // VOTE_NS for one in near)
    return VOTE_NS * (1 + max(votes, key=lambda vote: votes[vote] + votes[vote + 1]))


def limits(ours, theirs):
    """[(low, high)]: the distances of the clocks that each time of ours allows.  Both are lists of
    times in ns of the same events, in their order."""
    assert len(ours) == len(theirs)
    before, after = [float("-inf")], []
    for event, following in zip(theirs, theirs[1:]):
        middle = (event + following) // 2 if following - event >= PAUSE_NS else None
        after.append(following if middle is None else middle)
        before.append(event if middle is None else middle)
    after.append(float("inf"))
    return [(time - last - ROUNDING_NS, time - first + ROUNDING_NS)
            for time, first, last in zip(ours, before, after)]


def disagreement(limits_):
    """Why no distance of the clocks fits the limits of all events, as text; None if one does."""
    distance = max((low for low, _ in limits_), key=lambda low: _fitting(limits_, low))
    off = {i: max(low - distance, distance - high)
           for i, (low, high) in enumerate(limits_) if not low <= distance <= high}
    if all(by <= STEP_NS for by in off.values()) and len(off) * STEPS_ONE_IN <= len(limits_):
        return None
    return f"at a distance of {distance} ns, these of {len(limits_)} events are off, by ns: {off}"


def _fitting(limits_, distance):
    return sum(low <= distance <= high for low, high in limits_)

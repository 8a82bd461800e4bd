# SPDX-License-Identifier: GPL-2.0-or-later
"""The intervals are as wide as they should be, and verdicts follow from them."""

import random
import statistics

import intervals
from intervals import Interval

TRIALS, ROUNDS = 300, 30


def rounds_of(generator, ratio, count=ROUNDS):
    """Rounds on a machine whose speed changes from round to round, and outliers in one of ten."""
    for _ in range(count):
        speed = generator.uniform(0.8, 1.2)
        slow = [0.5 if generator.random() < 0.1 else 1.0 for _ in range(2)]
        yield (ratio * speed * slow[0] * generator.gauss(1, 0.03),
               speed * slow[1] * generator.gauss(1, 0.03))


def test_95_of_100_intervals_have_the_truth():
    generator = random.Random(1)
    found = [intervals.ratio(list(rounds_of(generator, 0.97)), draws=300) for _ in range(TRIALS)]
    share = sum(one.low <= 0.97 <= one.high for one in found) / TRIALS
    assert 0.92 <= share <= 0.995
    assert abs(statistics.median(one.value for one in found) - 0.97) < 0.01


def test_wrong_verdicts_are_rare():
    generator = random.Random(2)
    verdicts = [intervals.verdict(intervals.ratio(list(rounds_of(generator, 0.96)), draws=300),
                                  ROUNDS, least=0.97) for _ in range(TRIALS)]
    assert verdicts.count(intervals.HOLDS) <= TRIALS * 0.03


def test_more_rounds_make_the_interval_narrower():
    generator = random.Random(3)
    few, many = (intervals.ratio(list(rounds_of(generator, 1, count))) for count in (30, 480))
    assert many.high - many.low < 0.5 * (few.high - few.low)


def test_pairs_cancel_the_machine():
    """A machine that becomes twice as slow in the middle changes no ratio."""
    pairs = [(0.9 * speed, speed) for speed in (100,) * 15 + (50,) * 15]
    assert all(abs(value - 0.9) < 1e-9 for value in intervals.ratio(pairs))


def test_the_same_rounds_have_the_same_interval():
    pairs = list(rounds_of(random.Random(4), 1))
    assert intervals.ratio(pairs) == intervals.ratio(pairs)


def test_verdicts():
    interval = Interval(1.0, 0.98, 1.02)
    for least, most, expected in (
            (0.97, None, intervals.HOLDS), (0.98, None, intervals.HOLDS),
            (0.99, None, intervals.UNDECIDED), (1.03, None, intervals.FAILS),
            (None, 1.03, intervals.HOLDS), (None, 1.01, intervals.UNDECIDED),
            (None, 0.97, intervals.FAILS)):
        assert intervals.verdict(interval, 30, least, most) == expected


def test_few_rounds_decide_nothing():
    assert intervals.verdict(Interval(1.0, 1.0, 1.0), 5, least=0.5) == intervals.UNDECIDED
    assert intervals.verdict(Interval(1.0, 1.0, 1.0), 6, least=0.5) == intervals.HOLDS

# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures with their 95 % intervals, and verdicts that rest on them.

The interval is a bootstrap of whole rounds: rounds are drawn with replacement, as many as there
are, and the ratio of medians of each draw is taken.  The middle 95 % of the draws are the interval.
A round has all its contestants within seconds, so a slow change of the machine stays in both
figures of a pair and does not widen the interval of their ratio.
"""

import collections
import random
import statistics

DRAWS = 2000
CONFIDENCE = 0.95
# All figures of five rounds lie on one side of the true median in 1 of 16 cases.  So fewer than six
# cannot support an interval of 95 %, and a verdict on them would be a guess.
LEAST_ROUNDS = 6
SEED = 4217  # the same rounds always print the same interval

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

Interval = collections.namedtuple("Interval", "value low high")


def bootstrap(rounds, statistic, draws=DRAWS):
    """The statistic of the rounds, and the middle 95 % of the same statistic of drawn rounds."""
    generator = random.Random(SEED)
    drawn = sorted(statistic(generator.choices(rounds, k=len(rounds))) for _ in range(draws))
    tail = round(draws * (1 - CONFIDENCE) / 2)
    return Interval(statistic(rounds), drawn[tail], drawn[-1 - tail])


def ratio_of_medians(pairs):
    return statistics.median(of for of, _ in pairs) / statistics.median(base for _, base in pairs)


def ratio(pairs, draws=DRAWS):
    """The interval of the ratio of medians; `pairs`: (figure, base) of each round."""
    return bootstrap(pairs, ratio_of_medians, draws)


def median(values, draws=DRAWS):
    return bootstrap(values, statistics.median, draws)


def verdict(interval, rounds, least=None, most=None):
    """What `rounds` rounds show about a figure that should be at least `least`, at most `most`."""
    if rounds < LEAST_ROUNDS:
        return UNDECIDED
    if least is not None and interval.high < least or most is not None and interval.low > most:
        return FAILS
    if (least is None or interval.low >= least) and (most is None or interval.high <= most):
        return HOLDS
    return UNDECIDED

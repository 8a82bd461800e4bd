# SPDX-License-Identifier: GPL-2.0-or-later
"""How many estimates may miss their margin of 95 % before the margin is wrong."""

import math

MISSES = 0.05
# A margin that is right is called wrong once in so many runs.
RUNS = 100_000
# Five standard deviations, as margins of 95 %: by chance, an estimate is further away once in
# 1.7 million.
FAR = 5 / 1.96


def _exactly(misses, estimates):
    """The chance of just as many, by logarithms: the numbers are too large for others."""
    ways = (math.lgamma(estimates + 1) - math.lgamma(misses + 1) -
            math.lgamma(estimates - misses + 1))
    return math.exp(ways + misses * math.log(MISSES) + (estimates - misses) * math.log(1 - MISSES))


def at_least(misses, estimates):
    """The chance of as many misses or more, if each has the chance MISSES."""
    return sum(_exactly(n, estimates) for n in range(misses, estimates + 1))


def believable(misses, estimates):
    """Whether so many misses can be chance."""
    return at_least(misses, estimates) * RUNS > 1

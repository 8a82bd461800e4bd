# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what netflowd shows with the truth, and keeps all verdicts."""

import collections

# No estimate of a daemon whose margins are right is that many margins away: one in 10^8.
ABSURD = 3

Verdict = collections.namedtuple(
    "Verdict", "cell governor question low high shown margin right")


class Judge:
    """`low` to `high`: what is known of the truth.  `margin` None: the number is said to be
    exact."""

    def __init__(self):
        self.verdicts = []

    def number(self, cell, governor, question, truth, shown, margin=None):
        """Whether this number can be."""
        low, high = truth
        off = max(low - shown, shown - high, 0)
        right = off <= (margin or 0)
        self.verdicts.append(Verdict(str(cell), governor, question, low, high, shown, margin,
                                     right))
        return off <= ABSURD * (margin or 0)

    def misses(self):
        """(estimates that miss their margin, all estimates)"""
        estimates = [v for v in self.verdicts if v.margin is not None]
        return sum(not v.right for v in estimates), len(estimates)

    def table(self, everything=True):
        lines = [("cell", "governor", "question", "truth", "shown", "margin", "verdict")]
        for v in self.verdicts:
            if v.right and not everything:
                continue
            truth = f"{v.low}" if v.low == v.high else f"{v.low} to {v.high}"
            lines.append((v.cell, v.governor, v.question, truth, f"{v.shown}",
                          "exact" if v.margin is None else f"{v.margin}",
                          "right" if v.right else
                          "outside" if v.margin is not None else "FALSE"))
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip()
                         for line in lines)

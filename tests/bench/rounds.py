# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs rounds: every contestant of a load once, in random order, until the load is decided.

A figure counts only if the contestant proves afterwards that it saw the packets.
"""

import random
import time

import intervals
from expectations import COMPARISONS, CPU, HOST_CPU
from loads import SETTLED
from daemon import Failed, cpu_ns, host_cpu_ns

MORE_ROUNDS = 5  # between two looks at a comparison that is undecided


class Series:
    """The rounds of one load."""

    def __init__(self, load):
        self.load = load
        self.comparisons = [one for one in COMPARISONS if one.load == load.name]
        self.rounds = []  # {label: Outcome}
        self.discarded = []  # (round, label, why)
        self.failures = []  # (label, why): these contestants take part no more

    def figures(self, label, figure, window=SETTLED):
        return [one[label].figures[window][figure] for one in self.rounds if label in one]

    def pairs(self, comparison, window=SETTLED):
        return [tuple(one[label].figures[window][comparison.figure]
                      for label in (comparison.of, comparison.base))
                for one in self.rounds if comparison.of in one and comparison.base in one]

    def ratio(self, comparison, window=SETTLED):
        """(its interval, or None; the number of rounds)"""
        pairs = self.pairs(comparison, window)
        return intervals.ratio(pairs) if pairs else None, len(pairs)

    def verdict(self, comparison):
        """None if nothing is expected."""
        if comparison.least is None and comparison.most is None:
            return None
        ratio, count = self.ratio(comparison)
        if ratio is None:
            return intervals.UNDECIDED
        return intervals.verdict(ratio, count, comparison.least, comparison.most)

    def undecided(self):
        """Comparisons that more rounds could decide."""
        unable = {label for label, _ in self.failures}
        return [one for one in self.comparisons if self.verdict(one) == intervals.UNDECIDED
                and not unable & {one.of, one.base}]

    def disturbed(self, label, least):
        """The floods of a contestant whose sender had less than this share of its CPU."""
        shares = [one[label].sender_cpu for one in self.rounds if label in one]
        return [share for share in shares if share is not None and share < least]


class Runner:
    """`tracers`: {label: tracer}; `say`: prints a line of progress."""

    def __init__(self, tracers, say):
        self.tracers = tracers
        self.say = say
        self.random = random.Random()

    def run(self, series, rounds):
        """Run the first rounds of a load, with all its contestants."""
        wanted = {label for one in series.comparisons for label in (one.of, one.base)}
        self._rounds(series, wanted, rounds)

    def decide(self, all_series, deadline):
        """Run more rounds of what is undecided, until all is decided or the deadline is over."""
        while time.monotonic() < deadline:
            waiting = [(series, series.undecided()) for series in all_series]
            waiting = [(series, undecided) for series, undecided in waiting if undecided]
            if not waiting:
                return
            for series, undecided in waiting:
                wanted = {label for one in undecided for label in (one.of, one.base)}
                self._rounds(series, wanted, MORE_ROUNDS, deadline)

    def _rounds(self, series, wanted, count, deadline=float("inf")):
        try:
            with series.load.served():
                for _ in range(count):
                    if time.monotonic() >= deadline:
                        return
                    self._round(series, wanted)
        except (Failed, OSError) as failure:
            series.failures += [(label, f"{series.load.name}: {failure}") for label in wanted]

    def _round(self, series, wanted):
        number = len(series.rounds)
        one = {}
        series.rounds.append(one)
        unable = {label for label, _ in series.failures}
        takers = [tracer for label, tracer in self.tracers.items()
                  if label in wanted - unable and number % tracer.every == 0]
        self.random.shuffle(takers)
        for tracer in takers:
            try:
                self._stretch(series, tracer, one)
            except (Failed, OSError) as failure:
                series.failures.append((tracer.label, str(failure)))
        self.say(f"{series.load.title}, round {number + 1}: "
                 + ", ".join(f"{label} {self._text(outcome)}" for label, outcome in one.items()))

    @staticmethod
    def _text(outcome):
        return "/".join(f"{value:,.6g}" for value in outcome.figures[SETTLED].values())

    @staticmethod
    def _load(load, tracer):
        """Load the host; the figures include the CPU time per packet of what the load names."""
        reader, clocks = tracer.reader(), {HOST_CPU: host_cpu_ns}
        if reader:
            clocks[CPU] = lambda: cpu_ns(reader.pid)
        before = {figure: clock() for figure, clock in clocks.items() if figure in load.units}
        outcome = load.run(tracer.stretch)
        shares = {figure: (clocks[figure]() - began) / outcome.packets
                  for figure, began in before.items()}
        for figures in outcome.figures.values():
            figures.update(shares)
        return outcome

    @staticmethod
    def _stretch(series, tracer, one):
        """Load the host once with one contestant; discard the figures if the proof fails."""
        failed = True
        try:
            tracer.start()
            outcome = Runner._load(series.load, tracer)
            try:
                tracer.prove(outcome)
            except Failed as failure:
                series.discarded.append((len(series.rounds), tracer.label, str(failure)))
            else:
                one[tracer.label] = outcome
            failed = False
        finally:
            try:
                tracer.stop()
            except (Failed, OSError):
                if not failed:
                    raise  # otherwise it would hide the earlier failure

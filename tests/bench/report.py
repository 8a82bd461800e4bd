# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the result of the benchmark: a table for a reader, or one JSON object."""

import json
import os
import statistics

import intervals
from expectations import IDLE_CPU, IDLE_WAKEUPS, READY, RESIDENT, UNTRACED
from loads import FIRST

# The sender of the flood should have its CPU alone; with less than this share, other tasks ran
# there.
UNDISTURBED = 0.98


def bound(least, most):
    return f"≥ {least:g}" if least is not None else f"≤ {most:g}" if most is not None else ""


class Report:
    """`footprint`: {Footprint: samples}; `tables`: {part: what footprint.py measured}."""

    def __init__(self, bench, all_series):
        self.bench = bench
        self.all_series = all_series
        self.footprint = {}
        self.tables = {}
        self.empty_ns = {}
        self.failures = []  # (part, why)
        self.notes = []

    def add_starts(self, seconds):
        self.footprint[READY] = seconds

    def add_idle(self, pieces):
        self.footprint[IDLE_CPU] = [cpu for cpu, _ in pieces]
        self.footprint[IDLE_WAKEUPS] = [wakeups for _, wakeups in pieces]

    def add_resident(self, sizes):
        if sizes:
            self.footprint[RESIDENT] = [size / 2**20 for size in sizes]

    # ---- rows ----

    def comparisons(self):
        """One row, a dict, of each comparison that has a figure."""
        for series in self.all_series:
            for one in series.comparisons:
                ratio, count = series.ratio(one)
                if ratio is None:
                    continue
                first, _ = series.ratio(one, FIRST)
                of, base = (statistics.median(side) for side in zip(*series.pairs(one)))
                yield {"load": one.load, "title": series.load.title, "figure": one.figure,
                       "unit": series.load.units[one.figure], "of": one.of, "base": one.base,
                       "median": of, "base_median": base, "ratio": ratio._asdict(),
                       "first_2s": first._asdict(), "rounds": count, "least": one.least,
                       "most": one.most, "verdict": series.verdict(one)}

    def footprints(self):
        for one, samples in self.footprint.items():
            found = intervals.median(samples)
            verdict = one.most and intervals.verdict(found, len(samples), most=one.most)
            yield {"name": one.name, "unit": one.unit, "median": found._asdict(),
                   "samples": len(samples), "most": one.most, "verdict": verdict}

    def all_notes(self):
        notes = list(self.notes)
        for series in self.all_series:
            title = series.load.title
            notes += [f"{title}, round {at}: the figure of {label} does not count: {why}"
                      for at, label, why in series.discarded]
            disturbed = series.disturbed(UNTRACED, UNDISTURBED)
            if disturbed:
                notes.append(f"{title}: other tasks ran on the sender's CPU in {len(disturbed)} "
                             f"rounds with nothing attached; it had as little as "
                             f"{100 * min(disturbed):.1f} % of it")
        return notes

    def all_failures(self):
        failures = [f"{what} could not run: {why}" for what, why in self.failures]
        for series in self.all_series:
            failures += [f"{series.load.title}, {label}: could not run: {why}"
                         for label, why in series.failures]
            discarded = dict.fromkeys(label for _, label, _ in series.discarded)
            failures += [f"{series.load.title}: no figure of {label} counts" for label in discarded
                         if not any(label in one for one in series.rounds)]
        return failures

    # ---- output ----

    def print_json(self):
        rounds = {series.load.name: [{label: outcome._asdict() for label, outcome in one.items()}
                                     for one in series.rounds] for series in self.all_series}
        print(json.dumps({"cpus": os.cpu_count(), "kernel": os.uname().release,
                          "hooks": self.bench.events, "comparisons": list(self.comparisons()),
                          "footprint": list(self.footprints()), "tables": self.tables,
                          "rounds": rounds, "notes": self.all_notes(),
                          "failures": self.all_failures()}, ensure_ascii=False, indent=1))

    def print(self):
        print(f"{os.cpu_count()} CPUs, Linux {os.uname().release}; netflowd attaches "
              f"{len(self.bench.events)} hooks")
        self._print_comparisons()
        self._print_footprint()
        self._print_programs()
        for line in self.all_notes() + self.all_failures():
            print(f"\nnote: {line}")

    def _print_comparisons(self):
        print(f"\n{'load':<26}{'contestant':<23}{'median':>11} {'unit':<12}{'compared with':<23}"
              f"{'ratio':>6}  {'95 %':<13}{'first 2 s':>9}  {'rounds':>6}  {'expected':<9}verdict")
        for row in self.comparisons():
            ratio = row["ratio"]
            load = f"{row['title']}, {row['figure']}"
            between = f"{ratio['low']:.3f}–{ratio['high']:.3f}"
            print(f"{load:<26.26}{row['of']:<23}{row['median']:>11,.1f} {row['unit']:<12}"
                  f"{row['base']:<23}{ratio['value']:>6.3f}  {between:<13}"
                  f"{row['first_2s']['value']:>9.3f}  {row['rounds']:>6}  "
                  f"{bound(row['least'], row['most']):<9}{row['verdict'] or ''}".rstrip())
        print("ratio: of the medians; 95 %: the middle 95 % of the ratios of drawn rounds; "
              "first 2 s: the ratio before the governor has settled")

    def _print_footprint(self):
        print(f"\n{'the daemon':<32}{'median':>10} {'unit':<9}{'95 %':<17}{'expected':<10}verdict")
        for row in self.footprints():
            found = row["median"]
            between = f"{found['low']:.2f}–{found['high']:.2f}"
            print(f"{row['name']:<32}{found['value']:>10,.2f} {row['unit']:<9}{between:<17}"
                  f"{bound(None, row['most']):<10}{row['verdict'] or ''}".rstrip())

    def _print_programs(self):
        programs, before, slots = map(self.tables.get, ("programs", "last release", "slots"))
        if programs:
            old = {event: ns for event, _, ns in before[0]} if before else {}
            print(f"\n{'program, flood, governor off':<32}{'hits/s':>10}{'ns/hit':>9}"
                  f"{'% of a core':>13}{'last release':>15}")
            for event, rate, ns in programs[0]:
                cells = ("-", "-") if ns is None else (f"{ns:.1f}", f"{rate * ns / 1e7:.2f}")
                then = "-" if old.get(event) is None else f"{old[event]:.1f}"
                print(f"{event:<32}{rate:>10,.0f}{cells[0]:>9}{cells[1]:>13}{then:>15}")
            if self.empty_ns:
                print(f"ns/hit excludes the cost of the kernel's statistics, which show "
                      f"{statistics.median(self.empty_ns.values()):.0f} ns for an empty program")
        if slots:
            print(f"\n{'slots programs, transmit':<32}{'slots':>10}{'ns':>9}")
            for kind, slots, ns in slots:
                cells = ["-" if slots is None else slots, "-" if ns is None else f"{ns:.1f}"]
                print(f"{kind:<32}{cells[0]:>10}{cells[1]:>9}")

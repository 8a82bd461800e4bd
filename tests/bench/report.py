# SPDX-License-Identifier: GPL-2.0-or-later
"""Collects the figures of all rounds and prints the report."""

import os
import statistics

import tcp
from footprint import IDLE_S

# The sender should have its CPU alone; with less than this share, other tasks ran there.
UNDISTURBED = 0.98

# (label, label of the base, least expected ratio)
RATIOS = (
    ("netflowd", "empty programs", 0.88),
    ("last release", "empty programs", None),
    ("netflowd", "last release", None),
    ("netflowd", "bpftrace", 1.70),
    ("netflowd", "perf record", None),
)
NOTHING = "nothing attached"
READY_S, RESIDENT_MIB, IDLE_PERCENT = 0.5, 32, 0.2


class Results:
    def __init__(self):
        self.rounds = []  # {label: (flood, remark)}
        self.discarded = []
        self.failures = []
        self.others = set()

    def begin_round(self):
        self.rounds.append({})

    def add(self, label, flood, remark):
        self.rounds[-1][label] = (flood, remark)

    def discard(self, label, why):
        self.discarded.append((len(self.rounds), label, why))

    def could_not_run(self, label, why):
        self.failures.append((label, why))

    def note_others(self, names):
        self.others.update(names)

    def disturbed(self):
        """The floods with nothing attached whose sender did not have its CPU alone."""
        return [flood for flood in self.floods(NOTHING) if flood.sender_cpu < UNDISTURBED]

    def doubt(self):
        """A remark on a verdict about rates, if the notes limit it."""
        return "  (doubtful: see the notes)" if self.others or self.disturbed() else ""

    def labels(self):
        seen = {}
        for one in self.rounds:
            seen.update(dict.fromkeys(one))
        return sorted(seen, key=lambda label: -statistics.median(self.rates(label)))

    def floods(self, label):
        return [one[label][0] for one in self.rounds if label in one]

    def rates(self, label):
        return [flood.rate for flood in self.floods(label)]

    def ratios(self, label, base):
        """The ratio of each round that has both figures."""
        return [one[label][0].rate / one[base][0].rate
                for one in self.rounds if label in one and base in one]

    def remark(self, label):
        remarks = [one[label][1] for one in self.rounds if label in one and one[label][1]]
        return remarks[-1] if remarks else ""


def spread(values, form):
    """(median, "min–max") as text"""
    return (format(statistics.median(values), form),
            f"{min(values):{form}}–{max(values):{form}}")


def print_heading(bench, rounds):
    print(f"loopback UDP with 64-byte payloads, sender on CPU 0, reader on CPU 1; "
          f"{os.cpu_count()} CPUs, Linux {os.uname().release}")
    print(f"{rounds} round{'s' if rounds > 1 else ''} with {bench.seconds:g} s for each tracer; "
          "packets/s that reached the reader")
    print(f"netflowd attaches {len(bench.events)} hooks on this kernel:")
    print("  " + " ".join(bench.events))
    print(flush=True)


def print_round(results, rounds):
    one = results.rounds[-1]
    figures = ", ".join(f"{label} {flood.rate:,.0f}" for label, (flood, _) in one.items())
    print(f"round {len(results.rounds)}/{rounds}: {figures or 'no valid figure'}", flush=True)


def print_rates(results):
    print(f"\n{'packets/s':<18}{'median':>10}  {'min–max':<19}{'ratio':<11}{'min–max':<13}"
          f"{'lost %':<7}timed")
    for label in results.labels():
        median, between = spread(results.rates(label), ",.0f")
        ratios = results.ratios(label, NOTHING)
        part, part_between = spread(ratios, ".3f") if ratios else ("-", "-")
        lost = statistics.median(flood.lost for flood in results.floods(label))
        print(f"{label:<18}{median:>10}  {between:<19}{part:<11}{part_between:<13}"
              f"{100 * lost:<7.1f}{results.remark(label)}".rstrip())
    print(f"ratio: to the rate of the same round with {NOTHING}")
    print("lost %: sent packets that were dropped because the reader's socket buffer was full")
    print("timed: packets of the flood for which the tracer recorded a time")


def verdict_on(value, limit, good):
    return "met" if good(value, limit) else "NOT met"


def print_ratios(results):
    print(f"\n{'ratio':<32}{'median':<9}{'min–max':<14}expected")
    for label, base, least in RATIOS:
        ratios = results.ratios(label, base)
        name = f"{label} / {base}"
        if not ratios:
            print(f"{name:<32}not measured: no round has both figures")
            continue
        median, between = spread(ratios, ".3f")
        verdict = ""
        if least is not None:
            met = verdict_on(statistics.median(ratios), least, lambda v, l: v >= l)
            verdict = f"≥ {least:.2f}   {met}{results.doubt()}"
        print(f"{name:<32}{median:<9}{between:<14}{verdict}".rstrip())


# (name, index in a figure, format, least expected ratio)
TCP = (
    ("TCP bulk, Gbit/s", 0, ".1f", 0.97),
    ("TCP round trip, p50 µs", 1, ".1f", None),
    ("TCP round trip, p99 µs", 2, ".1f", None),
)


def print_tcp(figures, of, base):
    """Print `figures`, which tcp.measure() returned, and their ratio `of` to `base`."""
    print(f"\n{'TCP on loopback':<28}{base:>18}{of:>12}{'ratio':>9}  {'min–max':<14}expected")
    for name, index, form, least in TCP:
        median, low, high = tcp.ratio(figures, index, of, base)
        cells = [statistics.median(one[label][index] for one in figures) for label in (base, of)]
        verdict = ""
        if least is not None:
            verdict = f"≥ {least:.2f}   {verdict_on(median, least, lambda v, l: v >= l)}"
        between = f"{low:.3f}–{high:.3f}"
        print(f"{name:<28}{cells[0]:>18{form}}{cells[1]:>12{form}}{median:>9.3f}  "
              f"{between:<14}{verdict}".rstrip())


def at_most(name, value, limit, unit, form, detail=""):
    met = verdict_on(value, limit, lambda v, l: v <= l)
    print(f"{name:<28}{value:{form}} {unit:<5} ≤ {limit:g} {unit}  {met}{detail}")


def print_footprint(starts, idle, resident, hits, before):
    """Print the daemon's figures; `before`: of the last release, from footprint.ns_per_hit()."""
    print(f"\n{'the daemon':<28}measured and expected")
    median, between = spread(starts, ".3f")
    at_most(f"time until ready, {len(starts)} starts", float(median), READY_S, "s", ".3f",
            f"  ({between})")
    if idle is not None:
        at_most(f"idle CPU, {IDLE_S} s", idle, IDLE_PERCENT, "%", ".3f", "  (of one core)")
    if resident:
        tables = f"  (tables in the kernel: {hits[1] / 2**20:.1f} MiB" if hits else ""
        if tables:
            tables += f", last release {before[1] / 2**20:.1f} MiB)" if before else ")"
        at_most("resident memory after flood", max(resident) / 2**20, RESIDENT_MIB, "MiB", ".1f",
                tables)


def print_hits(rows, before, empty):
    """Print the cost of each program; `before`: the last release's; `empty`: what is subtracted."""
    old = {event: ns for event, _, ns in before[0]} if before else {}
    print(f"\n{'program':<28}{'hits/s':>10}{'ns/hit':>9}{'% of a core':>13}{'last release':>15}")
    for event, rate, ns in rows:
        cells = ("-", "-") if ns is None else (f"{ns:.1f}", f"{rate * ns / 1e7:.2f}")
        then = "-" if old.get(event) is None else f"{old[event]:.1f}"
        print(f"{event:<28}{rate:>10,.0f}{cells[0]:>9}{cells[1]:>13}{then:>15}")
    if empty:
        print(f"ns/hit excludes the cost of the kernel's statistics, which show "
              f"{statistics.median(empty.values()):.0f} ns for an empty program here")


def print_slots(rows):
    print(f"\n{'slots programs, transmit':<28}{'slots':>10}{'ns':>9}")
    for kind, slots, ns in rows:
        cells = ["-" if slots is None else slots, "-" if ns is None else f"{ns:.1f}"]
        print(f"{kind:<28}{cells[0]:>10}{cells[1]:>9}")
    print("ns: all slots programs of one transmit together")


def print_notes(results):
    """Print the notes; return True if a part could not run."""
    notes = [f"round {at}: the figure of {label} does not count: {why}"
             for at, label, why in results.discarded]
    disturbed = results.disturbed()
    if disturbed:
        share = min(flood.sender_cpu for flood in disturbed)
        notes.append(f"{len(disturbed)} of {len(results.floods(NOTHING))} floods with nothing "
                     f"attached were disturbed: other tasks ran on the sender's CPU, and it had "
                     f"as little as {100 * share:.1f} % of it")
    if results.others:
        notes.append("other programs traced this kernel: their cost is part of every figure and "
                     "brings ratios nearer to 1; their BPF programs: "
                     + " ".join(sorted(results.others)))
    failures = [f"{what} could not run: {why}" for what, why in results.failures]
    for label in {label for _, label, _ in results.discarded}:
        if not results.rates(label):
            failures.append(f"no figure of {label} counts")
    for line in notes + failures:
        print(f"\nnote: {line}")
    return bool(failures)

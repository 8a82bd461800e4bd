# SPDX-License-Identifier: GPL-2.0-or-later
"""Collects the figures of all rounds, and prints them."""

import os
import statistics

import tcp

# The sender alone is on its CPU; with less than this share somebody else was there.
UNDISTURBED = 0.98

# (what, beside what, at least)
RATIOS = (
    ("netflowd", "empty programs", 0.88),
    ("netflowd", "bpftrace", 1.70),
    ("netflowd", "perf record", None),
)
NOTHING = "nothing attached"
READY_S, RESIDENT_MIB, IDLE_PERCENT = 0.5, 32, 0.2


class Results:
    def __init__(self):
        self.rounds = []  # {label: (flood, remark)}
        self.thrown_out = []
        self.failures = []
        self.others = set()

    def begin_round(self):
        self.rounds.append({})

    def add(self, label, flood, remark):
        self.rounds[-1][label] = (flood, remark)

    def throw_out(self, label, why):
        self.thrown_out.append((len(self.rounds), label, why))

    def could_not_run(self, label, why):
        self.failures.append((label, why))

    def note_others(self, names):
        self.others.update(names)

    def disturbed(self):
        """Of the floods with nothing attached: those whose sender did not have its CPU alone."""
        return [flood for flood in self.floods(NOTHING) if flood.sender_cpu < UNDISTURBED]

    def doubt(self):
        """What a verdict on rates must be read with."""
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
        """Within each round that has both."""
        return [one[label][0].rate / one[base][0].rate
                for one in self.rounds if label in one and base in one]

    def remark(self, label):
        remarks = [one[label][1] for one in self.rounds if label in one and one[label][1]]
        return remarks[-1] if remarks else ""


def spread(values, form):
    """Median, and the least and greatest."""
    return (format(statistics.median(values), form),
            f"{min(values):{form}}–{max(values):{form}}")


def print_heading(bench, rounds):
    print(f"loopback UDP, 64-byte payloads, sender on CPU 0, reader on CPU 1; "
          f"{os.cpu_count()} CPUs, Linux {os.uname().release}")
    print(f"{rounds} rounds of {bench.seconds:g} s each, packets/s that reached the reader; "
          f"{len(bench.events)} hooks, as netflowd attached them:")
    print("  " + " ".join(bench.events))
    print(flush=True)


def print_round(results, rounds):
    one = results.rounds[-1]
    figures = ", ".join(f"{label} {flood.rate:,.0f}" for label, (flood, _) in one.items())
    print(f"round {len(results.rounds)}/{rounds}: {figures or 'no figure'}", flush=True)


def print_rates(results):
    print(f"\n{'packets/s':<18}{'median':>10}  {'min–max':<19}{'of nothing':<11}{'min–max':<13}"
          f"{'lost':<7}proof")
    for label in results.labels():
        median, between = spread(results.rates(label), ",.0f")
        ratios = results.ratios(label, NOTHING)
        part, part_between = spread(ratios, ".3f") if ratios else ("-", "-")
        lost = statistics.median(flood.lost for flood in results.floods(label))
        print(f"{label:<18}{median:>10}  {between:<19}{part:<11}{part_between:<13}"
              f"{100 * lost:<7.1f}{results.remark(label)}".rstrip())
    print("lost: per cent of the packets sent that found the reader's buffer full")


def judged(value, limit, good):
    return "met" if good(value, limit) else "NOT met"


def print_ratios(results):
    print(f"\n{'ratio':<28}{'median':<9}{'min–max':<14}expected")
    for label, base, least in RATIOS:
        ratios = results.ratios(label, base)
        name = f"{label} / {base}"
        if not ratios:
            print(f"{name:<28}no round has both figures")
            continue
        median, between = spread(ratios, ".3f")
        verdict = ""
        if least is not None:
            met = judged(statistics.median(ratios), least, lambda v, l: v >= l)
            verdict = f"≥ {least:.2f}   {met}{results.doubt()}"
        print(f"{name:<28}{median:<9}{between:<14}{verdict}".rstrip())


# (what, its place in a figure, form, at least)
TCP = (
    ("TCP bulk, Gbit/s", 0, ".1f", 0.97),
    ("TCP round trip, p50 µs", 1, ".1f", None),
    ("TCP round trip, p99 µs", 2, ".1f", None),
)


def print_tcp(figures, of, base):
    """`figures` as tcp.measure() returns them."""
    print(f"\n{'TCP on loopback':<28}{base:>18}{of:>12}{'ratio':>9}  {'min–max':<14}expected")
    for name, index, form, least in TCP:
        median, low, high = tcp.ratio(figures, index, of, base)
        cells = [statistics.median(one[label][index] for one in figures) for label in (base, of)]
        verdict = ""
        if least is not None:
            verdict = f"≥ {least:.2f}   {judged(median, least, lambda v, l: v >= l)}"
        between = f"{low:.3f}–{high:.3f}"
        print(f"{name:<28}{cells[0]:>18{form}}{cells[1]:>12{form}}{median:>9.3f}  "
              f"{between:<14}{verdict}".rstrip())


def at_most(name, value, limit, unit, form, detail=""):
    met = judged(value, limit, lambda v, l: v <= l)
    print(f"{name:<28}{value:{form}} {unit:<5} ≤ {limit:g} {unit}  {met}{detail}")


def print_footprint(starts, idle, resident, hits):
    print("\nfootprint of the daemon")
    median, between = spread(starts, ".3f")
    at_most(f"exec to ready, {len(starts)} starts", float(median), READY_S, "s", ".3f",
            f"  ({between})")
    if idle is not None:
        at_most("CPU when idle, 10 s", idle, IDLE_PERCENT, "%", ".3f", "  (of one core)")
    if resident:
        tables = f"  (tables in the kernel: {hits[1] / 2**20:.1f} MiB)" if hits else ""
        at_most("resident after a flood", max(resident) / 2**20, RESIDENT_MIB, "MiB", ".1f",
                tables)


def print_hits(rows, empty):
    """netflowd has taken the statistics' own cost off; `empty` shows how much that is here."""
    print(f"\n{'program':<28}{'hits/s':>10}{'ns/hit':>9}{'% of a core':>13}")
    for event, rate, ns in rows:
        cells = ("-", "-") if ns is None else (f"{ns:.1f}", f"{rate * ns / 1e7:.2f}")
        print(f"{event:<28}{rate:>10,.0f}{cells[0]:>9}{cells[1]:>13}")
    if empty:
        print(f"less what the kernel's statistics count for an empty program, "
              f"here {statistics.median(empty.values()):.0f} ns")


def print_slots(rows):
    print("\nslots programs, start and end of a transmit together   slots   ns")
    for kind, slots, ns in rows:
        print(f"{kind:<52}{'-' if slots is None else slots:>5}{'-' if ns is None else f'{ns:.1f}':>8}")


def print_notes(results):
    """Returns whether something could not run."""
    notes = [f"round {at}: {label} thrown out: {why}" for at, label, why in results.thrown_out]
    disturbed = results.disturbed()
    if disturbed:
        share = min(flood.sender_cpu for flood in disturbed)
        notes.append(f"{len(disturbed)} of {len(results.floods(NOTHING))} floods with nothing "
                     f"attached were disturbed: the sender had as little as {100 * share:.1f} % "
                     "of its CPU")
    if results.others:
        notes.append("tracing programs of others were attached, their cost is in every figure, "
                     "which brings ratios nearer to 1: " + " ".join(sorted(results.others)))
    failures = [f"could not run: {what}: {why}" for what, why in results.failures]
    for label in {label for _, label, _ in results.thrown_out}:
        if not results.rates(label):
            failures.append(f"no figure of {label} was left")
    for line in notes + failures:
        print(f"\nnote: {line}")
    return bool(failures)

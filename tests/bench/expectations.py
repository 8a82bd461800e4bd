# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmark compares, and what netflowd promises.

A row without a bound is printed for its figure only.  A verdict needs an interval that excludes the
bound, see intervals.py; until then the benchmark runs more rounds, within its time limit.
"""

import collections

UNTRACED = "untraced"
EMPTY = "empty programs"
DEFAULT = "netflowd"
OFF = "netflowd, governor off"
TRACEFS = "netflowd, tracefs"
RELEASE = "last release"
BPFTRACE = "bpftrace"
PERF = "perf record"

RATE, P50, P99 = "rate", "p50", "p99"
# The CPU time of the tracer's own process: what it reads and writes, not what its probes cost.
CPU = "reader"
# The time that all CPUs were busy: the load, the probes in it, and who reads them.
HOST_CPU = "host"

# The ratio of the medians of `figure`, of one contestant to another, under one load.
Comparison = collections.namedtuple("Comparison", "load figure of base least most",
                                    defaults=(None, None))

COMPARISONS = (
    # With the default budget: what the worst minute of a host may cost.
    Comparison("udp", RATE, DEFAULT, UNTRACED, least=0.97),
    Comparison("bulk", RATE, DEFAULT, UNTRACED, least=0.985),
    Comparison("trips", P50, DEFAULT, UNTRACED, most=1.02),
    Comparison("trips", P99, DEFAULT, UNTRACED, most=1.03),
    Comparison("redis", RATE, DEFAULT, UNTRACED, least=0.97),
    Comparison("nginx", RATE, DEFAULT, UNTRACED, least=0.97),
    Comparison("nginx-connections", RATE, DEFAULT, UNTRACED, least=0.98),
    Comparison("pipe", RATE, DEFAULT, UNTRACED),
    # When nothing is shed: how near the programs are to the least that any BPF tracer costs.
    Comparison("udp", RATE, OFF, EMPTY, least=0.90),
    Comparison("udp", RATE, OFF, BPFTRACE, least=2.2),
    Comparison("udp", RATE, OFF, PERF),
    Comparison("udp", RATE, OFF, RELEASE),
    # Without BPF: no worse than another reader of the same trace events.
    Comparison("udp", RATE, TRACEFS, PERF, least=1.0),
    Comparison("udp", HOST_CPU, TRACEFS, PERF, most=1.0),
    Comparison("udp", CPU, TRACEFS, PERF, most=1.0),
    Comparison("udp", RATE, TRACEFS, OFF),
    Comparison("udp", CPU, TRACEFS, OFF),
    Comparison("udp", RATE, OFF, UNTRACED),
    Comparison("udp", RATE, EMPTY, UNTRACED),
)

# The daemon itself: the median of a figure, in a unit, is at most `most`.
Footprint = collections.namedtuple("Footprint", "name unit most")

READY = Footprint("time until ready", "s", 0.5)
RESIDENT = Footprint("resident memory after a flood", "MiB", 32)
IDLE_CPU = Footprint("CPU time with two idle CPUs", "ms/min", 120)
IDLE_WAKEUPS = Footprint("wakeups with two idle CPUs", "per min", None)

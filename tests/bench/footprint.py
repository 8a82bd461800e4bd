# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the time until ready, idle CPU, wakeups and ns per hit of netflowd."""

import json
import subprocess
import threading
import time

from tracers import SETTLE_S
from daemon import Daemon, Failed

STARTS = 6
IDLE_PIECES, IDLE_PIECE_S = 6, 10
MEASURE_MS = 1000
FOLLOW_ALL = "cost.governor=off"  # so that the figures are of programs that do all their work


def start_times(bench):
    """(seconds from exec to READY=1 of each start, names of the attached probes)"""
    seconds = []
    for _ in range(STARTS):
        with Daemon(bench.program, bench.work) as daemon:
            seconds.append(daemon.start())
            events = [probe["name"] for probe in daemon.attached_probes()]
    return seconds, events


def idle(bench):
    """(CPU time in ms per minute, wakeups per minute) of pieces of a minute without packets."""
    pieces = []
    with Daemon(bench.program, bench.work) as daemon:
        daemon.start()
        time.sleep(1)
        for _ in range(IDLE_PIECES):
            cpu, wakeups, begin = daemon.cpu_ns(), daemon.wakeups(), time.monotonic()
            time.sleep(IDLE_PIECE_S)
            minutes = (time.monotonic() - begin) / 60
            pieces.append(((daemon.cpu_ns() - cpu) / 1e6 / minutes,
                           (daemon.wakeups() - wakeups) / minutes))
    return pieces


def ns_per_hit(bench, program):
    """Measure each program of a daemon during a flood, with the kernel's BPF statistics.

    Returns rows of (event, hits per second, ns per hit), and the bytes of the tables.  netflowd
    subtracts the figure of an empty program, which is the cost of the statistics themselves.
    """
    with Daemon(program, bench.work, FOLLOW_ALL) as daemon:
        daemon.start()
        seconds = SETTLE_S + MEASURE_MS / 1000 + 0.5
        flood = threading.Thread(target=quiet_flood, args=(bench, seconds))
        flood.start()
        try:
            time.sleep(SETTLE_S)
            before, begin = daemon.hits(), time.monotonic()
            probes = daemon.attached_probes(measure_ms=MEASURE_MS)
            took = time.monotonic() - begin
        finally:
            flood.join()
        rows = [(probe["name"], (probe["hits"] - before[probe["name"]]) / took,
                 probe.get("ns_per_hit")) for probe in probes]
        return rows, daemon.tables_bytes()


# (kind of transmit, payload bytes, value of slots.devices)
SLOTS_LOADS = (("of another device", 64, "none"),
               ("linear", 64, "lo"),
               ("with fragments", 60000, "lo"))


def slots_ns(bench):
    """The cost of counting ring slots, of all its programs together, per transmit.

    Returns rows of (kind of transmit, its most frequent number of slots or None, ns).
    """
    return [(kind, *_slots_ns(bench, payload, device)) for kind, payload, device in SLOTS_LOADS]


def _slots_ns(bench, payload, device):
    # No transmit reaches this limit, so the figure includes no records.
    with Daemon(bench.program, bench.work, f"slots.devices={device}", "slots.limit=127",
                FOLLOW_ALL) as daemon:
        daemon.start()
        flood = threading.Thread(target=quiet_flood,
                                 args=(bench, SETTLE_S + MEASURE_MS / 1000 + 0.5, payload))
        flood.start()
        try:
            time.sleep(SETTLE_S)
            probes = daemon.attached_probes(measure_ms=MEASURE_MS)
            devices = daemon.call("GetSlots")["devices"]
        finally:
            flood.join()
    ns = next(p.get("ns_per_hit") for p in probes if p["name"] == "slots_devices")
    buckets = [bucket for device in devices for bucket in device["histogram"]]
    usual = max(buckets, key=lambda bucket: bucket["count"], default=None)
    return usual and usual["slots"], ns


def quiet_flood(bench, seconds, payload=64):
    try:
        bench.flood(seconds, payload=payload)
    except Failed:
        pass  # the rows show no hits then


def tracing_programs():
    """{id: name} of the loaded BPF programs of a type for tracing."""
    try:
        done = subprocess.run(["bpftool", "-j", "prog", "list"], capture_output=True, text=True,
                              check=False)
    except OSError as error:
        raise Failed(f"bpftool: {error}") from None
    if done.returncode:
        return {}
    kinds = ("tracing", "raw_tracepoint", "raw_tracepoint_writable", "tracepoint", "kprobe",
             "perf_event")
    return {program["id"]: program.get("name", "unnamed") for program in json.loads(done.stdout)
            if program.get("type") in kinds}


def other_tracers():
    """Names of other programs' tracing programs: their cost is part of every figure.

    This includes "nothing attached".  The kernel frees this benchmark's own last programs with a
    delay, so a second look after 1 s excludes them.
    """
    first = tracing_programs()
    if not first:
        return []
    time.sleep(1)
    return sorted({name for number, name in tracing_programs().items() if number in first})

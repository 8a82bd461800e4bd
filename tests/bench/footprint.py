# SPDX-License-Identifier: GPL-2.0-or-later
"""What netflowd costs apart from the packets: start, idle CPU, memory, ns per hit."""

import json
import subprocess
import threading
import time

from daemon import Daemon, Failed
from tracers import SETTLE_S

STARTS = 5
IDLE_S = 10
MEASURE_MS = 1000


def start_times(bench):
    """Seconds from exec to READY=1, and the events that the daemon attached."""
    seconds = []
    for _ in range(STARTS):
        with Daemon(bench.program, bench.work) as daemon:
            seconds.append(daemon.start())
            events = [probe["name"] for probe in daemon.attached_probes()]
    return seconds, events


def idle_percent(bench):
    """Share of one core that the daemon takes while no packet moves and no client asks."""
    with Daemon(bench.program, bench.work) as daemon:
        daemon.start()
        time.sleep(1)
        before, begin = daemon.cpu_ns(), time.monotonic_ns()
        time.sleep(IDLE_S)
        return 100 * (daemon.cpu_ns() - before) / (time.monotonic_ns() - begin)


def ns_per_hit(bench):
    """
    The kernel's statistics of each program during a flood: rows of (event,
    hits per second, ns per hit).  They include one reading of the clock and
    more, the same as for an empty program.  Also the memory of the tables.
    """
    with Daemon(bench.program, bench.work) as daemon:
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


# What the slots programs are measured with: payload, and the device that is named.
SLOTS_LOADS = (("another device's", 64, "none"), ("linear", 64, "lo"), ("with fragments", 60000, "lo"))


def slots_ns(bench):
    """
    What counting ring slots costs each transmit, all its programs together: rows
    of (what kind of transmit, its usual slots or None, ns).
    """
    return [(kind, *_slots_ns(bench, payload, device)) for kind, payload, device in SLOTS_LOADS]


def _slots_ns(bench, payload, device):
    # A limit out of reach: records are not what is measured.
    with Daemon(bench.program, bench.work, f"slots.devices={device}", "slots.limit=127") as daemon:
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
    usual = max((b for d in devices for b in d["histogram"]), key=lambda b: b["count"], default=None)
    return usual and usual["slots"], ns


def quiet_flood(bench, seconds, payload=64):
    try:
        bench.flood(seconds, payload)
    except Failed:
        pass  # the rows then show no hits


def tracing_programs():
    """{id: name} of the programs attached to anything that traces."""
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
    """
    Tracing programs of others: their cost is in every figure, also in "nothing
    attached".  Our own last ones may linger for a moment, hence a second look.
    """
    first = tracing_programs()
    if not first:
        return []
    time.sleep(1)
    return sorted({name for number, name in tracing_programs().items() if number in first})

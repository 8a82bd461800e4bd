# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency records: how to request them, and the conditions that hold for each of them."""

import datetime
import re

from . import backends, waiting
from .varlink import VarlinkError

# netflowd records every journey, at any rate.
EVERY = ("latency.sample_one_in=1", "records.rate=1000000",
         "records.recent=200000", "ring.bytes=67108864")
# netflowd records only journeys that a test makes slow.
NONE = ("latency.sample_one_in=0", "records.rate=1000000")

RX = ("irq", "softirq_raise", "softirq_entry", "receive", "gap_filled", "sock_queue", "wakeup",
      "run", "copy")
TX = ("queue", "start_xmit", "xmit", "free")
ORDER = {"delivered": RX, "transmitted": TX, "forwarded": RX[:4] + TX}


def ask(daemon, device=None, limit=1 << 20, **parameters):
    """The latency records that crossed a lab Device, oldest first."""
    if device is not None:
        parameters = backends.selecting(device) | parameters
        if backends.TRACE_EVENTS:
            # Of the lab's devices, which carry the test's own packets.
            parameters.pop("filter", None)
    try:
        records = daemon.call("GetLatencyRecords", limit=limit, **parameters)["records"]
    except VarlinkError as error:
        # The backend on trace events knows a device from its first packet on.
        if error.name == "UnknownDevice" and backends.TRACE_EVENTS:
            return []
        raise
    return [r for r in records if device is None or crossed(r, device)]


def wait_for(daemon, count, device, outcome=None, seconds=5, **parameters):
    """The records with that outcome, once there are `count` of them or the time is over."""
    def some():
        return [r for r in ask(daemon, device, **parameters) if outcome in (None, r["outcome"])]

    return waiting.until(some, lambda records: len(records) >= count, seconds, pause=0.1)


def crossed(record, device):
    return any(backends.is_about(d, device) for d in record["devices"])


def names(record):
    return [stage["stage"] for stage in record["stages"]]


def at(record, stage):
    """ns since the record's first stage, None if the record does not have that stage."""
    return next((s["at_ns"] for s in record["stages"] if s["stage"] == stage), None)


def between(record, first, last):
    begin, end = at(record, first), at(record, last)
    assert begin is not None and end is not None, f"no {first} or no {last} in {names(record)}"
    return end - begin


def missing(record):
    return {m["stage"]: m["reason"] for m in record["missing"]}


def destination_port(record):
    return (record.get("transport") or {}).get("destination_port")


def carries(record, payload):
    """Whether the record is of a packet with that many bytes of payload.  Its length is without the
    IP header, and without that of TCP; of trace events it is that at `receive`, with both."""
    headers = range(20 + 8, 40 + 20 + 40 + 1) if backends.TRACE_EVENTS else (0, 8)
    return record["length_bytes"] - payload in headers


def to_port(records, port):
    """The records of packets to this port; all, if the backend knows no ports."""
    if backends.TRACE_EVENTS:
        return records
    return [r for r in records if destination_port(r) == port]


def nanoseconds_of(text):
    """A time of day in ns since 1970, exactly; datetime has no nanoseconds."""
    match = re.fullmatch(r"(.*T\d\d:\d\d:\d\d)\.(\d{9})([+-]\d\d:\d\d|Z)", text)
    assert match, f"{text} is not RFC 3339 with nanoseconds"
    whole = datetime.datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
    return int(whole.timestamp()) * 1_000_000_000 + int(match[2])


def seconds_of(text):
    return nanoseconds_of(text) / 1e9


def impossible(record, lived_ns):
    """Why no skb that lived at most this long can have that record, as text; None if one can."""
    times = [stage["at_ns"] for stage in record["stages"]]
    if times != sorted(times) or times[0] < 0:
        return f"the stages are not in order of time: {record['stages']}"
    if record["total_ns"] > lived_ns:
        return f"{record['total_ns']} ns for an skb that lived at most {lived_ns} ns: {record}"
    if any(t["duration_ns"] < 0 for t in record["times"]):
        return f"a negative time: {record['times']}"
    return None


def segment(time):
    """The identifier of a record's StageTime, as histograms and parameters have it."""
    short = {"softirq_raise": "raise", "softirq_entry": "softirq"}
    first, last = (short.get(stage, stage) for stage in (time["from"], time["to"]))
    name = f"{first}_to_{last}"
    return {"receive_to_gap_filled": "gap_wait"}.get(name, name)


def check(record, lived_ns=None):
    """Check the conditions that hold for every record."""
    stages = record["stages"]
    assert len(stages) >= 2, record
    assert stages[0]["at_ns"] == 0
    assert stages[-1]["at_ns"] == record["total_ns"]
    wrong = impossible(record, lived_ns if lived_ns is not None else record["total_ns"])
    assert wrong is None, wrong
    order = [name for name in ORDER[record["outcome"]] if name in names(record)]
    assert names(record) == order, "a stage is repeated, or is not in the order of the path"

    expected = [{"from": a["stage"], "to": b["stage"], "duration_ns": b["at_ns"] - a["at_ns"]}
                for a, b in zip(stages, stages[1:])]
    assert record["times"] == expected
    longest = max(t["duration_ns"] for t in expected)
    assert record["dominant"] in {segment(t) for t in expected if t["duration_ns"] == longest}
    assert record["comparable"] == (not record["missing"])
    assert not set(missing(record)) & set(names(record)), "a stage is both recorded and missing"
    assert all(missing(record).values()), "a missing stage has no reason"
    assert record["devices"]
    span = nanoseconds_of(stages[-1]["time"]) - nanoseconds_of(stages[0]["time"])
    assert span == record["total_ns"], "times of day and durations differ"


def histogram(daemon, device, segment, direction):
    """The one latency of a device, segment and direction; None if there is none."""
    found = [l for l in daemon.call("GetLatency", all=True)["latencies"]
             if backends.is_about(l, device) and
             (l["segment"], l["direction"]) == (segment, direction)]
    assert len(found) <= 1
    return found[0] if found else None


def balanced(daemon):
    """The ledger of latency records at a moment when it did not change; checks its equation."""
    def ledger():
        return daemon.status()["latency"]

    def still(now):
        return now == ledger()

    now = waiting.until(ledger, still, seconds=5)
    assert now["chosen"] == now["recorded"] + now["throttled"] + now["ring_full"], now
    return now


def with_reader(records):
    """The records of delivered datagrams that have a reader, at least one.  Another CPU may free a
    datagram between its copy and the moment at which its reader reports it; that CPU then reports
    it without a reader."""
    own = [record for record in records if "task" in record]
    assert own, records
    return own

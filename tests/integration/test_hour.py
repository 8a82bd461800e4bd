# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted hour and the days after it.  At known minutes packets are dropped and delayed, an
alert fires, and netflowd does not run.  Every way to ask for a part of that time, at every
resolution, gives exactly what the script did in the time that the reply says it covers.

The packets, the drops, the delays and the daemon are real.  The host's clock, as the daemon sees
it, is the test's: see lab/clock.py."""

import collections
import contextlib
import json
import os
import re
import signal
import socket
import time

import pytest

from lab import patience, paths, rocket, sockets, waiting
from lab.alerts import Rules
from lab.clock import Clock, seconds, text, written
from lab.varlink import VarlinkError
from test_export_json import DOCUMENT_PAST, lines_of
from test_metrics import samples_of, total
from test_report import Page, number

pytestmark = [
    pytest.mark.usefixtures("bpf"),
    # The sanitizer's library must be the first one of a process.
    pytest.mark.skipif(paths.VARIANT == "asan", reason="LD_PRELOAD does not work with ASan")]

# 2026-03-29 00:00 UTC, on a boundary of every resolution.  An hour later, Berlin's clocks go from
# 02:00 to 03:00.
MIDNIGHT = 1774742400
BEGIN = MIDNIGHT + 30 * 60
MINUTE, HOUR, DAY = 60, 3600, 86400
# The clock stands so long before the end of a bucket: the daemon's next interval comes after that.
BEFORE_END = 0.05
BERLIN = {"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}
FLOOD, RECORDS_MAX = 600, 2048

RULE = """
[alert flood]
condition = drop_rate
netns = {netns}
window = 2s
over = 50/s
severity = warning
"""


def floor(at, step=10):
    return int(at // step * step)


class Tap:
    """A socket that is read late: each datagram waits for a known time, and for the CPU of a shared
    machine.  `waited`: {milliseconds: the nanoseconds from each datagram's arrival until it was
    read, by the kernel's time of its arrival}."""

    def __init__(self, pair, port):
        self.pair, self.port = pair, port
        with pair.right.entered():
            self.end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.end.bind((pair.RIGHT4, port))
        self.end.settimeout(patience.seconds(5))
        sockets.stamp_arrivals(self.end)
        self.waited = collections.defaultdict(list)

    def delay(self, count, milliseconds):
        for _ in range(count):
            self.pair.left.send_udp(self.pair.RIGHT4, self.port, 1)
            time.sleep(milliseconds / 1000)
            arrived = sockets.arrival(self.end)
            self.waited[milliseconds].append(time.time_ns() - arrived)

    def close(self):
        self.end.close()


class Script:
    """What happened: {start of a bucket of 10 s: {(netns, reason): packets}}, the latencies that
    the daemon's live histograms gained in that bucket, and the transmits by slots."""

    def __init__(self):
        self.drops = collections.defaultdict(collections.Counter)
        self.latency = collections.defaultdict(collections.Counter)
        self.slots = collections.defaultdict(collections.Counter)
        self.gaps = []

    @staticmethod
    def within(events, begin, end):
        found = collections.Counter()
        for at, counts in events.items():
            if begin <= at < end:
                found += counts
        return found


class Play:
    """Plays the script with a daemon, and asks it."""

    def __init__(self, make, lab, clock, directory):
        self.clock, self.script = clock, Script()
        self.pair, self.other = lab.pair(ipv6=False), lab.pair(ipv6=False)
        self.pair.right.nft_drop("input", "udp dport 5555")
        self.tap = Tap(self.pair, 7777)
        self.rules = Rules(directory / "rules")
        self.rules.write("10-flood.conf", RULE.format(netns=self.other.right.inode))
        self.daemon = make(
            self.rules.setting, "alerts.interval=200ms", "history.records=1024",
            "history.size=1073741824",
            "records.rate=100000", "latency.sample_one_in=1",
            "ring.bytes=67108864",
            "metrics.listen=unix",
            f"slots.devices={self.pair.left_device.name}",
            history=directory / "history", environment=clock.environment)
        self.daemon.start()
        self.begun = clock.now
        self.left_out = 0  # records, by daemons that have ended
        self.fired = None  # when the alert did
        self.spaces = [space.inode for pair in (self.pair, self.other)
                       for space in (pair.left, pair.right)]

    # ---- time ----

    def until(self, minute, ten=0):
        """Time passes, in intervals of 10 s, up to that bucket of the hour."""
        target = BEGIN + minute * MINUTE + ten * 10
        while floor(self.clock.now) < target:
            self.tick()

    def tick(self, length=10):
        self.clock.advance(floor(self.clock.now) + length + 10 - BEFORE_END)
        written(self.daemon, self.clock.now)

    def days(self, until):
        """Silent time passes, in steps of half an hour, which no bucket of minutes divides: an
        answer has all of an interval."""
        while (floor(self.clock.now) + 10) % (10 * MINUTE):
            self.tick()
        while self.clock.now < until:
            at = floor(self.clock.now) + 10
            self.tick(floor(at, HOUR // 2) + HOUR // 2 - at)

    def away(self, number_, minutes):
        """The daemon ends, and starts again minutes later."""
        written(self.daemon, self.clock.now)
        self.left_out += self.daemon.status()["history"]["left_out"]
        begin = self.clock.now
        self.daemon.stop(number_)
        self.clock.advance(begin + minutes * MINUTE)
        self.script.gaps.append((begin, self.clock.now))
        self.daemon.start()
        self.begun = self.clock.now

    # ---- events ----

    @contextlib.contextmanager
    def bucket(self):
        """What happens in the present bucket: it is in the live counters at the end, and then in
        the history, before time goes on."""
        before = self.live_latency()
        yield floor(self.clock.now)
        self.settle()
        gained = self.live_latency()
        gained.subtract(before)
        self.script.latency[floor(self.clock.now)] += gained

    def live_drops(self):
        return drops_of(self.daemon.call("GetDrops")["rows"], self.spaces)

    def live_latency(self):
        return latency_of(self.daemon.call("GetLatency", all=True)["latencies"], self.spaces)

    def expected_live(self):
        return Script.within(self.script.drops, floor(self.begun), self.clock.now + 1)

    def settle(self):
        expected = self.expected_live()
        found = waiting.settled(self.live_drops, expected)
        assert found == expected
        # Two more intervals: the first may have begun before the last packet.
        before = self.daemon.status()["history"]["intervals"]
        assert waiting.until(lambda: self.daemon.status()["history"]["intervals"],
                             lambda count: count >= before + 2, pause=0.01) >= before + 2

    def refuse(self, count, pair=None):
        """UDP to a closed port."""
        pair = pair or self.pair
        assert pair.left.send_udp(pair.RIGHT4, 9, count) == count
        self.note(pair, "NO_SOCKET", count)

    def filter(self, count):
        """UDP that nftables drops."""
        assert self.pair.left.send_udp(self.pair.RIGHT4, 5555, count) == count
        self.note(self.pair, "NETFILTER_DROP", count)

    def note(self, pair, reason, count):
        self.script.drops[floor(self.clock.now)][pair.right.inode, reason] += count

    def ride(self, *slots):
        """Transmits of known numbers of slots, to a closed port."""
        rocket.rocket(self.pair.left, self.pair.RIGHT4, 9, *slots)
        self.note(self.pair, "NO_SOCKET", len(slots))
        self.script.slots[floor(self.clock.now)] += collections.Counter(slots)

    # ---- questions ----

    def ask(self, method, since, until=None, **parameters):
        if until is not None:
            parameters["until"] = text(until)
        reply = self.daemon.call(method, since=text(since), **parameters)
        return reply, Period(reply["period"], since, until)

    def is_away(self, since, until):
        return any(a <= since and until <= b for a, b in self.script.gaps)

    def cli(self, *words, since, until, **kwargs):
        done = self.daemon.netflowctl(
            *words, "--since", text(since), "--until", text(until),
            env={**os.environ, **self.clock.environment}, **kwargs)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout


class Period:
    """The time that a reply covers, in seconds; it has what was asked for."""

    def __init__(self, period, since, until):
        self.begin, self.end = seconds(period["from"]), seconds(period["to"])
        self.step = period["resolution_ns"] / 1e9
        self.covered = period["covered_ns"] / 1e9
        self.gaps = sorted((seconds(gap["from"]), seconds(gap["to"])) for gap in period["gaps"])
        assert period["gap_count"] == len(self.gaps) and period["weight"] == 1
        assert self.begin <= since or period["from"] == period["begins"]
        assert since < self.begin + self.step
        if until is not None:
            assert self.end - self.step < until <= self.end or self.end <= until

    def __repr__(self):
        return f"{self.begin - BEGIN:.3f}..{self.end - BEGIN:.3f} step {self.step}"


def drops_of(rows, spaces):
    """Drops of datagrams; tests/tools/rocket has others, of what it did not send."""
    found = collections.Counter()
    for row in rows:
        if row.get("netns") in spaces and row["protocol"] == "ipv4/udp":
            found[row["netns"], row["reason"]] += row["packets"]
    return found


def latency_of(rows, spaces):
    """{(netns, device, segment, from_ns of a bucket): count}"""
    return collections.Counter(
        {(row["netns"], row["device"], row["segment"], bucket["from_ns"]): bucket["count"]
         for row in rows if row.get("netns") in spaces for bucket in row["buckets"]})


def check_quantiles(row):
    """Each is in the bucket of its rank, as in a reply about now."""
    assert sum(bucket["count"] for bucket in row["buckets"]) == row["count"]
    for name, share in (("p50_ns", .5), ("p90_ns", .9), ("p99_ns", .99)):
        rank, seen = share * row["count"], 0
        for bucket in row["buckets"]:
            seen += bucket["count"]
            if seen >= rank:
                assert bucket["from_ns"] <= row[name] <= bucket["below_ns"], (name, row)
                break
    assert row["p50_ns"] <= row["p90_ns"] <= row["p99_ns"] <= row["max_ns"]
    last = row["buckets"][-1]
    assert last["from_ns"] <= row["max_ns"] <= last["below_ns"]


def overlaps(gaps, begin, end):
    """The parts of gaps that are in a period."""
    return [(max(a, begin), min(b, end)) for a, b in gaps if min(b, end) - max(a, begin) > 0.1]


def close(pairs, others):
    return len(pairs) == len(others) and all(
        abs(a - c) < 0.002 and abs(b - d) < 0.002 for (a, b), (c, d) in zip(pairs, others))


# ---- the hour -------------------------------------------------------------------------------


def play_first_half(play):
    """BEGIN is 00:30 UTC."""
    play.until(0)
    with play.bucket():
        play.refuse(101)
    play.until(2, 5)
    with play.bucket():
        play.refuse(7)
    play.until(3)
    # The first bucket of a minute, and the last one before.
    with play.bucket():
        play.filter(53)
    play.until(10)
    with play.bucket():
        play.tap.delay(20, patience.milliseconds(5))
        play.refuse(3, play.other)
    play.until(12, 3)
    with play.bucket():
        play.ride(9, 17, 18, 19, 19, 31)
    play.until(20)
    with play.bucket():
        play.refuse(211)
    play.until(21)
    play.away(signal.SIGTERM, 4)
    with play.bucket():
        play.refuse(13)
    play.until(28, 2)
    with play.bucket():
        play.tap.delay(10, patience.milliseconds(40))
        play.filter(19)


def play_alert(play):
    """The incident has the five minutes before."""
    play.until(31)
    with play.bucket():
        play.refuse(FLOOD, play.other)
        play.refuse(17)
        fired = waiting.until(lambda: play.daemon.call("GetIncidents")["incidents"], bool, 10)
        assert fired
        play.fired = play.clock.now


def play_second_half(play):
    """The script ends behind the boundary of 2 h."""
    play.until(40)
    # Twice, because an interval keeps at most 1,024 records.
    for _ in range(2):
        with play.bucket():
            play.refuse(800)
    play.until(44, 5)
    with play.bucket():
        play.refuse(1)
    play.until(45)
    play.away(signal.SIGKILL, 6)
    play.until(59, 5)
    with play.bucket():
        play.refuse(29)
    play.until(60)
    with play.bucket():
        play.tap.delay(6, patience.milliseconds(80))
    # The boundary of 2 h is 90 minutes after BEGIN.
    play.until(89, 5)
    with play.bucket():
        play.refuse(31)
    play.until(90)
    with play.bucket():
        play.filter(37)
    play.until(92)


BOUNDARIES = [BEGIN + minute * MINUTE + more for minute, more in (
    (-20, 0), (0, 0), (0, 5), (0, 10), (2, 50), (3, 0), (3, 10), (10, 0), (12, 33), (20, 0),
    (20, 10), (21, 0), (23, 0), (25, 0), (25, 10), (28, 25), (30, 0), (31, 10), (40, 0), (40, 10),
    (44, 59), (47, 0), (51, 0), (60, 0), (60, 10), (89, 59), (90, 0), (90, 10), (92, 0))]


def check_drops(play, finest):
    """Every pair of boundaries.  Returns the resolutions that were met."""
    steps = set()
    for i, since in enumerate(BOUNDARIES):
        for until in BOUNDARIES[i + 1:]:
            if play.is_away(since, until):
                with pytest.raises(VarlinkError):
                    play.ask("GetDrops", since, until)
                continue
            for space in (play.pair.right, play.other.right):
                reply, period = play.ask("GetDrops", since, until, netns=str(space.inode))
                expected = {reason: count for (netns, reason), count in
                            Script.within(play.script.drops, period.begin, period.end).items()
                            if netns == space.inode}
                found = collections.Counter()
                for row in reply["rows"]:
                    found[row["reason"]] += row["packets"]
                assert found == expected, (period, found, expected)
                assert reply["packets"] == sum(expected.values()) and reply["folded"] == 0
                assert period.step >= finest
                steps.add(period.step)
    return steps


def check_gaps(play):
    for since, until in ((BEGIN, BEGIN + 90 * MINUTE), (BEGIN + 20 * MINUTE, BEGIN + 24 * MINUTE),
                         (BEGIN + 30 * MINUTE, BEGIN + 40 * MINUTE)):
        _, period = play.ask("GetDrops", since, until)
        expected = overlaps(play.script.gaps, since, until)
        assert close(period.gaps, expected), (period, period.gaps, expected)
        away = sum(b - a for a, b in overlaps(play.script.gaps, period.begin, period.end))
        assert abs(period.covered - (period.end - period.begin - away)) < 0.01


def check_latency(play):
    for since, until in ((0, 92), (0, 20), (10, 11), (28, 29), (26, 33), (60, 61), (55, 91)):
        reply, period = play.ask("GetLatency", BEGIN + since * MINUTE, BEGIN + until * MINUTE,
                                 all=True)
        expected = Script.within(play.script.latency, period.begin, period.end)
        found = latency_of(reply["latencies"], play.spaces)
        assert not found - expected and not expected - found, period
        for row in reply["latencies"]:
            if row.get("netns") in play.spaces:
                check_quantiles(row)
        for space in play.spaces:
            one, _ = play.ask("GetLatency", BEGIN + since * MINUTE, BEGIN + until * MINUTE,
                              netns=str(space))
            assert latency_of(one["latencies"], [space]) == collections.Counter(
                {key: count for key, count in expected.items() if key[0] == space})


def check_known_delays(play):
    """The delays that the script made, by the buckets of a histogram: at most 12.5 % off."""
    device = play.pair.right_device
    for minute, count, delay in ((10, 20, 5), (28, 10, 40), (60, 6, 80)):
        at = BEGIN + minute * MINUTE
        reply, period = play.ask("GetLatency", at, at + MINUTE, device=device.name,
                                 netns=str(device.namespace.inode))
        if period.step > MINUTE:
            continue
        row, = [row for row in reply["latencies"] if row["segment"] == "receive_to_copy"]
        least = patience.milliseconds(delay) * 1e6
        assert row["count"] == count
        assert row["p50_ns"] >= least * 0.875 and row["mean_ns"] >= least
        waited = sorted(play.tap.waited[patience.milliseconds(delay)])
        assert row["p50_ns"] <= 1.125 * waited[len(waited) // 2], waited
        assert row["mean_ns"] <= 1.01 * sum(waited) / len(waited), waited


def check_others(play):
    """Records, slots, polls, groups of drops."""
    netns = play.pair.right.inode
    for since, until in ((BEGIN, BEGIN + 20 * MINUTE), (BEGIN + 26 * MINUTE, BEGIN + 41 * MINUTE),
                         (BEGIN + 3 * MINUTE, BEGIN + 3 * MINUTE + 10)):
        expected = Script.within(play.script.drops, since, until)
        mine = sum(count for (space, _), count in expected.items() if space == netns)
        reply, _ = play.ask("GetDropRecords", since, until, netns=str(netns), limit=1 << 20)
        # Records have their own times, and are compared exactly.  If other programs' packets are
        # dropped at the same time, an interval does not keep all; it counts those.
        assert reply["matched"] == len(reply["records"])
        assert mine - play.left_out <= reply["matched"] <= mine
        reply, period = play.ask("GetSlots", since, until, device=play.pair.left_device.name)
        expected = Script.within(play.script.slots, period.begin, period.end)
        rows = [row for row in reply["devices"] if row.get("netns") == play.pair.left.inode]
        shown = collections.Counter({bucket["slots"]: bucket["count"] for row in rows
                                     for bucket in row["histogram"]})
        assert all(shown[slots] >= count for slots, count in expected.items())
        assert sum(row["overflows"] for row in rows) == sum(
            count for slots, count in expected.items() if slots > 18)
    whole = BEGIN, BEGIN + 92 * MINUTE
    _, period = play.ask("GetDrops", *whole)
    expected = Script.within(play.script.drops, period.begin, period.end)
    for by, member in (("reason", "reason"), ("netns", "netns"), ("dev", "device")):
        for space, pair in ((netns, play.pair), (play.other.right.inode, play.other)):
            reply, _ = play.ask("GetDrops", *whole, netns=str(space), by=by)
            # Classes have rows of their own.
            found, wanted = collections.Counter(), collections.Counter()
            for row in reply["rows"]:
                found[row[member]] += row["packets"]
            for (own, reason), count in expected.items():
                if own == space:
                    wanted[{"reason": reason, "netns": own,
                            "device": pair.right_device.name}[member]] += count
            assert found == wanted
    # A limit is not silent.
    reply, _ = play.ask("GetDropRecords", *whole, netns=str(netns), limit=1 << 20)
    mine = sum(count for (space, _), count in
               Script.within(play.script.drops, *whole).items() if space == netns)
    assert mine - play.left_out <= reply["matched"] <= mine
    assert len(reply["records"]) == min(reply["matched"], RECORDS_MAX)
    if not play.left_out:
        assert mine > RECORDS_MAX
    polls = [{(row.get("device"), row["cpu"]): (row["polls"], row["packets"]) for row in
              play.ask("GetNapi", a, b, limit=1 << 20)[0]["napi"] if not row.get("device")}
             for a, b in ((BEGIN, BEGIN + 30 * MINUTE), (BEGIN + 30 * MINUTE, BEGIN + 90 * MINUTE),
                          (BEGIN, BEGIN + 90 * MINUTE))]
    for key, both in polls[2].items():
        parts = [part.get(key, (0, 0)) for part in polls[:2]]
        assert both == tuple(map(sum, zip(*parts)))


def check_events(play):
    reply = play.daemon.call("GetAlerts", since=text(BEGIN), until=text(BEGIN + 90 * MINUTE))
    changes = [(event["alert"]["name"], event["change"]) for event in reply["events"]]
    assert changes[0] == ("flood", "fired") and reply["matched"] == len(changes)
    assert floor(seconds(reply["events"][0]["time"])) == floor(play.fired)


def check_incident(play):
    incident, = play.daemon.call("GetIncidents", since=text(BEGIN))["incidents"]
    one = play.daemon.call("GetIncident", id=incident["id"], limit=1000)
    begin = floor(seconds(incident["from"]))
    expected = Script.within(play.script.drops, begin, play.fired)
    assert drops_of(one["drops"], play.spaces) == expected
    assert expected[play.other.right.inode, "NO_SOCKET"] == FLOOD
    # The newest 256, and how many there are.
    assert len(one["drop_records"]) == 256
    assert one["drop_records_matched"] >= FLOOD - play.left_out
    shown = play.daemon.netflowctl("incidents", "show", incident["id"]).stdout
    assert f"{FLOOD}  NO_SOCKET" in shown and "dropped packets: the newest 256 of " in shown


def check_outputs(play, directory):
    """NDJSON, JSON, the tables and the report agree with the method, to the unit."""
    begin, end = BEGIN + 26 * MINUTE, BEGIN + 60 * MINUTE
    drops, period = play.ask("GetDrops", begin, end, limit=1 << 20)
    latency, _ = play.ask("GetLatency", begin, end)
    every = collections.Counter((json.dumps(row, sort_keys=True)) for row in drops["rows"])
    lines = lines_of(play.cli("export", "--format", "ndjson", since=begin, until=end))
    exported = [{key: value for key, value in line.items()
                 if key not in ("schema", "type", "time", "host")} for line in lines
                if line["type"] == "drops"]
    assert collections.Counter(json.dumps(row, sort_keys=True) for row in exported) == every
    assert [(line["segment"], line["count"], line["p99_ns"]) for line in lines
            if line["type"] == "latency" and "device" not in line and "group" not in line] == \
        [(row["segment"], row["count"], row["p99_ns"]) for row in latency["segments"]]
    assert [line["change"] for line in lines if line["type"] == "event"][:1] == ["fired"]
    periods = {line["of"]: line for line in lines if line["type"] == "period"}
    assert set(periods) == {"drops", "latency", "napi", "slots", "event"}
    assert all(line["gap_count"] == len(period.gaps) for line in periods.values())
    assert not {"status", "coverage", "table", "alert"} & {line["type"] for line in lines}

    document = json.loads(play.cli("export", "--format", "json", since=begin, until=end))
    DOCUMENT_PAST.validate(document)
    assert sum(row["packets"] for row in document["drops"]) == drops["packets"]

    table = json.loads(play.cli("drops", "--by", "reason", "--json", since=begin, until=end))
    path = directory / "report.html"
    play.cli("report", "--html", path, since=begin, until=end)
    page = Page(path.read_text(encoding="utf-8"))
    # "NOT_SPECIFIED: XDP or NOMEM", "NO_SOCKET (inferred)", of a drop of another process.
    assert [(re.split(r":| \(", row["reason"])[0], number(row["packets"]))
            for row in page.tables["drops by reason"]] == \
        [(row["reason"], row["packets"]) for row in table["rows"]]
    cells = page.tables["drops over time"]
    assert sum(number(cell["packets"]) for cell in cells) == table["packets"] == drops["packets"]
    # "≈ 521494 ±<0.01 %", if packets of other processes lost their place in the in-flight table.
    assert [number(re.sub(r"^≈ | ±.*", "", row["count"]))
            for row in page.tables["latency by segment"]] == \
        [row["count"] for row in latency["segments"]]
    changes = page.tables["changes of alerts"]
    assert changes[0]["alert"] == "flood" and changes[0]["change"] == "fired"


def check_words(play):
    """Times as people write them, in a night in which the clocks are changed."""
    # 03:00 in Berlin is 01:00 UTC: 30 minutes after BEGIN.
    done = play.daemon.netflowctl(
        "drops", "--since", "03:00", "--until", "03:05", "--netns", play.other.right.inode,
        "--json", env={**os.environ, **play.clock.environment, **BERLIN})
    reply = json.loads(done.stdout)
    assert seconds(reply["period"]["since"]) == BEGIN + 30 * MINUTE
    assert reply["packets"] == FLOOD
    # What is new or has grown in the minutes of the alert.
    done = play.daemon.netflowctl(
        "drops", "--since", text(BEGIN + 31 * MINUTE), "--until", text(BEGIN + 32 * MINUTE),
        "--compare", "31min", "--netns", play.other.right.inode, "--json",
        env={**os.environ, **play.clock.environment})
    row, = json.loads(done.stdout)["rows"]
    assert (row["packets"], row["before_packets"], row["new"]) == (FLOOD, 3, False)


def check_live(play):
    """What has just happened, and what the daemon counted since it started: history and metrics."""
    with play.bucket():
        play.refuse(43)
    reply, _ = play.ask("GetDrops", BEGIN + 92 * MINUTE - 30, netns=str(play.pair.right.inode))
    assert reply["packets"] >= 43
    since_start, _ = play.ask("GetDrops", play.begun, netns=str(play.pair.right.inode))
    expected = sum(count for (netns, _), count in play.expected_live().items()
                   if netns == play.pair.right.inode)
    assert since_start["packets"] == expected
    shown = total(samples_of(play.daemon), "netflowd_drops_total",
                  netns=str(play.pair.right.inode))
    assert shown == expected
    then = play.ask("GetLatency", play.begun, all=True)[0]["latencies"]
    live = play.daemon.call("GetLatency", all=True)["latencies"]
    for row in live:
        if row.get("netns") not in play.spaces:
            continue
        other, = [l for l in then if (l.get("device"), l["segment"], l.get("netns")) ==
                  (row["device"], row["segment"], row["netns"])]
        for member in ("count", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "buckets"):
            assert other[member] == row[member], (member, row, other)
        assert row["max_ns"] <= other["max_ns"] <= 1.125 * row["max_ns"] + 1


@pytest.fixture
def clock(tmp_path):
    made = Clock(tmp_path, BEGIN - 10 * MINUTE - BEFORE_END)
    yield made
    made.close()


@pytest.fixture
def play(start, lab, clock, tmp_path):
    made = Play(start.make, lab, clock, tmp_path)
    yield made
    made.tap.close()


def test_hour(play, reasons, tmp_path):
    play_first_half(play)
    play_alert(play)
    play_second_half(play)
    assert check_drops(play, 10) == {10.0}
    check_gaps(play)
    check_latency(play)
    check_known_delays(play)
    check_others(play)
    check_events(play)
    check_incident(play)
    check_outputs(play, tmp_path)
    check_words(play)
    check_live(play)

    # After a day, minutes are left; after three days ten minutes and, between them, two hours.
    for days, finest in ((1.2, MINUTE), (3.2, 10 * MINUTE), (6.5, 10 * MINUTE)):
        play.days(MIDNIGHT + days * DAY)
        assert check_drops(play, finest) == {float(finest)}
        check_gaps(play)
        check_latency(play)
        check_others(play)
    check_events(play)
    check_incident(play)
    check_outputs(play, tmp_path)

    # Another start, and then the hour is too old.
    play.away(signal.SIGTERM, 10)
    assert check_drops(play, 10 * MINUTE) == {600.0}
    play.days(MIDNIGHT + 7.5 * DAY)
    reply = play.daemon.call("GetDrops", since=text(BEGIN), netns=str(play.pair.right.inode))
    assert reply["packets"] == 0 and seconds(reply["period"]["from"]) > BEGIN + 2 * HOUR
    # Incidents stay longer than the rest.
    check_incident(play)


# ---- steps of the clock ------------------------------------------------------------------------


def test_the_clock_is_set(start, lab, tmp_path):
    """What the step left out is a gap; what was recorded while the clock was ahead is moved to
    where it was, and nothing is there twice."""
    begin = MIDNIGHT + 5
    clock = Clock(tmp_path, begin)
    pair = lab.pair(ipv6=False)
    daemon = start(history=tmp_path / "history", environment=clock.environment)
    right = pair.right_device

    def refuse(count, sum_):
        pair.left.send_udp(pair.RIGHT4, 9, count)
        assert waiting.settled(lambda: daemon.dropped(right, "ipv4/udp"), sum_) == sum_
        # A clock that stands still covers no time.
        clock.advance(clock.now + 1)

    def step(to):
        intervals = daemon.status()["history"]["intervals"]
        clock.step(to)
        assert waiting.until(lambda: daemon.status()["history"]["intervals"] > intervals, bool)

    def asked(since, until=None):
        parameters = {"until": text(until)} if until else {}
        return daemon.call("GetDrops", since=text(since), netns=str(pair.right.inode),
                           **parameters)

    refuse(100, 100)
    step(begin + 3 * HOUR)
    refuse(50, 150)
    reply = asked(begin)
    assert reply["packets"] == 150
    # What the step left out.
    gaps = [(seconds(gap["from"]), seconds(gap["to"])) for gap in reply["period"]["gaps"]]
    assert len(gaps) == 1 and begin < gaps[0][0] < begin + 20 and gaps[0][1] == begin + 3 * HOUR
    assert reply["period"]["covered_ns"] < 30e9
    assert asked(begin, begin + HOUR)["packets"] == 100
    with pytest.raises(VarlinkError, match="recorded nothing"):
        asked(begin + HOUR, begin + 3 * HOUR - 10)
    assert asked(begin + 3 * HOUR - 10)["packets"] == 50

    # Back by an hour, as NTP does where the clock was wrong.
    step(begin + 2 * HOUR)
    refuse(30, 180)
    step(begin + 2 * HOUR + MINUTE)
    assert asked(begin, begin + HOUR)["packets"] == 100
    assert asked(begin + 2 * HOUR - 10, begin + 2 * HOUR + 30)["packets"] == 80
    step(begin + 4 * HOUR)
    with pytest.raises(VarlinkError, match="recorded nothing"):
        asked(begin + 3 * HOUR - 10, begin + 3 * HOUR + 30)
    assert asked(begin)["packets"] == 180
    assert daemon.stop() == 0
    daemon.start()
    assert asked(begin, begin + 4 * HOUR + MINUTE)["packets"] == 180 or \
        asked(begin)["packets"] == 180
    clock.close()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing is said about time that the history does not cover: with a history that is seconds old,
with gaps, and with a disk that is full, every answer says what was asked for, and what of it is
covered."""

import contextlib
import datetime
import re
import signal
import sqlite3
import time

import pytest

from lab import waiting
from lab.disk import small_disk
from lab.varlink import VarlinkError

FAST = "history.interval=1s"
METHODS = ("GetDrops", "GetDropRecords", "GetLatency", "GetLatencyRecords", "GetNapi", "GetSlots",
           "GetSlotsRecords", "GetAlerts", "GetIncidents")
COMMANDS = (("drops",), ("drops", "--by", "reason"), ("drops", "--by", "flow"),
            ("drops", "--records"), ("latency",), ("latency", "--by", "dev"), ("napi",),
            ("slots",), ("slots", "--records"), ("slow",), ("alerts",), ("incidents",),
            ("export", "--format", "json"), ("report", "--html", "-"))


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


def seconds(text):
    return datetime.datetime.fromisoformat(text).timestamp()


def intervals(daemon, count):
    """Wait until this many more intervals are on disk."""
    wanted = daemon.status()["history"]["intervals"] + count
    assert waiting.until(lambda: daemon.status()["history"]["intervals"] >= wanted, bool)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "history"


@pytest.mark.smoke
def test_a_history_that_is_seconds_old(start, directory):
    before = time.time()
    daemon = start(FAST, history=directory)
    intervals(daemon, 1)
    history = daemon.status()["history"]
    begun = seconds(history["oldest"])
    # Not the begin of a bucket of 2 h.
    assert before - 0.1 < begun < time.time()
    asked = ("--since", moment(begun - 86400), "--until", moment(begun - 85800))

    nothing_before(daemon, begun, asked)
    partly(daemon, begun)
    to_come(daemon, begun)
    compared(daemon)


def nothing_before(daemon, begun, asked):
    """Each method refuses, and each command says the same, with exit status 1."""
    says = None
    for method in METHODS:
        with pytest.raises(VarlinkError) as refused:
            daemon.call(method, since=asked[1], until=asked[3])
        assert refused.value.error == "io.netflowd.NotCovered", method
        told = refused.value.parameters
        assert seconds(told["since"]) == pytest.approx(begun - 86400, abs=1e-3)
        assert seconds(told["until"]) == pytest.approx(begun - 85800, abs=1e-3)
        assert seconds(told["after"]) == pytest.approx(begun, abs=1e-3) and "before" not in told
    for words in COMMANDS:
        for more in ((), ("--json",)):
            if more and words[0] in ("export", "report"):
                continue
            done = daemon.netflowctl(*words, *asked, *more)
            assert done.returncode == 1 and not done.stdout, done
            says = says or done.stderr
            assert done.stderr == says
    assert re.fullmatch(r"netflowctl: no history from [-0-9: +]* to [-0-9: +]*: it begins at "
                        r"[-0-9: +]*\n", says), says
    assert f"{datetime.datetime.fromtimestamp(begun):%H:%M:%S}" in says.split("begins at")[1]
    done = daemon.netflowctl("drops", "--until", asked[3])
    assert done.returncode == 1 and "no history to " in done.stderr


def partly(daemon, begun):
    """An hour, of which there are seconds."""
    for method in METHODS:
        since = time.time() - 3600
        period = daemon.call(method, since=moment(since))["period"]
        now = time.time()
        assert period["gap_count"] == 1
        gap, = period["gaps"]
        assert seconds(gap["from"]) == pytest.approx(since, abs=1e-3)
        assert gap["to"] == period["from"] == period["begins"]
        assert seconds(period["begins"]) == pytest.approx(begun, abs=1e-3)
        # The counters can be of a moment before.
        assert 3599 <= period["asked_ns"] / 1e9 <= now - since
        covered = period["asked_covered_ns"] / 1e9
        assert covered == pytest.approx(period["asked_ns"] / 1e9 - (begun - since), abs=0.2)
        assert period["asked_covered_ns"] <= period["covered_ns"]
        assert "failing" not in period
    assert daemon.call("GetDrops", since=moment(time.time() - 3600))["exact"] is False
    # All of the history, and only what it covers.
    period = daemon.call("GetDrops", until=moment(time.time()))
    assert period["exact"] is True and period["period"]["gap_count"] == 0
    assert period["period"]["since"] == period["period"]["begins"]
    whole = daemon.call("GetDrops", since=moment(begun + 0.01))
    assert whole["exact"] is True, whole["period"]
    for words in COMMANDS[:-2]:
        text = daemon.netflowctl(*words, "--since", "1h").stdout
        assert re.search(r"history: covers [0-9.]+ m?s of (1 h 00 min|59 min 59 s), in buckets of "
                         r"up to \S+ \w+[^;]*; it begins at 20", text), (words, text)
        assert "No packet was dropped" not in text and "not recorded from" not in text
    time.sleep(max(0, begun + 1.5 - time.time()))
    text = daemon.netflowctl("drops", "--since", "1s").stdout
    assert re.search(r"history: covers all of ([1-4]\.\d+ s|\d+ ms), in buckets", text), text
    page = daemon.netflowctl("report", "--html", "-", "--since", "1h").stdout
    assert len(re.findall(r" of (?:1 h 00 min|59 min 59 s), in buckets of up to ", page)) == 2
    assert "No packet was dropped" not in page


def to_come(daemon, begun):
    done = daemon.netflowctl("drops", "--since", moment(time.time() + 60))
    assert done.returncode == 2 and "--since is still to come" in done.stderr
    with pytest.raises(VarlinkError) as refused:
        daemon.call("GetDrops", since=moment(time.time() + 60), until=moment(time.time() + 90))
    assert refused.value.parameters["reason"] == "this time is still to come"
    reply = daemon.call("GetDrops", since=moment(begun), until=moment(begun + 1000))
    assert reply["exact"] is False and reply["period"]["asked_ns"] == pytest.approx(1e12)
    assert reply["period"]["asked_covered_ns"] < 900e9
    text = daemon.netflowctl("drops", "--since", moment(begun), "--until",
                             moment(begun + 1000)).stdout
    assert re.search(r"covers .* of 16 min 40 s, .*; the time after .* is still to come", text)
    assert "No packet was dropped" not in text


def compared(daemon):
    for more in ((), ("--json",)):
        done = daemon.netflowctl("drops", "--since", "1s", "--compare", "24h", *more)
        assert done.returncode == 1 and not done.stdout, done
        assert re.fullmatch(r"netflowctl: not enough history to compare: (nothing|[0-9.]+ m?s) of "
                            r"1 d 00 h; it begins at [-0-9: +]*\n", done.stderr), done.stderr


def test_gaps(start, directory):
    """The newest of ten thousand gaps are listed, the newest first, and the others are counted."""
    daemon = start(FAST, history=directory)
    intervals(daemon, 1)
    daemon.stop(signal.SIGKILL)
    now = int(time.time())
    with contextlib.closing(sqlite3.connect(f"{directory}/history.db")) as file:
        file.execute("UPDATE meta SET value = 0 WHERE name LIKE 'cut%'")
        file.executemany("INSERT INTO span (begun, ended, coverage) SELECT ?, ?, min(id)"
                         " FROM coverage",
                         ((begun * 10**6, (begun + 20) * 10**6)
                          for begun in range(now - 300_040, now - 40, 30)))
        # Records are deleted first.
        file.execute("INSERT INTO meta VALUES ('records', ?)", ((now - 10) * 10**6,))
        file.commit()
    daemon.start()
    since = now - 300_000
    took, reply = waiting.time_and_result(
        lambda: daemon.call("GetDrops", since=moment(since)), daemon.pid)
    assert took < 5
    period = reply["period"]
    assert period["gap_count"] >= 9_990 and len(period["gaps"]) == 64
    edges = [seconds(gap["from"]) for gap in period["gaps"]]
    assert edges == sorted(edges, reverse=True)
    # Between both runs.
    assert now - 2 < seconds(period["gaps"][0]["to"]) <= time.time()
    assert period["asked_covered_ns"] / period["asked_ns"] == pytest.approx(2 / 3, abs=0.01)
    assert reply["exact"] is False
    text = daemon.netflowctl("drops", "--since", moment(since)).stdout
    newest = re.findall(r"not recorded from [-0-9]* ([0-9:]*)", text)
    assert len(newest) == 5
    assert newest[0] == f"{datetime.datetime.fromtimestamp(edges[0]):%H:%M:%S}"
    assert re.search(r"and 9,9\d\d older gaps; --json lists the newest 64", text)
    page = daemon.netflowctl("report", "--html", "-", "--since", moment(since)).stdout
    assert re.search(r"and 9,9\d\d more times, earlier", page)
    # In one of them.
    begun = edges[5] + 3
    done = daemon.netflowctl("latency", "--since", moment(begun), "--until", moment(begun + 2))
    assert done.returncode == 1 and re.search(
        r"no history from .*: netflowd recorded nothing from [-0-9: +]* to ", done.stderr), done


    without_records(daemon, since, now - 60)


def without_records(daemon, since, until):
    """There are counters of that time, and no records any more."""
    asked = {"since": moment(since), "until": moment(until)}
    for method in ("GetDropRecords", "GetLatencyRecords", "GetSlotsRecords", "GetAlerts"):
        with pytest.raises(VarlinkError, match="NotCovered"):
            daemon.call(method, **asked)
    with pytest.raises(VarlinkError, match="NotCovered"):
        daemon.call("GetDrops", by="flow", **asked)
    assert daemon.call("GetDrops", **asked)["period"]["asked_covered_ns"]
    asked = ("--since", asked["since"], "--until", asked["until"])
    page = daemon.netflowctl("report", "--html", "-", *asked)
    assert page.returncode == 0 and not page.stderr
    assert "The history has no alert, but it does not cover all of this time." in page.stdout
    assert "No alert fired" not in page.stdout
    lines = daemon.netflowctl("export", "--format", "ndjson", *asked)
    assert lines.returncode == 0 and '"of":"drops"' in lines.stdout
    assert '"of":"event"' not in lines.stdout


def test_full_disk(start, tmp_path):
    """The gap of now is the first, whatever was before, and the answer says why it grows."""
    with small_disk(tmp_path / "disk", "8m") as disk:
        daemon = start(FAST, history=disk / "history")
        intervals(daemon, 1)
        for _ in range(6):
            daemon.stop(signal.SIGKILL)
            daemon.start()
            intervals(daemon, 1)
        begun = time.time()
        assert "failing" not in daemon.call("GetDrops", since=moment(begun - 1))["period"]
        with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as to:
            while True:
                to.write(bytes(4096))
        # The file has some room of its own.
        assert waiting.until(lambda: daemon.status()["history"]["state"] == "failing", bool,
                             seconds=40)
        assert waiting.until(lambda: daemon.status()["history"]["lost_intervals"] >= 3, bool)
        period = daemon.call("GetDrops", since=moment(begun - 300))["period"]
        assert "full" in period["failing"]
        # What came after the last interval is in memory.
        assert time.time() - 4 < seconds(period["gaps"][0]["to"]) < time.time()
        text = daemon.netflowctl("drops", "--since", "5m").stdout
        assert re.search(r"The history cannot be written now: .*full.*; what happens until it can "
                         r"is missing", text), text
        first = re.search(r"not recorded from .*", text).group()
        assert seconds(period["gaps"][0]["from"]) > begun - 1
        assert f"{datetime.datetime.fromtimestamp(seconds(period['gaps'][0]['from'])):%H:%M:%S}" \
            in first
        page = daemon.netflowctl("report", "--html", "-", "--since", "5m").stdout
        assert "The history cannot be written now: " in page
        old = daemon.call("GetDrops", since=moment(begun - 300), until=moment(begun - 0.5))
        assert "failing" not in old["period"]


def test_damaged_parts(start, silent_pair, directory):
    """Names, numbers and records that are not valid are left out, and every answer says so."""
    daemon = start(FAST, history=directory)
    period = ("--since", moment(time.time()))
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 4217)
    assert waiting.settled(lambda: daemon.dropped(silent_pair.right_device, "ipv4/udp"),
                           4217) == 4217
    intervals(daemon, 2)
    daemon.stop()
    with contextlib.closing(sqlite3.connect(f"{directory}/history.db")) as file:
        file.execute("UPDATE series SET name = x'ff00' WHERE kind = 1")
        file.execute("UPDATE bucket SET value = x'ff' WHERE kind <> 1")
        file.execute("UPDATE record SET body = x'ff'")
        file.commit()
    daemon.start()
    for method in ("GetDrops", "GetLatency", "GetDropRecords"):
        assert daemon.call(method, since=period[1])["period"]["damaged"] is True, method
    drops = daemon.call("GetDrops", since=period[1], netns=str(silent_pair.right.inode))
    assert drops["exact"] is False and drops["packets"] == 0
    for words in (("drops",), ("drops", "--records"), ("latency",)):
        text = daemon.netflowctl(*words, *period).stdout
        assert "; parts of its file are damaged and left out" in text, (words, text)

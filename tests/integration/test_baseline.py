# SPDX-License-Identifier: GPL-2.0-or-later
"""The baseline of a host: a day passes in a minute, with drops that a script makes.  What goes on
all day is background, what comes again is recurring, what begins is new, and what gets ten times as
much has grown; a daemon that starts again still knows.

The packets, the drops and the daemon are real.  The host's clock, as the daemon sees it, is the
test's: see lab/clock.py."""

import functools
import json
import os
import re
import signal
import socket

import pytest

from lab import paths, waiting
from lab.clock import Clock, seconds, text, written

pytestmark = [
    pytest.mark.usefixtures("bpf"),
    # The sanitizer's library must be the first one of a process.
    pytest.mark.skipif(paths.VARIANT == "asan", reason="LD_PRELOAD does not work with ASan")]

# A boundary of all resolutions of the history.
BEGIN = 1774742400
STEP, HOUR = 600, 3600
# The clock stands so long before the end of a bucket: the daemon's next interval comes after that.
BEFORE_END = 0.05
USUAL = 30
# Of other namespaces than the host's, causes of one kind have one mark together.  Other tests run
# at the same time, and drop no such packets by a rule.
STEADY, AGAIN, LATER = "ipv4/esp", "ipv4/vrrp", "ipv4/sctp"
PROTOCOLS = {STEADY: 50, AGAIN: 112, LATER: 132}


class Day:
    """A daemon whose clock moves in steps of ten minutes, and three causes of drops."""

    def __init__(self, start, lab, directory):
        self.clock = Clock(directory, BEGIN + STEP - BEFORE_END)
        self.directory = directory
        self.pair = lab.pair(ipv6=False)
        numbers = ", ".join(map(str, PROTOCOLS.values()))
        self.pair.right.nft_drop("input", f"meta l4proto {{ {numbers} }}")
        self.daemon = start.make("history.size=1073741824", history=directory / "history",
                                 environment=self.clock.environment)
        self.daemon.start()

    def send(self, protocol, count):
        """Packets that nftables drops: a cause for each protocol."""
        with self.pair.left.entered():
            end = socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTOCOLS[protocol])
        with end:
            for _ in range(count):
                end.sendto(b"netflowd", (self.pair.RIGHT4, 0))

    def tick(self, steps=1):
        """Ten minutes pass."""
        for _ in range(steps):
            self.clock.advance(self.clock.now + STEP)
            written(self.daemon, self.clock.now)

    def until(self, hour, event=None, at=None):
        """Time passes with the usual drops, and with an event at that hour."""
        while self.clock.now < BEGIN + hour * HOUR - STEP:
            if event and self.clock.now >= BEGIN + at * HOUR:
                event()
                event = None
            self.send(STEADY, USUAL)
            self.tick()

    def drops(self, **parameters):
        return self.daemon.call("GetDrops", netns=str(self.pair.right.inode), **parameters)

    def rows(self, **parameters):
        """Of the three causes, by protocol."""
        return {row["protocol"]: row for row in self.drops(**parameters)["rows"]
                if row["protocol"] in PROTOCOLS}

    def marks(self, **parameters):
        return {cause: row.get("baseline", {}).get("mark")
                for cause, row in self.rows(**parameters).items()}

    def cli(self, *words):
        done = self.daemon.netflowctl(*words, env={**os.environ, **self.clock.environment})
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout


@pytest.fixture
def day(start, lab, tmp_path):
    made = Day(start, lab, tmp_path)
    yield made
    made.clock.close()


def wait_for(day, expected, **parameters):
    """The marks are those of the last minute of the daemon's clock."""
    found = waiting.settled(functools.partial(day.marks, **parameters), expected)
    assert found == expected


def check_too_little(day):
    day.send(STEADY, USUAL)
    assert waiting.until(lambda: STEADY in day.rows(), bool)
    written(day.daemon, day.clock.now)
    reply = day.drops()
    baseline = reply["baseline"]
    assert not baseline["ready"] and "18 h" in baseline["reason"]
    assert not any("baseline" in row for row in reply["rows"])
    assert "Nothing is marked as new, grown or background: netflowd has counted drops in " in \
        day.cli("drops")


def check_periods(day):
    """The past has the same marks if it ends now, and otherwise none."""
    since = text(day.clock.now - 2 * HOUR)
    wait_for(day, day.marks(), since=since)
    reply = day.drops(since=since, until=text(day.clock.now - HOUR))
    assert "baseline" not in reply and reply["rows"]
    assert not any("baseline" in row for row in reply["rows"])
    # All causes of a reason together: the most urgent mark.
    for parameters in ({}, {"since": text(BEGIN)}):
        marks = {row["reason"]: row["baseline"]["mark"]
                 for row in day.drops(by="reason", **parameters)["rows"]
                 if row.get("reason") == "NETFILTER_DROP"}
        assert marks == {"NETFILTER_DROP": "new"}
        wait_for(day, {STEADY: "background", AGAIN: "recurring", LATER: "new"}, by="proto",
                 **parameters)


def check_new(day):
    row = day.rows()[LATER]
    since = seconds(row["baseline"]["since"])
    assert 0 <= day.clock.now - since <= HOUR
    assert row["baseline"]["usual_per_second"] == 0


@pytest.mark.usefixtures("reasons")
def test_a_day(day):
    check_too_little(day)
    # Two bursts, 16 hours apart.
    day.until(9, lambda: day.send(AGAIN, 100), 8)
    day.until(22)
    check_too_little(day)
    day.until(26, lambda: day.send(AGAIN, 100), 24)
    assert day.drops()["baseline"]["ready"]
    wait_for(day, {STEADY: "background", AGAIN: "recurring"})
    usual = day.rows()[STEADY]["baseline"]["usual_per_second"]
    assert 0.9 * USUAL / STEP < usual < 1.1 * USUAL / STEP

    # The first packet of a cause is new, at once.
    day.send(LATER, 1)
    wait_for(day, {STEADY: "background", AGAIN: "recurring", LATER: "new"})
    day.send(STEADY, USUAL)
    day.tick()
    wait_for(day, {STEADY: "background", AGAIN: "recurring", LATER: "new"})
    check_new(day)
    check_periods(day)

    # Ten times the rate.
    day.send(STEADY, 10 * USUAL)
    day.tick()
    expected = {STEADY: "grown", AGAIN: "recurring", LATER: "new"}
    wait_for(day, expected)
    # All are of one class: the new one leads, though it has the fewest packets.
    for parameters in ({}, {"since": text(BEGIN)}):
        assert list(day.rows(**parameters)) == [LATER, STEADY, AGAIN]
    page = day.cli("drops", "--netns", str(day.pair.right.inode))
    assert all(mark in page for mark in ("grown", "recurring", "new"))
    frame = day.cli("top", "--count", "1", "--dev", day.pair.right_device.name)
    assert re.search(r"NETFILTER_DROP .* policy +new ", frame), frame
    html = day.directory / "report.html"
    day.cli("report", "--html", str(html), "--since", "1h")
    assert ">grown</td>" in html.read_text()
    lines = map(json.loads, day.cli("export", "--format", "ndjson").splitlines())
    exported = [line for line in lines
                if line["type"] == "drops" and line.get("netns") == day.pair.right.inode]
    assert {line["protocol"]: line["baseline"]["mark"] for line in exported
            if line["protocol"] in PROTOCOLS} == expected

    # A daemon that starts again has counters of its own, and the same marks.
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        day.daemon.stop(signal_)
        day.clock.advance(day.clock.now + 60)
        day.daemon.start()
        for protocol in PROTOCOLS:
            day.send(protocol, 1)
        written(day.daemon, day.clock.now)
        wait_for(day, expected)
        check_new(day)
        assert day.drops()["baseline"]["ready"]

    # The rate of before: an hour later it is background, and the other stays new for half a day.
    day.until(29)
    wait_for(day, {STEADY: "background", AGAIN: "recurring", LATER: "new"})


def test_without_a_history(daemon, lab):
    """No history, no marks; the reply and the table say why."""
    pair = lab.pair(ipv6=False)
    assert pair.left.send_udp(pair.RIGHT4, 9, 3) == 3
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), 3) == 3
    reply = daemon.call("GetDrops")
    assert reply["baseline"] == {"ready": False, "covered_ns": 0, "causes": 0, "joined": 0,
                                 "full": False, "reason": reply["baseline"]["reason"]}
    assert reply["baseline"]["reason"].startswith("no history: history.enabled is no; ")
    assert not any("baseline" in row for row in reply["rows"])
    done = daemon.netflowctl("drops")
    assert "Nothing is marked as new, grown or background: no history: " in done.stdout
    assert "baseline" not in daemon.call("GetDrops", by="flow")

# SPDX-License-Identifier: GPL-2.0-or-later
"""An interval is what it was: one in which netflowd was paused, or was stopped and read its
counters late, says so in all answers that touch it; and one in which the host's clock was wrong is
found where it was."""

import os
import re
import signal
import time

import pytest

from lab import patience, waiting
from lab.clock import Clock, seconds, text, written

FAST = "history.interval=1s"
# 2026-03-01 00:00 UTC, on a boundary of every resolution.
BEGIN = 1772323200


def intervals(daemon, count):
    """Wait until this many more intervals are on disk."""
    wanted = daemon.status()["history"]["intervals"] + count
    assert waiting.until(lambda: daemon.status()["history"]["intervals"] >= wanted, bool, 20)


def paused(daemon, **parameters):
    """The beginning and the end of a pause, in which packets are dropped."""
    begun = time.time()
    daemon.call("Pause", **parameters)
    time.sleep(1.2)
    daemon.call("Resume")
    return begun, time.time()


def test_a_pause_is_a_gap(start, silent_pair, tmp_path):
    """The time without probes is not covered, whether intervals end in it or not."""
    pair = silent_pair
    daemon = start(FAST, history=tmp_path / "history")
    # The first ends with a full second, and can be short.
    intervals(daemon, 2)
    since = text(time.time() - 0.2)
    pair.left.send_udp(pair.RIGHT4, 9, 30)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), 30) == 30
    begun = time.time()
    daemon.call("Pause", all=True)
    pair.left.send_udp(pair.RIGHT4, 9, 40)
    time.sleep(1.2)
    # An answer of now, before the interval is over.
    now = daemon.call("GetDrops", since=since, device=pair.right_device.name)
    daemon.call("Resume")
    ended = time.time()
    pair.left.send_udp(pair.RIGHT4, 9, 7)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), 37) == 37
    intervals(daemon, 2)
    reply = daemon.call("GetDrops", since=since, device=pair.right_device.name)
    for answer, packets in ((now, 30), (reply, 37)):
        period = answer["period"]
        assert period["gap_count"] == 1, (since, period["begins"], period["gaps"])
        gap, = period["gaps"]
        assert gap["reason"] == "paused" and answer["packets"] == packets, answer
        assert begun - 0.01 < seconds(gap["from"]) and seconds(gap["to"]) < ended + 0.01
        assert seconds(gap["to"]) - seconds(gap["from"]) > 1.1
        missing = (period["asked_ns"] - period["asked_covered_ns"]) / 1e9
        assert missing == pytest.approx(seconds(gap["to"]) - seconds(gap["from"]), abs=1e-3)
        assert answer["exact"] is False
    shown = daemon.netflowctl("drops", "--since", since, "--dev", pair.right_device.name).stdout
    assert re.search(r"not recorded from .*: netflowd was paused", shown), shown
    page = daemon.netflowctl("report", "--html", "-", "--since", since).stdout
    assert ": netflowd was paused" in page


def test_a_pause_of_stages_is_known_later(start, silent_pair, tmp_path):
    """It is over before the interval ends, and the interval knows that it was."""
    del silent_pair
    daemon = start(history=tmp_path / "history")
    since = text(time.time())
    daemon.call("Pause")
    daemon.call("Resume")
    coverage = daemon.call("GetLatency", since=since)["period"]["coverage"]
    assert any(row["question"] == "rx_latency" and row["state"] == "unavailable"
               and "paused" in row["reason"] for row in coverage), coverage


def test_a_stopped_daemon_has_a_long_interval(start, silent_pair, tmp_path):
    """What the kernel counted while netflowd could not read it is not put beside a silence: an
    answer has the whole time that it stood, or nothing of it."""
    pair, clock = silent_pair, Clock(tmp_path, BEGIN + 9.9)
    where = pair.right_device.name
    daemon = start(FAST, history=tmp_path / "history", environment=clock.environment)
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        pair.left.send_udp(pair.RIGHT4, 9, 1055)
        clock.advance(BEGIN + 52)
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    written(daemon, clock.now)
    for at in range(60, 100, 10):
        clock.advance(BEGIN + at)
        written(daemon, clock.now)
    for at in range(10, 60, 10):
        reply = daemon.call("GetDrops", device=where, since=text(BEGIN + at),
                            until=text(BEGIN + at + 10))
        period = reply["period"]
        assert reply["packets"] == 1055
        assert seconds(period["from"]) <= BEGIN + 10.1 and seconds(period["to"]) >= BEGIN + 52
    assert daemon.call("GetDrops", device=where, since=text(BEGIN + 70))["packets"] == 0
    page = daemon.netflowctl("report", "--html", "-", "--since", text(BEGIN), "--until",
                             text(BEGIN + 89), env={**os.environ, **clock.environment})
    assert page.returncode == 0, page
    clock.close()


def test_a_clock_that_was_ahead(start, silent_pair, tmp_path):
    """It is ahead by 30 days for 13 s, and is corrected: what was before, while and after is found
    by all that asks for the last minutes, also after a restart."""
    pair, clock = silent_pair, Clock(tmp_path, BEGIN + 10.1)
    where, ahead = pair.right_device.name, 30 * 86400
    daemon = start(FAST, history=tmp_path / "history", environment=clock.environment)
    environment = {**os.environ, **clock.environment}
    sent = 0

    def reached():
        """An interval that ends at this time of the clock is on disk, not one that was under way
        when the clock moved."""
        def ended():
            when = daemon.status()["history"].get("written")
            return when and abs(seconds(when) - clock.now) < 1e-4
        assert waiting.until(ended, bool, seconds=10)

    def refuse(count, then):
        nonlocal sent
        sent += count
        pair.left.send_udp(pair.RIGHT4, 9, count)
        assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), sent) == sent
        clock.advance(clock.now + then)
        reached()

    def step(now):
        clock.step(now)
        reached()

    def check():
        reply = daemon.call("GetDrops", device=where, since=text(BEGIN + 10.2),
                            until=text(clock.now))
        assert reply["packets"] == 127 and not reply["period"]["gaps"], reply
        steps = reply["period"]["clock_steps"]
        assert [round(one["by_ns"] / 1e9) for one in steps] == [-ahead, ahead]
        # A slow machine is late.
        assert all(abs(seconds(one["at"]) - at) < patience.seconds(0.5)
                   for one, at in zip(steps, (BEGIN + 33, BEGIN + 20))), steps
        records = daemon.call("GetDropRecords", device=where, since=text(BEGIN))["records"]
        # An interval has 20 records, of drops of other tests, too.
        assert len(records) >= 3
        assert all(BEGIN <= seconds(record["time"]) <= clock.now for record in records)
        shown = daemon.netflowctl("drops", "--since", "10m", "--dev", where, env=environment)
        assert re.search(r"\b127\b", shown.stdout), shown
        assert "the clock was set back by 30 d" in shown.stdout, shown

    refuse(30, 10)
    step(clock.now + ahead)
    refuse(20, 13)
    step(clock.now - ahead)
    refuse(77, 10)
    check()
    assert daemon.stop() == 0
    daemon.start()
    check()
    clock.close()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon that restarts while a command follows it: the command waits, goes on, and says so."""

import json
import re
import signal
import subprocess
import time

import pytest

from lab import patience, paths, waiting
from lab.terminal import Terminal

pytestmark = pytest.mark.usefixtures("cli", "bpf")

FINE, UNREACHABLE = 0, 3
# cli/ask/away.h
AWAY_MAX_SECONDS = 60
GONE = f"netflowctl: the daemon is away; waiting up to {AWAY_MAX_SECONDS} s for it\n"
BACK = (re.escape(GONE) + r"netflowctl: the daemon was away for [\d.]+ (ms|s); "
        r"records of this time may be missing\n")
STREAMS = (("drops", "--follow"), ("slow", "--follow"), ("slots", "--follow"),
           ("alerts", "--follow"))
TOP = ("top", "--interval", "0.2", "--count", "1000000")


def begin(daemon, *words):
    return subprocess.Popen([paths.CLI, "--socket", daemon.socket_path, *words], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    return (*process.communicate(timeout=patience.seconds(10)), process.returncode)


def wait_for_streams(daemon, count):
    found = waiting.until(lambda: daemon.status()["clients"]["streams"], lambda n: n == count, 20)
    assert found == count


def restart(daemon, number=signal.SIGTERM, away=0.5):
    daemon.stop(number)
    time.sleep(away)
    daemon.start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_streams_go_on(start, silent_pair, number):
    """Exactly the drops while a daemon runs are printed, by one process."""
    pair = silent_pair
    daemon = start()
    follow = begin(daemon, "drops", "--follow", "--json", "--netns", str(pair.right.inode))
    wait_for_streams(daemon, 1)
    pair.left.send_udp(pair.RIGHT4, 2000, 3)
    first = [json.loads(follow.stdout.readline()) for _ in range(3)]
    restart(daemon, number)
    wait_for_streams(daemon, 1)
    pair.left.send_udp(pair.RIGHT4, 3000, 4)
    second = [json.loads(follow.stdout.readline()) for _ in range(4)]
    rest, errors, status = end(follow)
    assert (rest, status) == ("", FINE)
    assert re.fullmatch(BACK, errors), errors
    ports = [record["transport"]["destination_port"] for record in first + second]
    assert ports == [2000] * 3 + [3000] * 4


def test_each_stream(start):
    daemon = start()
    follows = [begin(daemon, *words) for words in STREAMS]
    wait_for_streams(daemon, len(STREAMS))
    restart(daemon)
    wait_for_streams(daemon, len(STREAMS))
    for follow in follows:
        _, errors, status = end(follow)
        assert status == FINE and re.fullmatch(BACK, errors), errors


def test_interrupted_while_it_waits(start):
    """Ctrl-C ends the wait, and an export for some seconds ends when they are over."""
    daemon = start()
    follows = [begin(daemon, *words) for words in (*STREAMS, TOP)]
    export = begin(daemon, "export", "--format", "trace", "--follow", "2")
    wait_for_streams(daemon, len(STREAMS) + 1)
    assert follows[-1].stdout.readline()  # top has its first reading
    daemon.stop()
    for follow in follows[:-1]:
        assert follow.stderr.readline() == GONE
    time.sleep(0.5)
    for follow in follows:
        assert follow.poll() is None
        _, errors, status = end(follow)
        assert (errors, status) == ("", FINE)
    export.communicate(timeout=patience.seconds(20))
    assert export.returncode == FINE


def test_it_stays_away(start):
    """The exit status is that of a daemon that cannot be reached."""
    daemon = start()
    follows = [begin(daemon, *words) for words in (*STREAMS, TOP)]
    wait_for_streams(daemon, len(STREAMS))
    assert follows[-1].stdout.readline()  # top has its first reading
    begun = time.monotonic()
    daemon.stop()
    for follow, words in zip(follows, (*STREAMS, TOP)):
        _, errors = follow.communicate(timeout=AWAY_MAX_SECONDS + patience.seconds(20))
        assert follow.returncode == UNREACHABLE
        assert errors.removeprefix("" if words is TOP else GONE) == (
            "netflowctl: the daemon did not return within 60 s; as root, "
            "`systemctl status netflowd` shows why\n")
    assert time.monotonic() - begun > AWAY_MAX_SECONDS - 1


def test_top_begins_again(start, silent_pair):
    """Rates are never computed across two daemons: counters of the second one begin at 0."""
    pair = silent_pair
    daemon = start()
    pair.left.send_udp(pair.RIGHT4, 9, 500)
    top = begin(daemon, *TOP)
    assert top.stdout.readline()
    time.sleep(1)
    restart(daemon)
    back = top.stderr.readline()
    assert re.fullmatch(r"netflowctl: the daemon was away for [\d.]+ (ms|s); "
                        r"rates begin again\n", back), back
    time.sleep(1.5)
    text, errors, status = end(top)
    assert (errors, status) == ("", FINE)
    ups = [float(up) for up in re.findall(r"up ([\d.]+) (?:ms|s) ", text)]
    assert len(ups) > 4 and not re.search(r"[\d.]+ [TPE]/s", text), text


def test_top_on_a_terminal(start):
    daemon = start()
    screen = Terminal([paths.CLI, "--socket", daemon.socket_path, "top", "--interval", "0.3"])
    screen.read_until("up ")
    daemon.stop()
    screen.read_until("the daemon is away")
    daemon.start()
    screen.read_until("rates begin again")
    screen.process.send_signal(signal.SIGINT)
    assert screen.wait() == FINE

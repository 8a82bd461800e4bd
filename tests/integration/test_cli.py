# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowctl against a running daemon: it prints the daemon's answers, --json prints the reply
itself, and a sentence and an exit code report each failure."""

import json
import os
import re
import signal
import subprocess
import threading

import pytest

from lab import backends, paths, patience, waiting
from lab.daemon import netflowctl
from lab.terminal import Terminal

# All records of the tests that run beside these fit, so that none of `dropped` has to go.  And no
# scan of the kernel's other counters comes between two answers that a test compares.
pytestmark = [pytest.mark.shared("records.recent=32768", "elsewhere.interval=1h"),
              pytest.mark.usefixtures("cli")]

FINE, FAILED, USAGE, UNREACHABLE = range(4)
COMMANDS = ("status", "drops", "latency", "slow", "napi", "alerts", "top", "probes", "explain",
            "export")


DROPPED = set()  # the daemons that have seen the drops of `dropped`


@pytest.fixture(scope="module")
def kept_pair(kept_lab):
    """A pair whose right end drops what comes to port 5555."""
    pair = kept_lab.pair(ipv6=False)
    pair.right.nft_drop("input", "udp dport 5555")
    return pair


@pytest.fixture(scope="module")
def quiet(kept_lab):
    """A namespace in which nothing happens."""
    return kept_lab.namespace(ipv6=False)


@pytest.fixture
def daemon(kept_pair, quiet, daemon):
    """These namespaces are older than the daemon, and stay: it has seen no other with the number of
    one of them, by which netflowctl selects."""
    return daemon


@pytest.fixture
def dropped(kept_pair, daemon):
    """Thirty drops because there is no socket, ten by a firewall; all that the right end drops."""
    pair = kept_pair
    if daemon not in DROPPED:
        pair.left.send_udp(pair.RIGHT4, 9, 30, "-p", 4444)
        pair.left.send_udp(pair.RIGHT4, 5555, 10)
        assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), 40) == 40
        DROPPED.add(daemon)
    return daemon, pair


def fine(done):
    assert done.returncode == FINE, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_help_and_version(built):
    text = fine(netflowctl("--help"))
    assert all(command in text for command in COMMANDS)
    assert fine(netflowctl("help")) == text
    for command in COMMANDS:
        assert command in fine(netflowctl(command, "--help"))
        assert fine(netflowctl("help", command)) == fine(netflowctl(command, "-h"))
    assert "netflowctl" in fine(netflowctl("--version"))


@pytest.mark.portable
@pytest.mark.smoke
@pytest.mark.parametrize("command", ["status", "drops", "latency", "probes"])
def test_plain_output(dropped, command):
    daemon, _ = dropped
    text = fine(daemon.netflowctl(command))
    assert len(text.splitlines()) > 3
    assert "\x1b" not in text, "escape sequences without a terminal"


@pytest.mark.parametrize("arguments, method, parameters", [
    (["drops"], "GetDrops", {}),
    (["drops", "--by", "reason"], "GetDrops", {"by": "reason"}),
    (["drops", "--by", "dev", "--top", "1"], "GetDrops", {"by": "dev", "top": 1}),
    (["drops", "--records", "--limit", "5"], "GetDropRecords", {"limit": 5}),
    (["latency"], "GetLatency", {}),
])
def test_json_is_the_reply(dropped, arguments, method, parameters):
    daemon, pair = dropped
    got = json.loads(fine(daemon.netflowctl(*arguments, "--netns", pair.right.inode, "--json")))
    said = daemon.call(method, **parameters, netns=str(pair.right.inode))
    # `held` has the records of other tests, too.
    for changes in ("time", "since", "elapsed_ns", "held"):
        got.pop(changes, None)
        said.pop(changes, None)
    assert _steady(got) == _steady(said)


def _steady(value):
    """The value without times of day, whose last digits come from two readings of the clocks."""
    if isinstance(value, dict):
        return {k: _steady(v) for k, v in value.items() if k not in ("last", "time")}
    return [_steady(v) for v in value] if isinstance(value, list) else value


def test_status_shows_the_ledger(dropped):
    daemon, _ = dropped
    status = json.loads(fine(daemon.netflowctl("status", "--json")))
    assert status["daemon"]["pid"] == daemon.pid
    text = fine(daemon.netflowctl("status"))
    assert str(daemon.pid) in text
    for word in ("hits", "counted", "throttled", "ring", "begun", "overwritten", backends.RUNNING,
                 os.uname().release):
        assert word in text, text


def test_drops_table(dropped, reasons):
    daemon, pair = dropped
    text = fine(daemon.netflowctl("drops", "--netns", pair.right.inode))
    for reason, packets in (("NO_SOCKET", "30"), ("NETFILTER_DROP", "10")):
        line, = [line for line in text.splitlines() if reason in line]
        assert re.search(rf"\b{packets}\b", line), line
        assert pair.right_device.name in line
    only = fine(daemon.netflowctl("drops", "--reason", "NO_SOCKET", "--dev",
                                  pair.right_device.name))
    assert "NO_SOCKET" in only and "NETFILTER_DROP" not in only


@pytest.mark.parametrize("by", ["reason", "location", "dev", "proto", "netns", "flow"])
def test_drops_by(dropped, by):
    daemon, pair = dropped
    text = fine(daemon.netflowctl("drops", "--by", by, "--netns", pair.right.inode))
    assert re.search(r"\b40\b|\b30\b", text), text


def test_records(dropped):
    daemon, pair = dropped
    text = fine(daemon.netflowctl("drops", "--records", "--netns", pair.right.inode))
    lines = [line for line in text.splitlines() if f"{pair.RIGHT4}:9" in line]
    assert len(lines) == 30
    assert all(f"{pair.LEFT4}:4444" in line and pair.right_device.name in line for line in lines)


def test_latency_has_units_and_a_histogram(dropped):
    daemon, pair = dropped
    text = fine(daemon.netflowctl("latency", "--dev", pair.left_device.name))
    assert "start_xmit" in text
    assert re.search(r"\d (ns|µs|us|ms)\b", text), text


def test_ascii_where_the_locale_is(dropped):
    daemon, _ = dropped
    environment = {**os.environ, "LC_ALL": "C", "LANG": "C"}
    for command in ("latency", "drops", "status", "probes"):
        text = fine(daemon.netflowctl(command, env=environment))
        assert text.isascii(), [line for line in text.splitlines() if not line.isascii()][:3]


@pytest.mark.parametrize("arguments", [["drops"], ["drops", "--records"], ["latency"]])
def test_no_data_is_said(daemon, quiet, arguments):
    text = fine(daemon.netflowctl(*arguments, "--netns", quiet.inode))
    assert re.search(r"\b[Nn]o\b", text), text


# ---- what goes wrong ----


@pytest.mark.parametrize("arguments, words", [
    (["drop"], ["drop", "drops"]),
    (["drops", "--by", "reson"], ["reson", "reason"]),
    (["drops", "--raeson", "X"], ["--raeson", "--reason"]),
    (["drops", "--top", "many"], ["--top", "many"]),
    (["drops", "--top"], ["--top"]),
    (["latency", "extra"], ["extra"]),
    (["latency", "--netns", "0"], ["--netns", "'0'", "from 1"]),
    (["latency", "--netns", "4294967296"], ["--netns", "4294967296", "from 1"]),
    (["latency", "--netns", "../x"], ["--netns", "../x"]),
    (["top", "--interval", "0"], ["--interval", "0"]),
    (["help", "drosp"], ["drosp", "drops"]),
], ids=" ".join)
def test_wrong_usage(built, arguments, words):
    done = netflowctl(*arguments)
    assert done.returncode == USAGE, done
    assert done.stdout == ""
    assert all(word in done.stderr for word in words), done.stderr
    assert len(done.stderr.splitlines()) <= 3, done.stderr


def test_no_command_is_wrong_usage(built):
    done = netflowctl()
    assert done.returncode == USAGE
    assert "netflowctl help" in done.stderr


def test_unknown_names(dropped, reasons):
    daemon, pair = dropped
    for arguments, wrong, nearest in (
            (["drops", "--reason", "NO_SOKET"], "NO_SOKET", "NO_SOCKET"),
            (["drops", "--records", "--reason", "NO_SOKET"], "NO_SOKET", "NO_SOCKET"),
            (["drops", "--follow", "--reason", "NO_SOKET"], "NO_SOKET", "NO_SOCKET"),
            (["latency", "--dev", pair.left_device.name + "x"], pair.left_device.name + "x",
             pair.left_device.name)):
        done = daemon.netflowctl(*arguments)
        assert done.returncode == USAGE, done
        assert wrong in done.stderr and nearest in done.stderr, done.stderr


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "explain"])
def test_no_daemon(built, tmp_path, command):
    done = netflowctl("--socket", tmp_path / "none", command)
    assert done.returncode == UNREACHABLE, done
    assert str(tmp_path / "none") in done.stderr and "running" in done.stderr


def test_may_not(daemon, tmp_path):
    copy = tmp_path / "netflowctl"
    copy.write_bytes(paths.CLI.read_bytes())
    copy.chmod(0o755)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "--socket",
         daemon.socket_path, "status"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert done.returncode == UNREACHABLE, done
    assert "netflow" in done.stderr and "root" in done.stderr, done.stderr


def test_broken_pipe_is_quiet(dropped):
    daemon, _ = dropped
    done = subprocess.run(
        f"{paths.CLI} --socket {daemon.socket_path} drops --records | head -1", shell=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=patience.seconds(20))
    assert len(done.stdout.splitlines()) == 1 and not done.stderr


# ---- streams and the live view ----


def streams(daemon):
    return daemon.status()["clients"]["streams"]


def following(daemon, *options):
    """netflowctl drops --follow with these options; the daemon sends it records from now on."""
    # One that an earlier test ended is not taken for it.
    assert waiting.until(lambda: streams(daemon), lambda n: n == 0) == 0
    follow = subprocess.Popen(
        [paths.CLI, "--socket", daemon.socket_path, "drops", "--follow", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.until(lambda: streams(daemon), bool, 20)
    return follow


def test_follow(daemon, silent_pair):
    """Records as they happen, one JSON object per line, until interrupted."""
    pair = silent_pair
    follow = following(daemon, "--json", "--netns", str(pair.right.inode))
    for port in range(2000, 2020):
        pair.left.send_udp(pair.RIGHT4, port, 1)
    lines = [follow.stdout.readline() for _ in range(20)]
    follow.send_signal(signal.SIGINT)
    rest, errors = follow.communicate(timeout=patience.seconds(10))
    assert (follow.returncode, rest, errors) == (FINE, "", "")
    ports = [json.loads(line)["transport"]["destination_port"] for line in lines]
    assert ports == list(range(2000, 2020))


def test_follow_with_stacks(daemon, silent_pair):
    pair = silent_pair
    follow = following(daemon, "--stack", "--limit", "1", "--netns", str(pair.right.inode))
    pair.left.send_udp(pair.RIGHT4, 9, 1)
    text, errors = follow.communicate(timeout=patience.seconds(30))
    assert (follow.returncode, errors) == (FINE, "")
    assert "udp" in text and len(text.splitlines()) > 4, text


def test_top_in_a_pipe(dropped, silent_pair):
    daemon, pair = dropped[0], silent_pair
    sender = threading.Thread(target=pair.left.send_udp,
                              args=(pair.RIGHT4, 9, 3000, "-r", "2000"))
    sender.start()
    text = fine(daemon.netflowctl("top", "--interval", "0.5", "--count", "3"))
    sender.join()
    assert "\x1b" not in text
    assert "packets/s" in text or "/s" in text
    assert "start_xmit" in text


def test_top_on_a_terminal(dropped):
    """top takes the screen, fits into it, and restores it when interrupted."""
    daemon, _ = dropped
    screen = Terminal([paths.CLI, "--socket", daemon.socket_path, "top", "--interval", "0.3"])
    screen.read_until("\x1b[?1049h")
    screen.read_until("\x1b[?25l")
    screen.read_for(0.7)
    screen.process.send_signal(signal.SIGINT)
    assert screen.wait() == FINE
    text = screen.text
    assert "\x1b[?1049h" in text and "\x1b[?25l" in text
    assert text.rfind("\x1b[?1049l") > text.rfind("\x1b[?1049h")
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_top_gives_the_screen_back(daemon, number):
    screen = Terminal([paths.CLI, "--socket", daemon.socket_path, "top"])
    screen.read_until("\x1b[?1049h")
    screen.process.send_signal(number)
    screen.wait()
    assert screen.text.rfind("\x1b[?1049l") > screen.text.rfind("\x1b[?1049h")


# ---- the last tests: `start` and `fresh` end the daemon that the others share ----


# A packet that is dropped before it has a device gets that of an earlier packet with the same skb,
# if the daemon still follows that one.  The younger the daemon, the fewer of these there are.
def test_hostile_task_name_is_escaped(silent_pair, fresh):
    """A program's name can contain any bytes; a terminal must not interpret them."""
    daemon, pair = fresh, silent_pair
    pair.left.nft_drop("output", "udp dport 5556")
    with pair.left.entered():
        subprocess.run(["/usr/bin/python3", "-c", """
import ctypes, socket
ctypes.CDLL(None).prctl(15, b"a\\x1b[31mb\\n\\xffc", 0, 0, 0)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("10.77.1.2", 5556))
except PermissionError:
    pass
"""], check=True)
    waiting.until(lambda: daemon.records(protocol="ipv4/udp", netns=str(pair.left.inode)), bool)
    text = fine(daemon.netflowctl("drops", "--records", "--netns", pair.left.inode))
    assert ":5556" in text
    assert "\x1b" not in text
    assert len([line for line in text.splitlines() if ":5556" in line]) == 1


def test_no_data_without_a_backend(start, built):
    daemon = start("probes.backend=bpf",
                   command=[paths.TOOLS / "deny_syscall", "bpf", "EPERM"])
    for command in ("drops", "latency"):
        done = daemon.netflowctl(command)
        assert done.returncode == FAILED
        assert "bpf" in done.stderr.lower(), done.stderr
    assert "unavailable" in fine(daemon.netflowctl("status"))

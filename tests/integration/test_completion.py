# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion: interactive shells on a terminal, into which the test types a line and Tab."""

import shutil
import signal
import subprocess

import pytest

from lab import paths, patience, waiting
from lab.shell import START, Shell

pytestmark = [pytest.mark.shared, pytest.mark.usefixtures("cli")]


@pytest.fixture(scope="module", params=sorted(START))
def running_shell(request, tmp_path_factory):
    """A shell starts in a second, so each runs all tests."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    shell = Shell(request.param, tmp_path_factory.mktemp("shell"))
    yield shell
    shell.close()


@pytest.fixture
def shell(running_shell, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    running_shell.enter(home)
    return running_shell


@pytest.mark.parametrize("typed, word", [
    ("netflowctl dro", "drops"),
    ("netflowctl --no-color lat", "latency"),
    ("netflowctl drops --fau", "--faults"),
    ("netflowctl drops --sock", "--socket"),
    ("netflowctl drops --by loc", "location"),
    ("netflowctl drops --by=loc", "--by=location"),
    ("netflowctl help expl", "explain"),
    ("netflowctl explain NEIGH_FAI", "NEIGH_FAILED"),
    ("netflowctl alerts sil", "silence"),
    ("netflowctl incidents sh", "show"),
    ("netflowctl report --ht", "--html"),
    ("netflowctl report --since yest", "yesterday"),
    ("netflowctl export --format nd", "ndjson"),
    ("netflowctl slow --segment run_to", "run_to_copy"),
    ("netflowctl slow --segment=run_to", "--segment=run_to_copy"),
    ("netflowd --print-d", "--print-default-config"),
    ("netflowd --set records.ra", "records.rate="),
])
def test_words_of_the_tables(shell, typed, word):
    assert shell.complete(typed) == [*typed.split()[:-1], word]


@pytest.mark.parametrize("typed, word", [
    ("netflowctl drops --pcap cap", "capture.pcapng"),
    ("netflowctl report --html cap", "capture.pcapng"),
    ("netflowctl drops --pcap=cap", "--pcap=capture.pcapng"),
    ("netflowd --config cap", "capture.pcapng"),
    ("netflowctl diff cap", "capture.pcapng"),
    ("netflowctl diff before.dat cap", "capture.pcapng"),
])
def test_files(shell, typed, word):
    (shell.home / "capture.pcapng").touch()
    assert shell.complete(typed)[-1] == word


def test_the_list(shell):
    words = ("cgroup", "dev", "flow", "location", "netns", "proto", "reason")
    text = shell.list("netflowctl drops --by ", *words)
    assert all(word in text for word in words)


# ---- names that live ----


@pytest.fixture
def live(daemon, silent_pair):
    """A daemon that has counted drops without a socket; the options that reach it."""
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, 30)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), 30) == 30
    return daemon, pair, f"netflowctl --socket {daemon.socket_path}"


@pytest.mark.alone
def test_names_of_the_daemon(shell, live):
    _, pair, program = live
    device, inode = pair.right_device.name, str(pair.right.inode)
    assert shell.complete(f"{program} drops --dev {device[:-1]}")[-1] == device
    assert shell.complete(f"{program} drops --netns {inode[:-1]}")[-1] == inode
    assert shell.complete(f"{program} alerts silence ledger-g")[-1] == "ledger-gap"
    assert shell.complete(f"{program} drops --netns ho")[-1] == "host"


def test_reasons_that_occurred_come_first(shell, live, reasons):
    """Many known reasons begin with NO_; only one occurred here."""
    _, _, program = live
    assert shell.complete(f"{program} drops --reason NO_SO")[-1] == "NO_SOCKET"
    # None with this name occurred, so the known ones are offered.
    assert shell.complete(f"{program} drops --reason NEIGH_FAI")[-1] == "NEIGH_FAILED"


def test_a_hostile_name_stays_one_word(shell, live):
    """A device name is anything without a blank: the shell must not run it."""
    _, _, program = live
    name = "zz;$(id>x)&"
    subprocess.run(["ip", "link", "add", name, "type", "veth", "peer", "name", "yypeer"],
                   check=True)
    try:
        assert shell.complete(f"{program} drops --dev zz")[-1] == name
        assert not (shell.home / "x").exists()
    finally:
        subprocess.run(["ip", "link", "delete", "yypeer"], check=True)


def test_silent_without_a_daemon(shell):
    words = shell.complete("netflowctl --socket /nonexistent drops --dev no-such-dev")
    assert words[-1] == "no-such-dev"
    assert "netflowctl:" not in shell.list("netflowctl --socket /nonexistent alerts silence ")


def test_quick_if_the_daemon_hangs(live):
    daemon, _, _ = live
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        # It waits for a fraction of a second; without a limit, it would for ever.
        done = subprocess.run([paths.CLI, "complete", "--", "--socket", daemon.socket_path, "drops",
                               "--reason", "NO_SOCK"], capture_output=True, text=True, check=True,
                              timeout=patience.seconds(10))
        # The table of the program itself has the name.
        assert (done.stdout, done.stderr) == ("NO_SOCKET\tbenign\n", "")
    finally:
        daemon.process.send_signal(signal.SIGCONT)


# ---- what the shells ask ----


@pytest.mark.parametrize("words, expected", [
    ([""], "status"), (["drops", "-"], "--by"), (["probes", ""], "--measure"),
    (["drops", "--", "-"], None), (["no-such-command", ""], None), ([], "status"),
    (["drops", "--by"], "--by"), (["drops", "tcp", "port", ""], None),
])
def test_candidates(words, expected):
    done = subprocess.run([paths.CLI, "complete", "--", *words], capture_output=True, text=True,
                          check=True)
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert expected in found if expected else not found
    assert done.stderr == "" and found == sorted(set(found))

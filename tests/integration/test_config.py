# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings: files, drop-ins and --set, what prints and checks them, and what a reload changes."""

import os
import re
import signal
import subprocess

import pytest

from lab import journeys, ledgers, paths, sockets, waiting
from lab.varlink import VarlinkError

PORT = 7777


@pytest.fixture
def files(tmp_path):
    """A configuration file with a directory of drop-ins."""
    return Files(tmp_path / "netflowd.conf")


class Files:
    def __init__(self, main):
        self.main = main
        self.directory = main.with_name(main.name + ".d")
        self.directory.mkdir()
        main.write_text("")

    def drop_in(self, name, text):
        (self.directory / name).write_text(text)


def netflowd(*arguments):
    """(exit status, stdout, stderr)"""
    done = subprocess.run([paths.DAEMON, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def section(text, name):
    """The lines of a section of a printed configuration."""
    lines = text.split(f"[{name}]\n")[1].split("\n\n")[0]
    return lines.splitlines()


# ---- before the daemon runs --------------------------------------------------------


def test_print_config(files):
    files.main.write_text("[drops]\nkeys = 100\nrate = 30\n")
    files.drop_in("10-rate.conf", "\n[drops]\nrate = 40\nburst = 41\n")
    status, out, err = netflowd("--config", files.main, "--set", "drops.burst=50",
                                "--print-config")
    assert (status, err) == (0, "")
    assert section(out, "drops") == [
        f"# {files.main}:2", "keys = 100",
        f"# {files.directory}/10-rate.conf:3", "rate = 40",
        "# --set", "burst = 50",
        "# default", "recent = 4096"]


def test_printed_config_is_a_config(files):
    """What is printed has the same effect as a file."""
    files.main.write_text("[latency]\nslow_total = 1500us\n[probes]\ndisable = napi_poll\n"
                          "[slots]\ndevices = eth0, eth1\n")
    _, first, _ = netflowd("--config", files.main, "--print-config")
    again = files.main.with_name("again.conf")
    again.write_text(first)
    _, second, _ = netflowd("--config", again, "--print-config")

    def values(text):
        return [line for line in text.splitlines() if not line.startswith("#")]

    assert values(first) == values(second)
    assert "slow_total = 1500us" in values(first)


def test_check_config(files):
    status, out, err = netflowd("--config", files.main, "--check-config")
    assert (status, err) == (0, "")
    assert re.fullmatch(r"the settings are valid; read from 1 file\n"
                        r"the alert rules are valid; read \d+\n", out)
    files.drop_in("a.conf", "[drops]\nkeys = many\n")
    status, out, err = netflowd("--config", files.main, "--check-config")
    assert status == 2 and out == ""
    assert f"{files.directory}/a.conf:2: drops.keys = many: must be a whole number" in err


def test_the_daemon_refuses_a_broken_drop_in(files, tmp_path):
    files.drop_in("a.conf", "[drops]\nkey = 5\n")
    status, _, err = netflowd("--config", files.main, "--runtime-dir", tmp_path)
    assert status == 2
    assert "a.conf:2: there is no setting drops.key (did you mean drops.keys?)" in err


@pytest.mark.parametrize("listen", ("somewhere:9477", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536",
                                    "256.0.0.1:9477", "::1:9477", "[::1]", "metrics.sock",
                                    "/" + 108 * "x"))
def test_an_address_that_cannot_be_read(files, tmp_path, listen):
    """Status 2, which netflowd.service does not start again; test_metrics.py has an address in use,
    status 1."""
    files.main.write_text(f"[metrics]\nlisten = {listen}\n")
    status, out, err = netflowd("--config", files.main, "--runtime-dir", tmp_path)
    assert (status, out) == (2, "")
    assert f"{files.main}:2: metrics.listen = {listen[:100]}: must be empty, unix, tcp" in err
    assert err.count("\n") == 1


# ---- reload ------------------------------------------------------------------------


def by_signal(daemon):
    before = daemon.log().count("alert rules reloaded")
    os.kill(daemon.pid, signal.SIGHUP)
    assert waiting.until(lambda: daemon.log().count("alert rules reloaded"),
                         lambda n: n > before) > before


def by_command(daemon):
    done = daemon.netflowctl("reload")
    assert done.returncode == 0, done.stderr


RELOADS = {"SIGHUP": by_signal, "netflowctl": by_command}


def records_of_flood(daemon, pair, count):
    """Send datagrams to a closed port, two hundred a second; the number of records of them."""
    before = len(daemon.records(pair.right_device, "ipv4/udp", netns=str(pair.right.inode)))
    pair.left.send_udp(pair.RIGHT4, 9, count, "-r", 200)
    ledgers.check_balanced(daemon)
    after = len(daemon.records(pair.right_device, "ipv4/udp", netns=str(pair.right.inode)))
    return after - before


@pytest.mark.portable
@pytest.mark.smoke
@pytest.mark.parametrize("way", RELOADS)
def test_reload_changes_the_rate_of_records(start, files, pair, bpf, way):
    files.main.write_text("[drops]\nrate = 1\nburst = 1\n")
    daemon = start(options=["--config", files.main])
    assert records_of_flood(daemon, pair, 100) <= 2
    files.drop_in("a.conf", "[drops]\nrate = 1000\nburst = 1000\n")
    RELOADS[way](daemon)
    assert records_of_flood(daemon, pair, 100) == 100
    assert "new values in force: drops.rate, drops.burst" in daemon.log()


def test_reload_changes_thresholds(start, files, silent_pair, bpf):
    """Journeys become slow records from the reload on, and no longer after the next one."""
    pair = silent_pair
    # So slow is no journey, even if the machine stops for a moment.
    never = "[latency]\nslow_total = 60s\n"
    files.main.write_text(never)
    daemon = start(*journeys.NONE, options=["--config", files.main])

    def records(count):
        with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
            for _ in range(count):
                sender.send(b"x")
                reader.recv(10)
        ledgers.check_balanced(daemon)
        return len(journeys.to_port(journeys.ask(daemon, pair.right_device), PORT))

    assert records(20) == 0
    files.main.write_text("[latency]\nslow_total = 1ns\n")
    daemon.call("Reload")
    assert records(20) == 20
    files.main.write_text(never)
    daemon.call("Reload")
    assert records(20) == 20


def test_reload_names_what_needs_a_restart(start, files, bpf):
    daemon = start(options=["--config", files.main])
    assert daemon.call("Reload") == {"applied": [], "restart": []}
    files.main.write_text("[inflight]\nentries = 1024\n[control]\nidle = 7s\n"
                          "[alerts]\ninterval = 500ms\n")
    wanted = {"applied": ["control.idle", "alerts.interval"], "restart": ["inflight.entries"]}
    assert daemon.call("Reload") == wanted
    # The value in force is still the old one, and what was applied is no change any more.
    assert daemon.call("Reload") == {"applied": [], "restart": ["inflight.entries"]}
    out = daemon.netflowctl("reload").stdout
    assert "New values that need a restart: inflight.entries." in out
    assert "in force" not in out


def test_set_wins_after_a_reload(start, files, bpf):
    daemon = start("drops.rate=7", options=["--config", files.main])
    files.main.write_text("[drops]\nrate = 8\n")
    assert daemon.call("Reload") == {"applied": [], "restart": []}


def test_a_broken_file_changes_nothing(start, files, tmp_path, bpf):
    rules = tmp_path / "rules"
    rules.mkdir()
    daemon = start(f"alerts.rules={rules}", options=["--config", files.main])
    (rules / "a.conf").write_text("[alert fresh]\ncondition = probe_lost\nover = 1000\n")
    files.main.write_text("[drops]\nrate = 9\n")
    files.drop_in("b.conf", "[drops]\nburst = lots\n")
    with pytest.raises(VarlinkError) as error:
        daemon.call("Reload")
    assert error.value.name == "InvalidSettings"
    assert f"{files.directory}/b.conf:2: drops.burst = lots" in error.value.parameters["reason"]
    assert "fresh" not in [a["name"] for a in daemon.call("GetAlerts")["alerts"]]
    done = daemon.netflowctl("reload")
    assert done.returncode == 1 and "b.conf:2: drops.burst = lots" in done.stderr
    assert "nothing is reloaded" in daemon.log()
    files.drop_in("b.conf", "")
    assert daemon.call("Reload") == {"applied": ["drops.rate"], "restart": []}
    assert "fresh" in [a["name"] for a in daemon.call("GetAlerts")["alerts"]]

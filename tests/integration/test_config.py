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
# Of the daemon that tests share: few records, and so slow is no journey, even if the machine stops
# for a moment.
NO_SAMPLE = "latency.sample_one_in=0"
START = "[records]\nrate = 1\n[latency]\nslow = 60s\n"


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


class Started(Files):
    """What the shared daemon reads when it starts and when it reloads: settings and rules."""

    def __init__(self, directory):
        super().__init__(directory / "netflowd.conf")
        self.rules = directory / "rules"
        self.rules.mkdir()
        self.restore()

    def restore(self):
        self.main.write_text(START)
        for file in (*self.directory.iterdir(), *self.rules.iterdir()):
            file.unlink()


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
    files.main.write_text("[records]\nrate = 30\n[drops]\nkeys = 100\n")
    files.drop_in("10-rate.conf", "\n[records]\nrate = 40\nrecent = 41\n")
    status, out, err = netflowd("--config", files.main, "--set", "records.recent=50",
                                "--print-config")
    assert (status, err) == (0, "")
    assert section(out, "records") == [f"# {files.directory}/10-rate.conf:3", "rate = 40"]
    assert section(out, "drops") == [f"# {files.main}:4", "keys = 100"]
    # One for experts.
    assert section(out.split("[drops]")[1], "records") == ["# --set", "recent = 50"]
    assert section(out, "ring") == ["# default", "bytes = 1MiB"]


EXAMPLE = re.compile(r"^```\n(\[[a-z]+\]\n.*?)^```|^\.Bd -literal[^\n]*\n(\[.*?)^\.Ed", re.S | re.M)


def test_examples_of_the_documentation(files):
    """netflowd takes each example of a configuration."""
    texts = [paths.TREE / "README.md", paths.TREE / "docs/man/netflowd.conf.5",
             *(paths.TREE / "docs").glob("*.md")]
    found = 0
    for text in texts:
        for one, other in EXAMPLE.findall(text.read_text()):
            found += 1
            files.main.write_text(one or other)
            done = netflowd("--config", files.main, "--print-config")
            assert done[0] == 0, (text, one or other, done)
    assert found >= 6


def test_printed_config_is_a_config(files):
    """What is printed has the same effect as a file."""
    files.main.write_text("[latency]\nslow = 1500us\n[probes]\ndisable = napi_poll\n"
                          "[slots]\ndevices = eth0, eth1\n")
    _, first, _ = netflowd("--config", files.main, "--print-config")
    again = files.main.with_name("again.conf")
    again.write_text(first)
    _, second, _ = netflowd("--config", again, "--print-config")

    def values(text):
        return [line for line in text.splitlines() if not line.startswith("#")]

    assert values(first) == values(second)
    assert "slow = 1500us" in values(first)


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


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    return Started(tmp_path_factory.mktemp("started"))


@pytest.fixture
def daemon(request, kept, started, bpf):
    """The daemon of the tests with the mark `shared`.  For each of them, what it started with is in
    force."""
    del bpf
    started.restore()
    last = kept.daemons[-1] if kept.daemons else None
    running = last if last and last.running else kept(
        f"alerts.rules={started.rules}", NO_SAMPLE, options=["--config", started.main])
    yield running
    if request.node.failed:
        kept.end(failed=True)
        return
    started.restore()
    assert running.call("Reload")["restart"] == []
    running.forget_client()  # it was connected while another control.idle was in force


RELOADS = {"SIGHUP": by_signal, "netflowctl": by_command}


def records_of_flood(daemon, pair, count):
    """Send datagrams to a closed port, two hundred a second; the number of records of them."""
    before = len(daemon.records(pair.right_device, "ipv4/udp", netns=str(pair.right.inode)))
    pair.left.send_udp(pair.RIGHT4, 9, count, "-r", 200)
    ledgers.check_balanced(daemon)
    after = len(daemon.records(pair.right_device, "ipv4/udp", netns=str(pair.right.inode)))
    return after - before


@pytest.mark.shared
@pytest.mark.portable
@pytest.mark.smoke
@pytest.mark.parametrize("way", RELOADS)
def test_reload_changes_the_rate_of_records(daemon, started, pair, way):
    logged = len(daemon.log())
    assert records_of_flood(daemon, pair, 100) <= 7
    started.drop_in("a.conf", "[records]\nrate = 1000\n")
    RELOADS[way](daemon)
    assert records_of_flood(daemon, pair, 100) == 100
    assert "new values in force: records.rate" in daemon.log()[logged:]


@pytest.mark.shared
def test_reload_changes_thresholds(daemon, started, silent_pair):
    """Journeys become slow records from the reload on, and no longer after the next one."""
    pair = silent_pair

    def records(count):
        with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
            for _ in range(count):
                sender.send(b"x")
                reader.recv(10)
        ledgers.check_balanced(daemon)
        return len(journeys.to_port(journeys.ask(daemon, pair.right_device), PORT))

    assert records(20) == 0
    started.main.write_text(START.replace("60s", "1ns").replace("rate = 1", "rate = 100"))
    daemon.call("Reload")
    assert records(20) == 20
    started.main.write_text(START)
    daemon.call("Reload")
    assert records(20) == 20


@pytest.mark.shared
def test_reload_names_what_needs_a_restart(daemon, started):
    assert daemon.call("Reload") == {"applied": [], "restart": []}
    started.main.write_text(START + "[inflight]\nentries = 1024\n[control]\nidle = 7s\n"
                            "[alerts]\ninterval = 500ms\n")
    wanted = {"applied": ["control.idle", "alerts.interval"], "restart": ["inflight.entries"]}
    assert daemon.call("Reload") == wanted
    # The value in force is still the old one, and what was applied is no change any more.
    assert daemon.call("Reload") == {"applied": [], "restart": ["inflight.entries"]}
    out = daemon.netflowctl("reload").stdout
    assert "New values that need a restart: inflight.entries." in out
    assert "in force" not in out


@pytest.mark.shared
def test_set_wins_after_a_reload(daemon, started):
    started.main.write_text(START + "sample_one_in = 8\n")
    assert daemon.call("Reload") == {"applied": [], "restart": []}


@pytest.mark.shared
def test_a_broken_file_changes_nothing(daemon, started):
    logged = len(daemon.log())
    (started.rules / "a.conf").write_text("[alert fresh]\ncondition = probe_lost\nover = 1000\n")
    started.main.write_text(START.replace("rate = 1", "rate = 9"))
    started.drop_in("b.conf", "[records]\nrecent = lots\n")
    with pytest.raises(VarlinkError) as error:
        daemon.call("Reload")
    assert error.value.name == "InvalidSettings"
    reason = error.value.parameters["reason"]
    assert f"{started.directory}/b.conf:2: records.recent = lots" in reason
    assert "fresh" not in [a["name"] for a in daemon.call("GetAlerts")["alerts"]]
    done = daemon.netflowctl("reload")
    assert done.returncode == 1 and "b.conf:2: records.recent = lots" in done.stderr
    assert "nothing is reloaded" in daemon.log()[logged:]
    started.drop_in("b.conf", "")
    assert daemon.call("Reload") == {"applied": ["records.rate"], "restart": []}
    assert "fresh" in [a["name"] for a in daemon.call("GetAlerts")["alerts"]]

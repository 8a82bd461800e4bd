# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowctl pause and resume, and the file that pauses: what is detached, counted and kept."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from lab import kernel, patience, waiting

pytestmark = pytest.mark.usefixtures("bpf")

NOBODY = 65534
CYCLES = int(os.environ.get("CYCLES", "200"))  # 10,000 take minutes
# Of the groups irq, rx, tx and wake.
COUNTING = ("drop", "slots")


@pytest.fixture
def serve(start, tmp_path):
    """A daemon that keeps its state, and looks at a file for a pause, below tmp_path."""
    def run(*settings):
        (tmp_path / "netflowd.conf").touch()
        return start(f"history.directory={tmp_path}/state", *settings,
                     options=("--config", tmp_path / "netflowd.conf"))
    return run


@pytest.fixture
def memory():
    """A directory whose files are written at once, whatever the disk has to do."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield directory


def probes(daemon):
    return daemon.call("ListProbes")["probes"]


def states(daemon, counting):
    return {p["state"] for p in probes(daemon) if (p["group"] in COUNTING) == counting
            and p["state"] != "unneeded"}


def hits(daemon):
    received = daemon.status()["packets"]
    return received["received"], received["transmitted"]


@pytest.fixture
def loopback(lab):
    """That of a namespace, on which only the test's own packets move."""
    return lab.namespace(ipv6=False).loopback()


def burst(loopback, count):
    """Datagrams over lo to a closed port, from an unconnected socket, which gets no errors.  On a
    busy machine the kernel drops the last ones a moment later: this waits for them."""
    def refused():
        return loopback.namespace.nstat()["UdpNoPorts"]

    expected = refused() + count
    with loopback.namespace.entered(), \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(count):
            sender.sendto(b"x", ("127.0.0.1", 9))
    assert waiting.until(refused, lambda n: n == expected) == expected


def no_socket(daemon, loopback):
    return daemon.dropped(loopback, "ipv4/udp")


def settled(daemon, loopback, expected):
    return waiting.settled(lambda: no_socket(daemon, loopback), expected)


# Alone, because a pause must not take long.
@pytest.mark.alone
@pytest.mark.needs("drops", "only if the packet passed it before")
def test_stages_stand_still_and_drops_are_counted(serve, memory, loopback):
    daemon = serve(f"history.directory={memory}")
    before = no_socket(daemon, loopback)
    daemon.call("Pause")  # the schema check of the first call must not count as time
    daemon.call("Resume")
    took, reply = waiting.time_and_result(lambda: daemon.call("Pause"), daemon.pid)
    assert took < patience.seconds(0.1)
    paused = reply["paused"]
    stood = hits(daemon)
    assert paused["level"] == "stages" and "until" not in paused
    assert states(daemon, counting=False) == {"detached"}
    assert "detached" not in states(daemon, counting=True)
    burst(loopback, 4217)
    assert hits(daemon) == stood
    assert settled(daemon, loopback, before + 4217) - before == 4217
    assert daemon.coverage("rx_latency")["state"] == "unavailable"
    assert "netflowctl resume" in daemon.coverage("rx_latency")["reason"]
    assert daemon.coverage("drops")["state"] != "unavailable"
    shown = daemon.netflowctl("status").stdout
    assert shown.startswith("PAUSED: netflowd follows no packets")
    for command in ("latency", "napi"):
        assert "paused since" in " ".join(daemon.netflowctl(command).stdout.split()), command
    assert daemon.call("Resume") == {"resumed": True}
    assert "detached" not in states(daemon, counting=False)
    burst(loopback, 10)
    assert hits(daemon) > stood
    assert daemon.call("Resume") == {"resumed": False}
    assert "probes run again" in daemon.log()


# Alone, because what others do to the host may change the coverage.
@pytest.mark.alone
@pytest.mark.smoke
def test_nothing_is_lost_by_a_pause(serve):
    """Before 5.13 the kernel attaches a program of fentry only once."""
    daemon = serve("cost.governor=off")

    def known():
        return daemon.status()["coverage"], [(p["name"], p["state"], p.get("how"),
                                              p.get("reason")) for p in probes(daemon)]

    before = known()
    for everything in (False, True):
        daemon.call("Pause", all=everything)
        daemon.call("Resume")
        assert known() == before


def alert(daemon, name):
    """All that GetAlerts says of a rule, as text."""
    return next(str(a) for a in daemon.call("GetAlerts")["alerts"] if a["name"] == name)


@pytest.mark.needs("drops", "only if the packet passed it before")
def test_all_counts_nothing_and_says_so(serve, loopback):
    daemon = serve()
    daemon.call("Pause", all=True)
    before = no_socket(daemon, loopback)
    burst(loopback, 100)
    assert no_socket(daemon, loopback) == before
    assert states(daemon, counting=True) == {"detached"}
    assert daemon.coverage("drops")["state"] == "unavailable"
    assert "counters stand still" in " ".join(daemon.netflowctl("drops").stdout.split())
    assert daemon.netflowctl("status").stdout.startswith("PAUSED: netflowd counts nothing")
    assert "paused since" in waiting.until(lambda: alert(daemon, "ledger-gap"),
                                           lambda shown: "paused since" in shown, seconds=20)
    # A second pause replaces the first.
    assert daemon.call("Pause", for_ns=3600 * 10**9)["paused"]["level"] == "stages"
    burst(loopback, 100)
    assert settled(daemon, loopback, before + 100) == before + 100


def test_a_pause_ends_by_itself(serve, tmp_path):
    daemon = serve()
    began = time.monotonic()
    done = daemon.netflowctl("pause", "--for", "2s")
    assert done.returncode == 0 and "PAUSED" in done.stdout, done
    assert (tmp_path / "state/pause").exists()
    assert not waiting.until(lambda: daemon.status().get("paused"), lambda paused: not paused,
                             seconds=20)
    assert time.monotonic() - began > 1.9
    assert "detached" not in states(daemon, counting=False)
    assert "the time of the pause is over" in daemon.log()
    assert not (tmp_path / "state/pause").exists()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_keeps_a_pause(serve, end):
    daemon = serve()
    first = daemon.call("Pause", for_ns=3600 * 10**9, all=True)["paused"]
    daemon.stop(end)
    daemon.start()
    again = daemon.status()["paused"]
    assert (again["level"], again["since"]) == ("all", first["since"])
    assert states(daemon, counting=True) == {"detached"}
    daemon.netflowctl("resume")
    daemon.stop()
    daemon.start()
    assert "paused" not in daemon.status()


def test_a_damaged_file_is_ignored_and_reported(serve, tmp_path):
    daemon = serve()
    daemon.call("Pause")
    daemon.stop()
    (tmp_path / "state/pause").write_bytes(b"all\nsince 2026\0\xff")
    daemon.start()
    assert "paused" not in daemon.status()
    assert "state/pause: line 2" in daemon.log() and "ignored" in daemon.log()


def level(daemon):
    return daemon.status().get("paused", {}).get("level")


def test_the_file(serve, tmp_path):
    daemon, file = serve(), tmp_path / "pause"

    def becomes(wanted):
        assert waiting.until(lambda: level(daemon), lambda now: now == wanted, 20) == wanted

    file.write_text("")
    becomes("stages")
    file.write_text("all\n")
    becomes("all")
    reasons = [entry.get("reason", "") for entry in daemon.status()["coverage"]]
    assert any(f"; remove {file};" in reason for reason in reasons), reasons
    # The more restrictive one counts.
    daemon.call("Pause")
    paused = daemon.status()["paused"]
    assert any(f"remove {file}, and run `netflowctl resume`" in entry.get("reason", "")
               for entry in daemon.status()["coverage"])
    assert paused["level"] == "all" and {s["by"] for s in paused["sources"]} == {"command", "file"}
    assert "to end it, remove the file" in daemon.netflowctl("resume").stdout
    file.write_text("nonsense\n")
    becomes("stages")
    assert "pause: line 1" in daemon.log()
    assert "line 1" in daemon.status()["paused"]["sources"][0]["wrong"]
    file.write_text("until 2020-01-01T00:00:00Z\n")
    becomes(None)
    file.unlink()
    os.mkfifo(file)
    becomes("stages")
    file.unlink()
    becomes(None)
    assert "detached" not in states(daemon, counting=False)


def test_only_root_may_pause(serve):
    daemon = serve()
    # Past the file's mode, credentials decide.
    daemon.socket_path.chmod(0o666)
    for command in (["pause"], ["resume"]):
        done = daemon.netflowctl(*command, user=NOBODY, group=NOBODY, extra_groups=[])
        assert done.returncode == 1 and done.stderr, done
    assert "paused" not in daemon.status()


def open_files(pid):
    """How many files a daemon has open: the root of the cgroups, and others.  It opens the root
    once, with the first drop whose cgroup it does not know, and others for a moment each second."""
    directory, names = f"/proc/{pid}/fd", []
    for fd in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"{directory}/{fd}"))
    roots = sum(name.startswith("/sys/fs/cgroup") for name in names)
    return roots, len(names) - roots


def maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
        return sum(1 for _ in lines)


# Alone, because the records and threads that others cause need memory, too.
@pytest.mark.alone
@pytest.mark.needs("drops", "only if the packet passed it before")
def test_cycles_leak_nothing_and_lose_no_drop(serve, loopback):
    daemon = serve()
    daemon.call("Pause")
    daemon.call("Resume")
    before, counted = kernel.bpf_objects(daemon.pid), no_socket(daemon, loopback)
    files = min((open_files(daemon.pid) for _ in range(5)), key=lambda held: held[1])
    mapped = maps(daemon.pid)
    with loopback.namespace.entered():
        sender = subprocess.Popen(
            ["python3", "-c", "import socket, sys, time\n"
             "s, n = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0\n"
             "import select\n"
             "while n <= 1000 or not select.select([sys.stdin], [], [], 0)[0]:\n"
             "    s.sendto(b'x', ('127.0.0.1', 9)); n += 1; time.sleep(0.0002)\n"
             "    n == 1 and print('sends', flush=True)\n"
             "print(n)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with sender:
        assert sender.stdout.readline() == b"sends\n"
        for _ in range(CYCLES):
            daemon.call("Pause")
            daemon.call("Resume")
        sent = int(sender.communicate(b"\n")[0])
    assert settled(daemon, loopback, counted + sent) - counted == sent > 1000
    after = kernel.bpf_objects(daemon.pid)
    assert {kind: len(held) for kind, held in after.items()} == \
        {kind: len(held) for kind, held in before.items()}
    assert after["prog"] == before["prog"] and after["map"] == before["map"]
    roots, others = waiting.until(lambda: open_files(daemon.pid), lambda held: held[1] == files[1])
    assert roots <= 1 and others == files[1]
    assert abs(maps(daemon.pid) - mapped) <= 4


def test_metrics_show_a_pause(serve):
    daemon = serve("metrics.listen=unix")

    def metrics():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(daemon.directory / "metrics.sock"))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            return b"".join(iter(lambda: client.recv(65536), b"")).decode()

    daemon.call("Pause")
    assert 'netflowd_paused{level="stages"} 1' in metrics()
    assert 'netflowd_paused{level="all"} 0' in metrics()
    assert 'state="detached"' in metrics()
    daemon.call("Resume")
    # A reading serves several scrapes.
    resumed = 'netflowd_paused{level="stages"} 0'
    assert resumed in waiting.until(metrics, lambda text: resumed in text, seconds=20)

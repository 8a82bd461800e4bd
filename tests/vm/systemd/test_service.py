# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowd as a service: it starts, traces, reloads, comes back, and answers through all of it."""

import contextlib
import grp
import os
import pathlib
import pwd
import re
import signal
import stat
import threading

import pytest

from service import (
    SERVICE, SOCKET, STRANGER, TREE, ask, comes_back, is_up, journal, lacking, lines, main_pid,
    netflowctl, no_socket_drops, run, send_to_closed_port, settings, show, systemctl, unit_with,
    until)

DATAGRAMS = 1000
CAPABILITIES = {"CAP_BPF": 39, "CAP_PERFMON": 38, "CAP_SYSLOG": 34, "CAP_SYS_PTRACE": 19,
                "CAP_DAC_READ_SEARCH": 2}


def process(pid, name):
    text = open(f"/proc/{pid}/status", encoding="utf-8").read()
    return re.search(rf"^{name}:\s*(.*)$", text, re.MULTILINE)[1]


def test_a_boot_starts_it():
    """After a power cut, if this guest had one (--prepare): no test has started it since."""
    if open("/boots", encoding="utf-8").read().strip() != "2":
        pytest.skip("this guest did not boot with netflowd: --prepare=tests/vm/systemd/prepare")
    # The tests of other files may have restarted it; the journal of this boot has its first start.
    first = journal("STARTED")[0]
    mine = run("systemctl", "show", "-p", "ExecMainStartTimestampMonotonic",
               "guest.service").stdout.strip().split("=")[1]
    assert int(first["__MONOTONIC_TIMESTAMP"]) < int(mine)
    assert first["NETFLOWD_SOCKET"] == str(SOCKET)


def test_it_runs_as_its_own_user():
    assert is_up()
    pid = main_pid()
    uid, gid = pwd.getpwnam("netflow").pw_uid, grp.getgrnam("netflow").gr_gid
    assert process(pid, "Uid").split() == [str(uid)] * 4
    assert process(pid, "Gid").split() == [str(gid)] * 4
    wanted = sum(1 << number for number in CAPABILITIES.values())
    # After the start the daemon keeps them, but a program that it would execute gets none.
    for which, value in (("CapEff", wanted), ("CapPrm", wanted), ("CapBnd", wanted),
                         ("CapInh", 0), ("CapAmb", 0)):
        assert int(process(pid, which), 16) == value, which
    assert process(pid, "NoNewPrivs") == "1"
    assert process(pid, "Seccomp") == "2"


def test_files():
    uid, gid = pwd.getpwnam("netflow").pw_uid, grp.getgrnam("netflow").gr_gid
    for path, mode, owner, group in ((SOCKET, 0o660, 0, gid), (SOCKET.parent, 0o755, uid, gid),
                                     ("/var/lib/netflowd", 0o750, uid, gid),
                                     ("/etc/netflowd", 0o755, 0, 0)):
        found = os.stat(path)
        assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (mode, owner, group), \
            path


def test_the_start_is_one_entry_of_the_journal():
    pid = str(main_pid())
    entries = journal("STARTED", _PID=pid)
    assert len(entries) == 1
    entry = entries[0]
    assert entry["NETFLOWD_BACKEND"] == "bpf"
    assert entry["NETFLOWD_PROBES_ATTACHED"] == entry["NETFLOWD_PROBES_WANTED"]
    assert entry["NETFLOWD_SOCKET"] == str(SOCKET)
    assert entry["NETFLOWD_COVERAGE"] == "coverage full"
    assert entry["SYSLOG_IDENTIFIER"] == "netflowd"
    assert entry["MESSAGE"].endswith(f"probes attached, serving on {SOCKET}")


def test_it_traces():
    before, _ = no_socket_drops()
    send_to_closed_port(DATAGRAMS)
    after, locations = no_socket_drops()
    assert after - before == DATAGRAMS
    # CAP_SYSLOG: the location is a function.
    assert all(re.fullmatch(r"\w+\+0x[0-9a-f]+", location) for location in locations), locations


def test_every_question_has_an_answer():
    assert not lacking()
    assert ask("status")["cost"]["unmeasurable"] == \
        "the kernel's program statistics require CAP_SYS_ADMIN"


STATUS_LINE = re.compile(
    r"(\d+) of \1 probes attached; received \S+ ?k?/s, delivered \S+ ?k?/s, "
    r"transmitted \S+ ?k?/s, dropped \S+ ?k?/s; coverage "
    r"(full|degraded: ((rx_latency|tx_latency|wake|napi)(, )?)+)")


def test_status_line():
    # While the governor passes packets over, the line has no rate of those that were delivered.
    until(lambda: show("StatusText"), STATUS_LINE.fullmatch)


def test_exposure():
    report = run("systemd-analyze", "security", "--no-pager", SERVICE).stdout
    print(report)
    exposure = float(re.search(r"Overall exposure level for netflowd.service: ([0-9.]+)",
                               report)[1])
    assert exposure <= 2.0


def test_the_sandbox():
    """What the process sees of the host, looked at in its mount namespace."""
    def inside(script):
        return run("nsenter", "-t", main_pid(), "-m", "sh", "-c", script, check=False)

    for path in ("/usr", "/etc", "/etc/netflowd", "/var", "/sys/fs/cgroup"):
        assert "Read-only" in inside(f"touch {path}/x").stderr, path
    for path in ("/proc/sys/kernel/panic", "/sys/kernel/profiling", "/sys/module/kernel/uevent"):
        assert "Read-only" in inside(f"echo 1 > {path}").stderr, path
    assert inside("touch /var/lib/netflowd/x && rm /var/lib/netflowd/x").returncode == 0
    assert inside("cat /proc/kallsyms").returncode or not inside("cat /proc/kallsyms").stdout
    assert inside("head -1 /dev/kallsyms").stdout
    devices = set(inside("ls /dev").stdout.split())
    assert "kmsg" in devices and not devices & {"vda", "mem", "sda", "ttyS0"}
    # Nothing of it is left on the host.
    assert not os.path.exists("/dev/kallsyms")


# ---- reload ----


def test_reload():
    pid = main_pid()
    with settings("[records]\nrate = 31\n\n[ring]\nbytes = 2097152\n"):
        systemctl("reload", SERVICE)
        entry = until(lambda: journal("RELOADED", _PID=str(pid)), bool)[-1]
        assert entry["NETFLOWD_APPLIED"] == "records.rate"
        assert entry["NETFLOWD_RESTART"] == "ring.bytes"
    with settings("[records]\nrate = 32\n"):
        assert "records.rate" in netflowctl("reload").stdout
    assert is_up() and main_pid() == pid
    systemctl("reload", SERVICE)
    until(lambda: journal("RELOADED", _PID=str(pid)), lambda entries: len(entries) == 3)


def test_reload_of_a_broken_file():
    pid = main_pid()
    with settings("[records]\nrate = many\n") as file:
        systemctl("reload", SERVICE)
        entries = until(lambda: journal("REFUSED", _PID=str(pid)), bool)
        assert len(entries) == 1
        assert f"{file}:2" in entries[0]["NETFLOWD_ERROR"]
        assert "records.rate" in entries[0]["NETFLOWD_ERROR"]
        done = netflowctl("reload", check=False)
        assert done.returncode == 1 and f"{file}:2" in done.stderr
    assert is_up() and main_pid() == pid


def test_start_with_a_broken_file():
    """Exit status 2 is no crash: systemd does not try again."""
    with settings("[records]\nrate = many\n") as file:
        systemctl("stop", "netflowd.socket", SERVICE)
        assert systemctl("start", SERVICE, check=False).returncode
        state = show("ActiveState", "Result", "ExecMainStatus", "NRestarts")
        assert state == {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "2",
                         "NRestarts": "0"}
        assert f"{file}:2" in lines()
    systemctl("reset-failed", SERVICE)
    systemctl("start", "netflowd.socket", SERVICE)
    assert is_up()


# ---- it comes back ----


def links(pid):
    """The file descriptors by which the process keeps its programs attached."""
    found = []
    for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it opens and closes others
            if "link_type:" in file.read_text():
                found.append(int(file.name))
    return found


class TestWatchdog:
    """The unit as it is, but with a shorter watchdog."""

    @pytest.fixture(scope="class", autouse=True)
    def short(self):
        assert show("WatchdogUSec") == "30s"
        # The governor would attach again what a test detaches.
        with settings("[cost]\ngovernor = off\n"), unit_with("[Service]\nWatchdogSec=15s\n"):
            yield

    def test_a_daemon_that_hangs(self):
        """It sends no ping, so systemd replaces it."""
        pid, invocation = main_pid(), show("InvocationID")
        os.kill(pid, signal.SIGSTOP)
        comes_back(pid)
        log = run("journalctl", "--no-pager", "-o", "cat", "-u", SERVICE).stdout
        assert "Watchdog timeout" in log
        assert not journal("SILENT"), f"run {invocation}: pings were withheld before"

    def test_a_backend_that_sees_nothing(self):
        """The loop turns, and the programs are detached behind the daemon's back: no ping."""
        pid = main_pid()
        assert links(pid)
        calls = [word for fd in links(pid) for word in ("-ex", f"call (int)close({fd})")]
        run("gdb", "-q", "-batch", "-p", pid, *calls, timeout=120)
        assert not links(pid)
        # It answers queries all the same.
        assert ask("status")["daemon"]["pid"] == pid
        entry = until(lambda: journal("SILENT", _PID=str(pid)), bool)
        assert "did not count netflowd's own datagram" in entry[0]["NETFLOWD_REASON"]
        comes_back(pid)
        assert len(journal("SILENT", _PID=str(pid))) == 1


# ---- queries through a restart ----


def test_queries_wait_through_a_restart():
    """Somebody always asks: no query fails, while the daemon restarts three times."""
    failed, answered, ended = [], [], threading.Event()

    def keep_asking():
        while not ended.is_set():
            done = netflowctl("status", "--json", check=False)
            (failed if done.returncode else answered).append(done.stderr)

    asking = [threading.Thread(target=keep_asking) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(3):
            systemctl("restart", SERVICE)
            before = len(answered)
            until(lambda: len(answered), lambda n, b=before: n > b)
    finally:
        ended.set()
        for thread in asking:
            thread.join()
    assert not failed
    assert len(answered) >= 3


def test_a_query_starts_the_daemon():
    systemctl("stop", SERVICE)
    assert show("ActiveState") == "inactive"
    assert SOCKET.exists()
    assert ask("status")["backend"]["name"] == "bpf"
    assert is_up()


def test_without_the_socket_unit():
    """A daemon that systemd gives no socket makes its own, for the same group."""
    systemctl("stop", "netflowd.socket", SERVICE)
    assert not SOCKET.exists()
    systemctl("mask", "--runtime", "netflowd.socket")
    try:
        systemctl("start", SERVICE)
        assert grp.getgrgid(os.stat(SOCKET).st_gid).gr_name == "netflow"
        assert stat.S_IMODE(os.stat(SOCKET).st_mode) == 0o660
        assert ask("status")["backend"]["name"] == "bpf"
    finally:
        systemctl("stop", SERVICE)
        systemctl("unmask", "--runtime", "netflowd.socket")
        systemctl("start", "netflowd.socket", SERVICE)


# ---- users ----


def test_a_member_of_the_group_reads():
    gid = grp.getgrnam("netflow").gr_gid
    assert netflowctl("drops", user=STRANGER, groups=gid).returncode == 0
    done = netflowctl("reload", user=STRANGER, groups=gid, check=False)
    assert done.returncode == 1
    assert "permission denied" in done.stderr


def test_a_stranger_does_not():
    done = netflowctl("drops", user=STRANGER, check=False)
    assert done.returncode == 3
    assert "group netflow" in done.stderr


# ---- programs of alerts ----


def test_programs_of_alerts_run_as_the_same_user():
    rules = TREE / "config/alerts.d"
    assert rules.is_dir()
    directory = "/etc/netflowd/alerts.d"
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/test.conf", "w", encoding="utf-8") as file:
        file.write("[alert who]\ncondition = drop_rate\nwindow = 10s\nover = 1000000/s\n"
                   "exec = /usr/bin/id\n")
    try:
        systemctl("reload", SERVICE)
        netflowctl("alerts", "test", "who")
        log = until(lines, lambda text: "alert who: program output: uid=" in text)
        uid = pwd.getpwnam("netflow").pw_uid
        assert f"uid={uid}(netflow)" in log
    finally:
        os.unlink(f"{directory}/test.conf")
        systemctl("reload", SERVICE)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend tracefs in the unit's sandbox, with the drop-in tracefs.conf and without it."""

import contextlib
import os
import pathlib
import pwd
import re

from service import (
    SERVICE, TREE, ask, is_up, journal_lines, lines, main_pid, netflowctl, run,
    send_to_closed_port, settings, show, systemctl, unit_with, until)

DATAGRAMS = 700
DROP_IN = TREE / "systemd/drop-ins/tracefs.conf"
TRACEFS = pathlib.Path("/sys/kernel/tracing")
INSTANCES = TRACEFS / "instances"
BACKEND = "[probes]\nbackend = tracefs\n"
# A system call that the unit's filter, or netflowd's own one, refuses leaves an entry or ends it.
STRICT = "\n[Service]\nSystemCallErrorNumber=kill\n"


def instances():
    return sorted(path.name for path in INSTANCES.iterdir())


def owners():
    names = [INSTANCES, TRACEFS / "dynamic_events"]
    return {pwd.getpwuid(os.stat(path).st_uid).pw_name for path in names if path.exists()}


def refused():
    """Drops of datagrams to closed ports of this host: a row has an EtherType, not a protocol."""
    return sum(row["packets"] for row in ask("drops", "--all")["rows"]
               if (row.get("device"), row.get("reason"), row.get("protocol")) ==
               ("lo", "NO_SOCKET", "ipv4"))


@contextlib.contextmanager
def tracing(text):
    with settings(BACKEND), unit_with(text):
        yield
    systemctl("restart", SERVICE)
    assert ask("status")["backend"]["name"] == "bpf"


def check_counts():
    before = until(refused, lambda count: count == refused())
    send_to_closed_port(DATAGRAMS)
    until(refused, lambda count: count - before >= DATAGRAMS)
    assert refused() - before == DATAGRAMS


def kernel_messages():
    return run("dmesg").stdout.count("type=1326")


def test_with_the_drop_in():
    """It starts, counts exactly, pauses, and leaves nothing: no instance, no rights, no kprobe."""
    before = kernel_messages()
    with tracing(DROP_IN.read_text() + STRICT):
        until(is_up, bool)
        backend = ask("status")["backend"]
        assert backend["name"] == "tracefs", backend
        assert "tracefs: probes.backend is tracefs" in netflowctl("status").stdout
        assert instances() == [f"netflowd-live-{main_pid()}"]
        assert owners() == {"netflow"}
        status = pathlib.Path(f"/proc/{main_pid()}/status").read_text(encoding="utf-8")
        assert f"Uid:\t{pwd.getpwnam('netflow').pw_uid}\t" in status and "Seccomp:\t2" in status
        assert "dac_override" not in show("AmbientCapabilities")
        exposure = re.search(r"exposure level for netflowd.service: ([0-9.]+)",
                             run("systemd-analyze", "security", "--no-pager", SERVICE).stdout)
        assert float(exposure[1]) <= 2.0
        states = {row["name"]: row for row in ask("probes")["probes"]}
        for probe in ("kfree_skb", "netif_receive_skb", "udp_enqueue_schedule_skb"):
            assert states[probe]["state"] == "attached", states[probe]
        assert (TRACEFS / "dynamic_events").read_text().count("netflowd/") > 0
        check_counts()

        # The filter of system calls is in force by then: events are switched off and on.
        netflowctl("pause", "--all")
        netflowctl("resume")
        check_counts()

        invocation = show("InvocationID")
        systemctl("stop", SERVICE)
        assert not instances()
        assert not (TRACEFS / "dynamic_events").read_text()
        assert owners() == {"root"}
        assert "cannot remove the trace instance" not in lines(invocation)
    assert kernel_messages() == before


def test_what_a_killed_daemon_left():
    with tracing(DROP_IN.read_text()):
        until(is_up, bool)
        pid = main_pid()
        run("kill", "-KILL", pid)
        until(lambda: is_up() and main_pid() != pid, bool, 60)
        assert instances() == [f"netflowd-live-{main_pid()}"]
        check_counts()


def test_the_rest_of_tracefs_is_read_only():
    with tracing(DROP_IN.read_text()):
        until(is_up, bool)
        inside = "nsenter", "--mount", "--target", main_pid()
        for name in ("tracing_on", "set_event", "current_tracer"):
            done = run(*inside, "sh", "-c", f"echo > {TRACEFS}/{name}", check=False)
            assert "Read-only file system" in done.stderr, (name, done)


def test_without_the_drop_in():
    """netflowd runs without a backend, and its line names the drop-in."""
    with tracing(""):
        until(is_up, bool)
        assert ask("status")["backend"]["name"] == "none"
        assert "drop-in tracefs.conf" in until(lambda: journal_lines("trace events"), bool)[0]
        assert not instances()

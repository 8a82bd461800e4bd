# SPDX-License-Identifier: GPL-2.0-or-later
"""Each capability of the unit is necessary: without it, netflowd loses what the comment says."""

import contextlib
import os
import pathlib
import re

import pytest

from service import (
    TREE, ask, is_up, lacking, lines, netflowctl, no_socket_drops, run, send_to_closed_port,
    show, systemctl, unit_with, until)

UNIT = TREE / "systemd/netflowd.service"
ALL = re.findall(r"^AmbientCapabilities=(\w+)$", UNIT.read_text(), re.MULTILINE)
RULES = pathlib.Path("/etc/netflowd/alerts.d")


@contextlib.contextmanager
def without(capability):
    assert capability in ALL
    rest = " ".join(name for name in ALL if name != capability)
    with unit_with("[Service]\nAmbientCapabilities=\nCapabilityBoundingSet=\n"
                   f"AmbientCapabilities={rest}\nCapabilityBoundingSet={rest}\n"):
        yield


def test_the_unit_explains_each():
    text = UNIT.read_text()
    for capability in ALL:
        assert re.search(rf"^# {capability}: .*(\n# .*)*Without it", text, re.MULTILINE), capability


@pytest.mark.parametrize("capability", ["CAP_BPF", "CAP_PERFMON"])
def test_without_it_netflowd_does_not_start(capability):
    with without(capability):
        until(lambda: show("ActiveState", "NRestarts"),
              lambda state: state["ActiveState"] != "active" and int(state["NRestarts"]) > 0)
        assert f"{capability} missing" in run("journalctl", "--no-pager", "-o", "cat", "-u",
                                              "netflowd.service", "-n", "50").stdout
    assert is_up()


def test_without_cap_syslog():
    with without("CAP_SYSLOG"):
        before, _ = no_socket_drops()
        send_to_closed_port(100)
        after, locations = no_socket_drops()
        # It traces, and does not know the names.
        assert after - before == 100
        assert all(location.startswith("0x") for location in locations), locations
        lost = lacking()
        assert set(lost) == {"drop_locations", "slots_log"}, lost
        assert "CAP_SYSLOG" in lost["drop_locations"]


@contextlib.contextmanager
def pod():
    """A unit with a network namespace of its own, which keeps sending to a closed port there."""
    sender = ("import socket,time\n"
              "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
              "while True:\n"
              "    s.sendto(b'x', ('127.0.0.1', 9)); time.sleep(0.05)\n")
    systemctl("reset-failed", "netflow-pod.service", check=False)
    run("systemd-run", "--unit=netflow-pod", "--property=PrivateNetwork=yes", "python3", "-c",
        sender)
    try:
        pid = until(lambda: int(show("MainPID", unit="netflow-pod.service")), bool)
        own = os.stat("/proc/1/ns/net").st_ino
        yield until(lambda: os.stat(f"/proc/{pid}/ns/net").st_ino, lambda inode: inode != own)
    finally:
        systemctl("stop", "netflow-pod.service")


def owners(inode):
    """The units to which drops for closed ports in that network namespace belong."""
    return {row.get("owner", {}).get("unit")
            for row in ask("drops", "--records", "--limit", "4096")["records"]
            if row.get("reason") == "NO_SOCKET" and row.get("netns") == inode}


def test_without_cap_sys_ptrace():
    with pod() as inode:
        found = until(lambda: owners(inode), bool)
        assert "netflow-pod.service" in found
        assert netflowctl("drops", "--netns", "host", check=False).returncode == 0
        with without("CAP_SYS_PTRACE"):
            assert until(lambda: owners(inode), bool) == {None}
            done = netflowctl("drops", "--netns", "host", check=False)
            assert done.returncode and "CAP_SYS_PTRACE" in done.stderr
            assert not lacking()


SHORT = 8
DEVICE = "nft-short"
# The kernel drops the datagram for its qdisc while the process, the last one of its unit, sends it.
DROPPER = ("import os, socket\n"
           "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('10.99.0.2', 9))\n"
           "os._exit(0)\n")


@contextlib.contextmanager
def black_hole():
    """A device that drops all that is sent through it."""
    run("ip", "link", "add", DEVICE, "type", "dummy")
    try:
        run("ip", "address", "add", "10.99.0.1/24", "dev", DEVICE)
        run("ip", "link", "set", DEVICE, "up")
        run("tc", "qdisc", "replace", "dev", DEVICE, "root", "blackhole")
        yield
    finally:
        run("ip", "link", "delete", DEVICE)


def short_lived(name):
    """Run units that live shortly; the numbers of those that are known as owners of drops."""
    for number in range(SHORT):
        run("systemd-run", "--wait", "--collect", f"--unit=netflow-{name}-{number}", "python3",
            "-c", DROPPER)
    units = {record.get("owner", {}).get("unit")
             for record in ask("drops", "--records", "--limit", "4096")["records"]}
    return {number for number in range(SHORT) if f"netflow-{name}-{number}.service" in units}


def test_cgroups_without_cap_dac_read_search():
    """Measured: all of them with it, none without it."""
    with black_hole():
        assert len(short_lived("with")) >= SHORT - 1
        with without("CAP_DAC_READ_SEARCH"):
            assert len(short_lived("without")) <= 1
            assert not lacking()


def rules():
    return {alert["name"] for alert in ask("alerts")["alerts"]}


def test_private_rules_without_cap_dac_read_search():
    RULES.mkdir(parents=True, exist_ok=True)
    (RULES / "private.conf").write_text(
        "[alert private]\ncondition = drop_rate\nwindow = 10s\nover = 1000000/s\n")
    RULES.chmod(0o700)
    try:
        systemctl("reload", "netflowd.service")
        until(rules, lambda names: "private" in names)
        with without("CAP_DAC_READ_SEARCH"):
            # No start without the rules that the administrator wants.
            until(lambda: show("ActiveState"), lambda state: state == "failed")
            assert f"{RULES}: cannot read the directory: Permission denied" in lines()
    finally:
        (RULES / "private.conf").unlink()
        RULES.chmod(0o755)
        systemctl("reload", "netflowd.service")


def test_what_cap_sys_admin_would_add():
    with unit_with((TREE / "systemd/drop-ins/measure.conf").read_text()):
        status = ask("status")
        assert "unmeasurable" not in status["cost"]
        # One look may fall between two packets.
        until(lambda: ask("status")["cost"]["programs_cpu_percent"], lambda percent: percent > 0)
        assert not lacking()


def test_what_the_internet_drop_in_adds():
    """A program of an alert gets no Internet socket from the unit, and one from the drop-in."""
    def answer():
        netflowctl("alerts", "test", "dial")
        return until(lines, lambda text: "program output: dialled" in text
                     or "alert dial: program output: refused" in text)

    program = pathlib.Path("/usr/local/bin/dial")
    program.write_text("#!/usr/bin/python3\nimport socket\ntry:\n"
                       "    socket.socket(socket.AF_INET, socket.SOCK_STREAM)\n"
                       "    print('dialled')\nexcept OSError as error:\n"
                       "    print('refused', error.errno)\n")
    program.chmod(0o755)
    (RULES / "dial.conf").write_text("[alert dial]\ncondition = drop_rate\nwindow = 10s\n"
                                     f"over = 1000000/s\nexec = {program}\n")
    try:
        systemctl("reload", "netflowd.service")
        until(rules, lambda names: "dial" in names)
        assert "program output: refused 97" in answer()  # EAFNOSUPPORT
        with unit_with((TREE / "systemd/drop-ins/internet.conf").read_text()):
            assert "program output: dialled" in answer()
    finally:
        (RULES / "dial.conf").unlink()
        program.unlink()
        systemctl("reload", "netflowd.service")


def test_no_system_call_was_denied():
    """Neither the unit's filter nor the daemon's own one denied anything in all of these tests."""
    denied = [line for line in run("dmesg").stdout.splitlines()
              if "type=1326" in line and "netflowd" in line]
    assert not denied, denied

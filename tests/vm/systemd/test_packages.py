# SPDX-License-Identifier: GPL-2.0-or-later
"""Upgrade, purge and reinstallation of the packages, with the service running.

These are the last tests: they leave a system with a fresh installation.
"""

import os
import pathlib
import re
import threading
import time

import pytest

import packages
from service import (
    DROP_INS, SERVICE, SETTINGS, SOCKET, forget_failures, is_up, main_pid,
    netflowctl, no_socket_drops, past_drops, run, send_to_closed_port, show, until,
    written_after)

DATAGRAMS = 400
CONFIG = pathlib.Path("/etc/netflowd/netflowd.conf")
OWN_RULE = pathlib.Path("/etc/netflowd/alerts.d/own.conf")
MINE = "[latency]\nslow = 7ms\n"
# dpkg's own files, users and logs; what the boot and the tests made.
MAY_STAY = re.compile(
    r"/etc/(passwd|group|shadow|gshadow|subuid|subgid|\.pwd\.lock)-?|"
    r"/var/(lib/(dpkg|systemd|private)|log/(journal|dpkg|apt|alternatives|wtmp|btmp|lastlog)|cache)"
    r"(/.*|\..*)?|/run/(systemd|log|user|mount|lock|udev|dbus|initctl)(/.*)?|/root(/.*)?|"
    r"/var/lib/prometheus(/.*)?|/usr/(lib|share)/.*__pycache__.*|/boots|/run/netns")


def asking(answers, failures, ended):
    while not ended.is_set():
        begin = time.monotonic()
        done = netflowctl("status", "--json", check=False)
        (failures if done.returncode else answers).append(
            done.stderr or time.monotonic() - begin)


@pytest.fixture(scope="module")
def upgraded():
    """The packages of a newer version over a configuration that was changed, and what happened."""
    CONFIG.write_text(CONFIG.read_text() + MINE)
    begin = time.time()
    before, _ = past_drops(begin)
    send_to_closed_port(DATAGRAMS)
    written_after(time.time())
    seen = {"begin": begin, "before": before, "version": packages.version(), "pid": main_pid(),
            "socket": os.stat(SOCKET).st_ino,
            "listening": show("ActiveEnterTimestampMonotonic", unit="netflowd.socket")}
    answers, failures, ended = [], [], threading.Event()
    thread = threading.Thread(target=asking, args=(answers, failures, ended))
    thread.start()
    try:
        until(lambda: len(answers), lambda number: number > 0)
        packages.install(packages.NEWER)
        until(is_up, bool)
        before = len(answers)
        until(lambda: len(answers), lambda number: number > before)
    finally:
        ended.set()
        thread.join()
    return seen | {"answers": answers, "failures": failures}


def test_upgrade_replaces_the_daemon(upgraded):
    assert packages.version() == f"{upgraded['version']}+newer"
    assert packages.version("netflowctl") == packages.version()
    assert is_up() and main_pid() != upgraded["pid"]
    # systemd has read the new unit.
    assert show("Description", "NeedDaemonReload") == {
        "Description": "netflowd, the newer version", "NeedDaemonReload": "no"}


def test_upgrade_keeps_the_configuration(upgraded):
    assert CONFIG.read_text().endswith(MINE)
    assert pathlib.Path(f"{CONFIG}.dpkg-dist").read_text().startswith("# of the newer version\n")
    assert re.search(rf"^# {CONFIG}:\d+\nslow = ", run("netflowd", "--print-config").stdout,
                     re.MULTILINE)


def test_queries_wait_through_an_upgrade(upgraded):
    """A program asked all the time: each query was answered, over the same socket."""
    assert not upgraded["failures"]
    assert len(upgraded["answers"]) >= 3
    assert os.stat(SOCKET).st_ino == upgraded["socket"]
    assert show("ActiveEnterTimestampMonotonic", unit="netflowd.socket") == upgraded["listening"]


def test_upgrade_keeps_the_history(upgraded):
    send_to_closed_port(7)
    written_after(time.time())
    found, reply = past_drops(upgraded["begin"])
    assert found == upgraded["before"] + DATAGRAMS + 7
    # An orderly stop writes the last interval; the time of the restart is a gap.
    assert reply["period"]["gap_count"] >= 1


def test_remove_keeps_history_and_configuration(upgraded):
    run("dpkg", "--remove", "netflowd", "netflowctl", timeout=120)
    assert not packages.version()
    active = run("systemctl", "is-active", SERVICE, "netflowd.socket", check=False)
    assert active.stdout.split() == ["inactive", "inactive"]
    assert CONFIG.read_text().endswith(MINE) and packages.exists("/var/lib/netflowd/history.db")
    assert not packages.exists(SOCKET)


def test_purge():
    """Nothing of the packages is left, but files that the administrator made."""
    OWN_RULE.parent.mkdir(parents=True, exist_ok=True)
    OWN_RULE.write_text("")
    for file in DROP_INS.glob("*"):
        file.unlink()
    run("dpkg", "--purge", "netflowd", "netflowctl", timeout=120)
    assert not packages.version() and not packages.version("netflowctl")
    mine = {str(path) for path in (OWN_RULE, *SETTINGS.glob("*.conf"))}
    mine |= {str(parent) for path in mine for parent in pathlib.Path(path).parents}
    mine |= {str(DROP_INS)}
    left = {path for path in packages.files() - packages.files_before() - mine
            if not MAY_STAY.fullmatch(path)}
    assert not left
    assert OWN_RULE.exists()
    for kind in ("list-units", "list-unit-files"):
        # The exit status of one of them is 1 if it finds none.
        done = run("systemctl", kind, "--all", "--no-legend", "netflow*", check=False)
        assert "netflowd" not in done.stdout
    processes = pathlib.Path("/proc").glob("[0-9]*")
    assert not [process for process in processes if command_of(process) == "netflowd"]


def command_of(process):
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return None  # it has ended


def test_install_again_after_purge():
    """A fresh installation starts and traces; it knows nothing of the earlier history."""
    for file in SETTINGS.glob("*.conf"):
        file.unlink()
    begin = time.time()
    packages.install()
    forget_failures()
    assert is_up()
    assert run("systemctl", "is-enabled", SERVICE, "netflowd.socket").stdout.split() == \
        ["enabled", "enabled"]
    before, _ = no_socket_drops()
    send_to_closed_port(DATAGRAMS)
    assert no_socket_drops()[0] - before == DATAGRAMS
    assert CONFIG.read_text().count(MINE) == 0
    found, _ = past_drops(begin - 3600)
    assert found == DATAGRAMS

# SPDX-License-Identifier: GPL-2.0-or-later
"""Alert rules for a test, the stream of their changes, programs for them to run, and a journal
that receives their entries."""

import contextlib
import datetime
import json
import os
import select
import socket
import struct

from . import paths, patience, waiting

SHIPPED = sorted(path.name for path in (paths.TREE / "config" / "alerts.d").glob("*.conf"))
SETTINGS = ("alerts.interval=200ms",)


class Rules:
    """A directory of rule files that any user may read.  Its rules are the only ones, because
    empty files replace the shipped ones."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        directory.chmod(0o755)
        for name in SHIPPED:
            self.write(name, "")

    @property
    def setting(self):
        return f"alerts.rules={self.directory}"

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return path


class Program:
    """A script for an alert to run, and the files that its runs leave, one per run, in order."""

    def __init__(self, directory, body):
        self.directory = directory
        directory.mkdir()
        directory.chmod(0o777)
        self.path = directory / "program"
        self.path.write_text(f"#!/bin/sh\nhere={directory}\n{body}\n")
        self.path.chmod(0o755)

    def files(self, name):
        return sorted(self.directory.glob(f"{name}.*"), key=lambda path: path.stat().st_mtime_ns)


class Changes:
    """The stream of MonitorAlerts."""

    def __init__(self, daemon):
        self.client = daemon.client()
        self.client.send("io.netflowd.MonitorAlerts", more=True)
        assert self.client.reply("io.netflowd.MonitorAlerts") == {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def next(self, timeout=10):
        self.client.socket.settimeout(patience.seconds(timeout))
        reply = self.client.reply("io.netflowd.MonitorAlerts")
        assert reply.get("gap") is None
        return reply["event"]

    def none_for(self, seconds):
        self.client.socket.settimeout(seconds)
        try:
            event = self.client.reply("io.netflowd.MonitorAlerts")
        except TimeoutError:
            return True
        raise AssertionError(f"unexpected: {event}")


def alert(daemon, name):
    return next(a for a in daemon.call("GetAlerts")["alerts"] if a["name"] == name)


def reaches(daemon, name, state, seconds=10):
    """Wait until the alert is in that state; returns the alert."""
    found = waiting.until(lambda: alert(daemon, name), lambda a: a["state"] == state, seconds)
    assert found["state"] == state, found
    return found


def seconds(text):
    """A time of the daemon in seconds, as time.time() returns it."""
    return datetime.datetime.fromisoformat(text[:26] + text[-6:]).timestamp()


def drop_rule(name, device, window="2s", over="50/s", more=""):
    """A rule for drops of IPv4 UDP at one device of the lab, for any reason."""
    return f"""
[alert {name}]
condition = drop_rate
device = {device.name}
netns = {device.namespace.inode}
protocol = ipv4/udp
window = {window}
over = {over}
{more}
"""


class Journal:
    """A socket that understands enough of the journal's native protocol to receive entries.  A
    daemon that runs with `command` sends its entries here."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        directory.chmod(0o755)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(directory / "socket"))
        (directory / "socket").chmod(0o777)
        self.socket.settimeout(patience.seconds(10))

    @property
    def command(self):
        hide = ("mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd && "
                f"mkdir /run/systemd/journal && mount --bind {self.directory} /run/systemd/journal")
        return ["unshare", "--mount", "sh", "-c", f"{hide} && exec \"$@\"", "sh"]

    def next(self):
        """{field: text} of the next entry."""
        data, ancillary, _, _ = socket.recv_fds(self.socket, 1 << 20, 4)
        for fd in ancillary:  # a large entry comes as a file
            with open(fd, "rb") as file:
                data = file.read()
        return _fields(data)

    def none_for(self, wait):
        ready, _, _ = select.select([self.socket], [], [], wait)
        assert not ready, self.next()
        return True


def _fields(data):
    fields = {}
    while data:
        line, _, data = data.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:  # the length precedes a value that contains a newline
            length, = struct.unpack_from("<Q", data)
            value, data = data[8:8 + length], data[8 + length + 1:]
        fields[name.decode()] = value.decode()
    return fields


def children(pid):
    """{pid: command line} of the children of a daemon, without the helper that starts programs."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                name, _, fields = file.read().rpartition(")")
            if int(fields.split()[1]) == pid and not name.endswith("(netflowd-exec"):
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    found[int(entry)] = file.read().replace(b"\0", b" ").decode()
    return found


def loads(path):
    return json.loads(path.read_text())

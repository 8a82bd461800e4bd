# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that outlast what they name: a record shows the network namespace and the cgroup that it
had when netflowd took it, also after both are gone."""

import os
import pathlib
import socket
import subprocess

import pytest

from lab import journeys, kernel, waiting
from lab.net import run

pytestmark = pytest.mark.usefixtures("bpf")

COUNT = 12
EVERY_DROP = "records.rate=1000000"


@pytest.fixture
def removed():
    """Removes the name of a namespace, which a process keeps alive until the test ends."""
    gone = []

    def remove(namespace):
        keeper = subprocess.Popen(["ip", "netns", "exec", namespace.name, "sleep", "600"])
        waiting.until(lambda: os.stat(f"/proc/{keeper.pid}/ns/net").st_ino,
                      lambda inode: inode == namespace.inode)
        gone.append((namespace, keeper))
        run("ip", "netns", "delete", namespace.name)

    yield remove
    for namespace, keeper in gone:
        # The lab deletes it by its name.
        run("ip", "netns", "attach", namespace.name, keeper.pid)
        keeper.kill()
        keeper.wait()


def drop_names(daemon, pair):
    records = daemon.call("GetDropRecords", netns=str(pair.right.inode), limit=1000)["records"]
    return [record.get("netns_name") for record in records]


def journey_names(daemon, pair):
    records = daemon.call("GetLatencyRecords", netns=str(pair.right.inode), limit=1000)["records"]
    return [device.get("netns_name") for record in records for device in record["devices"]
            if device["netns"] == pair.right.inode]


@pytest.mark.smoke
def test_namespace_that_is_gone(start, silent_pair, removed):
    pair = silent_pair
    daemon = start(*journeys.EVERY, EVERY_DROP)
    assert pair.left.send_udp(pair.RIGHT4, 9, COUNT) == COUNT
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), COUNT) == COUNT
    name = pair.right.name
    assert waiting.until(lambda: drop_names(daemon, pair),
                         lambda names: names == [name] * COUNT) == [name] * COUNT
    # Replies of ICMP cross the device too, so there may be more of these.
    before = journey_names(daemon, pair)
    assert before and set(before) == {name}
    removed(pair.right)
    assert drop_names(daemon, pair) == [name] * COUNT
    assert journey_names(daemon, pair)[:len(before)] == before
    # It is still the same namespace, and the name that it had stays its name.  Before 5.12 nothing
    # distinguishes it from another one with its number.
    last = name if kernel.release() >= (5, 12) else None
    assert pair.left.send_udp(pair.RIGHT4, 9, 1) == 1
    names = waiting.until(lambda: drop_names(daemon, pair), lambda found: len(found) > COUNT)
    assert names == [name] * COUNT + [last]


def cgroup2():
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        if rest.split()[0] == "cgroup2":
            return pathlib.Path(fields.split()[4])
    return pytest.skip("no cgroup2 file system is mounted")


def receive_in(directory, reader):
    """A child reads one datagram in the cgroup and ends, so that the cgroup can be removed."""
    child = os.fork()
    if not child:
        try:
            (directory / "cgroup.procs").write_text("0")
            reader.recv(100)
        finally:
            os._exit(0)  # pylint: disable=protected-access # no clean-up of pytest's in a child
    return child


def test_cgroup_that_is_gone(start):
    daemon = start(*journeys.EVERY)
    directory = cgroup2() / f"netflow-captured-{os.getpid()}.service"
    directory.mkdir()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            reader.bind(("127.0.0.1", 0))
            port = reader.getsockname()[1]
            child = receive_in(directory, reader)
            waiting.until((directory / "cgroup.procs").read_text, bool)
            sender.sendto(b"x" * 40, reader.getsockname())
            os.waitpid(child, 0)

        def units():
            records = daemon.call("GetLatencyRecords", filter=f"udp dst port {port}")["records"]
            return [record.get("owner", {}).get("unit") for record in records
                    if record["outcome"] == "delivered"]

        assert waiting.until(units, lambda found: found == [directory.name]) == [directory.name]
    finally:
        directory.rmdir()
    assert units() == [directory.name]

# SPDX-License-Identifier: GPL-2.0-or-later
"""Drops without a socket belong to the cgroup whose processes are in their network namespace."""

import contextlib
import itertools
import os
import pathlib
import subprocess
import time
import uuid

import pytest

from lab import journeys, kernel, waiting
from lab.net import Pair

pytestmark = [
    pytest.mark.usefixtures("bpf"),
    pytest.mark.skipif(kernel.release() < (5, 12), reason="namespaces have no cookies")]

# Fewer than records.rate allows at once, so that each has a record; with no limit on the records of
# other tests' floods, the ring might not have room for these.
COUNT = 25
# All processes of the host are looked at once per second, or more seldom on a busy machine; and
# once per minute if that did not find an owner for ten seconds.
FOUND_SECONDS = 90
_numbers = itertools.count()


def cgroup2():
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        if rest.split()[0] == "cgroup2":
            return pathlib.Path(fields.split()[4])
    return pytest.skip("no cgroup2 file system is mounted")


@contextlib.contextmanager
def cgroup(path):
    """A cgroup below the root; the directories that it needs are removed with it."""
    root, made = cgroup2(), []
    try:
        for parent in [*reversed(path.parents), path]:
            directory = root / parent
            if not directory.exists():
                directory.mkdir()
                made.append(directory)
        yield root / path
    finally:
        for directory in reversed(made):
            waiting.until(lambda d=directory: (d / "cgroup.procs").read_text(),
                          lambda text: not text)
            directory.rmdir()


def unit():
    return pathlib.PurePath(f"netflow-owner-{os.getpid()}-{next(_numbers)}.service")


@contextlib.contextmanager
def resident(namespace, directory):
    """A process in the namespace and the cgroup."""
    process = subprocess.Popen(
        ["sh", "-c", 'echo $$ > "$1"/cgroup.procs && exec ip netns exec "$2" sleep 600', "sh",
         directory, namespace.name])
    try:
        waiting.until(lambda: os.stat(f"/proc/{process.pid}/ns/net").st_ino,
                      lambda inode: inode == namespace.inode)
        yield process
    finally:
        process.kill()
        process.wait()


def namespace_with(lab, inode):
    """A new namespace with this number, which the kernel frees soon after a deletion; or None."""
    for _ in range(100):
        namespace = lab.namespace(ipv6=False)
        if namespace.inode == inode:
            return namespace
        time.sleep(0.01)
    return None


class PairOf(Pair):
    """A pair of namespaces that exist already."""

    def __init__(self, lab, *namespaces):
        self.namespaces = list(namespaces)
        self.veth = lab.veth
        super().__init__(self, ipv6=False)

    def namespace(self, _ipv6):
        return self.namespaces.pop(0)


def owners(daemon, namespace):
    """The owner of each record of a drop in the namespace."""
    records = daemon.call("GetDropRecords", netns=str(namespace.inode), limit=1000)["records"]
    return [record.get("owner") for record in records]


def by_cgroup(daemon, path):
    """Packets of the rows whose owner is that of a namespace, in this cgroup."""
    rows = [row for row in daemon.call("GetDrops", by="cgroup", limit=256)["rows"]
            if row.get("owner", {}).get("cgroup") == f"/{path}"]
    assert all(row["owner"]["by_netns"] and "cgroup_id" not in row for row in rows), rows
    return [row["packets"] for row in rows]


def drop(daemon, pair, count=COUNT):
    """Datagrams to a port without a socket."""
    before = daemon.dropped(pair.right_device, "ipv4/udp")
    assert pair.left.send_udp(pair.RIGHT4, 9, count) == count
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"),
                           before + count) == before + count


def recorded(daemon, namespace, count=COUNT):
    """The owners, once the daemon has read that many records."""
    return waiting.until(lambda: owners(daemon, namespace), lambda got: len(got) >= count)


def expect_owner(daemon, pair, expected):
    expected = dict(expected, by_netns=True)
    every = [expected] * COUNT
    assert waiting.until(lambda: owners(daemon, pair.right), lambda got: got == every,
                         FOUND_SECONDS) == every


def test_unit(start, silent_pair):
    """Each record and each count of drops at a closed port has the unit behind the namespace."""
    daemon, path = start(), unit()
    with cgroup(path) as directory, resident(silent_pair.right, directory):
        drop(daemon, silent_pair)
        expect_owner(daemon, silent_pair, {"cgroup": f"/{path}", "unit": path.name})
        assert by_cgroup(daemon, path) == [COUNT]
        drop(daemon, silent_pair, 5)
        assert by_cgroup(daemon, path) == [COUNT + 5]
        out = daemon.netflowctl("drops", "--by", "cgroup").stdout
        assert path.name in out and "by netns" in out, out
    # What was found stays, though the process is gone.
    assert recorded(daemon, silent_pair.right, COUNT + 5) == [
        {"cgroup": f"/{path}", "unit": path.name, "by_netns": True}] * (COUNT + 5)


# Alone, because the records of all journeys of other tests would need room, too.
@pytest.mark.alone
def test_latency_records(start, path):
    """Journeys through a router: no socket is involved, and they end in its namespace."""
    daemon, name = start(*journeys.EVERY), unit()
    with cgroup(name) as directory, resident(path.router, directory):
        assert path.left.send_udp(path.RIGHT4, 9, COUNT) == COUNT
        expected = {"cgroup": f"/{name}", "unit": name.name, "by_netns": True}

        def found():
            records = journeys.ask(daemon, path.far_device, filter="udp dst port 9")
            return [r.get("owner") for r in records if r["outcome"] == "forwarded"
                    and r["devices"][-1]["netns"] == path.router.inode]

        assert waiting.until(found, lambda got: got == [expected] * COUNT) == [expected] * COUNT


def test_firewall(start, silent_pair):
    """So does a drop by a firewall, before any socket is looked for."""
    daemon, path = start(), unit()
    silent_pair.right.nft_drop("input", "udp dport 9", family="ip")
    with cgroup(path) as directory, resident(silent_pair.right, directory):
        drop(daemon, silent_pair)
        assert silent_pair.right.nft_counter("input", family="ip") == COUNT
        expect_owner(daemon, silent_pair, {"cgroup": f"/{path}", "unit": path.name})
        assert by_cgroup(daemon, path) == [COUNT]


# These make and remove the same directory.
@pytest.mark.xdist_group("kubepods")
def test_pod(start, silent_pair):
    """A container in a pod; and, with two containers, the pod alone."""
    pod, container = str(uuid.uuid4()), (uuid.uuid4().hex * 2)
    path = pathlib.PurePath("kubepods", f"pod{pod}", container)
    daemon = start()
    with cgroup(path) as directory, resident(silent_pair.right, directory):
        drop(daemon, silent_pair)
        expect_owner(daemon, silent_pair,
                     {"cgroup": f"/{path}", "container": container[:12], "pod": pod})
        assert by_cgroup(daemon, path) == [COUNT]


@pytest.mark.xdist_group("kubepods")
def test_pod_of_two_containers(start, silent_pair):
    pod, first, second = str(uuid.uuid4()), uuid.uuid4().hex * 2, uuid.uuid4().hex * 2
    path = pathlib.PurePath("kubepods", f"pod{pod}")
    daemon = start()
    with cgroup(path), cgroup(path / first) as one, cgroup(path / second) as two, \
            resident(silent_pair.right, one), resident(silent_pair.right, two):
        drop(daemon, silent_pair)
        expect_owner(daemon, silent_pair, {"cgroup": f"/{path}", "pod": pod})
        assert by_cgroup(daemon, path) == [COUNT]


def test_strangers_in_one_namespace(start, silent_pair):
    """Two units share it: neither owns its drops."""
    daemon, path, other = start(), unit(), unit()
    with cgroup(path) as one, cgroup(other) as two, \
            resident(silent_pair.right, one), resident(silent_pair.right, two):
        drop(daemon, silent_pair)
        recorded(daemon, silent_pair.right)
        for _ in range(10):
            assert owners(daemon, silent_pair.right) == [None] * COUNT
            assert not by_cgroup(daemon, path) and not by_cgroup(daemon, other)
            time.sleep(0.25)


def test_no_processes(start, silent_pair):
    """A namespace without processes has no owner, until one comes: for new drops and for counts."""
    daemon, path = start(), unit()
    drop(daemon, silent_pair)
    recorded(daemon, silent_pair.right)
    for _ in range(10):
        assert owners(daemon, silent_pair.right) == [None] * COUNT
        time.sleep(0.25)
    with cgroup(path) as directory, resident(silent_pair.right, directory):
        assert waiting.until(lambda: by_cgroup(daemon, path), bool, FOUND_SECONDS) == [COUNT]


def test_the_host(start, silent_pair):
    """The host's own namespace has many owners: none of them is shown."""
    daemon = start()
    drop(daemon, silent_pair)
    inode = os.stat("/proc/self/ns/net").st_ino
    rows = daemon.call("GetDrops", netns=str(inode))["rows"]
    assert not [row for row in rows if row.get("owner", {}).get("by_netns")]


# Alone, because the namespaces and processes of other tests would get the number.
@pytest.mark.alone
@pytest.mark.skipif(kernel.release() < (5, 14), reason="namespaces do not show their cookies")
def test_inode_used_again(start, lab):
    """A namespace without processes is deleted, and one with a unit gets its number: the drops of
    the first never show that unit, and those of the second do."""
    daemon, path = start(), unit()
    with cgroup(path) as directory:
        for _ in range(10):
            first = lab.pair(ipv6=False)
            drop(daemon, first)
            lab.delete()
            again = namespace_with(lab, first.right.inode)
            if again:
                break
        else:
            pytest.skip("other processes took the number")
        second = PairOf(lab, lab.namespace(ipv6=False), again)
        with resident(second.right, directory):
            drop(daemon, second)
            mine = {"cgroup": f"/{path}", "unit": path.name, "by_netns": True}
            got = waiting.until(lambda: owners(daemon, second.right),
                                lambda found: found.count(mine) == COUNT)
            assert got.count(mine) == COUNT and got.count(None) == len(got) - COUNT >= COUNT
            assert by_cgroup(daemon, path) == [COUNT]

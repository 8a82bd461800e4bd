# SPDX-License-Identifier: GPL-2.0-or-later
"""Recent records are kept fairly: a flood replaces its own records, each cause keeps its newest.
A record names its own namespace, and never one that got the same inode number later."""

import contextlib
import os
import subprocess
import time

import pytest

from lab import attempts, journeys, kernel, patience, paths, waiting
from lab.net import run

pytestmark = pytest.mark.usefixtures("bpf")

EVERY_DROP = ("records.rate=1000000", "ring.bytes=16777216")
CAPACITY = 500
SOUGHT_SECONDS = 1  # NETNS_SETTLED_NS in daemon/store/captures.c


def matched(daemon, namespace, **parameters):
    parameters |= {"netns": str(namespace.inode), "limit": 1}
    return daemon.call("GetDropRecords", **parameters)["matched"]


def flood(daemon, send):
    """Send until more records than the store holds have been made; returns the number of them."""
    before = daemon.status()["drops"]["recorded"]
    for _ in range(20):
        send(patience.fewer(100_000))
        recorded = waiting.until(lambda: daemon.status()["drops"]["recorded"] - before,
                                 lambda count: count > 10 * CAPACITY)
        if recorded > 10 * CAPACITY:
            return recorded
    return recorded


@pytest.mark.portable
@pytest.mark.smoke
def test_a_flood_replaces_its_own_records(start, lab):
    """One drop by a rule of nftables, and one in another namespace for the flood's own reason."""
    daemon = start(*EVERY_DROP, f"records.recent={CAPACITY}")
    quiet, noisy = lab.pair(ipv6=False), lab.pair(ipv6=False)
    noisy.right.nft_drop("input", "udp dport 5555")
    assert noisy.left.send_udp(noisy.RIGHT4, 5555, 1) == 1
    assert quiet.left.send_udp(quiet.RIGHT4, 9, 1) == 1
    assert waiting.settled(lambda: matched(daemon, quiet.right), 1) == 1
    assert flood(daemon, lambda n: noisy.left.send_udp(noisy.RIGHT4, 9, n)) > 10 * CAPACITY
    answer = daemon.call("GetDropRecords", limit=CAPACITY)
    assert answer["held"] == CAPACITY == answer["capacity"]
    assert matched(daemon, quiet.right) == 1
    assert matched(daemon, noisy.right, filter="udp dst port 5555") == 1
    # Its share may be small, because tests beside this one cause drops as well.
    assert matched(daemon, noisy.right, filter="udp dst port 9") > CAPACITY / 50


def test_each_of_many_causes_keeps_its_newest(start, lab):
    """Two drops in each of 50 namespaces, then a flood: the second ones stay."""
    daemon = start(*EVERY_DROP, f"records.recent={CAPACITY}")
    noisy = lab.pair(ipv6=False)
    quiet = [lab.namespace(ipv6=False) for _ in range(50)]
    for port in (9, 10):
        for namespace in quiet:
            namespace.send_udp("127.0.0.1", port, 1)

    def held():
        records = daemon.call("GetDropRecords", filter="udp dst port 10", limit=CAPACITY)["records"]
        return sorted(r["netns"] for r in records if r["netns"] in inodes)

    inodes = {namespace.inode for namespace in quiet}
    assert waiting.until(held, lambda found: len(found) == 50) == sorted(inodes)
    assert flood(daemon, lambda n: noisy.left.send_udp(noisy.RIGHT4, 9, n)) > 10 * CAPACITY
    assert held() == sorted(inodes)


def are_named(records):
    """All three, with the name of their namespace, which the daemon looks up later."""
    return len(records) >= 3 and \
        all("netns_name" in device for record in records for device in record["devices"])


def test_journeys_over_one_device_leave_those_over_another(start, lab):
    daemon = start(*journeys.EVERY, f"records.recent={CAPACITY}")
    quiet, noisy = lab.pair(ipv6=False), lab.pair(ipv6=False)
    assert quiet.left.send_udp(quiet.RIGHT4, 9, 3) == 3
    before = waiting.until(lambda: journeys.ask(daemon, quiet.left_device), are_named)
    assert are_named(before)
    noisy.left.send_udp(noisy.RIGHT4, 9, patience.fewer(100_000))
    status = waiting.until(lambda: daemon.call("GetLatencyRecords", limit=1),
                           lambda answer: answer["held"] == CAPACITY)
    assert status["held"] == CAPACITY
    after = journeys.ask(daemon, quiet.left_device)
    assert after and after[-1] in before


# ---- names ----


class Unnamed:
    """A namespace without a name, which a process keeps."""

    def __init__(self):
        self.keeper = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"],
            stdout=subprocess.PIPE, text=True)
        assert self.keeper.stdout.readline() == "up\n"
        self.inode = os.stat(f"/proc/{self.keeper.pid}/ns/net").st_ino

    def drop(self, port):
        """One datagram to a closed port."""
        run("nsenter", f"--net=/proc/{self.keeper.pid}/ns/net", paths.TOOLS / "udp_send", "-n", 1,
            "127.0.0.1", port)

    @contextlib.contextmanager
    def called(self, name):
        run("ip", "netns", "attach", name, self.keeper.pid)
        try:
            yield name
        finally:
            run("ip", "netns", "delete", name)

    def end(self):
        self.keeper.kill()
        self.keeper.wait()
        self.keeper.stdout.close()


@pytest.fixture
def unnamed():
    with contextlib.ExitStack() as ends:
        def make():
            namespace = Unnamed()
            ends.callback(namespace.end)
            return namespace

        yield make


def names(daemon, inode, port):
    """The names in the records of all namespaces that have or had this number."""
    records = daemon.call("GetDropRecords", netns=str(inode), filter=f"udp dst port {port}",
                          limit=1000)["records"]
    return [record.get("netns_name") for record in records]


def drop_and_see(daemon, namespace, port):
    namespace.drop(port)
    assert len(waiting.until(lambda: names(daemon, namespace.inode, port), bool)) == 1


def successor(unnamed, inode):
    """A new namespace with this inode number, which its owner has just given up; None if another
    process of this machine has it.  The kernel gives the lowest number that is free."""
    for _ in range(100):
        namespace = unnamed()
        if namespace.inode == inode:
            return namespace
        time.sleep(0.01)
    return None


@pytest.mark.smoke
def test_number_used_again(start, lab, unnamed):
    daemon = start(*EVERY_DROP)
    for attempt in range(10):
        first, port = unnamed(), 20000 + attempt
        drop_and_see(daemon, first, port)
        first.end()
        second = successor(unnamed, first.inode)
        if second:
            break
    assert second, "the number never came again"
    with second.called(lab.name()) as name:
        drop_and_see(daemon, second, 10)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            assert names(daemon, first.inode, port) == [None]
            time.sleep(0.05)
        if kernel.release() >= (5, 14):
            assert names(daemon, second.inode, 10) == [name]
            records = daemon.call("GetDropRecords", netns=name, limit=1000)["records"]
            assert [record["transport"]["destination_port"] for record in records] == [10]
    assert names(daemon, first.inode, port) == [None]


def test_late_name(start, lab, unnamed):
    """The name comes after the record, which shows it, because it is the same namespace."""
    if kernel.release() < (5, 14):
        pytest.skip("this kernel does not show the cookie of a namespace (SO_NETNS_COOKIE)")
    daemon = start(*EVERY_DROP)

    def attempt():
        namespace, begun = unnamed(), time.monotonic()
        drop_and_see(daemon, namespace, 9)
        assert names(daemon, namespace.inode, 9) == [None]
        with namespace.called(lab.name()) as name:
            soon = time.monotonic() - begun < SOUGHT_SECONDS
            found = waiting.until(lambda: names(daemon, namespace.inode, 9), lambda n: n != [None])
            attempts.need(soon or found == [name], "the name came too late")
            assert found == [name]
        assert names(daemon, namespace.inode, 9) == [name]

    attempts.valid(attempt)


def test_names_of_namespaces_that_go_by(start, lab):
    """Namespaces are made, used and deleted one after another; each record has its own name."""
    daemon = start(*EVERY_DROP)
    expected, held = {}, {}
    for port in range(21000, 21000 + patience.fewer(40)):
        namespace = lab.namespace(ipv6=False)
        namespace.send_udp("127.0.0.1", port, 1)
        expected[namespace.inode, port] = [namespace.name]
        # A machine that is busy may not find the name at once.
        waiting.until(lambda n=namespace, p=port: names(daemon, n.inode, p),
                      lambda found, n=namespace: found == [n.name])
        run("ip", "netns", "delete", namespace.name)
    for inode, port in expected:
        held[inode, port] = names(daemon, inode, port)
    assert held == expected

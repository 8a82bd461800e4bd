# SPDX-License-Identifier: GPL-2.0-or-later
"""Identity: the kernel reuses skbs, frees them unseen, and uses them for messages that cross no
device.  A stale entry must never make a time: none is negative, and none is longer than the packet
can have lived."""

import contextlib
import functools
import socket
import threading
import time

import pytest

from lab import journeys, ledgers, patience, sockets, waiting
from lab.loads import loads, netlink_turn, unix_turn
from lab.pump import pump

SECONDS = 2
TINIEST = ("inflight.entries=8", *journeys.EVERY)
TINY = ("inflight.entries=64", *journeys.EVERY)

pytestmark = [pytest.mark.alone, pytest.mark.shared, pytest.mark.usefixtures("bpf")]


class Exchange:
    """Ping-pong that knows the longest time one message can have lived, from send to read."""

    def __init__(self, sender, reader):
        self.sender, self.reader = sender, reader
        self.longest_ns = 0
        self.messages = 0

    def turn(self):
        for _ in range(20):
            begin = time.monotonic_ns()
            self.sender.send(b"x" * 300)
            self.reader.recv(1000)
            self.longest_ns = max(self.longest_ns, time.monotonic_ns() - begin)
            self.messages += 1


@contextlib.contextmanager
def exchanges(pair):
    """UDP and TCP, IPv4, side by side."""
    with contextlib.ExitStack() as stack:
        found = {}
        for port, connect in enumerate(sockets.KINDS.values(), 7001):
            ends = stack.enter_context(connect(pair.left, pair.right, pair.RIGHT4, port))
            found[port] = Exchange(*ends)
        yield found


class Watch(threading.Thread):
    """Reads the stream of latency records, and keeps the impossible ones."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client = client
        self.records = self.gaps = 0
        self.wrong, self.longest = [], {}
        self.begin = time.monotonic_ns()

    def run(self):
        with contextlib.suppress(OSError, EOFError, ValueError):
            while True:
                reply = self.client.receive()["parameters"]
                self.gaps += reply.get("gap") or 0
                if reply.get("latency"):
                    self.look(reply["latency"])

    def look(self, record):
        self.records += 1
        wrong = journeys.impossible(record, time.monotonic_ns() - self.begin)
        if wrong:
            self.wrong.append(wrong)
        if record["outcome"] == "delivered":
            port = journeys.destination_port(record)
            if record["total_ns"] > self.longest.get(port, {"total_ns": -1})["total_ns"]:
                self.longest[port] = record


def histograms_possible(daemon, device, longest_ns):
    """Check that no segment of the device is longer than the longest life of any message."""
    rows = [l for l in daemon.call("GetLatency", all=True)["latencies"]
            if (l.get("netns"), l.get("ifindex")) == (device.namespace.inode, device.ifindex)]
    assert rows
    for row in rows:
        assert row["max_ns"] <= longest_ns, (row["segment"], row["max_ns"], longest_ns)


@pytest.mark.parametrize("settings", [TINIEST, TINY, journeys.EVERY],
                         ids=["8 entries", "64 entries", "default table"])
def test_unix_and_netlink_beside_tcp_and_udp(start, silent_pair, settings):
    daemon = start(*settings)
    pair = silent_pair
    with daemon.client(timeout=None) as client, exchanges(pair) as exchange:
        client.monitor(records=["latency"], netns=str(pair.right.inode))
        watch = Watch(client)
        watch.start()
        turns = [unix_turn(socket.SOCK_DGRAM), unix_turn(socket.SOCK_STREAM), netlink_turn(),
                 *(e.turn for e in exchange.values())]
        with loads(*turns):
            time.sleep(SECONDS)
        status = ledgers.check_balanced(daemon)
        time.sleep(0.5)
        longest = {port: e.longest_ns for port, e in exchange.items()}
        client.socket.shutdown(socket.SHUT_RDWR)
        watch.join(timeout=patience.seconds(20))
    assert not watch.wrong
    assert watch.records > patience.fewer(1000)
    for port, record in watch.longest.items():
        if port in longest:
            assert record["total_ns"] <= longest[port], (record, longest[port])
    histograms_possible(daemon, pair.right_device, max(longest.values()))
    if settings is TINIEST:
        assert status["inflight"]["overwritten"] > 0, "the table was large enough"


def test_floods_in_a_tiny_table(start, silent_pair):
    """Two floods, one read and one dropped, make the kernel reuse skbs at the highest rate."""
    pair = silent_pair
    daemon = start(*TINY)
    begin = time.monotonic_ns()
    with sockets.udp(pair.left, pair.right, pair.RIGHT4, 7001) as (_, reader):
        reader.settimeout(0.5)
        senders = [threading.Thread(target=pair.left.send_udp,
                                    args=(pair.RIGHT4, port, patience.fewer(150_000)))
                   for port in (7001, 9)]
        for sender in senders:
            sender.start()
        with loads(unix_turn(socket.SOCK_DGRAM)):
            while any(sender.is_alive() for sender in senders):
                with contextlib.suppress(TimeoutError):
                    reader.recv(1000)
        for sender in senders:
            sender.join()
        reader.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                reader.recv(1000)
    status = ledgers.check_balanced(daemon)
    lived = time.monotonic_ns() - begin
    assert status["inflight"]["overwritten"] > 0
    records = [record for namespace in (pair.right, pair.left)
               for record in daemon.call("GetLatencyRecords", limit=20000,
                                         netns=str(namespace.inode))["records"]]
    assert records
    assert [w for w in (journeys.impossible(r, lived) for r in records) if w] == []
    for row in daemon.call("GetLatency", all=True)["latencies"]:
        if row.get("netns") in (pair.left.inode, pair.right.inode):
            assert row["max_ns"] <= lived, row["segment"]


@pytest.mark.needs("rx_latency", "by its address only")
def test_skbs_that_end_unseen(start, silent_pair):
    """A closed socket with datagrams in it, and a closed TCP connection with unread data: the
    kernel frees their skbs without a reader.  A later skb in the same memory is timed by its own
    arrival."""
    pair = silent_pair
    daemon = start(*TINY)
    longest = 0
    for _ in range(30):
        for connect in sockets.KINDS.values():
            with connect(pair.left, pair.right, pair.RIGHT4, 7003) as (sender, _):
                for _ in range(20):
                    sender.send(b"x" * 300)
        time.sleep(0.02)
        with sockets.udp(pair.left, pair.right, pair.RIGHT4, 7004) as (sender, reader):
            exchange = Exchange(sender, reader)
            exchange.turn()
            longest = max(longest, exchange.longest_ns)
    records = journeys.to_port(journeys.wait_for(daemon, 1, pair.right_device, "delivered"), 7004)
    assert records
    for record in records:
        journeys.check(record, lived_ns=longest)
    ledgers.check_balanced(daemon)


def test_merged_and_split_tcp(start, silent_pair):
    """TCP merges many small waiting segments in the socket's queue; merged ones have no time."""
    pair = silent_pair
    daemon = start(*journeys.EVERY)
    with sockets.tcp(pair.left, pair.right, pair.RIGHT4, 7005) as (sender, reader):
        begin = time.monotonic_ns()
        for _ in range(200):
            sender.send(b"x" * 100)
        time.sleep(0.05)
        read = 0
        while read < 20_000:
            read += len(reader.recv(30))
        lived = time.monotonic_ns() - begin
        records = journeys.to_port(journeys.wait_for(daemon, 1, pair.right_device, "delivered"),
                                   7005)
    assert records
    for record in records:
        journeys.check(record, lived_ns=lived)
    assert sum(r["length_bytes"] for r in records) <= 20_000
    ledgers.check_balanced(daemon)


@pytest.mark.needs("drops", "headers")
def test_a_drop_before_a_device(fresh, lab):
    """A rule drops what a task sends, before it has a device: the packet gets none, and no
    namespace but its own, whatever skb was at its address before."""
    daemon, count = fresh, 4_000
    pair, other = lab.pair(ipv6=False), lab.pair(ipv6=False)
    pair.left.nft_drop("output", "udp dport 5556")
    turns = [functools.partial(pump, kind, other.left, other.right, other.RIGHT4, port, 300)
             for port, kind in enumerate(sockets.KINDS, 7001)]
    turns.append(functools.partial(other.left.send_udp, other.RIGHT4, 9, 300))
    with pair.left.entered():
        refused = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with refused, loads(*turns):
        for number in range(count):
            with pytest.raises(PermissionError):
                refused.sendto(b"x", (pair.RIGHT4, 5556))
            if number % 50 == 0:
                time.sleep(0.01)
    assert pair.left.nft_counter("output") == count

    def dropped():
        rows = daemon.call("GetDrops", netns=str(pair.left.inode))["rows"]
        return sum(row["packets"] for row in rows)

    assert waiting.settled(dropped, count) == count
    records = [record for record in daemon.records() if record.get("transport", {}).get(
        "destination_port") == 5556]
    assert records
    assert {(r["netns"], r.get("device")) for r in records} == {(pair.left.inode, None)}

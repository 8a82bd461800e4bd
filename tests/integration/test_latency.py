# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency: a time that a test makes is the time that netflowd shows, for as many packets as were sent."""

import contextlib
import socket
import time

import pytest

from lab import packets, waiting

SLEEP = 0.030
ROUNDS = 20
# Half a bucket of the histogram.
BUCKET_ERROR = 0.125


def close_to(measured_ns, expected_ns):
    """Within 5 % or 1 ms."""
    return abs(measured_ns - expected_ns) <= max(0.05 * expected_ns, 1e6)


class Exchange:
    """Sends one message at a time and reads it a known time later."""

    def __init__(self, sender, reader):
        self.sender, self.reader = sender, reader
        self.waits_ns = []

    def rounds(self, count, sleep, size=100):
        for _ in range(count):
            self.sender(b"x" * size)
            arrived = time.monotonic_ns()
            time.sleep(sleep)
            self.reader(65536)
            self.waits_ns.append(time.monotonic_ns() - arrived)

    @property
    def mean_ns(self):
        return sum(self.waits_ns) / len(self.waits_ns)


@contextlib.contextmanager
def udp_exchange(pair, version):
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    address = pair.right_address(version), 7777
    with contextlib.ExitStack() as stack:
        with pair.right.entered():
            reader = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            reader.bind(address)
        with pair.left.entered():
            sender = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            sender.connect(address)
        yield Exchange(sender.send, reader.recv)


@contextlib.contextmanager
def tcp_exchange(pair, version):
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    address = pair.right_address(version), 7777
    with contextlib.ExitStack() as stack:
        with pair.right.entered():
            listener = stack.enter_context(socket.socket(family))
            listener.bind(address)
            listener.listen(1)
        with pair.left.entered():
            sender = stack.enter_context(socket.socket(family))
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sender.connect(address)
        reader = stack.enter_context(listener.accept()[0])
        yield Exchange(sender.sendall, reader.recv)


EXCHANGES = {"udp": udp_exchange, "tcp": tcp_exchange}


def check_histogram(latency):
    """What must hold of every latency, whatever it measures."""
    assert sum(b["count"] for b in latency["buckets"]) == latency["count"]
    assert all(b["count"] > 0 and b["from_ns"] < b["below_ns"] for b in latency["buckets"])
    edges = [b["from_ns"] for b in latency["buckets"]]
    assert edges == sorted(edges)
    quantiles = [latency[q] for q in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")]
    assert quantiles == sorted(quantiles)
    assert latency["mean_ns"] <= latency["max_ns"]


@pytest.mark.smoke
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("transport", EXCHANGES)
def test_reader_that_sleeps(daemon, pair, transport, version):
    with EXCHANGES[transport](pair, version) as exchange:
        exchange.rounds(ROUNDS, SLEEP)
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive→copy"),
                                lambda l: l and l["count"] >= ROUNDS)
    assert latency["count"] == ROUNDS
    assert close_to(latency["mean_ns"], exchange.mean_ns)
    assert close_to(latency["mean_ns"], SLEEP * 1e9)
    assert close_to(latency["max_ns"], max(exchange.waits_ns))
    assert abs(latency["p50_ns"] / sorted(exchange.waits_ns)[ROUNDS // 2] - 1) <= BUCKET_ERROR + 0.05
    check_histogram(latency)

    total = daemon.latency(pair.right_device, "total")
    assert total["count"] == ROUNDS
    assert close_to(total["mean_ns"], latency["mean_ns"])


@pytest.mark.parametrize("transport", EXCHANGES)
@pytest.mark.parametrize("size", [1, 1400])
def test_size_does_not_matter(daemon, pair, transport, size):
    with EXCHANGES[transport](pair, 4) as exchange:
        exchange.rounds(10, 0.010, size)
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive→copy"),
                                lambda l: l and l["count"] >= 10)
    assert latency["count"] == 10
    assert close_to(latency["mean_ns"], exchange.mean_ns)


def test_queue_of_datagrams_read_late(daemon, pair):
    """Fifty datagrams wait in one socket; each is timed by its own arrival."""
    with udp_exchange(pair, 4) as exchange:
        arrived = []
        for _ in range(50):
            exchange.sender(b"x" * 50)
            arrived.append(time.monotonic_ns())
            time.sleep(0.001)
        time.sleep(0.020)
        waits = []
        for i in range(50):
            exchange.reader(100)
            waits.append(time.monotonic_ns() - arrived[i])
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive→copy"),
                                lambda l: l and l["count"] >= 50)
    assert latency["count"] == 50
    assert close_to(latency["mean_ns"], sum(waits) / len(waits))
    assert close_to(latency["max_ns"], max(waits))


def test_peek_does_not_end_the_wait(daemon, pair):
    with udp_exchange(pair, 4) as exchange:
        exchange.sender(b"x" * 50)
        with contextlib.suppress(BlockingIOError):
            exchange.reader(100, socket.MSG_PEEK)
        time.sleep(SLEEP)
        exchange.reader(100)
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive→copy"), bool)
    if latency["count"] == 1 and latency["mean_ns"] < 0.5 * SLEEP * 1e9:
        pytest.fail("the peek was taken for the read")
    assert latency["count"] == 1
    assert close_to(latency["mean_ns"], SLEEP * 1e9)


def test_shaped_qdisc(daemon, silent_pair):
    """A token bucket of 8 Mbit/s and 2000 bytes: when each packet leaves can be computed."""
    count, payload, burst, rate = 50, 1000, 2000, 1_000_000
    length = payload + 8 + 20 + 14
    pair = silent_pair
    device = pair.left_device
    pair.left.run("tc", "qdisc", "add", "dev", device.name, "root", "handle", "1:", "tbf",
                  "rate", "8mbit", "burst", burst, "limit", "200000")
    pair.left.send_udp(pair.RIGHT4, 9, count, "-s", payload)
    latency = waiting.until(lambda: daemon.latency(device, "queue→start_xmit"),
                            lambda l: l and l["count"] >= count)
    qdisc = device.qdisc("tbf")
    assert qdisc["packets"] == count and qdisc["drops"] == 0
    assert latency["count"] == count

    expected_ns = [max(0, (i + 1) * length - burst) / rate * 1e9 for i in range(count)]
    assert close_to(latency["mean_ns"], sum(expected_ns) / count)
    assert close_to(latency["max_ns"], max(expected_ns))
    check_histogram(latency)
    assert daemon.latency(device, "start_xmit→xmit")["count"] == count


def test_counts_equal_what_was_sent(daemon, silent_pair):
    count = 4217
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, count)
    for segment in ("queue→start_xmit", "start_xmit→xmit"):
        latency = waiting.until(lambda: daemon.latency(pair.left_device, segment),
                                lambda l: l and l["count"] >= count)
        assert latency["count"] == count == pair.left_device.statistics()["tx"]["packets"]
        check_histogram(latency)


def test_receive_context(daemon, silent_pair):
    """softirq→receive is there for every packet, since each came by a softirq."""
    count = 1000
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, count)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), count)
    latency = daemon.latency(pair.right_device, "softirq→receive")
    assert latency["count"] == count == pair.right_device.statistics()["rx"]["packets"]
    check_histogram(latency)
    # No interrupt had a part in it.
    assert daemon.latency(pair.right_device, "irq→softirq") is None


def test_device_that_completes_later(daemon, lab):
    """A TUN device frees a packet when its reader takes it: xmit→free is that wait."""
    namespace = lab.namespace(ipv6=False)
    with packets.Tunnel(namespace, lab.name()) as tunnel:
        namespace.ip("address", "add", "10.88.0.2/24", "dev", tunnel.device.name)
        waits = []
        with namespace.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(ROUNDS):
                sender.sendto(b"x" * 100, ("10.88.0.1", 9))
                sent = time.monotonic_ns()
                time.sleep(SLEEP)
                assert len(tunnel.read()) == 128
                waits.append(time.monotonic_ns() - sent)
        latency = waiting.until(lambda: daemon.latency(tunnel.device, "xmit→free"),
                                lambda l: l and l["count"] >= ROUNDS)
    assert latency, "no xmit→free of a TUN device"
    assert latency["count"] == ROUNDS
    assert close_to(latency["mean_ns"], sum(waits) / len(waits))
    assert close_to(latency["max_ns"], max(waits))
    check_histogram(latency)


def test_forwarded_packet_is_one_journey(daemon, path):
    """A router's packet is begun at receive and, forwarded, begun again at queue: both are in the
    ledger, and the second one has its transmit latency."""
    count = 1000
    before = daemon.status()["inflight"]
    path.left.send_udp(path.RIGHT4, 9, count)
    waiting.settled(lambda: daemon.dropped(path.right_device, "ipv4/udp", "NO_SOCKET"), count)
    after = daemon.status()["inflight"]
    assert after["forwarded"] - before["forwarded"] >= count
    assert daemon.latency(path.far_device, "queue→start_xmit")["count"] >= count


def test_filter_by_device_and_namespace(daemon, pair):
    pair.left.send_udp(pair.RIGHT4, 9, 10)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), 10)
    by_device = daemon.call("GetLatency", device=pair.left_device.name)["latencies"]
    assert {l["device"] for l in by_device} == {pair.left_device.name}
    by_netns = daemon.call("GetLatency", netns=pair.left.inode)["latencies"]
    assert {l["netns"] for l in by_netns} == {pair.left.inode}
    assert [l for l in by_netns if l["device"] == pair.left_device.name]
    assert {l["direction"] for l in by_device if "xmit" in l["segment"]} == {"tx"}


def test_more_devices_than_slots(start, lab, bpf):
    """Devices without a slot of their own are put together, and none is lost."""
    daemon = start("devices.slots=8")
    namespaces = [lab.namespace() for _ in range(10)]
    before = _together(daemon)
    for namespace in namespaces:
        namespace.send_udp("127.0.0.1", 9, 100)
    for namespace in namespaces:
        waiting.settled(lambda: daemon.dropped(namespace.loopback(), "ipv4/udp", "NO_SOCKET"), 100)
        assert daemon.dropped(namespace.loopback(), "ipv4/udp", "NO_SOCKET") == 100
    own = [daemon.latency(n.loopback(), "start_xmit→xmit") for n in namespaces]
    counted = sum(l["count"] for l in own if l) + _together(daemon) - before
    assert counted >= 1000
    assert any(l is None for l in own)


def _together(daemon):
    return sum(l["count"] for l in daemon.call("GetLatency")["latencies"]
               if l.get("device") is None and l["segment"] == "start_xmit→xmit")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency: netflowd shows the times that a test makes, and as many packets as the test sent."""

import contextlib
import socket
import struct
import time

import pytest

from lab import kernel, packets, patience, sockets, waiting

SLEEP = patience.seconds(0.030)
ROUNDS = 20
# Half a bucket of the histogram.
BUCKET_ERROR = 0.125


# With enough room that other traffic of this host does not push out a waiting packet.
pytestmark = [pytest.mark.alone, pytest.mark.shared("inflight.entries=1048576")]


def close_to(measured_ns, expected_ns):
    """Within 5 % or 1 ms."""
    return waiting.between(measured_ns, expected_ns, expected_ns)


def mean(values):
    return sum(values) / len(values)


def all_counted(daemon, latency, count):
    """True if the count is exactly the number of packets sent.  The in-flight table is the whole
    host's, and another process's flood can push out a waiting packet; and some kernels run no
    program on top of an exempt task, not even for all packets that a timer sends there: then this
    checks that the ledger has the packet, and returns False."""
    if latency["count"] == count:
        return True
    ledger = daemon.status()["inflight"]
    lost = ledger["overwritten"] + min(ledger["in_flight"] + ledger["stale"],
                                       kernel.untraced_burst(count))
    assert count - lost <= latency["count"] < count, (latency, ledger)
    return False


def check_waits(daemon, latency, waits):
    """Check the number of waits, and their mean, median and maximum."""
    check_histogram(latency)
    if not all_counted(daemon, latency, len(waits)):
        return
    least = sorted(w.least_ns for w in waits)
    most = sorted(w.most_ns for w in waits)
    assert waiting.between(latency["mean_ns"], mean(least), mean(most))
    assert waiting.between(latency["max_ns"], least[-1], most[-1])
    middle = (len(waits) - 1) // 2
    assert waiting.between(latency["p50_ns"], least[middle] * (1 - BUCKET_ERROR),
                   most[middle] * (1 + BUCKET_ERROR))


class Exchange:
    """Sends one message at a time and reads it a known time later."""

    def __init__(self, sender, reader):
        self.sender, self.reader = sender, reader
        self.waits = []

    def begin(self, size=100):
        self.waits.append(waiting.Wait(lambda: self.sender(b"x" * size)))

    def end(self, i=-1):
        self.waits[i].end(lambda: self.reader(65536))

    def rounds(self, count, sleep, size=100):
        for _ in range(count):
            self.begin(size)
            time.sleep(sleep)
            self.end()


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
    """Check the conditions that hold for every latency."""
    assert sum(b["count"] for b in latency["buckets"]) == latency["count"]
    assert all(b["count"] > 0 and b["from_ns"] < b["below_ns"] for b in latency["buckets"])
    edges = [b["from_ns"] for b in latency["buckets"]]
    assert edges == sorted(edges)
    quantiles = [latency[q] for q in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")]
    assert quantiles == sorted(quantiles)
    assert latency["mean_ns"] <= latency["max_ns"]


@pytest.mark.parametrize("transport, version", [
    ("tcp", 4), pytest.param("tcp", 6, marks=pytest.mark.smoke),
    pytest.param("udp", 4, marks=pytest.mark.smoke), ("udp", 6)])
def test_reader_that_sleeps(daemon, pair, transport, version):
    with EXCHANGES[transport](pair, version) as exchange:
        exchange.rounds(ROUNDS, SLEEP)
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive_to_copy"),
                                lambda l: l and l["count"] >= ROUNDS)
    check_waits(daemon, latency, exchange.waits)
    assert latency["mean_ns"] >= SLEEP * 1e9
    total = daemon.latency(pair.right_device, "rx_total")
    assert total["count"] == latency["count"]
    assert total["mean_ns"] >= latency["mean_ns"]
    assert close_to(total["mean_ns"], latency["mean_ns"])


@pytest.mark.parametrize("transport", EXCHANGES)
@pytest.mark.parametrize("size", [1, 1400])
def test_size_does_not_matter(daemon, pair, transport, size):
    with EXCHANGES[transport](pair, 4) as exchange:
        exchange.rounds(10, 0.010, size)
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive_to_copy"),
                                lambda l: l and l["count"] >= 10)
    check_waits(daemon, latency, exchange.waits)


def test_queue_of_datagrams_read_late(daemon, pair):
    """Fifty datagrams wait in one socket; netflowd times each from its own arrival."""
    with udp_exchange(pair, 4) as exchange:
        for _ in range(50):
            exchange.begin()
            time.sleep(0.001)
        time.sleep(0.020)
        for i in range(50):
            exchange.end(i)
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive_to_copy"),
                                lambda l: l and l["count"] >= 50)
    check_waits(daemon, latency, exchange.waits)


def test_reused_skbs_are_not_deliveries(daemon, silent_pair):
    """The kernel frees bare acknowledgements without a tracepoint, and soon reuses their skbs for
    netlink and AF_UNIX messages.  The end of those is not the end of a received packet."""
    pair, rounds = silent_pair, 2000
    with tcp_exchange(pair, 4) as exchange, \
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        unix = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        netlink.bind((0, 0))
        for _ in range(rounds):
            exchange.sender(b"x" * 10)
            exchange.reader(100)
            # The kernel answers this request with an error.
            netlink.send(struct.pack("=IHHII4x", 20, 18, 5, 1, 0))
            netlink.recv(65536)
            unix[0].send(b"x" * 10)
            unix[1].recv(100)
        for end in unix:
            end.close()
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive_to_copy"),
                                lambda l: l and l["count"] >= rounds)
    all_counted(daemon, latency, rounds)
    # The sender gets acknowledgements only, and reads nothing.
    assert daemon.latency(pair.left_device, "receive_to_copy") is None


def test_peek_does_not_end_the_wait(daemon, pair):
    with udp_exchange(pair, 4) as exchange:
        exchange.begin()
        exchange.reader(100, socket.MSG_PEEK)
        time.sleep(SLEEP)
        exchange.end()
        latency = waiting.until(lambda: daemon.latency(pair.right_device, "receive_to_copy"), bool)
    check_waits(daemon, latency, exchange.waits)


def test_shaped_qdisc(daemon, silent_pair):
    """A token bucket of 8 Mbit/s (less on a slow machine) and 2000 bytes: the time at which a
    packet is queued determines when it may leave, and the kernel's timestamp shows when it arrived
    at the other end."""
    count, payload, burst = 50, 1000, 2000
    rate = round(1_000_000 / patience.FACTOR)
    length = payload + 8 + 20 + 14
    pair, device = silent_pair, silent_pair.left_device
    pair.left.run("tc", "qdisc", "add", "dev", device.name, "root", "handle", "1:", "tbf",
                  "rate", f"{rate * 8}bit", "burst", burst, "limit", "200000")
    with udp_exchange(pair, 4) as exchange:
        reader = exchange.reader.__self__
        sockets.stamp_arrivals(reader)
        time.sleep(0.1)  # the kernel begins to add timestamps a moment later
        calls = [_timed(lambda: exchange.sender(b"x" * payload)) for _ in range(count)]
        arrivals = [sockets.arrival(reader) for _ in range(count)]
    latency = waiting.until(lambda: daemon.latency(device, "queue_to_start_xmit"),
                            lambda l: l and l["count"] >= count)
    qdisc = device.qdisc("tbf")
    assert qdisc["packets"] == count and qdisc["drops"] == 0
    check_histogram(latency)
    sent = waiting.until(lambda: daemon.latency(device, "start_xmit_to_xmit"),
                         lambda l: l and l["count"] >= count)
    if not all_counted(daemon, latency, count) or not all_counted(daemon, sent, count):
        return

    # A packet is queued within its call, and arrives while its device sends it.  A busy machine may
    # stop the test or the kernel anywhere in between.
    least = [arrival - after for arrival, (_, after) in zip(arrivals, calls)]
    most = [arrival - before for arrival, (before, _) in zip(arrivals, calls)]
    assert waiting.between(latency["mean_ns"], mean(least) - sent["mean_ns"], mean(most))
    assert waiting.between(latency["max_ns"], max(least) - sent["max_ns"], max(most))
    # A shaper may be late on a busy machine, but is never early.
    model = _token_bucket(calls, length, burst, rate)
    assert latency["mean_ns"] >= mean(model) - max(0.05 * mean(model), patience.CLOCK_NS)
    assert mean(model) > 10 * patience.CLOCK_NS


def _timed(call):
    """The begin and the end of a call, on the clock of the kernel's timestamps."""
    before = time.time_ns()
    call()
    return before, time.time_ns()


def _token_bucket(calls, length, burst, rate):
    """The shortest wait of each of these packets, in ns: one that was queued as its call began may
    leave first, and one that was queued as its call ended has waited least."""
    waits, free_at = [], calls[0][0] - burst / rate * 1e9
    for before, after in calls:
        # The bucket never holds more than `burst`.
        free_at = max(free_at, before - burst / rate * 1e9) + length / rate * 1e9
        waits.append(max(0, free_at - after))
    return waits


def test_counts_equal_what_was_sent(daemon, silent_pair):
    count = 4217
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, count)
    for segment in ("queue_to_start_xmit", "start_xmit_to_xmit"):
        latency = waiting.until(lambda s=segment: daemon.latency(pair.left_device, s),
                                lambda l: l and l["count"] >= count)
        assert pair.left_device.statistics()["tx"]["packets"] == count
        all_counted(daemon, latency, count)
        check_histogram(latency)


def test_receive_context(daemon, silent_pair):
    """softirq_to_receive is there for every packet, since each came by a softirq."""
    count = 1000
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, count)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), count)
    latency = daemon.latency(pair.right_device, "softirq_to_receive")
    assert latency["count"] == count == pair.right_device.statistics()["rx"]["packets"]
    check_histogram(latency)
    # No interrupt had a part in it.
    assert daemon.latency(pair.right_device, "irq_to_softirq") is None


def test_device_that_completes_later(daemon, lab):
    """A TUN device frees a packet when its reader takes it: xmit_to_free is that wait."""
    namespace = lab.namespace(ipv6=False)
    with packets.Tunnel(namespace, lab.name()) as tunnel:
        namespace.ip("address", "add", "10.88.0.2/24", "dev", tunnel.device.name)
        waits = []
        with namespace.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(ROUNDS):
                wait = waiting.Wait(lambda: sender.sendto(b"x" * 100, ("10.88.0.1", 9)))
                time.sleep(SLEEP)
                assert len(wait.end(tunnel.read)) == 128
                waits.append(wait)
        latency = waiting.until(lambda: daemon.latency(tunnel.device, "xmit_to_free"),
                                lambda l: l and l["count"] >= ROUNDS)
    assert latency, "no xmit_to_free of a TUN device"
    check_waits(daemon, latency, waits)


def test_forwarded_packet_is_one_journey(daemon, path):
    """A router's packet begins at receive and, forwarded, again at queue: the ledger has both, and
    the second has a transmit latency."""
    count = 1000
    before = daemon.status()["inflight"]
    path.left.send_udp(path.RIGHT4, 9, count)
    waiting.settled(lambda: daemon.dropped(path.right_device, "ipv4/udp", "NO_SOCKET"), count)
    after = daemon.status()["inflight"]
    assert after["forwarded"] - before["forwarded"] >= count
    assert daemon.latency(path.far_device, "queue_to_start_xmit")["count"] >= count


def test_filter_by_device_and_namespace(daemon, pair):
    pair.left.send_udp(pair.RIGHT4, 9, 10)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), 10)
    by_device = daemon.call("GetLatency", device=pair.left_device.name)["latencies"]
    assert {l["device"] for l in by_device} == {pair.left_device.name}
    by_netns = daemon.call("GetLatency", netns=str(pair.left.inode))["latencies"]
    assert {l["netns"] for l in by_netns} == {pair.left.inode}
    assert [l for l in by_netns if l["device"] == pair.left_device.name]
    assert {l["direction"] for l in by_device if "xmit" in l["segment"]} == {"tx"}


@pytest.mark.needs("devices", "several network namespaces")
def test_more_devices_than_slots(start, lab, bpf):
    """Devices without a slot of their own are counted together, and none is lost."""
    daemon = start("devices.slots=8")
    namespaces = [lab.namespace() for _ in range(10)]
    before = _together(daemon)
    for namespace in namespaces:
        namespace.send_udp("127.0.0.1", 9, 100)

    def dropped():
        return [daemon.dropped(namespace.loopback(), "ipv4/udp", "NO_SOCKET")
                for namespace in namespaces]

    assert waiting.settled(dropped, [100] * 10) == [100] * 10
    own = [daemon.latency(n.loopback(), "start_xmit_to_xmit") for n in namespaces]
    counted = sum(l["count"] for l in own if l) + _together(daemon) - before
    assert counted >= 1000
    assert any(l is None for l in own)


def _together(daemon):
    return sum(l["count"] for l in daemon.call("GetLatency", all=True)["latencies"]
               if l.get("device") is None and l["segment"] == "start_xmit_to_xmit")

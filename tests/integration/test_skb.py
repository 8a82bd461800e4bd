# SPDX-License-Identifier: GPL-2.0-or-later
"""The right skb: each datagram and segment has its own stages and its own end, whatever brings it:
lists of GRO, threaded NAPI, RPS, the writer of a tun device, busy polling.  Where the kernel can
trace its functions, its own trace of the same skbs is compared with every record.

With two network cards (tests/vm/run --nics) the packets pass these, otherwise a veth pair."""

import contextlib
import itertools
import os
import socket
import statistics
import struct
import threading
import time

import pytest

from conftest import shared
from lab import (backends, journeys, ledgers, nics, offload, one_clock, packets, paths, patience,
                 probes, skbtrace, sockets, waiting)

PORT = 7777
ROUNDS = 5
SIZE = 77  # bytes of payload, as no other packet has; the first 8 are the datagram's number
LENGTH = 20 + 8 + SIZE
SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_BUSY_POLL, SO_INCOMING_NAPI_ID = 32, 33, 46, 56
# The median distance of the moments at which netflowd's program and the kernel's trace read the
# clock at one event is less than this.
SAME_NS = 500_000 * patience.FACTOR
# The error of the time of day, which netflowd and this test derive from one clock each by itself.
CLOCK_NS = 100_000

pytestmark = [pytest.mark.alone, pytest.mark.shared, pytest.mark.usefixtures("bpf")]


@pytest.fixture
def wire(lab):
    """left ── right: two cards if there are any."""
    return lab.pair(ipv6=False) if nics.why_not() else nics.pair(lab)


@pytest.fixture
def daemon(request):
    """It records every journey.  Cards have the same index in each test, and namespaces soon the
    same number, so that a daemon that tests share would take them for one device.  With trace
    events a daemon loads no programs, and starts soon."""
    if nics.why_not() and not backends.TRACE_EVENTS:
        yield from shared(request, journeys.EVERY)
    else:
        yield request.getfixturevalue("start")(*journeys.EVERY)


@pytest.fixture
def traced():
    reason = skbtrace.why_not()
    if reason:
        pytest.skip(reason)


def thread_napi(device, on):
    """NAPI of the device in a kernel thread; skips where the kernel cannot."""
    try:
        device.namespace.run("sh", "-c", f"echo {int(on)} > /sys/class/net/{device.name}/threaded")
    except RuntimeError as error:
        if on:
            pytest.skip(f"no threaded NAPI: {error}")


class Reader(threading.Thread):
    """Reads datagrams until it has `count`; their numbers are in `numbers`."""

    def __init__(self, reader, count):
        super().__init__(daemon=True)
        self.reader, self.count, self.numbers = reader, count, []

    def run(self):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        with contextlib.suppress(TimeoutError):
            while len(self.numbers) < self.count:
                self.numbers.append(struct.unpack_from("!Q", self.reader.recv(2048))[0])


def shape(device, verb, rate):
    device.namespace.run("tc", "qdisc", verb, "dev", device.name, "root", "tbf", "rate", rate,
                         "burst", "20000" if rate == OPEN else "200", "limit", "1000000")


# Closed, it has room for one datagram, and passes on the next when a timer fires, in 0.1 s or more,
# also if it was opened before.  All of a burst must be in it by then.
CLOSED, OPEN = f"{max(800, round(3200 / patience.FACTOR))}bit", "1gbit"


def send_bursts(wire, sender, burst, rounds=ROUNDS):
    """Send `rounds` bursts of numbered datagrams; returns how many they are.  A qdisc holds all of
    a burst but the first, and gives them to the device at once."""
    verb = "add"
    for round_ in range(rounds):
        shape(wire.left_device, verb, CLOSED)
        verb = "change"
        for n in range(burst):
            sender.send(struct.pack(f"!Q{SIZE - 8}x", round_ * burst + n))
        shape(wire.left_device, verb, OPEN)
        waiting.until(lambda: wire.left_device.qdisc("tbf")["qlen"], lambda n: n == 0)
        time.sleep(2 * one_clock.PAUSE_NS / 1e9)
    return rounds * burst


def exchange(daemon, wire, burst):
    """Send bursts from left to right, and read all of them, if possible as they come."""
    late = probes.follows_queues(daemon)
    with sockets.udp(wire.left, wire.right, wire.RIGHT4, PORT) as (sender, socket_):
        socket_.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
        reader = Reader(socket_, ROUNDS * burst)
        if not late:
            reader.start()
        count = send_bursts(wire, sender, burst)
        if late:
            reader.start()
        reader.join(timeout=patience.seconds(20))
    assert reader.numbers == list(range(count)), "the scenario did not work"
    return count


def number(record):
    """The number of a datagram, which its header shows."""
    return struct.unpack_from("!Q", bytes.fromhex(record["header"]), 28)[0]


def records_of(daemon, wire, count):
    """The records of all datagrams, in the order in which they were sent."""
    records = in_order(journeys.wait_for(daemon, count, wire.right_device, "delivered"), PORT)
    assert len(records) == count
    assert backends.TRACE_EVENTS or [number(r) for r in records] == list(range(count))
    return records


def in_order(records, port):
    """The records of the datagrams to the port, in the order in which they were sent; without
    headers, in that in which they were received, as one flow is."""
    order = (lambda r: time_of(r, "receive")) if backends.TRACE_EVENTS else number
    records = sorted(journeys.to_port(records, port), key=order)
    for record in records:
        journeys.check(record)
    return records


def time_of(record, stage):
    """The time of day of a stage, in ns; None if the record does not have it."""
    found = [s["time"] for s in record["stages"] if s["stage"] == stage]
    return journeys.nanoseconds_of(found[0]) if found else None


def check_stages(records, threaded=False):
    """None lacks its stage, and the datagrams of a flow pass each stage one after the other."""
    for record in records:
        assert "sock_queue" in journeys.names(record), record["missing"]
        assert not set(journeys.missing(record)) & {"receive", "sock_queue", "copy"}
        if threaded:
            assert not {"irq", "softirq_raise", "softirq_entry"} & set(journeys.names(record))
    for stage in ("receive", "sock_queue", "copy"):
        times = [time_of(record, stage) for record in records]
        assert times == sorted(times), f"{stage} is not in the order of the datagrams"


def check_trace(records, seen):
    """The records of a flow and the kernel's trace of the same skbs, in the same order.  Both have
    one clock, but the records show the time of day."""
    assert len(seen) == len(records)
    limits = {stage: one_clock.limits([time_of(r, stage) for r in records],
                                      [getattr(s, field) for s in seen])
              for stage, field in (("receive", "receive"), ("sock_queue", "queued"),
                                   ("copy", "read"))}
    for stage, of_stage in limits.items():
        why = one_clock.disagreement(of_stage)
        assert why is None, f"{stage}: {why}"
    why = one_clock.disagreement([limit for of_stage in limits.values() for limit in of_stage])
    assert why is None, f"{', '.join(limits)}: {why}"


def case(burst, gro, threaded):
    short = (burst, gro, threaded) == (8, True, False)
    return pytest.param(burst, gro, threaded, marks=[pytest.mark.smoke] if short else [],
                        id=f"{burst}-{'gro' if gro else 'plain'}{'-threaded' if threaded else ''}")


CASES = [case(burst, gro, threaded)
         for burst in (8, 64) for gro in (True, False) for threaded in (False, True)]


def set_up(wire, gro, threaded):
    if nics.why_not():
        # Only then datagrams pass the veth's own NAPI, see veth_skb_is_eligible_for_gro().
        offload.switch(wire.left_device, offload.STSO, not gro)
    offload.switch(wire.right_device, offload.SGRO, gro)
    thread_napi(wire.right_device, threaded)


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.parametrize("burst, gro, threaded", CASES)
def test_bursts(daemon, wire, burst, gro, threaded):
    """Every datagram has its stages; those of a burst are in order."""
    set_up(wire, gro, threaded)
    try:
        count = exchange(daemon, wire, burst)
    finally:
        thread_napi(wire.right_device, False)
    records = records_of(daemon, wire, count)
    # Without GRO, a veth has no NAPI of its own, and the backlog serves its packets.
    check_stages(records, threaded and (gro or not nics.why_not()))
    queued = journeys.histogram(daemon, wire.right_device, "receive_to_sock_queue", "rx")
    assert queued["count"] == count
    ledgers.check_balanced(daemon)


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.parametrize("burst, gro, threaded", CASES)
def test_bursts_and_the_kernels_trace(traced, daemon, wire, burst, gro, threaded):
    """The times of every datagram are those of the kernel's trace of the same skb."""
    set_up(wire, gro, threaded)
    try:
        with skbtrace.tracing() as trace:
            count = exchange(daemon, wire, burst)
    finally:
        thread_napi(wire.right_device, False)
    records = records_of(daemon, wire, count)
    check_stages(records)
    check_trace(records, trace.datagrams(LENGTH))


FLOWS, QUEUES = 8, 4


def payload(flow, n):
    """The length shows the flow."""
    return struct.pack(f"!Q{SIZE + 2 * flow - 8}x", n)


def send_flows(wire, senders, burst):
    """Two CPUs send numbered datagrams of all flows at the same time, in turn while a qdisc holds
    them and while it passes them on.  Returns how many each flow has."""
    count = itertools.count()

    def send(cpu, some, numbers):
        os.sched_setaffinity(0, {cpu})
        for n in numbers:
            for flow in some:
                senders[flow].send(payload(flow, n))

    def send_all():
        numbers = [next(count) for _ in range(burst)]
        cpus = sorted(os.sched_getaffinity(0))
        threads = [threading.Thread(target=send, args=(cpu, some, numbers), daemon=True)
                   for cpu, some in ((cpus[0], range(0, FLOWS, 2)), (cpus[-1], range(1, FLOWS, 2)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    verb = "add"
    for _ in range(ROUNDS):
        for rate in (CLOSED, OPEN):
            shape(wire.left_device, verb, rate)
            verb = "change"
            send_all()
        waiting.until(lambda: wire.left_device.qdisc("tbf")["qlen"], lambda n: n == 0)
        time.sleep(2 * one_clock.PAUSE_NS / 1e9)
    return next(count)


@pytest.mark.needs("rx_latency", "headers")
@pytest.mark.parametrize("threaded", [False, True], ids=["softirq", "threaded"])
def test_several_queues_and_the_kernels_trace(traced, daemon, lab, threaded):
    """Several queues of a device, each with its own NAPI, receive at the same time on two CPUs."""
    if not skbtrace.shows_addresses():
        pytest.skip("the kernel's trace does not show which skb is which")
    wire = lab.pair(ipv6=False, queues=QUEUES)
    offload.switch(wire.left_device, offload.STSO, False)
    offload.switch(wire.right_device, offload.SGRO, True)
    thread_napi(wire.right_device, threaded)
    with contextlib.ExitStack() as stack, skbtrace.tracing() as trace:
        pairs = [stack.enter_context(sockets.udp(wire.left, wire.right, wire.RIGHT4, PORT + flow))
                 for flow in range(FLOWS)]
        readers = [Reader(socket_, 2 * ROUNDS * 8) for _, socket_ in pairs]
        for reader in readers:
            reader.start()
        count = send_flows(wire, [sender for sender, _ in pairs], 8)
        for reader in readers:
            reader.join(timeout=patience.seconds(20))
            assert reader.numbers == list(range(count)), "the scenario did not work"
    records = journeys.wait_for(daemon, FLOWS * count, wire.right_device, "delivered")
    assert len(records) == FLOWS * count
    used = set()
    for flow in range(FLOWS):
        own = in_order(records, PORT + flow)
        check_stages(own, threaded)
        seen = trace.datagrams(LENGTH + 2 * flow)
        assert len(seen) == count
        check_trace(own, [seen[number(r)] for r in own])
        used |= trace.queues(14 + LENGTH + 2 * flow)
    assert len(used) > 1, "the scenario did not work"
    ledgers.check_balanced(daemon)


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.parametrize("burst", [8, 64])
def test_rps(daemon, wire, burst):
    """Another CPU than that of the card serves the packets."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU")
    wire.right_device.namespace.run(
        "sh", "-c", f"echo {1 << cpus[1]:x} > "
        f"/sys/class/net/{wire.right_device.name}/queues/rx-0/rps_cpus")
    count = exchange(daemon, wire, burst)
    records = records_of(daemon, wire, count)
    check_stages(records)
    for record in records:
        assert record["cpu"] is not None
        assert "irq" not in journeys.names(record), "the interrupt of another packet"


@pytest.mark.needs("rx_latency", "by its address only")
def test_tcp_and_the_kernels_trace(traced, daemon, wire):
    """TCP bulk: each record shows the receive and the copy of one and the same skb."""
    if not skbtrace.shows_addresses():
        pytest.skip("the kernel's trace does not show which skb is which")
    rounds, size = 32, 1 << 17
    with skbtrace.tracing() as trace, \
            sockets.tcp(wire.left, wire.right, wire.RIGHT4, PORT) as (sender, reader):
        for _ in range(rounds):
            # The reader empties the queue, so not all skbs of the next round are merged.
            writer = threading.Thread(target=sender.sendall, args=(b"x" * size,), daemon=True)
            writer.start()
            got = 0
            while got < size:
                got += len(reader.recv(65536))
            writer.join()

    def received():
        """The acknowledgements that this device sends have records, too."""
        return [record for record in journeys.to_port(journeys.ask(daemon, wire.right_device), PORT)
                if "receive" in journeys.names(record)]

    records = waiting.until(received, lambda found: len(found) >= rounds)
    assert len(records) >= rounds
    clock = one_clock.of_day()
    distances = []
    for record in records:
        assert "sock_queue" in journeys.names(record), record["missing"]
        times = [time_of(record, stage) - clock for stage in ("receive", "copy")]
        received, copied = (trace.near(event, ns, CLOCK_NS) for event, ns in
                            zip(("netif_receive_skb", "skb_copy_datagram_iovec"), times))
        same = received.keys() & copied.keys()
        assert same, "no skb was received and copied at these times"
        distances.append(min(max(abs(received[skb] - times[0]), abs(copied[skb] - times[1]))
                             for skb in same))
    assert statistics.median(distances) < SAME_NS


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.parametrize("burst", [1, 8])
def test_tcp_has_every_stage(daemon, wire, burst):
    """Small messages, read as they come and late: each skb that a reader gets was queued."""
    count = 50
    with sockets.tcp(wire.left, wire.right, wire.RIGHT4, PORT) as (sender, reader):
        for _ in range(count):
            for _ in range(burst):
                sender.send(b"x" * 100)
            got = 0
            while got < 100 * burst:
                got += len(reader.recv(65536))
    records = journeys.to_port(journeys.wait_for(daemon, count, wire.right_device, "delivered"),
                               PORT)
    assert len(records) >= count
    for record in records:
        journeys.check(record)
        assert "sock_queue" in journeys.names(record), record["missing"]


@pytest.mark.needs("rx_latency", "by its address only")
@pytest.mark.parametrize("count", [200, 400])
def test_tcp_fills_a_gap(start, lab, count):
    """The kernel announces all segments that waited behind a gap at once: each was queued, as far
    as netflowd's walk goes, and the records of the others say so."""
    walk = 256  # NF_QUEUED_MAX
    wire = lab.pair(ipv6=False)
    # A timeout before the last one is sent would close the window: on a busy machine that took more
    # than the usual 200 ms.
    wire.left.ip("route", "change", "10.77.1.0/24", "dev", wire.left_device.name,
                 "initcwnd", "1000", "rto_min", f"{patience.milliseconds(1000)}ms")
    # Of 401 skbs that wait at once, one in 100 runs loses its entry in a table of the usual size.
    daemon = start(*journeys.EVERY, "inflight.entries=1048576")
    with sockets.tcp(wire.left, wire.right, wire.RIGHT4, PORT) as (sender, reader):
        sender.settimeout(patience.seconds(10))
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 22)
        reader.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        # The first payload, which begins behind 32 bytes of TCP header, is lost, and so is what the
        # receiver answers.
        wire.right.nft_drop("input", f"tcp dport {PORT} @th,256,8 {ord('g')}")
        wire.right.nft_drop("output", f"tcp sport {PORT}")
        sender.sendall(b"g", socket.MSG_EOR)
        for _ in range(count):
            sender.sendall(b"x" * 100, socket.MSG_EOR)
        # On a slow machine, the sender sends the last one again.
        assert waiting.until(lambda: wire.right.nstat()["TcpExtTCPOFOQueue"],
                             lambda n: n >= count) >= count
        filled_ns = time.time_ns()
        wire.right.run("nft", "delete", "table", "inet", "drops_output")
        wire.right.run("nft", "delete", "table", "inet", "drops_input")
        got = 0
        while got < 1 + 100 * count:
            got += len(reader.recv(65536))
    # On a slow machine, the kernel merges a few of them.
    skbs = count + 1 - wire.right.nstat()["TcpExtTCPRcvCoalesce"]
    records = journeys.to_port(
        journeys.wait_for(daemon, skbs, wire.right_device, "delivered"), PORT)
    assert len(records) == skbs
    lacking = [r for r in records if "sock_queue" not in journeys.names(r)]
    assert len(lacking) == max(0, skbs - walk)
    for record in records:
        journeys.check(record)
        if record in lacking:
            assert "more segments at once" in journeys.missing(record)["sock_queue"]
        else:
            assert time_of(record, "sock_queue") > filled_ns
            # The missing one is the only one with 1 byte.
            waited = not journeys.carries(record, 1)
            assert ("gap_filled" in journeys.names(record)) == waited


# ---- consumed, not delivered -------------------------------------------------

ECHO = packets.icmp(8, 0, b"\0\1\0\1" + b"x" * 56)


def check_consumed(daemon, before, count):
    after = ledgers.check_balanced(daemon)
    change = ledgers.since(after["inflight"], before["inflight"])
    others = after["packets"]["received"] - before["packets"]["received"] - count
    assert count <= change["consumed"] <= count + others, (others, change)
    # `delivered` includes what was consumed.
    assert change["delivered"] - change["consumed"] <= others, (others, change)


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.smoke
def test_tun_writer(daemon, lab):
    """The kernel answers an echo request in the context of the task that wrote it: no task reads
    it."""
    count = 50
    namespace = lab.namespace(ipv6=False)
    namespace.sysctl(**{"net.ipv4.icmp_echo_ignore_all": 1})
    with packets.Tunnel(namespace, lab.name()) as tunnel:
        namespace.ip("address", "add", "10.88.0.2/24", "dev", tunnel.device.name)
        before = ledgers.quiet(daemon)
        for _ in range(count):
            tunnel.write(packets.ipv4("10.88.0.1", "10.88.0.2", packets.ICMP, ECHO))
        check_consumed(daemon, before, count)
        assert not journeys.ask(daemon, tunnel.device), "a record of a packet without a reader"


@pytest.mark.smoke
@pytest.mark.needs("rx_latency", "headers")
def test_datagram_of_a_tun_writer(daemon, lab):
    """Received outside a softirq: it has no stage of one, and all stages from receive on."""
    count = 20
    namespace = lab.namespace(ipv6=False)
    with packets.Tunnel(namespace, lab.name()) as tunnel, namespace.entered(), \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        namespace.ip("address", "add", "10.88.0.2/24", "dev", tunnel.device.name)
        reader.bind(("10.88.0.2", PORT))
        reader.settimeout(patience.seconds(10))
        for i in range(count):
            tunnel.write(packets.ipv4("10.88.0.1", "10.88.0.2", packets.UDP, packets.udp(
                "10.88.0.1", "10.88.0.2", 9, PORT, struct.pack("!Q69x", i))))
        for _ in range(count):
            reader.recv(1000)
        records = journeys.to_port(
            journeys.wait_for(daemon, count, tunnel.device, "delivered"), PORT)
    assert [number(r) for r in records] == list(range(count))
    for record in records:
        journeys.check(record)
        assert journeys.names(record) == ["receive", "sock_queue", "copy"]
        assert record["comparable"] is True, record["missing"]


@pytest.mark.needs("wake", "sk_data_ready")
def test_threaded_napi_consumes(daemon, wire):
    """A kernel thread serves the card, so the kernel consumes the packets outside a softirq."""
    wire.right.sysctl(**{"net.ipv4.icmp_echo_ignore_all": 1})
    set_up(wire, True, True)
    count = 50
    try:
        before = ledgers.quiet(daemon)
        with wire.left.entered(), \
                socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sender:
            for _ in range(count):
                sender.sendto(ECHO, (wire.RIGHT4, 0))
        waiting.until(lambda: wire.right_device.statistics()["rx"]["packets"],
                      lambda n: n >= count)
        check_consumed(daemon, before, count)
    finally:
        thread_napi(wire.right_device, False)
    assert not journeys.ask(daemon, wire.right_device)


def test_busy_polling(daemon, wire):
    """The reader polls the card itself."""
    count = 100
    with sockets.udp(wire.left, wire.right, wire.RIGHT4, PORT) as (sender, socket_):
        try:
            socket_.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL, 50_000)  # µs
        except OSError as error:
            pytest.skip(f"no busy polling: {error}")
        sender.send(struct.pack("!Q69x", 0))
        socket_.recv(1000)
        if not socket_.getsockopt(socket.SOL_SOCKET, SO_INCOMING_NAPI_ID):
            pytest.skip("the device has no NAPI that a reader can poll")
        reader = Reader(socket_, count - 1)
        reader.start()
        for i in range(1, count):
            sender.send(struct.pack("!Q69x", i))
            if i % 8 == 0:
                time.sleep(0.002)
        reader.join(timeout=patience.seconds(20))
    assert len(reader.numbers) == count - 1
    check_stages(records_of(daemon, wire, count))


# ---- the interrupt ------------------------------------------------------------

@pytest.mark.smoke
def test_interrupts_without_their_end(start, wire):
    """Without irq_handler_exit, netflowd cannot know that an interrupt is over: it shows none, and
    a drop's task is not known."""
    daemon = start(*journeys.EVERY, "probes.disable=irq_handler_exit")
    count = exchange(daemon, wire, 8)
    for record in records_of(daemon, wire, count):
        assert "irq" not in journeys.names(record), "a stale interrupt"
        assert "irq_handler_exit" in journeys.missing(record)["irq"]
    assert daemon.coverage("rx_latency")["state"] == "degraded"
    assert daemon.coverage("drops")["state"] == "degraded"
    assert journeys.histogram(daemon, wire.right_device, "irq_to_softirq", "rx") is None
    backends.skip_without("drops", "network namespace")
    wire.right.nft_drop("output", "udp dport 9")
    wire.right.send_udp(wire.LEFT4, 9, 3)
    dropped = waiting.until(lambda: [r for r in daemon.records() if r.get("netns") ==
                                     wire.right.inode], lambda found: len(found) >= 3)
    assert not any(r.get("task", {}).get("involved") for r in dropped), dropped


# ---- readers on another CPU ----------------------------------------------------

@pytest.mark.simultaneous
def test_reader_on_another_cpu(start, lab):
    """A reader that never sleeps takes a datagram as soon as it is in the queue, perhaps before the
    kernel announces it: the record has the stage all the same."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU")
    namespace = lab.namespace(ipv6=False)
    daemon = start(*journeys.EVERY)
    if not probes.attached(daemon, "udp_enqueue_schedule_skb"):
        pytest.skip("this kernel runs no fentry programs: nothing names the datagram in time")
    words = namespace.run(paths.TOOLS.parent / "bench" / "udp_flood", "1", "64", str(cpus[0]),
                          str(cpus[1])).split()
    received = int(words[1])
    records = [r for r in journeys.ask(daemon, namespace.loopback(), limit=20000)
               if r["outcome"] == "delivered"]
    lacking = [r for r in records if "sock_queue" not in journeys.names(r)]
    assert min(received, len(records)) > 100
    assert not lacking, (len(lacking), len(records), lacking[0]["missing"])

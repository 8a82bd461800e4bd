# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole paths: the stages of a record, its missing stages with their reasons, its owner and its
devices.  Every packet sent is recorded or counted."""

import contextlib
import os
import pathlib
import secrets
import threading
import time

import pytest

from lab import (backends, delay, journeys, kernel, ledgers, offload, patience, pump, sockets,
                 waiting)
from lab.varlink import VarlinkError

PORT = 7777
# Bytes of the TCP test; 10 GB take about ten seconds more.
BULK = int(os.environ.get("NETFLOWD_TEST_BULK_BYTES", 5_000_000_000))

pytestmark = [pytest.mark.shared(*journeys.EVERY, "records.rate=1000000"),
              pytest.mark.usefixtures("bpf")]


def send_and_read(pair, count=1, transport="udp", version=4, size=100, port=PORT, sleep=0.0):
    address = pair.right_address(version)
    with sockets.KINDS[transport](pair.left, pair.right, address, port) as (sender, reader):
        for _ in range(count):
            sender.send(b"x" * size)
            time.sleep(sleep)
            reader.recv(65536)
        return sender.getsockname()


def delivered(daemon, pair, count=1, port=PORT):
    records = journeys.wait_for(daemon, count, pair.right_device, "delivered")
    records = journeys.to_port(records, port)
    for record in records:
        journeys.check(record)
    return records


# ---- stages -----------------------------------------------------------------


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.smoke
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("transport", sockets.KINDS)
def test_reader_that_waits_has_every_stage(daemon, pair, transport, version):
    cpu = max(os.sched_getaffinity(0))
    backends.skip_without_switches(cpu)
    address = pair.right_address(version)
    with sockets.KINDS[transport](pair.left, pair.right, address, PORT) as (sender, socket_):
        reader = delay.Reader(socket_, cpu)
        reader.start_and_sleep()
        sent = time.monotonic_ns()
        sender.send(b"x" * 333)
        reader.join(timeout=patience.seconds(10))
        lived = reader.read_ns - sent
        records = journeys.wait_for(daemon, 1, pair.right_device, "delivered")
    records = [r for r in records if journeys.carries(r, 333)]
    assert len(records) == 1, records
    record = records[0]
    journeys.check(record, lived_ns=lived)
    names = journeys.names(record)
    assert names[names.index("softirq_entry"):] == [
        "softirq_entry", "receive", "sock_queue", "wakeup", "run", "copy"], record
    assert record["missing"] == [] and record["comparable"] is True


def test_sent_packet(daemon, silent_pair):
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, 20)
    records = journeys.to_port(journeys.wait_for(daemon, 20, pair.left_device), 9)
    assert len(records) == 20
    for record in records:
        journeys.check(record)
        assert record["outcome"] == "transmitted"
        assert journeys.names(record)[:3] == ["queue", "start_xmit", "xmit"]
        assert record["comparable"] is True, record["missing"]
    # A dropped packet has no latency, but a drop record.
    assert daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET") == 20
    backends.skip_without("rx_latency", "headers")
    assert not journeys.to_port(journeys.ask(daemon, pair.right_device), 9)


@pytest.mark.needs("rx_latency", "headers")
def test_fields_of_a_record(start, silent_pair):
    pair = silent_pair
    daemon = start(*journeys.EVERY, "latency.slow=60s")
    before = time.time()
    _, source_port = send_and_read(pair, 5, size=77)
    after = time.time()
    # The name of a namespace is looked up after its first record has come.
    record = waiting.until(lambda: journeys.with_reader(delivered(daemon, pair, 5))[0],
                           lambda r: "netns_name" in r["devices"][0])
    assert before - 0.001 <= journeys.seconds_of(record["time"]) <= after + 0.001
    assert record["slow"] is False, "a sample"
    assert record["protocol"] == "ipv4/udp"
    assert record["flow"] == f"udp {pair.LEFT4}:{source_port} > {pair.RIGHT4}:{PORT}"
    assert record["transport"]["source_port"] == source_port
    assert (record["ip"]["source"], record["ip"]["destination"]) == (pair.LEFT4, pair.RIGHT4)
    assert (record["ip"]["ttl"], record["ip"]["length_bytes"]) == (64, 77 + 8 + 20)
    assert bytes.fromhex(record["header"])[:1] == b"\x45"
    task = record["task"]
    assert (task["pid"], task["tid"]) == (os.getpid(), threading.get_native_id())
    assert task["comm"] == pathlib.Path("/proc/thread-self/comm").read_text().strip()
    assert task["involved"] is True
    device, = record["devices"]
    assert device == backends.description(pair.right_device)


# ---- devices ----------------------------------------------------------------


def devices(record):
    return [d["device"] for d in record["devices"]]


def test_bridge(start, lab):
    """left ── veth ── bridge ── veth ── right: received, queued and sent in one record."""
    left, middle, right = (lab.namespace(ipv6=False) for _ in range(3))
    left_device, near = lab.veth(left, middle)
    far, right_device = lab.veth(middle, right)
    bridge = lab.name()
    middle.ip("link", "add", bridge, "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
    for port in (near, far):
        middle.ip("link", "set", port.name, "master", bridge)
    middle.ip("link", "set", bridge, "up")
    left.ip("address", "add", "10.77.1.1/24", "dev", left_device.name)
    right.ip("address", "add", "10.77.1.2/24", "dev", right_device.name)
    left.ip("neighbour", "replace", "10.77.1.2", "lladdr", right_device.mac, "dev",
            left_device.name, "nud", "permanent")
    right.ip("neighbour", "replace", "10.77.1.1", "lladdr", left_device.mac, "dev",
             right_device.name, "nud", "permanent")
    daemon = start(*journeys.EVERY)
    with sockets.udp(left, right, "10.77.1.2", PORT) as (sender, reader):
        for _ in range(20):
            sender.send(b"x")
            reader.recv(100)
    records = journeys.to_port(journeys.wait_for(daemon, 20, near, "forwarded"), PORT)
    assert len(records) == 20
    for record in records:
        journeys.check(record)
        names = journeys.names(record)
        assert names[names.index("receive"):] == ["receive", "queue", "start_xmit", "xmit"]
        assert devices(record) == [near.name, far.name]
        assert record["comparable"] is True, record["missing"]


def test_vlan(start, silent_pair):
    """Received by a device and by the VLAN on it: one journey.  The kernel continues to the VLAN
    without passing netif_receive_skb again (another_round), and notes it in the skb."""
    pair = silent_pair
    for namespace, device, address in ((pair.left, pair.left_device, "10.99.1.1"),
                                       (pair.right, pair.right_device, "10.99.1.2")):
        try:
            namespace.ip("link", "add", "link", device.name, "name", "vlan7", "type", "vlan",
                         "id", "7")
        except RuntimeError as error:
            pytest.skip(f"no VLAN devices: {error}")
        namespace.ip("address", "add", f"{address}/24", "dev", "vlan7")
        namespace.ip("link", "set", "vlan7", "up")
    daemon = start(*journeys.EVERY)
    with sockets.udp(pair.left, pair.right, "10.99.1.2", PORT) as (sender, reader):
        for _ in range(10):
            sender.send(b"x" * 20)
            reader.recv(100)
    records = delivered(daemon, pair, 10)
    assert len(records) == 10
    above = [] if backends.TRACE_EVENTS else ["vlan7"]
    assert [devices(r) for r in records] == [[pair.right_device.name, *above]] * 10


def test_two_routers_two_records(start, lab, path):
    """Each hop makes one record, although the skb is the same."""
    daemon = start(*journeys.EVERY)
    with sockets.udp(path.left, path.right, path.RIGHT4, PORT) as (sender, reader):
        for _ in range(10):
            sender.send(b"x" * 20)
            reader.recv(100)
        for device, outcome in ((path.left_device, "transmitted"), (path.near_device, "forwarded"),
                                (path.right_device, "delivered")):
            records = journeys.to_port(journeys.wait_for(daemon, 10, device, outcome), PORT)
            assert len(records) == 10, (outcome, len(records))
            assert {r["outcome"] for r in journeys.to_port(journeys.ask(daemon, device), PORT)} == \
                {outcome}


@pytest.mark.needs("rx_latency", "headers")
def test_renamed_device(start, lab, silent_pair):
    pair = silent_pair
    daemon = start(*journeys.EVERY)
    send_and_read(pair, 5, port=PORT)
    name = lab.name()
    pair.right.ip("link", "set", pair.right_device.name, "down")
    pair.right.ip("link", "set", pair.right_device.name, "name", name)
    pair.right.ip("link", "set", name, "up")
    waiting.until(lambda: pair.right.ip("-br", "link", "show", "dev", name), lambda s: " UP" in s)
    pair.right.ip("neighbour", "replace", pair.LEFT4, "lladdr", pair.left_device.mac, "dev", name)
    send_and_read(pair, 5, port=PORT + 1)
    before, after = delivered(daemon, pair, 5), delivered(daemon, pair, 10, PORT + 1)
    assert [devices(r) for r in before] == [[pair.right_device.name]] * 5
    assert [devices(r) for r in after] == [[name]] * 5


# ---- owners -----------------------------------------------------------------


@contextlib.contextmanager
def cgroup(name):
    """A new cgroup2; its directory."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    roots = [pathlib.Path(m[1]) for m in mounts if m[2] == "cgroup2"]
    if not roots:
        pytest.skip("no cgroup2 is mounted")
    directory = roots[0] / name
    directory.mkdir()
    try:
        yield directory
    finally:
        waiting.until((directory / "cgroup.procs").read_text, lambda text: not text)
        directory.rmdir()


@pytest.mark.needs("rx_latency", "cgroup")
@pytest.mark.parametrize("kind", ["service", "container"])
def test_owner(daemon, silent_pair, kind):
    identity = secrets.token_hex(32)
    name = {"service": f"netflowd-test-{identity[:8]}.service",
            "container": f"docker-{identity}.scope"}[kind]
    with cgroup(name) as directory:
        # On one CPU the reader cannot read a datagram before the kernel has announced it.  A reader
        # on another CPU sometimes can; then nobody knows which skb it read (bpf/reader.h).
        command = ("taskset", "-c", str(max(os.sched_getaffinity(0))),
                   "sh", "-c", f'echo $$ > {directory}/cgroup.procs && exec "$0" "$@"')
        pumped = pump.pump("udp", silent_pair.left, silent_pair.right, silent_pair.RIGHT4, PORT, 5,
                           before=command, patient=True)
        assert pumped.messages_read == 5
        # netflowd looks up names for some milliseconds at most, and for others a moment later.
        records = waiting.until(
            lambda: delivered(daemon, silent_pair, 5),
            lambda found: all("owner" in record for record in journeys.with_reader(found)))
    assert len(records) == 5
    for record in journeys.with_reader(records):
        assert record["task"]["comm"] == "pump"
        assert record["owner"]["cgroup"] == f"/{name}"
        assert record["owner"]["unit"] == name
        assert record["owner"].get("container") == (identity[:12] if kind == "container" else None)


# ---- completeness -----------------------------------------------------------


def test_probe_that_is_not_there(start, silent_pair):
    daemon = start(*journeys.EVERY, "probes.disable=softirq_entry")
    send_and_read(silent_pair, 10)
    records = delivered(daemon, silent_pair, 10)
    assert len(records) == 10
    for record in records:
        assert "softirq_entry" in journeys.missing(record), record
        assert "softirq_entry" in journeys.missing(record)["softirq_entry"]
        assert record["comparable"] is False
    assert daemon.coverage("rx_latency")["state"] == "degraded"


def test_transmit_probe_that_is_not_there(start, silent_pair):
    daemon = start(*journeys.EVERY, "probes.disable=net_dev_queue")
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 10)
    records = journeys.to_port(journeys.wait_for(daemon, 10, silent_pair.left_device), 9)
    assert len(records) == 10
    for record in records:
        journeys.check(record)
        assert "net_dev_queue" in journeys.missing(record)["queue"]
        assert record["comparable"] is False


@pytest.mark.needs("wake", "sk_data_ready")
def test_wake_group_switched_off(start, silent_pair):
    """Its two stages are missing for that reason; all other stages are present."""
    pair = silent_pair
    daemon = start(*journeys.EVERY, "probes.disable=sched_waking,sched_switch")
    with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, socket_):
        reader = delay.Reader(socket_, max(os.sched_getaffinity(0)))
        reader.start_and_sleep()
        sender.send(b"x" * 10)
        reader.join(timeout=patience.seconds(10))
        record, = delivered(daemon, pair)
    missing = journeys.missing(record)
    assert "sched_waking" in missing["wakeup"]
    # netflowd does not follow a task if it did not see its wakeup.
    assert "sched_" in missing["run"]
    assert record["comparable"] is False
    assert {"receive", "sock_queue", "copy"} <= set(journeys.names(record))
    states = {p["name"]: p["state"] for p in daemon.call("ListProbes")["probes"]
              if p["group"] == "wake"}
    assert states == {"sched_waking": "unavailable", "sched_switch": "unavailable"}


@pytest.mark.alone
def test_began_before_the_daemon(start, silent_pair):
    """Packets that wait in a qdisc when the daemon starts: netflowd did not see them queued."""
    pair = silent_pair
    device = pair.left_device
    pair.left.run("tc", "qdisc", "add", "dev", device.name, "root", "tbf",
                  "rate", f"{patience.fewer(8000)}bit", "burst", "2000", "limit", "200000")
    # As many as fit in the sender's buffer, so that the sender does not wait for the queue.
    pair.left.send_udp(pair.RIGHT4, 9, 60, "-s", 1000)
    daemon = start(*journeys.EVERY)
    waiting_then = device.qdisc("tbf")["qlen"]
    assert waiting_then > 30, "the scenario did not work"
    pair.left.run("tc", "qdisc", "change", "dev", device.name, "root", "tbf", "rate", "80mbit",
                  "burst", "2000", "limit", "200000")
    waiting.until(lambda: device.qdisc("tbf")["qlen"], lambda n: n == 0)
    records = journeys.to_port(journeys.wait_for(daemon, waiting_then, device, "transmitted"), 9)
    # Some may have left after the daemon started.
    assert waiting_then <= len(records) <= 60
    for record in records:
        journeys.check(record)
        assert "queue" in journeys.missing(record)
        assert record["comparable"] is False
    total = journeys.histogram(daemon, device, "tx_total", "tx")
    assert total is None or total["count"] == 0, "a total that is not whole"
    ledgers.check_balanced(daemon)


@pytest.mark.alone
def test_read_what_came_before_the_daemon(start, silent_pair):
    """netflowd does not record datagrams that are in a socket when it starts, whatever journeys
    their skbs had before."""
    pair = silent_pair
    with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
        for _ in range(50):
            sender.send(b"x")
        daemon = start(*journeys.EVERY)
        for _ in range(50):
            reader.recv(100)
        time.sleep(0.2)
        assert not journeys.ask(daemon, pair.right_device)
    ledgers.check_balanced(daemon)


@pytest.mark.alone
def test_segments_of_a_gso_packet(start, silent_pair):
    """TCP on a device without segmentation: the kernel segments after net_dev_queue, so the
    segments lack that stage."""
    pair = silent_pair
    for command in (offload.STSO,):
        offload.switch(pair.left_device, command, False)
    daemon = start(*journeys.EVERY)
    pumped = pump.pump("tcp", pair.left, pair.right, pair.RIGHT4, PORT, 20, size=60000)
    assert pumped.bytes_read == pumped.bytes
    records = journeys.to_port(journeys.wait_for(daemon, 400, pair.left_device), PORT)
    cut = [r for r in records if "queue" in journeys.missing(r)]
    assert cut, "no segment of a GSO packet was seen"
    for record in records:
        journeys.check(record)
    for record in cut:
        assert "GSO" in journeys.missing(record)["queue"]
        assert record["comparable"] is False
    ledgers.check_balanced(daemon)


# ---- which records are kept -------------------------------------------------


def test_samples(start, silent_pair):
    """One in ten of 20,000: a binomial count, within six standard deviations.  None is slow, even
    if the machine stops for a moment."""
    pair = silent_pair
    daemon = start("latency.sample_one_in=10", *journeys.EVERY[1:], "latency.slow=60s")
    pair.left.send_udp(pair.RIGHT4, 9, 20_000)
    answer = waiting.until(lambda: daemon.call("GetLatencyRecords", limit=1),
                           lambda a: a["held"] >= a["ledger"]["recorded"])
    assert answer["held"] >= answer["ledger"]["recorded"]
    records = journeys.to_port(journeys.ask(daemon, pair.left_device), 9)
    assert abs(len(records) - 2000) < 6 * (20_000 * 0.1 * 0.9) ** 0.5
    assert not any(r["slow"] for r in records)
    assert not daemon.call("GetLatencyRecords", netns=str(pair.left.inode), slow=True)["records"]


@pytest.mark.alone
def test_records_are_bounded_and_the_rest_is_counted(start, silent_pair):
    pair = silent_pair
    daemon = start("latency.sample_one_in=1", "records.rate=2", "records.recent=50")
    pair.left.send_udp(pair.RIGHT4, 9, 20_000)
    ledger = journeys.balanced(daemon)
    assert ledger["chosen"] >= 20_000
    assert ledger["throttled"] > 19_000
    # A bucket for each CPU.
    assert ledger["recorded"] <= (os.cpu_count() or 1) * (20 + 10 * 20)
    answer = daemon.call("GetLatencyRecords")
    assert answer["held"] <= answer["capacity"] == 50
    assert answer["ledger"]["chosen"] >= ledger["chosen"]


@pytest.mark.alone
@pytest.mark.needs("cost", "no BPF programs")
def test_full_ring_is_counted(start, silent_pair):
    pair = silent_pair
    daemon = start(*journeys.EVERY[:-1], "ring.bytes=4096")
    pair.left.send_udp(pair.RIGHT4, 9, 50_000)
    ledger = journeys.balanced(daemon)
    assert ledger["chosen"] >= 50_000 and ledger["throttled"] == 0
    assert ledger["ring_full"] > 0
    ledgers.check_balanced(daemon)


def took(first, last, over_ns=0):
    """A condition: the record has both stages, and took longer than `over_ns` between them."""
    return lambda record: {first, last} <= set(journeys.names(record)) and \
        journeys.between(record, first, last) > over_ns


def test_over_and_segment(start, silent_pair):
    pair = silent_pair
    over = round(patience.seconds(20e6))
    daemon = start(*journeys.EVERY)
    send_and_read(pair, 5, sleep=patience.seconds(0.03))
    send_and_read(pair, 7, sleep=0.0, port=PORT + 1)
    everything = journeys.wait_for(daemon, 12, pair.right_device)
    assert len(everything) == 12
    for parameters, expected in (
            ({"over_ns": over}, lambda r: r["total_ns"] > over),
            ({"over_ns": over, "segment": "sock_queue_to_copy"},
             took("sock_queue", "copy", over)),
            ({"segment": "sock_queue_to_copy"}, took("sock_queue", "copy")),
            ({"segment": "sock_queue→copy"}, took("sock_queue", "copy")),
            ({"segment": "sock_queue->copy"}, took("sock_queue", "copy")),
            ({"over_ns": over, "segment": "receive_to_copy"}, took("receive", "copy", over)),
            ({"over_ns": over, "segment": "rx_total"}, lambda r: r["total_ns"] > over),
            ({"over_ns": over, "segment": "total"}, lambda r: r["total_ns"] > over),
            ({"segment": "tx_total"}, lambda r: False),
            ({"segment": "forward_total"}, lambda r: False),
            ({"over_ns": over, "segment": "softirq_to_receive"},
             took("softirq_entry", "receive", over))):
        got = journeys.ask(daemon, pair.right_device, **parameters)
        assert got == [r for r in everything if expected(r)], parameters
    assert len(journeys.to_port(journeys.ask(daemon, pair.right_device, over_ns=over), PORT)) == 5
    newest = daemon.call("GetLatencyRecords", netns=str(pair.right.inode), limit=3)
    assert newest["records"] == everything[-3:]
    assert newest["matched"] == len(everything)


def test_unknown_segment(daemon):
    for wrong, nearest in (("sock_queue_to_copi", "sock_queue_to_copy"),
                           ("sock_queue→copi", "sock_queue_to_copy"),
                           ("queue->start_xmi", "queue_to_start_xmit")):
        with pytest.raises(VarlinkError) as error:
            daemon.call("GetLatencyRecords", segment=wrong)
        assert error.value.name == "UnknownSegment"
        assert error.value.parameters == {"segment": wrong, "nearest": nearest}


@pytest.mark.smoke
def test_stream(daemon, silent_pair):
    """Latency records as they happen, beside drop records, and only the requested ones."""
    pair = silent_pair
    over_ns = patience.milliseconds(20) * 1_000_000
    with daemon.client() as both, daemon.client() as slow:
        both.monitor(records=["drops", "latency"], netns=str(pair.right.inode), filter="udp")
        slow.monitor(records=["latency"], netns=str(pair.right.inode), over_ns=over_ns)
        send_and_read(pair, 5)
        pair.left.send_udp(pair.RIGHT4, 9, 3)
        send_and_read(pair, 1, sleep=patience.seconds(0.03), port=PORT + 1)
        seen = [both.next_record() for _ in range(9)]
        latencies = [reply["latency"] for reply in seen if reply.get("latency")]
        # The last one; others, too, if the machine stopped the test in them.
        late = [record for record in latencies if record["total_ns"] > over_ns]
        only = [slow.next_record()["latency"] for _ in late]
    assert sum(bool(reply.get("drop")) for reply in seen) == 3
    assert len(latencies) == 6
    for record in latencies:
        journeys.check(record)
    assert only == late and journeys.destination_port(late[-1]) == PORT + 1


# ---- accounting -------------------------------------------------------------


@pytest.mark.alone
def test_a_flood_that_is_read(start, silent_pair):
    """300,000 datagrams are read: netflowd counts as many as delivered, and none as consumed by the
    kernel.  The ledger is the host's, so the host's other packets may add to it."""
    pair = silent_pair
    count = patience.fewer(300_000)
    daemon = start()
    before = ledgers.quiet(daemon)
    received = pair.right.nstat()
    pumped = pump.pump("udp", pair.left, pair.right, pair.RIGHT4, PORT, count)
    assert pumped.messages_read == count
    assert pair.right.nstat().since(received, "UdpInDatagrams") == {"UdpInDatagrams": count}
    after = ledgers.check_balanced(daemon)
    change = ledgers.since(after["inflight"], before["inflight"])
    lost = backends.lost(daemon)
    untraced = kernel.untraced() * count + lost
    others = after["packets"]["received"] - before["packets"]["received"] - count
    assert count - untraced <= change["delivered"] <= count + others + lost, (others, change)
    assert change["consumed"] <= others + lost, "they had a reader"
    # The other half of it: each was sent once, and handed to the peer.
    sent = journeys.histogram(daemon, pair.left_device, "start_xmit_to_xmit", "tx")
    assert pair.left_device.statistics()["tx"]["packets"] == count
    assert count - untraced <= sent["count"] <= count
    if others > 0.05 * count:
        pytest.skip(f"this host received {others} other packets during the test; no count is wrong")


def read_in_bulk(daemon, namespace, size):
    """Send TCP on loopback; returns how netflowd assigns the bytes that were read.  netflowd counts
    for the whole host, so this tries again if another process of the host read TCP too."""
    for _ in range(3):
        change, read = try_in_bulk(daemon, namespace, size)
        if change["copied"] == read:
            break
    assert change["copied"] == read
    assert change["untracked"] <= kernel.untraced() * read
    return change


def try_in_bulk(daemon, namespace, size):
    before = daemon.status()["tcp_bytes"]
    message = 65536
    pumped = pump.pump("tcp", namespace, namespace, "127.0.0.1", PORT, max(1, size // message),
                       message)
    assert pumped.bytes_read == pumped.bytes
    change = ledgers.since(ledgers.check_balanced(daemon)["tcp_bytes"], before)
    assert sum(change[k] for k in ("delivered", "merged", "untracked")) == change["copied"]
    return change, pumped.bytes_read


@pytest.mark.alone
@pytest.mark.needs("rx_latency", "bytes of TCP")
def test_bulk_of_tcp(start, lab):
    """Bytes of delivered skbs + bytes of skbs merged into those (+ bytes of skbs that no program
    saw arrive) = bytes read, to the byte."""
    change = read_in_bulk(start(), lab.namespace(ipv6=False), BULK)
    assert change["merged"] > 0


@pytest.mark.alone
@pytest.mark.needs("rx_latency", "bytes of TCP")
def test_records_of_bulk_tcp(start, lab):
    """The record of each delivered skb says how many of its bytes are its own."""
    namespace = lab.namespace(ipv6=False)
    for _ in range(3):
        daemon = start(*journeys.EVERY)
        change, read = try_in_bulk(daemon, namespace, min(BULK, 256 << 20))
        if change["copied"] == read:
            break
        daemon.stop()
    assert change["copied"] == read
    ledger = daemon.status()["latency"]
    assert ledger["throttled"] == ledger["ring_full"] == 0
    records = daemon.call("GetLatencyRecords", netns=str(namespace.inode), limit=1 << 20,
                          filter=f"tcp dst port {PORT}")["records"]
    records = [r for r in records if r["outcome"] == "delivered"]
    for record in records:
        journeys.check(record)
    own = sum(r["length_bytes"] - r.get("merged_bytes", 0) for r in records)
    assert own == change["delivered"], "each delivered skb has one record"

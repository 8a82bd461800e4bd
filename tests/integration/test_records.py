# SPDX-License-Identifier: GPL-2.0-or-later
"""Drop records: each field equals the packet sent; the token bucket limits the records of each key
and counts the rest; answers that join and filter contain the same packets."""

import collections
import datetime
import functools
import os
import socket
import struct
import time

import pytest

from lab import backends, delay, kernel, packets, patience, waiting
from lab.varlink import VarlinkError

SOURCE, OWN = "10.88.0.1", "10.88.0.2"
SOURCE6, OWN6 = "fd88::1", "fd88::2"
# The ring has room for a flood of another test.
UNBOUNDED = "records.rate=1000000", "ring.bytes=67108864"
MIXED = set()  # the daemons that have seen the drops of `mixed`
# Tests beside these leave records, too.
pytestmark = pytest.mark.shared("records.recent=32768")


@pytest.fixture
def tun(lab):
    """A TUN device with addresses, in a new namespace."""
    namespace = lab.namespace()
    with packets.Tunnel(namespace, lab.name()) as tunnel:
        namespace.ip("address", "add", f"{OWN}/24", "dev", tunnel.device.name)
        namespace.ip("address", "add", f"{OWN6}/64", "dev", tunnel.device.name, "nodad")
        yield tunnel


@pytest.fixture
def tap(lab):
    namespace = lab.namespace()
    with packets.Tunnel(namespace, lab.name(), packets.IFF_TAP) as tunnel:
        namespace.ip("address", "add", f"{OWN}/24", "dev", tunnel.device.name)
        yield tunnel


def records_of(daemon, device):
    """Without those of an earlier test's device that had its number."""
    return [r for r in daemon.records(device)
            if backends.TRACE_EVENTS or r.get("device") == device.name]


def the_record(daemon, device, **fields):
    """The one record of a device that has these field values."""
    def read():
        return [r for r in records_of(daemon, device)
                if all(r.get(k) == v for k, v in fields.items())]

    found = waiting.until(read, bool)
    assert len(found) == 1, records_of(daemon, device)
    return found[0]


@pytest.mark.needs("drops", "headers")
def test_udp_fields(daemon, tun):
    packet = packets.ipv4(SOURCE, OWN, packets.UDP,
                          packets.udp(SOURCE, OWN, 1234, 4321, bytes(range(90))), ttl=33)
    before = time.time()
    tun.write(packet)
    record = the_record(daemon, tun.device, protocol="ipv4/udp")
    # skb->len, from which UDP's input has pulled the IP header.
    assert record["length_bytes"] == len(packet) - 20 == 98
    assert record["header"] == packet.hex()
    assert record["ip"] == {"version": 4, "source": SOURCE, "destination": OWN, "ttl": 33,
                            "protocol": 17, "length_bytes": 118, "fragment": False}
    assert record["transport"]["source_port"] == 1234
    assert record["transport"]["destination_port"] == 4321
    assert record["flow"] == f"udp {SOURCE}:1234 > {OWN}:4321"
    # A TUN device has no Ethernet header and nothing here has a tag.
    for absent in ("ethernet", "vlan", "icmp", "stack"):
        assert record.get(absent) is None
    for absent in ("flags", "sequence", "acknowledgement"):
        assert record["transport"].get(absent) is None
    when = datetime.datetime.fromisoformat(_microseconds(record["time"])).timestamp()
    assert before - 0.01 <= when <= time.time() + 0.01


def _microseconds(text):
    """RFC 3339 with nanoseconds, cut to the microseconds that datetime accepts."""
    head, _, rest = text.partition(".")
    assert rest[:9].isdigit() and rest[9] in "+-Z", text
    return f"{head}.{rest[:6]}{'+00:00' if rest[9] == 'Z' else rest[9:]}"


@pytest.mark.needs("drops", "headers")
def test_header_is_cut_at_128_bytes(daemon, tun):
    packet = packets.ipv4(SOURCE, OWN, packets.UDP,
                          packets.udp(SOURCE, OWN, 1234, 4321, bytes(i % 251 for i in range(900))))
    tun.write(packet)
    record = the_record(daemon, tun.device, protocol="ipv4/udp")
    assert record["length_bytes"] == len(packet) - 20
    assert record["header"] == packet[:128].hex()


@pytest.mark.needs("drops", "headers")
def test_tcp_fields(daemon, tun):
    segment = packets.tcp(SOURCE6, OWN6, 4000, 4001, ["SYN", "ECE", "CWR"], 0xFEDCBA98, 0x01234567)
    packet = packets.ipv6(SOURCE6, OWN6, packets.TCP, segment, hop_limit=7)
    tun.write(packet)
    record = the_record(daemon, tun.device, protocol="ipv6/tcp")
    assert record["header"] == packet.hex()
    assert record["ip"] == {"version": 6, "source": SOURCE6, "destination": OWN6, "ttl": 7,
                            "protocol": 6, "length_bytes": len(packet), "fragment": False}
    transport = record["transport"]
    assert sorted(transport["flags"]) == ["CWR", "ECE", "SYN"]
    assert transport["source_port"] == 4000 and transport["destination_port"] == 4001
    assert transport["sequence"] == 0xFEDCBA98
    assert transport["acknowledgement"] == 0x01234567
    assert record["flow"] == f"tcp [{SOURCE6}]:4000 > [{OWN6}]:4001"


@pytest.mark.needs("drops", "headers")
def test_udp_behind_ipv6_extension_headers(daemon, tun):
    hop_by_hop, destination_options = 0, 60
    segment = packets.udp(SOURCE6, OWN6, 1234, 4321, b"x")
    tun.write(packets.ipv6(SOURCE6, OWN6, hop_by_hop,
                           packets.extension(destination_options) +
                           packets.extension(packets.UDP) + segment))
    records = waiting.until(
        lambda: [r for r in records_of(daemon, tun.device) if r.get("transport")], bool)
    record, = records
    assert record["ip"]["protocol"] == packets.UDP
    assert record["transport"]["destination_port"] == 4321


@pytest.mark.needs("drops", "headers")
def test_later_fragment_has_no_ports(daemon, tun):
    tun.device.namespace.nft_drop("prerouting", "ip frag-off & 0x1fff != 0", family="ip",
                                  priority=-500)
    tun.write(packets.ipv4(SOURCE, OWN, packets.UDP, b"\x12\x34" * 20, fragment=185))
    record = the_record(daemon, tun.device, protocol="ipv4/udp")
    assert record["ip"]["fragment"] is True
    assert record.get("transport") is None


@pytest.mark.needs("drops", "headers")
def test_icmp_fields(daemon, tun):
    """An ICMP message with a wrong checksum, and a code that echo requests do not have."""
    tun.write(packets.ipv4(SOURCE, OWN, packets.ICMP,
                           packets.icmp(8, 3, struct.pack("!HH", 1, 1), bad_checksum=True)))
    record = the_record(daemon, tun.device, protocol="ipv4/icmp")
    assert record["icmp"] == {"type": 8, "code": 3}
    assert record.get("transport") is None


@pytest.mark.needs("drops", "headers")
def test_vlan_and_ethernet_fields(daemon, tap):
    """A drop at ingress: the kernel has moved the tag from the packet to the skb's metadata."""
    tap.device.namespace.nft_drop("ingress", "", family="netdev", device=tap.device)
    mac, other = tap.device.mac, "02:00:00:00:00:77"
    packet = packets.ipv4(SOURCE, OWN, packets.UDP, packets.udp(SOURCE, OWN, 1, 2, b"x" * 30))
    tap.write(packets.ethernet(mac, other, packets.ETH_IPV4, packet, vlan=(0x8100, 3 << 13 | 42)))
    record = the_record(daemon, tap.device, protocol="ipv4/udp")
    assert record["vlan"] == {"protocol": 0x8100, "id": 42, "priority": 3}
    assert record["ethernet"]["source"] == other
    assert record["ethernet"]["destination"] == mac
    assert record["transport"]["destination_port"] == 2


@pytest.mark.needs("drops", "headers")
def test_ethernet_fields(daemon, tap):
    mac, other = tap.device.mac, "02:00:00:00:00:77"
    packet = packets.ipv4(SOURCE, OWN, packets.UDP, packets.udp(SOURCE, OWN, 1, 2, b"x" * 30))
    tap.write(packets.ethernet(mac, other, packets.ETH_IPV4, packet))
    record = the_record(daemon, tap.device, protocol="ipv4/udp")
    assert record["ethernet"] == {"source": other, "destination": mac, "type": 0x0800}
    assert record.get("vlan") is None
    assert record["header"] == packet.hex()


def test_unknown_ethertype(daemon, tap):
    tap.write(packets.ethernet(tap.device.mac, "02:00:00:00:00:77", packets.ETH_LLDP, b"x" * 60))
    record = the_record(daemon, tap.device, protocol="0x88cc")
    for absent in ("ip", "transport", "icmp", "flow"):
        assert record.get(absent) is None


def test_malformed_packet_gives_absent_fields(daemon, tun):
    """An IPv4 header that is cut short: the missing fields are absent, not zero."""
    tun.write(bytes([0x45]) + bytes(11))
    records = waiting.until(lambda: records_of(daemon, tun.device), bool)
    assert records
    for record in records:
        assert record.get("transport") is None
        assert record.get("ip") is None


# ---- the task ----


@pytest.mark.needs("drops", "network namespace")
def test_task_is_involved_when_its_own_send_is_refused(daemon, pair):
    pair.left.nft_drop("output", "udp dport 5556")
    with pair.left.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        with pytest.raises(PermissionError):
            sender.sendto(b"x" * 50, (pair.RIGHT4, 5556))
    record = to_port(daemon, pair.left, 5556)
    assert record["task"]["involved"] is True, record
    assert record["task"].items() >= _own_task().items()


def test_task_is_not_involved_in_a_softirq(daemon, pair):
    pair.left.send_udp(pair.RIGHT4, 9, 5)
    records = waiting.until(lambda: records_of(daemon, pair.right_device), lambda r: len(r) >= 5)
    assert {r["task"]["involved"] for r in records} == {False}


def to_port(daemon, namespace, port):
    """The one record of that namespace with that destination port, of any device."""
    def read():
        return [r for r in daemon.records() if r.get("netns") == namespace.inode
                and (r.get("transport") or {}).get("destination_port") == port]

    found = waiting.until(read, bool)
    assert len(found) == 1, daemon.records()
    return found[0]


def _own_task():
    with open("/proc/self/comm") as comm, open("/proc/self/stat") as stat:
        return {"pid": int(stat.read().split()[0]), "comm": comm.read().strip()}


def test_limit_gives_the_newest(daemon, silent_pair):
    pair = silent_pair
    for port in range(1000, 1020):
        pair.left.send_udp(pair.RIGHT4, port, 1)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), 20)
    answer = daemon.call("GetDropRecords", netns=str(pair.right.inode),
                         device=pair.right_device.name, limit=3)
    assert answer["matched"] >= 20
    assert [r["transport"]["destination_port"] for r in answer["records"]] == [1017, 1018, 1019]


# ---- joining and filtering ----


@pytest.fixture(scope="module", autouse=True)
def kept_pair(kept_lab):
    """It is there before the daemon, so that no namespace of another test had its number."""
    return kept_lab.pair()


@pytest.fixture
def mixed(kept_pair, daemon):
    """(daemon, pair) after drops of several reasons, protocols and devices."""
    if daemon not in MIXED:
        drop_several(daemon, kept_pair)
        MIXED.add(daemon)
    return daemon, kept_pair


def drop_several(daemon, pair):
    pair.right.nft_drop("input", "udp dport 5555")
    pair.left.send_udp(pair.RIGHT4, 9, 30)
    pair.left.send_udp(pair.RIGHT6, 9, 20)
    pair.left.send_udp(pair.RIGHT4, 5555, 10)
    pair.right.send_udp(pair.LEFT4, 9, 5)

    def dropped(device):
        return sum(daemon.dropped(device, f"ipv{v}/udp") for v in (4, 6))

    for device, sent in ((pair.right_device, 60), (pair.left_device, 5)):
        assert waiting.settled(functools.partial(dropped, device), sent) == sent


CLASSES = ["fault", "unknown", "policy", "benign"]
FIELDS = {
    "reason": {"reason", "inferred", "kernel_reason", "reason_number", "subsystem", "candidates"},
    "location": {"location", "function"},
    "dev": {"device", "ifindex", "netns"},
    "proto": {"protocol"},
    "netns": {"netns"},
    "flow": {"flow"},
}


@pytest.mark.parametrize("by", FIELDS)
def test_by(mixed, by):
    daemon, pair = mixed
    answer = daemon.call("GetDrops", by=by, netns=str(pair.right.inode))
    given = {"cause", "class", "packets", "segments", "bytes", "last"} | FIELDS[by]
    for row in answer["rows"]:
        assert {k for k, v in row.items() if v is not None} <= given, row
    keys = [tuple(str(row.get(f)) for f in sorted(FIELDS[by] | {"class"}))
            for row in answer["rows"]]
    assert len(keys) == len(set(keys))
    assert answer["matched"] == len(answer["rows"])
    assert answer["packets"] == sum(row["packets"] for row in answer["rows"])
    order = [(CLASSES.index(row["class"]), -row["packets"]) for row in answer["rows"]]
    assert order == sorted(order)
    if by == "flow":
        assert answer["exact"] is False
        rows = {row["flow"]: row["packets"] for row in answer["rows"] if row.get("flow")}
        flows = [n for flow, n in rows.items() if flow.endswith(f"> {pair.RIGHT4}:9")]
        assert flows == [30]
    else:
        assert answer["exact"] is True
        plain = daemon.call("GetDrops", netns=str(pair.right.inode))
        assert answer["packets"] == plain["packets"] >= 60
        assert answer["bytes"] == plain["bytes"]


def test_by_protocol_is_exact(mixed):
    daemon, pair = mixed
    rows = daemon.call("GetDrops", by="proto", netns=str(pair.right.inode))["rows"]
    counts = collections.Counter()
    for row in rows:
        counts[row["protocol"]] += row["packets"]
    assert counts["ipv4/udp"] == 40 and counts["ipv6/udp"] == 20


@pytest.mark.needs("drops", "headers")
def test_filter_by_device(mixed):
    daemon, pair = mixed
    rows = daemon.call("GetDrops", device=pair.left_device.name)["rows"]
    assert {row["device"] for row in rows} == {pair.left_device.name}
    assert sum(r["packets"] for r in rows if r["protocol"] == "ipv4/udp") == 5


def test_filter_by_reason(mixed, reasons):
    daemon, pair = mixed
    for reason in ("NO_SOCKET", "no_socket", "SKB_DROP_REASON_NO_SOCKET",
                   str(_number("NO_SOCKET"))):
        answer = daemon.call("GetDrops", reason=reason, netns=str(pair.right.inode))
        assert {row["reason"] for row in answer["rows"]} == {"NO_SOCKET"}
        assert answer["packets"] == 50


def _number(reason):
    return next(n for n, name in kernel.drop_reasons().items() if name == reason)


def test_filter_records(mixed, reasons):
    daemon, pair = mixed
    records = daemon.call("GetDropRecords", reason="NETFILTER_DROP",
                          netns=str(pair.right.inode))["records"]
    assert len(records) == 10
    assert {r["transport"]["destination_port"] for r in records} == {5555}
    assert {r["reason"] for r in records} == {"NETFILTER_DROP"}


def test_top(mixed):
    daemon, pair = mixed
    every = daemon.call("GetDrops", netns=str(pair.right.inode))
    top = daemon.call("GetDrops", netns=str(pair.right.inode), top=1)
    assert top["rows"] == every["rows"][:1]
    assert (top["matched"], top["packets"], top["bytes"]) == \
        (every["matched"], every["packets"], every["bytes"])


@pytest.mark.parametrize("parameters, error, nearest", [
    ({"reason": "NO_SOKET"}, "UnknownReason", "NO_SOCKET"),
    ({"by": "reson"}, "UnknownField", "reason"),
])
def test_unknown_value_names_the_nearest(daemon, reasons, parameters, error, nearest):
    with pytest.raises(VarlinkError) as caught:
        daemon.call("GetDrops", **parameters)
    assert caught.value.name == error
    assert caught.value.parameters["nearest"] == nearest


@pytest.mark.parametrize("method", ["GetDrops", "GetDropRecords", "GetLatency"])
def test_unknown_device_names_the_nearest(daemon, pair, method):
    pair.left.send_udp(pair.RIGHT4, 9, 10)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), 10)
    wrong = pair.right_device.name + "x"
    with pytest.raises(VarlinkError) as caught:
        daemon.call(method, device=wrong)
    assert caught.value.name == "UnknownDevice"
    assert caught.value.parameters["device"] == wrong
    assert caught.value.parameters["nearest"] == pair.right_device.name


# ---- streams ----


def test_monitor_filters_by_reason(daemon, pair, reasons):
    pair.right.nft_drop("input", "udp dport 5555")
    with daemon.client() as client:
        client.monitor(reason="NETFILTER_DROP", netns=str(pair.right.inode))
        pair.left.send_udp(pair.RIGHT4, 9, 10)
        pair.left.send_udp(pair.RIGHT4, 5555, 2)
        got = [client.next_record()["drop"] for _ in range(2)]
    assert {r["reason"] for r in got} == {"NETFILTER_DROP"}


@pytest.mark.needs("drops", "headers")
def test_monitor_filters_by_device(daemon, pair):
    for namespace, address in ((pair.left, pair.RIGHT4), (pair.right, pair.LEFT4)):
        namespace.send_udp(address, 9, 1)
    waiting.settled(lambda: daemon.dropped(pair.left_device, "ipv4/udp", "NO_SOCKET"), 1)
    with daemon.client() as client:
        client.monitor(device=pair.left_device.name)
        pair.left.send_udp(pair.RIGHT4, 9, 10)
        pair.right.send_udp(pair.LEFT4, 10, 1)
        record = client.next_record()["drop"]
    assert record["transport"]["destination_port"] == 10
    assert record["device"] == pair.left_device.name


def test_stack_on_request_only(daemon, silent_pair):
    pair = silent_pair
    with daemon.client() as client:
        client.monitor(netns=str(pair.right.inode), stack=True)
        pair.left.send_udp(pair.RIGHT4, 9, 1)
        record = client.next_record()["drop"]
    assert len(record["stack"]) > 3
    assert any("udp" in frame for frame in record["stack"]), record["stack"]

    def without_stack():
        with daemon.client() as second:
            second.monitor(netns=str(pair.right.inode))
            pair.left.send_udp(pair.RIGHT4, 9, 1)
            return second.next_record()["drop"].get("stack")

    # The last call that asked for stacks ended a moment ago.
    assert waiting.until(without_stack, lambda stack: stack is None) is None


# ---- a daemon for each test ----


@pytest.mark.portable
@pytest.mark.smoke
@pytest.mark.needs("drops", "headers")
def test_a_flood_does_not_hide_a_rare_drop(start, silent_pair, bpf):
    pair = silent_pair
    rate, burst, flood = 10, 50, patience.fewer(100_000)
    daemon = start(f"records.rate={rate}", "records.recent=1000")
    pair.right.nft_drop("input", "udp dport 5555")
    begin = time.monotonic()
    pair.left.send_udp(pair.RIGHT4, 9, flood)
    pair.left.send_udp(pair.RIGHT4, 5555, 3, "-p", 4444)
    dropped = waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), flood + 3)
    seconds = time.monotonic() - begin
    assert dropped == flood + 3

    records = daemon.records(pair.right_device)
    by_port = {port: [r for r in records if r["transport"]["destination_port"] == port]
               for port in (9, 5555)}
    assert len(by_port[5555]) == 3
    assert {r["transport"]["source_port"] for r in by_port[5555]} == {4444}
    # A race between two CPUs may admit one more record each time.
    assert burst <= len(by_port[9]) <= 2 * (burst + rate * seconds + 1)
    # It is the host's: at a moment at which nothing was dropped.
    ledger = waiting.until(lambda: daemon.status()["drops"], lambda drops: not drops["moved"], 20)
    assert ledger["throttled"] >= flood - len(by_port[9])
    assert ledger["recorded"] + ledger["throttled"] + ledger["ring_full"] == ledger["hits"]


def test_bucket_fills_again(start, silent_pair, bpf):
    pair = silent_pair
    daemon = start("records.rate=1")
    for _ in range(2):
        pair.left.send_udp(pair.RIGHT4, 9, 1000)
        time.sleep(5.1)  # 1 per second fills a bucket of 5
    records = waiting.until(lambda: daemon.records(pair.right_device), lambda r: len(r) >= 10)
    assert 10 <= len(records) <= 20


@pytest.mark.alone
@pytest.mark.needs("drops", "headers")
def test_records_held_are_bounded_and_the_newest(start, silent_pair, bpf):
    pair = silent_pair
    daemon = start(*UNBOUNDED, "records.recent=64")
    # From one socket, because a program for each port takes longer than all the rest; and on one
    # CPU, so that they are received in their order.
    with pair.left.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, \
            delay.on_cpu(min(os.sched_getaffinity(0))):
        for port in range(1000, 1200):
            sender.sendto(b"x", (pair.RIGHT4, port))
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), 200)
    answer = daemon.call("GetDropRecords", limit=10000)
    assert answer["held"] == answer["capacity"] == 64 == len(answer["records"])
    ports = [r["transport"]["destination_port"] for r in daemon.records(pair.right_device)]
    assert ports == sorted(ports) and ports[-1] == 1199  # newest last


def test_task_is_involved_in_a_checksum_found_by_its_recv(start, lab, bpf):
    """Above 76 bytes, the kernel checks the checksum when the reader copies.  The test repeats this
    with time between, so that interrupts and their softirqs meet the task in every state."""
    daemon = start(*UNBOUNDED)
    rounds = 300
    namespace = lab.namespace(ipv6=False)
    with packets.Tunnel(namespace, lab.name()) as tunnel, daemon.client() as client, \
            namespace.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        client.monitor(netns=str(namespace.inode))
        namespace.ip("address", "add", f"{OWN}/24", "dev", tunnel.device.name)
        reader.bind((OWN, 4321))
        reader.setblocking(False)
        segment = packets.udp(SOURCE, OWN, 1234, 4321, b"y" * 400, bad_checksum=True)
        for _ in range(rounds):
            tunnel.write(packets.ipv4(SOURCE, OWN, packets.UDP, segment))
            with pytest.raises(BlockingIOError):
                reader.recv(1000)
            _busy_for(0.003)
        records = [client.next_record()["drop"] for _ in range(rounds)]
    assert namespace.nstat()["UdpInCsumErrors"] == rounds
    assert {r["protocol"] for r in records} == {"ipv4/udp"}
    assert {r["task"]["pid"] for r in records} == {_own_task()["pid"]}
    assert sum(r["task"]["involved"] for r in records) == rounds


def _busy_for(seconds):
    """Spin in user mode, where the timer's interrupt finds the task's kernel stack empty."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.portable
@pytest.mark.smoke
def test_monitor_gives_each_record_once(start, silent_pair, bpf):
    pair = silent_pair
    daemon = start(*UNBOUNDED)
    with daemon.client() as client:
        client.monitor(netns=str(pair.right.inode))
        for port in range(2000, 2100):
            pair.left.send_udp(pair.RIGHT4, port, 1)
        ports = [client.next_record()["drop"]["transport"]["destination_port"] for _ in range(100)]
    assert ports == list(range(2000, 2100))


def test_device_without_drops_is_no_error(start, lab, bpf):
    """The device exists on the host, without drops until now."""
    daemon = start()
    namespace = lab.namespace()
    assert daemon.call("GetDrops", device="lo", netns=str(namespace.inode))["rows"] == []
    with daemon.client() as client:
        client.monitor(device="lo", netns=str(namespace.inode))
        namespace.send_udp("127.0.0.1", 9, 1)
        assert client.next_record()["drop"]["device"] == "lo"

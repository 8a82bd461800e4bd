# SPDX-License-Identifier: GPL-2.0-or-later
"""Drops of a known number: netflowd's count equals the number of packets sent, the kernel's own
statistics, and the kernel's own trace of kfree_skb."""

import ctypes
import functools
import socket
import struct

import pytest

from lab import backends, kernel, packets, patience, waiting

pytestmark = pytest.mark.shared

SENT = 4217
ETHER_TYPE = {4: packets.ETH_IPV4, 6: packets.ETH_IPV6}


def expect(daemon, trace, device, version, transport, packets_expected, reason=None):
    """Check that the rows of that device and protocol count exactly `packets_expected`, and that
    the kernel's trace has them too.

    Without `reason` any reason matches.  Returns the rows.
    """
    protocol = f"ipv{version}/{transport}"
    counted = waiting.settled(lambda: daemon.dropped(device, protocol, reason), packets_expected)
    assert counted == packets_expected, daemon.drop_rows(device)
    rows = daemon.drop_rows(device, protocol, reason)
    for row in rows:
        assert row["device"] == device.name
        assert backends.is_about(row, device)
        assert backends.bytes_of(row) != 0
    assert trace.lost == 0
    for row in rows:
        _compare_with_trace(row, trace, ETHER_TYPE[version])
    return rows


def _compare_with_trace(row, trace, ether_type):
    """Other traffic can be dropped at the same location, so the trace has at least as many."""
    reason = row.get("kernel_reason", row.get("reason")) if kernel.has_drop_reasons() else None
    location = row["location"].split(" ")[0]
    at_least = trace.matching(ether_type, reason, None if location.startswith("0x") else location)
    assert at_least >= row["packets"], (row, trace.counts)


@pytest.mark.smoke
@pytest.mark.parametrize("version", [4, 6])
def test_udp_closed_port(daemon, pair, version):
    before = pair.right.nstat()
    with kernel.drop_trace() as trace:
        pair.left.send_udp(pair.right_address(version), 9, SENT)
    counter = "UdpNoPorts" if version == 4 else "Udp6NoPorts"
    assert pair.right.nstat().since(before, counter) == {counter: SENT}

    rows = expect(daemon, trace, pair.right_device, version, "udp", SENT, "NO_SOCKET")
    # skb->len, from which the IP header has been pulled by then.
    assert backends.bytes_of(*rows) in (SENT * (8 + 64), None)


@pytest.mark.needs("drops", "headers")
@pytest.mark.parametrize("version", [4, 6])
def test_record_of_closed_port(daemon, pair, version):
    pair.left.send_udp(pair.right_address(version), 4217, 1, "-p", 4999, "-s", 100)
    record, = waiting.until(lambda: [r for r in daemon.records(pair.right_device)
                                     if r["protocol"] == f"ipv{version}/udp"], bool)
    assert record["transport"]["source_port"] == 4999
    assert record["transport"]["destination_port"] == 4217
    assert record["device"] == pair.right_device.name


@pytest.mark.smoke
def test_nftables_drop(daemon, pair):
    pair.right.nft_drop("input", "udp dport 5555")
    with kernel.drop_trace() as trace:
        pair.left.send_udp(pair.RIGHT4, 5555, SENT)
    assert pair.right.nft_counter("input") == SENT
    expect(daemon, trace, pair.right_device, 4, "udp", SENT, "NETFILTER_DROP")


def test_nftables_drop_of_one_in_three(daemon, pair):
    """netflowd does not count the packets that pass."""
    with pair.right.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        reader.bind((pair.RIGHT4, 5555))
        pair.right.nft_drop("input", "udp dport 5555 numgen inc mod 3 == 0")
        with kernel.drop_trace() as trace:
            pair.left.send_udp(pair.RIGHT4, 5555, 3000)
        assert pair.right.nft_counter("input") == 1000
        assert len(_read_all(reader)) == 2000
    expect(daemon, trace, pair.right_device, 4, "udp", 1000, "NETFILTER_DROP")


def _read_all(reader):
    """All datagrams that wait in a socket."""
    reader.setblocking(False)
    datagrams = []
    while True:
        try:
            datagrams.append(reader.recv(65536))
        except BlockingIOError:
            return datagrams


@pytest.mark.parametrize("version", [4, 6])
def test_receive_buffer_overflow(daemon, pair, version):
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    before = pair.right.nstat()
    with pair.right.entered(), socket.socket(family, socket.SOCK_DGRAM) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
        reader.bind((pair.right_address(version), 7777))
        with kernel.drop_trace() as trace:
            pair.left.send_udp(pair.right_address(version), 7777, SENT, "-s", 200)
        readable = len(_read_all(reader))
    prefix = "Udp" if version == 4 else "Udp6"
    counters = pair.right.nstat().since(before, f"{prefix}RcvbufErrors", f"{prefix}InErrors")
    assert 0 < readable < SENT
    assert counters == {f"{prefix}RcvbufErrors": SENT - readable,
                        f"{prefix}InErrors": SENT - readable}
    expect(daemon, trace, pair.right_device, version, "udp", SENT - readable, "SOCKET_RCVBUFF")


@pytest.mark.parametrize("version", [4, 6])
def test_ttl_expires_in_a_router(daemon, path, version):
    # The host sends at most 50 ICMP messages at once, and each counts as 0, 1 or 2 of them, at
    # random (icmp_global_allow, since 5.10), so 25 always pass.
    sent = 25
    before = path.router.nstat()
    with kernel.drop_trace() as trace:
        path.left.send_udp(path.right_address(version), 9, sent, "-t", 1)
    names = {4: ("IpInHdrErrors", "IcmpOutTimeExcds"),
             6: ("Ip6InHdrErrors", "Icmp6OutTimeExcds")}[version]
    assert path.router.nstat().since(before, *names) == dict.fromkeys(names, sent)

    rows = expect(daemon, trace, path.near_device, version, "udp", sent)
    assert len(rows) == 1
    assert rows[0]["location"].startswith("ip_forward+" if version == 4 else "ip6_forward+")
    if daemon.knows_reasons():
        # 5.17 to 6.0 have no separate reason for this location.
        assert rows[0]["reason"] in ("IP_INHDR", "NOT_SPECIFIED")
    assert daemon.dropped(path.right_device, f"ipv{version}/udp") == 0
    backends.skip_without("drops", "headers")
    ttls = {r["ip"]["ttl"] for r in daemon.records(path.near_device)
            if r["protocol"] == rows[0]["protocol"]}
    assert ttls == {1}


@pytest.mark.parametrize("version, destination, route, reason, counter", [
    (4, "203.0.113.9", None, "IP_INNOROUTES", "IpExtInNoRoutes"),
    (4, "198.51.100.9", "unreachable 198.51.100.0/24", None, None),
    (4, "198.51.100.9", "blackhole 198.51.100.0/24", None, None),
    (4, "198.51.100.9", "prohibit 198.51.100.0/24", None, None),
    (6, "2001:db8:1::9", None, None, "Ip6InNoRoutes"),
    (6, "2001:db8:1::9", "unreachable 2001:db8:1::/48", None, "Ip6InNoRoutes"),
], ids=["v4-none", "v4-unreachable", "v4-blackhole", "v4-prohibit", "v6-none", "v6-unreachable"])
def test_no_route_in_a_router(daemon, path, version, destination, route, reason, counter):
    if route:
        path.router.ip(f"-{version}", "route", "add", *route.split())
    received = "IpInReceives" if version == 4 else "Ip6InReceives"
    forwarded = "IpForwDatagrams" if version == 4 else "Ip6OutForwDatagrams"
    before = path.router.nstat()
    with kernel.drop_trace() as trace:
        path.left.send_udp(destination, 9, SENT)
    counters = path.router.nstat().since(before, received, forwarded, counter or received)
    assert counters[received] >= SENT and counters[forwarded] == 0
    if counter:
        assert counters[counter] == SENT
    if reason and not any(key[2] == reason for key in trace.counts):
        reason = None  # this kernel has no such reason
    expect(daemon, trace, path.near_device, version, "udp", SENT, reason)


def test_forwarding_drop_by_nftables(daemon, path):
    path.router.nft_drop("forward", "udp dport 5555")
    with kernel.drop_trace() as trace:
        path.left.send_udp(path.RIGHT4, 5555, SENT)
    assert path.router.nft_counter("forward") == SENT
    # In the forward hook the skb belongs to the device that it came from, or already to the one
    # that it leaves by, depending on the kernel's version.
    counted = waiting.settled(
        lambda: daemon.dropped(path.near_device, "ipv4/udp", "NETFILTER_DROP") +
        daemon.dropped(path.far_device, "ipv4/udp", "NETFILTER_DROP"), SENT)
    assert counted == SENT and trace.lost == 0


def test_full_qdisc(daemon, silent_pair):
    pair = silent_pair
    device = pair.left_device
    pair.left.run("tc", "qdisc", "add", "dev", device.name, "root", "handle", "1:", "tbf",
                  "rate", "8mbit", "burst", "2000", "limit", "20000")
    with kernel.drop_trace() as trace:
        pair.left.send_udp(pair.RIGHT4, 9, SENT, "-s", 1000, "-b", 1 << 26)
    waiting.until(lambda: device.qdisc("tbf")["qlen"], lambda n: n == 0)
    qdisc = device.qdisc("tbf")
    assert qdisc["drops"] > 0 and qdisc["packets"] + qdisc["drops"] == SENT

    rows = expect(daemon, trace, device, 4, "udp", qdisc["drops"])
    if daemon.knows_reasons():
        assert all(row["reason"].startswith("QDISC_") or row["reason"] == "NOT_SPECIFIED"
                   for row in rows), rows
    refused = waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"),
                              qdisc["packets"])
    hidden = kernel.untraced_burst(qdisc["packets"])
    assert qdisc["packets"] - hidden <= refused <= qdisc["packets"]


def test_qdisc_removed_with_packets_in_it(daemon, silent_pair):
    """The kernel drops the packets of a qdisc with the qdisc."""
    pair = silent_pair
    device = pair.left_device
    pair.left.run("tc", "qdisc", "add", "dev", device.name, "root", "handle", "1:", "tbf",
                  "rate", f"{patience.fewer(8000)}bit", "burst", "1100", "limit", "200000")
    pair.left.send_udp(pair.RIGHT4, 9, 50, "-s", 1000)
    with kernel.drop_trace() as trace:
        pair.left.run("tc", "qdisc", "del", "dev", device.name, "root")
        # One left at once, and others one by one.
        queued = 50 - device.statistics()["tx"]["packets"]
        assert queued >= 40
        waiting.until(lambda: daemon.dropped(device, "ipv4/udp"), lambda n: n >= queued)
    expect(daemon, trace, device, 4, "udp", queued)


@pytest.mark.parametrize("version", [4, 6])
def test_bad_udp_checksum(daemon, lab, version):
    sent = 300
    namespace = lab.namespace()
    source, own = {4: ("10.88.0.1", "10.88.0.2"), 6: ("fd88::1", "fd88::2")}[version]
    with packets.Tunnel(namespace, lab.name()) as tunnel:
        namespace.ip("address", "add", f"{own}/{24 if version == 4 else 64}", "dev",
                     tunnel.device.name, *(["nodad"] if version == 6 else []))
        before = namespace.nstat()
        with kernel.drop_trace() as trace:
            for i in range(sent):
                segment = packets.udp(source, own, 1000, 2000 + i % 7, b"x" * 20, bad_checksum=True)
                tunnel.write(_ip(version, source, own, packets.UDP, segment))
        counter = "UdpInCsumErrors" if version == 4 else "Udp6InCsumErrors"
        assert namespace.nstat().since(before, counter) == {counter: sent}
        assert tunnel.device.statistics()["rx"]["packets"] == sent
        expect(daemon, trace, tunnel.device, version, "udp", sent, "UDP_CSUM")


@pytest.mark.parametrize("version", [4, 6])
def test_bad_tcp_checksum(daemon, lab, version):
    sent = 300
    namespace = lab.namespace()
    source, own = {4: ("10.88.0.1", "10.88.0.2"), 6: ("fd88::1", "fd88::2")}[version]
    with packets.Tunnel(namespace, lab.name()) as tunnel:
        namespace.ip("address", "add", f"{own}/{24 if version == 4 else 64}", "dev",
                     tunnel.device.name, *(["nodad"] if version == 6 else []))
        before = namespace.nstat()
        with kernel.drop_trace() as trace:
            for _ in range(sent):
                segment = packets.tcp(source, own, 1000, 2000, ["SYN"], bad_checksum=True)
                tunnel.write(_ip(version, source, own, packets.TCP, segment))
        counters = namespace.nstat().since(before, "TcpInErrs", "TcpInCsumErrors")
        assert counters == {"TcpInErrs": sent, "TcpInCsumErrors": sent}
        expect(daemon, trace, tunnel.device, version, "tcp", sent, "TCP_CSUM")


def _ip(version, source, destination, protocol, payload):
    make = packets.ipv4 if version == 4 else packets.ipv6
    return make(source, destination, protocol, payload)


@pytest.mark.needs("devices", "several network namespaces")
def test_drop_on_loopback(daemon, lab):
    """The device of a drop on lo is that namespace's lo, not the host's."""
    namespace = lab.namespace()
    with kernel.drop_trace() as trace:
        namespace.send_udp("127.0.0.1", 9, SENT)
    expect(daemon, trace, namespace.loopback(), 4, "udp", SENT, "NO_SOCKET")


@pytest.mark.needs("devices", "several network namespaces")
def test_two_devices_of_one_name_are_two(fresh, lab):
    """Two devices of one name and ifindex in two namespaces are counted separately."""
    first, second = lab.namespace(), lab.namespace()
    first.send_udp("127.0.0.1", 9, 11)
    second.send_udp("127.0.0.1", 9, 13)
    for device, sent in ((first.loopback(), 11), (second.loopback(), 13)):
        read = functools.partial(fresh.dropped, device, "ipv4/udp", "NO_SOCKET")
        assert waiting.settled(read, sent) == sent


def test_device_that_is_gone_keeps_its_count(daemon, pair):
    device = pair.right_device
    pair.left.send_udp(pair.RIGHT4, 9, 100)
    assert waiting.settled(lambda: daemon.dropped(device, "ipv4/udp", "NO_SOCKET"), 100) == 100
    pair.right.ip("link", "delete", device.name)
    assert daemon.dropped(device, "ipv4/udp", "NO_SOCKET") == 100
    assert daemon.drop_rows(device, "ipv4/udp", "NO_SOCKET")[0]["device"] == device.name


def test_names_are_the_kernels_own(daemon, pair, reasons):
    """Each counted reason has the number and name that are in the kernel's format file."""
    pair.left.send_udp(pair.RIGHT4, 9, 10)
    pair.right.nft_drop("input", "udp dport 5555")
    pair.left.send_udp(pair.RIGHT4, 5555, 10)
    names = kernel.drop_reasons()
    rows = waiting.until(lambda: daemon.drop_rows(pair.right_device), lambda rows:
                         {"NO_SOCKET", "NETFILTER_DROP"} <= {row["reason"] for row in rows})
    assert {"NO_SOCKET", "NETFILTER_DROP"} <= {row["reason"] for row in rows}
    for row in rows:
        assert row["subsystem"] == "core"
        assert names[row["reason_number"]] == row.get("kernel_reason", row["reason"])


def test_tcp_to_a_closed_port(daemon, pair):
    for _ in range(100):
        with pair.left.entered(), socket.socket() as client:
            with pytest.raises(ConnectionRefusedError):
                client.connect((pair.RIGHT4, 9))
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/tcp", "NO_SOCKET"),
                           100) == 100


def test_socket_filter(daemon, pair):
    """A socket has a classic BPF filter that refuses every packet."""
    sent = 200
    before = pair.right.nstat()
    with pair.right.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.bind((pair.RIGHT4, 7777))
        _refuse_all(reader)
        with kernel.drop_trace() as trace:
            pair.left.send_udp(pair.RIGHT4, 7777, sent)
        expect(daemon, trace, pair.right_device, 4, "udp", sent, "SOCKET_FILTER")
    assert pair.right.nstat().since(before, "UdpInErrors") == {"UdpInErrors": sent}


def _refuse_all(sock):
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # ret #0
    program = struct.pack("H6xP", 1, ctypes.addressof(instruction))
    sock.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER

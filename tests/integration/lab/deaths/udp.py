# SPDX-License-Identifier: GPL-2.0-or-later
"""Deaths of datagrams at sockets: UDP, ICMP, raw sockets, packet sockets."""

import contextlib
import ctypes
import socket
import struct

from .. import packets
from . import bpf
from .scene import NO_REASONS, RAW, death, send_udp

SO_ATTACH_FILTER = 26
BROADCAST = "ff:ff:ff:ff:ff:ff"
RECEIVE = {4: ("__udp4_lib_rcv", "udp_rcv"), 6: ("__udp6_lib_rcv", "udpv6_rcv")}
# A datagram of the tests fits into the smallest receive buffer a few times only.
TINY = 1
# SKB_TRUESIZE of a socket's first datagram is above the smallest buffer, so one fits always.


def attach_filter(sock, result=0):
    """A classic BPF filter that returns one number; 0 refuses every packet."""
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, result))
    program = struct.pack("H6xP", 1, ctypes.addressof(instruction))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def _closed(version):
    def make(scene):
        pair = scene.pair(ipv6=version == 6)
        send_udp(scene.open(pair.left, _family(version), socket.SOCK_DGRAM),
                 pair.right_address(version), scene.count)
    return make


def _family(version):
    return socket.AF_INET if version == 4 else socket.AF_INET6


@death("NO_SOCKET", "benign", "__udp4_lib_rcv", "udp_rcv", counters=("UdpNoPorts",))
def udp_closed_port(scene):
    """A datagram for a port that no socket has."""
    _closed(4)(scene)


@death("NO_SOCKET", "benign", "__udp6_lib_rcv", "udpv6_rcv", counters=("Udp6NoPorts",),
       beside=("icmpv6_rcv",))
def udp6_closed_port(scene):
    """A datagram over IPv6 for a port that no socket has."""
    _closed(6)(scene)


@death("UDP_CSUM", "fault", "__udp4_lib_rcv", "udp_rcv", counters=("UdpInCsumErrors",))
def udp_checksum(scene):
    """A wrong UDP checksum, and no socket."""
    wire = scene.wire()
    for _ in scene.each:
        wire.udp(bad_checksum=True)


@death("UDP_CSUM", "fault", "__udp6_lib_rcv", "udpv6_rcv", counters=("Udp6InCsumErrors",))
def udp6_checksum(scene):
    """A wrong UDP checksum over IPv6, and no socket."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.udp(6, bad_checksum=True)


@death("UDP_CSUM", "fault", "__udp4_lib_rcv", "udp_recvmsg", counters=("UdpInCsumErrors",),
       undecided_before=(6, 18))
def udp_checksum_at_read(scene):
    """A wrong UDP checksum, found when a process asks how much there is to read."""
    wire = scene.wire()
    reader = scene.reader(wire.namespace, wire.own4, 7777)
    # The kernel checks short datagrams at once (CHECKSUM_BREAK).
    for _ in scene.each:
        wire.udp(port=7777, payload=bytes(500), bad_checksum=True)
    reader.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        reader.recv(2048)


@death("PKT_TOO_SMALL", "fault", "__udp4_lib_rcv", "udp_rcv", counters=("UdpInErrors",))
def udp_length(scene):
    """A UDP header that says more than the packet has."""
    wire = scene.wire()
    for _ in scene.each:
        wire.udp(length=500)


@death("PKT_TOO_SMALL", "fault", "__udp6_lib_rcv", "udpv6_rcv", counters=("Udp6InErrors",))
def udp6_length(scene):
    """A UDP header over IPv6 that says more than the packet has."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.udp(6, length=500)


@death("PKT_TOO_SMALL", "fault", "__udp4_lib_rcv", "udp_rcv", counters=("UdpInErrors",))
def udp_stub(scene):
    """A UDP packet with 4 bytes."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(packets.UDP, bytes(4))


def _overflow(scene, version):
    wire = scene.wire(ipv6=version == 6)
    reader = scene.reader(wire.namespace, wire.ends(version)[1], 7777)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY)
    fits = 0
    names = ("UdpRcvbufErrors", "Udp6RcvbufErrors")
    name = names[version == 6]
    before = wire.namespace.nstat()[name]
    # The last datagram that fits is the one before the first that does not.
    while wire.namespace.nstat()[name] == before:
        wire.udp(version, port=7777)
        fits += 1
        assert fits < 100
    for _ in range(scene.count - 1):
        wire.udp(version, port=7777)


@death("SOCKET_RCVBUFF", "fault", "udp_queue_rcv_one_skb", counters=("UdpRcvbufErrors",))
def udp_full_buffer(scene):
    """The receive buffer of a UDP socket is full."""
    _overflow(scene, 4)


@death("SOCKET_RCVBUFF", "fault", "udpv6_queue_rcv_one_skb", counters=("Udp6RcvbufErrors",))
def udp6_full_buffer(scene):
    """The receive buffer of a UDP socket over IPv6 is full."""
    _overflow(scene, 6)


@death("SOCKET_FILTER", "policy", "udp_queue_rcv_one_skb", counters=("UdpInErrors",))
def udp_socket_filter(scene):
    """A classic BPF filter of a UDP socket refuses the datagram."""
    wire = scene.wire()
    attach_filter(scene.reader(wire.namespace, wire.own4, 7777))
    for _ in scene.each:
        wire.udp(port=7777)


@death("SOCKET_FILTER", "policy", "udpv6_queue_rcv_one_skb", counters=("Udp6InErrors",))
def udp6_socket_filter(scene):
    """A classic BPF filter of a UDP socket over IPv6 refuses the datagram."""
    wire = scene.wire(ipv6=True)
    attach_filter(scene.reader(wire.namespace, wire.own6, 7777))
    for _ in scene.each:
        wire.udp(6, port=7777)


@death("QUEUE_PURGE", "benign", "udp_destruct_common")
def udp_close_unread(scene):
    """A datagram that is unread when its socket is closed."""
    wire = scene.wire()
    with wire.namespace.entered():
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    reader.bind((wire.own4, 7777))
    for _ in scene.each:
        wire.udp(port=7777)
    reader.close()


@death("ICMP_CSUM", "fault", "icmp_rcv", counters=("IcmpInCsumErrors",))
def icmp_checksum(scene):
    """An ICMP message with a wrong checksum."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(packets.ICMP, packets.icmp(8, 0, bytes(12), True))


@death("UNHANDLED_PROTO", "benign", "icmp_rcv", counters=("IcmpInErrors",),
       undecided_before=NO_REASONS)
def icmp_unknown_type(scene):
    """An ICMP message of an unknown type."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(packets.ICMP, packets.icmp(99, 0, bytes(12)))


@death("INVALID_PROTO", "policy", "icmp_rcv", undecided_before=NO_REASONS)
def icmp_broadcast(scene):
    """A broadcast echo request, with icmp_echo_ignore_broadcasts = 1."""
    wire = scene.wire()
    to = wire.own4.rsplit(".", 1)[0] + ".255"
    echo = packets.icmp(8, 0, struct.pack("!HH8x", 1, 1))
    for _ in scene.each:
        wire.frame(packets.ipv4(wire.peer4, to, packets.ICMP, echo), to=BROADCAST)


@death(None, "benign", "icmp_rcv", counters=("IcmpInErrors",), undecided_before=NO_REASONS)
def icmp_truncated(scene):
    """An ICMP error without the packet that it is about."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(packets.ICMP, packets.icmp(3, 1, bytes(8)))


@death("SOCKET_FILTER", "policy", "raw_rcv")
def raw_socket_filter(scene):
    """A filter of a raw socket refuses the packet."""
    wire = scene.wire()
    raw = scene.open(wire.namespace, socket.AF_INET, socket.SOCK_RAW, 253)
    attach_filter(raw)
    for _ in scene.each:
        wire.ipv4(253, bytes(20))


# Since 6.12 the kernel passes over a full raw socket, and says IP_NOPROTO if there is no other.
@death("SOCKET_RCVBUFF", "fault", "ip_local_deliver_finish", "raw_rcv", undecided_without=RAW[4])
def raw_full_buffer(scene):
    """The receive buffer of a raw socket is full."""
    wire = scene.wire()
    _full_raw(scene, wire, 4)
    for _ in scene.each:
        wire.ipv4(253, bytes(200))


@death("SOCKET_RCVBUFF", "fault", "ip6_input", "ip6_input_finish", "rawv6_rcv",
       undecided_without=RAW[6])
def raw6_full_buffer(scene):
    """The receive buffer of a raw socket over IPv6 is full."""
    wire = scene.wire(ipv6=True)
    _full_raw(scene, wire, 6)
    for _ in scene.each:
        wire.ipv6(253, bytes(200))


@death("IP_NOPROTO", "benign", "ip_local_deliver_finish", undecided_without=RAW[4])
def raw_full_for_another(scene):
    """A raw socket is full that is connected to another peer."""
    wire = scene.wire()
    _full_raw(scene, wire, 4, wire.other4)
    for _ in scene.each:
        wire.ipv4(253, bytes(200))


@death("IP_NOPROTO", "benign", "ip6_input", "ip6_input_finish", undecided_without=RAW[6])
def raw6_full_for_another(scene):
    """A raw socket over IPv6 is full that is connected to another peer."""
    wire = scene.wire(ipv6=True)
    _full_raw(scene, wire, 6, wire.other6)
    for _ in scene.each:
        wire.ipv6(253, bytes(200))


def _full_raw(scene, wire, version, peer=None):
    """A raw socket with a full queue, perhaps connected to a peer."""
    raw = scene.open(wire.namespace, _family(version), socket.SOCK_RAW, 253)
    if peer:
        raw.connect((peer, 0))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY)
    send = wire.ipv4 if version == 4 else wire.ipv6
    _fill_raw(raw, lambda: send(253, bytes(200), source=peer))


def _fill_raw(raw, send):
    """Send packets until the socket has all that it takes: SO_MEMINFO's first number, the bytes in
    its queue, is above its second, the limit."""
    while True:
        queued, limit = struct.unpack_from("II", raw.getsockopt(socket.SOL_SOCKET, 55, 36))
        if queued >= limit:
            return
        send()


@death("QUEUE_PURGE", "benign", "skb_queue_purge", "skb_queue_purge_reason")
def packet_close_unread(scene):
    """A frame that is unread when its packet socket is closed."""
    wire = scene.wire()
    with wire.namespace.entered():
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    tap.bind((wire.name, 0x88B5))
    for _ in scene.each:
        wire.frame(bytes(50), 0x88B5)
    tap.close()


@death("PACKET_SOCK_ERROR", "fault", "packet_rcv")
def packet_full_buffer(scene):
    """The receive buffer of a packet socket is full."""
    wire = scene.wire()
    tap = scene.open(wire.namespace, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    tap.bind((wire.name, 0x88B5))
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY)
    while True:
        queued, limit = struct.unpack_from("II", tap.getsockopt(socket.SOL_SOCKET, 55, 36))
        if queued >= limit:
            break
        wire.frame(bytes(200), 0x88B5)
    for _ in scene.each:
        wire.frame(bytes(200), 0x88B5)


@death("NO_SOCKET", "benign", "__udp4_lib_rcv", "udp_rcv")
def udp_connected_elsewhere(scene):
    """A datagram for a socket that is connected to another peer."""
    wire = scene.wire()
    reader = scene.reader(wire.namespace, wire.own4, 7777)
    reader.connect((wire.other4, 5))
    for _ in scene.each:
        wire.udp(port=7777)


@death("XDP", "policy", "netif_receive_generic_xdp", "do_xdp_generic")
def xdp_generic(scene):
    """A generic XDP program drops the frame."""
    pair = scene.pair()
    bpf.xdp(scene, pair.right_device)
    send_udp(scene.open(pair.left, socket.AF_INET, socket.SOCK_DGRAM), pair.RIGHT4, scene.count)


@death("XDP", "policy", "netif_receive_generic_xdp", "do_xdp_generic")
def xdp_generic_aborted(scene):
    """A generic XDP program ends with XDP_ABORTED."""
    pair = scene.pair()
    bpf.xdp(scene, pair.right_device, bpf.XDP_ABORTED)
    send_udp(scene.open(pair.left, socket.AF_INET, socket.SOCK_DGRAM), pair.RIGHT4, scene.count)

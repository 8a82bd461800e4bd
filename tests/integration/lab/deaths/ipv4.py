# SPDX-License-Identifier: GPL-2.0-or-later
"""Deaths in IPv4: headers, addresses, routes, fragments, options."""

import socket
import struct

from .. import packets
from .scene import ALL_KERNELS, FEW_REASONS, NO_REASONS, RAW, death

BROADCAST = "ff:ff:ff:ff:ff:ff"
MORE_FRAGMENTS = 0x2000


@death("IP_INHDR", "fault", "ip_rcv_core", counters=("IpInHdrErrors",))
def ipv4_version(scene):
    """An IPv4 header of version 5."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(payload=bytes(20), version=5)


@death("IP_INHDR", "fault", "ip_rcv_core", counters=("IpInHdrErrors",))
def ipv4_header_length(scene):
    """An IPv4 header that says that it has 16 bytes."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(payload=bytes(20), words=4)


@death("IP_CSUM", "fault", "ip_rcv_core", counters=("IpExtInCsumErrors",))
def ipv4_checksum(scene):
    """A wrong checksum of the IPv4 header."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(payload=bytes(20), bad_checksum=True)


@death("PKT_TOO_SMALL", "fault", "ip_rcv_core", counters=("IpExtInTruncatedPkts",))
def ipv4_truncated(scene):
    """An IPv4 packet that ends before its header says."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(payload=bytes(20), length=1000)


@death("IP_INHDR", "fault", "ip_rcv_core", counters=("IpInHdrErrors",))
def ipv4_stub(scene):
    """A frame for IPv4 with 12 bytes."""
    wire = scene.wire()
    for _ in scene.each:
        wire.frame(b"\x45" + bytes(11))


@death("OTHERHOST", "benign", "ip_rcv_core")
def ipv4_other_host(scene):
    """An IPv4 packet in a frame for another MAC address."""
    wire = scene.wire()
    for _ in scene.each:
        wire.udp(mac="02:4e:46:00:00:99")


@death("IP_INADDRERRORS", "fault", "ip_error", counters=("IpInAddrErrors",))
def ipv4_not_mine(scene):
    """An IPv4 packet for another host, at a host that does not forward."""
    wire = scene.wire()
    wire.namespace.sysctl(**{f"net.ipv4.conf.{wire.name}.forwarding": 0})
    wire.namespace.ip("route", "add", "default", "via", wire.peer4)
    for _ in scene.each:
        wire.udp(to="203.0.113.9")


@death("IP_INNOROUTES", "fault", "ip_error", counters=("IpExtInNoRoutes",))
def ipv4_no_route(scene):
    """An IPv4 packet that a router has no route for."""
    near, _ = scene.router()
    for _ in scene.each:
        near.udp(to="203.0.113.9")


@death("IP_INHDR", "fault", "ip_forward", counters=("IpInHdrErrors",))
def ipv4_ttl(scene):
    """The TTL of an IPv4 packet ends in a router."""
    near, far = scene.router()
    for _ in scene.each:
        near.ipv4(to=far.peer4, payload=bytes(20), ttl=1)


@death("PKT_TOO_BIG", "fault", "ip_forward", counters=("IpFragFails",))
def ipv4_too_big(scene):
    """An IPv4 packet that must not be fragmented is larger than the next MTU."""
    near, far = scene.router()
    far.namespace.ip("link", "set", far.name, "mtu", "576")
    for _ in scene.each:
        near.ipv4(to=far.peer4, payload=bytes(800), fragment=0x4000)


def refusing_route(scene, kind):
    near, _ = scene.router()
    near.namespace.ip("route", "add", kind, "203.0.113.0/24")
    for _ in scene.each:
        near.udp(to="203.0.113.9")


@death(None, "policy", "ip_error")
def ipv4_unreachable_route(scene):
    """An IPv4 packet for an unreachable route of a router."""
    refusing_route(scene, "unreachable")


@death(None, "policy", "ip_error")
def ipv4_blackhole_route(scene):
    """An IPv4 packet for a blackhole route of a router."""
    refusing_route(scene, "blackhole")


@death(None, "policy", "ip_error")
def ipv4_prohibit_route(scene):
    """An IPv4 packet for a prohibited route of a router."""
    refusing_route(scene, "prohibit")


@death("IP_RPFILTER", "fault", "ip_rcv_finish_core", counters=("TcpExtIPReversePathFilter",),
       undecided_before=NO_REASONS)
def ipv4_reverse_path(scene):
    """A source address that is not behind the device, with rp_filter = 1."""
    near, far = scene.router()
    near.namespace.sysctl(**{"net.ipv4.conf.all.rp_filter": 1})
    for _ in scene.each:
        near.ipv4(source=far.other4, to=near.own4, payload=bytes(20))


@death("IP_INVALID_SOURCE", "fault", "ip_rcv_finish_core")
def ipv4_martian_source(scene):
    """A source address that is a multicast group."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(source="224.0.0.9", payload=bytes(20))


@death("IP_LOCAL_SOURCE", "fault", "ip_rcv_finish_core")
def ipv4_own_source(scene):
    """A source address that is the receiver's own."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(source=wire.own4, payload=bytes(20))


@death("IP_LOCALNET", "fault", "ip_rcv_finish_core")
def ipv4_loopback_source(scene):
    """A source address of the loopback network, from outside."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(source="127.0.0.1", payload=bytes(20))


@death("IP_INVALID_DEST", "fault", "ip_error", "ip_rcv_finish_core")
def ipv4_zero_destination(scene):
    """The destination address 0.0.0.0."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(to="0.0.0.0", payload=bytes(20))


@death("IP_LOCALNET", "fault", "ip_rcv_finish_core")
def ipv4_loopback_destination(scene):
    """A destination address of the loopback network, from outside."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(to="127.0.0.1", payload=bytes(20))


@death("UNICAST_IN_L2_MULTICAST", "policy", "ip_rcv_finish_core")
def ipv4_unicast_in_multicast(scene):
    """A unicast packet in a broadcast frame, with drop_unicast_in_l2_multicast = 1."""
    wire = scene.wire()
    wire.namespace.sysctl(**{"net.ipv4.conf.all.drop_unicast_in_l2_multicast": 1})
    for _ in scene.each:
        wire.udp(mac=BROADCAST)


@death("IP_NOPROTO", "benign", "ip_local_deliver_finish", counters=("IpInUnknownProtos",),
       undecided_without=RAW[4])
def ipv4_unknown_protocol(scene):
    """An IP protocol without a handler."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(253, bytes(20))


@death("IP_INHDR", "fault", "ip_rcv_finish_core", counters=("IpInHdrErrors",),
       undecided_before=(6, 13))
def ipv4_bad_option(scene):
    """An IPv4 option that is longer than the header."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(payload=bytes(20), options=b"\x83\x28\x04\x00")


@death(None, "policy", "ip_rcv_finish_core", undecided_before=(6, 13))
def ipv4_source_route(scene):
    """A source route in the options, with accept_source_route = 0."""
    wire = scene.wire()
    wire.namespace.sysctl(**{"net.ipv4.conf.all.accept_source_route": 0})
    route = b"\x83\x07\x04" + bytes([10, 88, 0, 9]) + b"\x00"
    for _ in scene.each:
        wire.ipv4(payload=bytes(20), options=route)


@death("FRAG_REASM_TIMEOUT", "fault", "ip_expire", counters=("IpReasmFails",))
def ipv4_fragment_timeout(scene):
    """A first fragment without the others, until its time ends."""
    wire = scene.wire()
    wire.namespace.sysctl(**{"net.ipv4.ipfrag_time": 1})
    for i in scene.each:
        wire.ipv4(packets.UDP, bytes(64), fragment=MORE_FRAGMENTS, identification=1000 + i)


@death("FRAG_REASM_TIMEOUT", "fault", "inet_frag_rbtree_purge", counters=("IpReasmFails",))
def ipv4_later_fragment_timeout(scene):
    """A later fragment without the first, until its time ends."""
    wire = scene.wire()
    wire.namespace.sysctl(**{"net.ipv4.ipfrag_time": 1})
    for i in scene.each:
        wire.ipv4(packets.UDP, bytes(64), fragment=8, identification=1000 + i)


@death("DUP_FRAG", "benign", "ip_defrag", undecided_before=FEW_REASONS)
def ipv4_duplicate_fragment(scene):
    """The same fragment again."""
    wire = scene.wire()
    wire.ipv4(packets.UDP, bytes(64), fragment=MORE_FRAGMENTS)
    for _ in scene.each:
        wire.ipv4(packets.UDP, bytes(64), fragment=MORE_FRAGMENTS)


@death(None, "fault", "ip_defrag", undecided_before=ALL_KERNELS,
       beside=("inet_frag_rbtree_purge",))
def ipv4_fragment_past_end(scene):
    """A fragment past the end of its packet, as the last fragment told it."""
    wire = scene.wire()
    for i in scene.each:
        wire.ipv4(packets.UDP, bytes(64), fragment=8, identification=1000 + i)
        wire.ipv4(packets.UDP, bytes(64), fragment=MORE_FRAGMENTS | 100, identification=1000 + i)


@death(None, "benign", "ip_rcv_finish_core")
def ipv4_multicast_not_joined(scene):
    """A multicast packet for a group that no socket has joined."""
    wire = scene.wire()
    for _ in scene.each:
        wire.udp(to="239.1.2.3", mac="01:00:5e:01:02:03")


@death("NO_SOCKET", "benign", "__udp4_lib_rcv", "udp_rcv")
def ipv4_broadcast_without_reader(scene):
    """A broadcast datagram that no socket waits for."""
    wire = scene.wire()
    for _ in scene.each:
        wire.udp(to=wire.own4.rsplit(".", 1)[0] + ".255", mac=BROADCAST)


@death("IP_OUTNOROUTES", "fault", "__ip_queue_xmit", counters=("IpOutNoRoutes",), count=1)
def ipv4_route_lost(scene):
    """A TCP connection's reset after its route was deleted."""
    pair = scene.pair()
    listener = scene.listener(pair.right, pair.RIGHT4, 7777)
    client = scene.open(pair.left)
    client.connect((pair.RIGHT4, 7777))
    scene.keep(listener.accept()[0])
    scene.here = pair.left
    pair.left.ip("address", "add", f"{pair.LEFT4}/32", "dev", "lo")
    pair.left.ip("route", "delete", "10.77.1.0/24", "dev", pair.left_device.name)
    # The reset: data would be sent again.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@death(None, "fault", "igmp_rcv")
def igmp_checksum(scene):
    """An IGMP message with a wrong checksum."""
    wire = scene.wire()
    for _ in scene.each:
        wire.frame(packets.ipv4(wire.peer4, "224.0.0.1", 2, struct.pack("!BBH4x", 0x11, 0, 1)),
                   to="01:00:5e:00:00:01")

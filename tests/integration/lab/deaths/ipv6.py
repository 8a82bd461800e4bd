# SPDX-License-Identifier: GPL-2.0-or-later
"""Deaths in IPv6: headers, addresses, routes, extension headers, fragments."""

import struct

from .. import packets
from .scene import ALL_KERNELS, FEW_REASONS, NO_REASONS, RAW, death

HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60
ALL_NODES_MAC = "33:33:00:00:00:01"


@death("UNHANDLED_PROTO", "benign", "ip6_rcv_core", counters=("Ip6InHdrErrors",))
def ipv6_version(scene):
    """An IPv6 header of version 5."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        packet = packets.ipv6(wire.peer6, wire.own6, packets.UDP, bytes(20), version=5)
        wire.frame(packet, packets.ETH_IPV6)


@death("PKT_TOO_SMALL", "fault", "ip6_rcv_core", counters=("Ip6InTruncatedPkts",))
def ipv6_truncated(scene):
    """An IPv6 packet that ends before its header says."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.ipv6(payload=bytes(20), length=1000)


@death("IP_INHDR", "fault", "ip6_rcv_core", counters=("Ip6InHdrErrors",))
def ipv6_stub(scene):
    """A frame for IPv6 with 12 bytes."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.frame(b"\x60" + bytes(11), packets.ETH_IPV6)


@death("OTHERHOST", "benign", "ip6_rcv_core")
def ipv6_other_host(scene):
    """An IPv6 packet in a frame for another MAC address."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.udp(6, mac="02:4e:46:00:00:99")


# The host may report its multicast groups at that moment.
@death("IPV6DISABLED", "policy", "ip6_rcv_core", counters=("Ip6InDiscards",),
       beside=("ip6_output",))
def ipv6_disabled(scene):
    """An IPv6 packet on a device with disable_ipv6 = 1."""
    wire = scene.wire(ipv6=True)
    wire.namespace.sysctl(**{f"net.ipv6.conf.{wire.name}.disable_ipv6": 1})
    for _ in scene.each:
        wire.udp(6)


@death("IP_INHDR", "fault", "ip6_rcv_core", counters=("Ip6InHdrErrors",))
def ipv6_multicast_source(scene):
    """A source address that is a multicast group."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.ipv6(payload=bytes(20), source="ff02::1")


@death("IP_INHDR", "fault", "ip6_rcv_core", counters=("Ip6InHdrErrors",))
def ipv6_loopback_source(scene):
    """A source address ::1 from outside."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.ipv6(payload=bytes(20), source="::1")


@death("UNICAST_IN_L2_MULTICAST", "policy", "ip6_rcv_core")
def ipv6_unicast_in_multicast(scene):
    """A unicast packet in a multicast frame, with drop_unicast_in_l2_multicast = 1."""
    wire = scene.wire(ipv6=True)
    wire.namespace.sysctl(**{f"net.ipv6.conf.{wire.name}.drop_unicast_in_l2_multicast": 1})
    for _ in scene.each:
        wire.udp(6, mac=ALL_NODES_MAC)


@death("IP_INHDR", "fault", "ip6_forward", counters=("Ip6InHdrErrors",))
def ipv6_hop_limit(scene):
    """The hop limit of an IPv6 packet ends in a router."""
    near, far = scene.router(ipv6=True)
    for _ in scene.each:
        near.ipv6(to=far.peer6, payload=bytes(20), hop_limit=1)


@death("PKT_TOO_BIG", "fault", "ip6_forward", counters=("Ip6InTooBigErrors",))
def ipv6_too_big(scene):
    """An IPv6 packet is larger than the next MTU."""
    near, far = scene.router(ipv6=True)
    far.namespace.ip("link", "set", far.name, "mtu", "1280")
    for _ in scene.each:
        near.ipv6(to=far.peer6, payload=bytes(1400))


@death("IP_INNOROUTES", "fault", "ip6_pkt_discard", "ip6_pkt_drop", counters=("Ip6InNoRoutes",))
def ipv6_no_route(scene):
    """An IPv6 packet that a router has no route for."""
    near, _ = scene.router(ipv6=True)
    for _ in scene.each:
        near.udp(6, to="2001:db8::9")


@death("IP_INNOROUTES", "fault", "ip6_pkt_drop", "ip6_pkt_prohibit")
def ipv6_prohibit_route(scene):
    """An IPv6 packet for a prohibited route of a router."""
    near, _ = scene.router(ipv6=True)
    near.namespace.ip("route", "add", "prohibit", "2001:db8::/32")
    for _ in scene.each:
        near.udp(6, to="2001:db8::9")


@death(None, "policy", "dst_discard_out", undecided_before=ALL_KERNELS)
def ipv6_blackhole_route(scene):
    """An IPv6 packet for a blackhole route of a router."""
    near, _ = scene.router(ipv6=True)
    near.namespace.ip("route", "add", "blackhole", "2001:db8::/32")
    for _ in scene.each:
        near.udp(6, to="2001:db8::9")


@death("IP_INADDRERRORS", "fault", "ip6_forward")
def ipv6_not_mine(scene):
    """An IPv6 packet for another host, at a host that does not forward."""
    wire = scene.wire(ipv6=True)
    wire.namespace.ip("route", "add", "default", "via", wire.peer6)
    for _ in scene.each:
        wire.udp(6, to="2001:db8::9")


@death("IP_INNOROUTES", "fault", "ip6_pkt_discard", "ip6_pkt_drop")
def ipv6_not_mine_without_route(scene):
    """An IPv6 packet for another host, at a host that does not forward and has no route."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.udp(6, to="2001:db8::9")


@death("IP_INADDRERRORS", "fault", "ip6_forward")
def ipv6_link_local_source(scene):
    """A router gets a packet with a source address that is valid on one link only."""
    near, far = scene.router(ipv6=True)
    for _ in scene.each:
        near.ipv6(source="::", to=far.peer6, payload=bytes(20))


@death("IP_NOPROTO", "benign", "ip6_input", "ip6_input_finish", counters=("Ip6InUnknownProtos",),
       undecided_without=RAW[6])
def ipv6_unknown_protocol(scene):
    """A next header without a handler."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.ipv6(253, bytes(20))


@death("UNHANDLED_PROTO", "benign", "ip6_parse_tlv", "ip6_tlvopt_unknown",
       undecided_before=NO_REASONS)
def ipv6_hop_by_hop_option(scene):
    """An unknown option in the hop-by-hop header that asks for the packet to be dropped."""
    wire = scene.wire(ipv6=True)
    header = struct.pack("!BBBB4x", packets.UDP, 0, 0x5E, 4)
    for _ in scene.each:
        wire.ipv6(HOP_BY_HOP, header + bytes(20))


@death("IPV6_BAD_EXTHDR", "fault", "ipv6_parse_hopopts")
def ipv6_hop_by_hop_length(scene):
    """A hop-by-hop header that is longer than the packet."""
    wire = scene.wire(ipv6=True)
    header = struct.pack("!BBBB4x", packets.UDP, 9, 1, 4)
    for _ in scene.each:
        wire.ipv6(HOP_BY_HOP, header)


@death("IP_INHDR", "fault", "ip6_parse_tlv", undecided_before=NO_REASONS)
def ipv6_hop_by_hop_padding(scene):
    """Padding in the hop-by-hop header that is not zero."""
    wire = scene.wire(ipv6=True)
    header = struct.pack("!BBBB4s", packets.UDP, 0, 1, 4, b"junk")
    for _ in scene.each:
        wire.ipv6(HOP_BY_HOP, header + bytes(20))


@death("UNHANDLED_PROTO", "benign", "ip6_parse_tlv", "ip6_tlvopt_unknown",
       undecided_before=NO_REASONS)
def ipv6_destination_option(scene):
    """An unknown destination option that asks for the packet to be dropped."""
    wire = scene.wire(ipv6=True)
    header = struct.pack("!BBBB4x", packets.UDP, 0, 0x5E, 4)
    for _ in scene.each:
        wire.ipv6(DESTINATION, header + bytes(20))


@death("IPV6_BAD_EXTHDR", "fault", "ipv6_rthdr_rcv", undecided_before=ALL_KERNELS)
def ipv6_routing_header(scene):
    """A routing header of an unknown type with segments left."""
    wire = scene.wire(ipv6=True)
    header = struct.pack("!BBBB4x", packets.UDP, 0, 99, 1)
    for _ in scene.each:
        wire.ipv6(ROUTING, header + bytes(20))


@death("FRAG_REASM_TIMEOUT", "fault", "ip6_frag_expire", counters=("Ip6ReasmTimeout",))
def ipv6_fragment_timeout(scene):
    """A first fragment without the others, until its time ends."""
    wire = scene.wire(ipv6=True)
    wire.namespace.sysctl(**{"net.ipv6.ip6frag_time": 1})
    for i in scene.each:
        wire.ipv6(FRAGMENT, struct.pack("!BBHI", packets.UDP, 0, 1, 1000 + i) + bytes(64))


@death("DUP_FRAG", "benign", "ipv6_frag_rcv", undecided_before=FEW_REASONS)
def ipv6_duplicate_fragment(scene):
    """The same fragment again."""
    wire = scene.wire(ipv6=True)
    fragment = struct.pack("!BBHI", packets.UDP, 0, 1, 1000) + bytes(64)
    wire.ipv6(FRAGMENT, fragment)
    for _ in scene.each:
        wire.ipv6(FRAGMENT, fragment)


@death("IP_INHDR", "fault", "ipv6_frag_rcv", undecided_before=ALL_KERNELS,
       beside=("inet_frag_rbtree_purge",))
def ipv6_fragment_size(scene):
    """A fragment that is not the last, and whose length is no multiple of 8."""
    wire = scene.wire(ipv6=True)
    for i in scene.each:
        wire.ipv6(FRAGMENT, struct.pack("!BBHI", packets.UDP, 0, 1, 1000 + i) + bytes(61))


@death(None, "benign", "ip6_mc_input")
def ipv6_multicast_not_joined(scene):
    """A multicast packet for a group that no socket has joined."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.udp(6, to="ff02::4e46", mac="33:33:00:00:4e:46")


@death("ICMP_CSUM", "fault", "icmpv6_rcv", counters=("Icmp6InCsumErrors",))
def icmpv6_checksum(scene):
    """An ICMPv6 message with a wrong checksum."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.ipv6(packets.ICMPV6, packets.icmpv6(wire.peer6, wire.own6, 128, 0, bytes(12), True))


@death(None, "benign", "icmpv6_rcv")
def icmpv6_unknown_type(scene):
    """An informational ICMPv6 message of an unknown type."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.ipv6(packets.ICMPV6, packets.icmpv6(wire.peer6, wire.own6, 199, 0, bytes(12)))


def _solicitation(wire, code=0, options=b"", hop_limit=255):
    target = packets.ipaddress.IPv6Address(wire.own6).packed
    message = packets.icmpv6(wire.peer6, wire.own6, 135, code, bytes(4) + target + options)
    wire.ipv6(packets.ICMPV6, message, hop_limit=hop_limit)


@death("IPV6_NDISC_HOP_LIMIT", "benign", "icmpv6_rcv")
def ndisc_hop_limit(scene):
    """A neighbour solicitation that a router has forwarded."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        _solicitation(wire, hop_limit=64)


@death("IPV6_NDISC_BAD_CODE", "fault", "icmpv6_rcv")
def ndisc_code(scene):
    """A neighbour solicitation with a code that is not 0."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        _solicitation(wire, code=7)


@death("IPV6_NDISC_BAD_OPTIONS", "fault", "icmpv6_rcv")
def ndisc_options(scene):
    """A neighbour solicitation with an option of length 0."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        _solicitation(wire, options=b"\x01\x00" + bytes(6))

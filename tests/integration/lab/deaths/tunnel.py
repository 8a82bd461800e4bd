# SPDX-License-Identifier: GPL-2.0-or-later
"""Deaths in tunnels: VXLAN, GENEVE, GRE, IPIP, SIT, MPLS."""

import pathlib
import struct

from .. import packets
from ..net import Device
from .scene import ALL_KERNELS, FEW_REASONS, Lacking, death, send_udp

VXLAN_PORT, GENEVE_PORT = 4789, 6081


def vxlan(scene, *options, vni=77):
    """A Wire with a VXLAN device above it, and that device."""
    wire = scene.wire()
    name = scene.lab.name()
    scene.link(wire.namespace, name, "type", "vxlan", "id", str(vni), "local", wire.own4,
               "dstport", str(VXLAN_PORT), *options)
    wire.namespace.ip("link", "set", name, "up")
    wire.namespace.ip("address", "add", "10.99.0.2/24", "dev", name)
    return wire, Device(wire.namespace, name)


def _encapsulated(vni, inner, flags=0x08):
    return struct.pack("!B3xI", flags, vni << 8) + inner


def _frame(device, source="02:4e:46:00:00:51", payload=None):
    inner = payload or packets.ipv4("10.99.0.1", "10.99.0.2", packets.UDP, bytes(20))
    return packets.ethernet(device.mac, source, packets.ETH_IPV4, inner)


@death("VXLAN_VNI_NOT_FOUND", "fault", "vxlan_rcv", modules=("vxlan",),
       undecided_before=FEW_REASONS)
def vxlan_unknown_vni(scene):
    """A VXLAN packet of a network that no device has."""
    wire, device = vxlan(scene)
    for _ in scene.each:
        wire.udp(port=VXLAN_PORT, payload=_encapsulated(78, _frame(device)))


@death("VXLAN_INVALID_HDR", "fault", "vxlan_rcv", modules=("vxlan",), undecided_before=FEW_REASONS)
def vxlan_bad_header(scene):
    """A VXLAN header with unknown flags."""
    wire, device = vxlan(scene)
    for _ in scene.each:
        wire.udp(port=VXLAN_PORT, payload=_encapsulated(77, _frame(device), 0xC8))


@death("VXLAN_INVALID_HDR", "fault", "vxlan_rcv", modules=("vxlan",), undecided_before=FEW_REASONS)
def vxlan_no_vni(scene):
    """A VXLAN header without its flag."""
    wire, device = vxlan(scene)
    for _ in scene.each:
        wire.udp(port=VXLAN_PORT, payload=_encapsulated(77, _frame(device), 0))


@death("LOCAL_MAC", "fault", "vxlan_rcv", modules=("vxlan",), undecided_before=FEW_REASONS)
def vxlan_own_source(scene):
    """The inner source address is the VXLAN device's own."""
    wire, device = vxlan(scene)
    for _ in scene.each:
        wire.udp(port=VXLAN_PORT, payload=_encapsulated(77, _frame(device, device.mac)))


@death("MAC_INVALID_SOURCE", "fault", "vxlan_rcv", modules=("vxlan",),
       undecided_before=FEW_REASONS)
def vxlan_multicast_source(scene):
    """The inner source address is a multicast address, on a VXLAN that learns."""
    wire, device = vxlan(scene, "learning")
    for _ in scene.each:
        wire.udp(port=VXLAN_PORT,
                 payload=_encapsulated(77, _frame(device, "01:00:5e:00:00:01")))


@death("VXLAN_ENTRY_EXISTS", "fault", "vxlan_rcv", modules=("vxlan",),
       undecided_before=FEW_REASONS)
def vxlan_static_entry(scene):
    """The inner source address belongs to a static entry with another remote."""
    wire, device = vxlan(scene, "learning")
    wire.namespace.run("bridge", "fdb", "add", "02:4e:46:00:00:51", "dev", device.name, "dst",
                       wire.other4, "static")
    for _ in scene.each:
        wire.udp(port=VXLAN_PORT, payload=_encapsulated(77, _frame(device)))


@death("NO_TX_TARGET", "fault", "vxlan_xmit", modules=("vxlan",), undecided_before=FEW_REASONS)
def vxlan_no_remote(scene):
    """A VXLAN device has no remote for a packet."""
    wire, device = vxlan(scene)
    wire.namespace.ip("neighbour", "add", "10.99.0.9", "lladdr", "02:4e:46:00:00:59", "dev",
                      device.name, "nud", "permanent")
    send_udp(scene.open(wire.namespace, 2, 2), "10.99.0.9", scene.count)


@death("VXLAN_VNI_NOT_FOUND", "fault", "geneve_udp_encap_recv", modules=("geneve",),
       undecided_before=ALL_KERNELS)
def geneve_unknown_vni(scene):
    """A GENEVE packet of a network that no device has."""
    wire = scene.wire()
    name = scene.lab.name()
    scene.link(wire.namespace, name, "type", "geneve", "id", "77", "remote", wire.peer4)
    wire.namespace.ip("link", "set", name, "up")
    device = Device(wire.namespace, name)
    for _ in scene.each:
        wire.udp(port=GENEVE_PORT, payload=struct.pack("!BBHI", 0, 0, 0x6558, 78 << 8) +
                 _frame(device))


INNER = packets.ipv4("10.99.0.1", "10.99.0.2", packets.UDP, bytes(20))
GRE, IPIP, SIT = 47, 4, 41


def tunnel(scene, wire, kind, remote, *options):
    """A tunnel through the Wire, to the remote address."""
    name = scene.lab.name()
    scene.link(wire.namespace, name, "type", kind, "local", wire.own4, "remote", remote, *options)
    wire.namespace.ip("link", "set", name, "up")
    return Device(wire.namespace, name)


def gre(protocol, payload, flags=0):
    return struct.pack("!HH", flags, protocol) + payload


@death("NO_SOCKET", "benign", "gre_rcv", modules=("ip_gre",), undecided_before=ALL_KERNELS)
def gre_unknown_tunnel(scene):
    """A GRE packet from a peer without a tunnel."""
    wire = scene.wire()
    tunnel(scene, wire, "gre", wire.other4)
    for _ in scene.each:
        wire.ipv4(GRE, gre(packets.ETH_IPV4, INNER))


@death("UNHANDLED_PROTO", "benign", "gre_rcv", modules=("ip_gre",), undecided_before=ALL_KERNELS)
def gre_version(scene):
    """A GRE packet of version 5."""
    wire = scene.wire()
    tunnel(scene, wire, "gre", wire.peer4)
    for _ in scene.each:
        wire.ipv4(GRE, gre(packets.ETH_IPV4, bytes(20), flags=5))


@death("TCP_OFO_DROP", "fault", "ip_tunnel_rcv", modules=("ip_gre",), undecided_before=ALL_KERNELS)
def gre_sequence(scene):
    """A GRE packet without a sequence number, for a tunnel that requires one."""
    wire = scene.wire()
    tunnel(scene, wire, "gre", wire.peer4, "iseq")
    for _ in scene.each:
        wire.ipv4(GRE, gre(packets.ETH_IPV4, INNER))


@death("NO_SOCKET", "benign", "tunnel4_rcv", modules=("ipip",), undecided_before=ALL_KERNELS)
def ipip_unknown_tunnel(scene):
    """An IPIP packet from a peer without a tunnel."""
    wire = scene.wire()
    tunnel(scene, wire, "ipip", wire.other4)
    for _ in scene.each:
        wire.ipv4(IPIP, INNER)


@death("NO_SOCKET", "benign", "tunnel64_rcv", modules=("sit",), undecided_before=ALL_KERNELS)
def sit_unknown_tunnel(scene):
    """IPv6 in IPv4 from a peer without a tunnel."""
    wire = scene.wire()
    tunnel(scene, wire, "sit", wire.other4)
    inner = packets.ipv6("fd99::1", "fd99::2", packets.UDP, bytes(20))
    for _ in scene.each:
        wire.ipv4(SIT, inner)


@death(None, "policy", "mpls_forward", modules=("mpls_router",), undecided_before=ALL_KERNELS)
def mpls_disabled(scene):
    """An MPLS packet on a device where MPLS is not enabled."""
    wire = scene.wire()
    if not pathlib.Path("/proc/sys/net/mpls").exists():
        raise Lacking("this kernel has no MPLS")
    for _ in scene.each:
        wire.frame(struct.pack("!I", 77 << 12 | 0x100 | 64) + bytes(40), 0x8847)


@death("IP_OUTNOROUTES", "fault", "ip_tunnel_xmit", modules=("ip_gre",),
       undecided_before=ALL_KERNELS)
def gre_no_route_out(scene):
    """A tunnel has no route to its remote end."""
    wire = scene.wire()
    device = tunnel(scene, wire, "gre", "203.0.113.9")
    wire.namespace.ip("address", "add", "10.99.0.2/24", "dev", device.name)
    send_udp(scene.open(wire.namespace, 2, 2), "10.99.0.1", scene.count)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Deaths at devices and below IP: Ethernet, neighbours, bridges, VLANs, queues, filters of tc."""

import ctypes
import fcntl
import socket
import struct
import time

from .. import packets, patience, waiting
from ..net import Device
from .scene import ALL_KERNELS, NO_REASONS, death, send_udp

UDP4 = (socket.AF_INET, socket.SOCK_DGRAM)
DROP_ALL = ("bpf", "da", "bytecode", "1,6 0 0 2")
CORE = ("__netif_receive_skb_core",)


@death("UNHANDLED_PROTO", "benign", "__netif_receive_skb_core")
def unknown_ethertype(scene):
    """A frame of an EtherType that nothing handles."""
    wire = scene.wire()
    for _ in scene.each:
        wire.frame(bytes(50), 0x88B5)


@death("OTHERHOST", "benign", "ip_rcv_core")
def unknown_vlan(scene):
    """A frame of a VLAN that no device is for."""
    wire = scene.wire()
    for _ in scene.each:
        wire.frame(packets.ipv4(wire.peer4, wire.own4, packets.UDP, bytes(20)),
                   vlan=(0x8100, 77))


def _arp(wire, address=None, lengths=(6, 4)):
    ends = packets.ipaddress.IPv4Address(wire.peer4).packed, \
        packets.ipaddress.IPv4Address(address or wire.own4).packed
    return struct.pack("!HHBBH6s4s6x4s", 1, 0x0800, *lengths, 1,
                       bytes.fromhex(wire.PEER_MAC.replace(":", "")), *ends)


@death(None, "fault", "arp_rcv", undecided_before=ALL_KERNELS)
def arp_lengths(scene):
    """An ARP request whose address lengths are wrong."""
    wire = scene.wire()
    for _ in scene.each:
        wire.frame(_arp(wire, lengths=(6, 6)), 0x0806)


@death(None, "benign", "arp_process", undecided_before=ALL_KERNELS)
def arp_loopback_target(scene):
    """An ARP request for an address of the loopback network."""
    wire = scene.wire()
    for _ in scene.each:
        wire.frame(_arp(wire, "127.0.0.1"), 0x0806)


@death("TC_INGRESS", "policy", "__netif_receive_skb_core")
def tc_ingress(scene):
    """A filter of tc drops the packet at ingress."""
    pair = scene.pair()
    pair.right.run("tc", "qdisc", "add", "dev", pair.right_device.name, "clsact")
    pair.right.run("tc", "filter", "add", "dev", pair.right_device.name, "ingress", *DROP_ALL)
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count)


@death("TC_EGRESS", "policy", "__dev_queue_xmit")
def tc_egress(scene):
    """A filter of tc drops the packet at egress."""
    pair = scene.pair()
    pair.left.run("tc", "qdisc", "add", "dev", pair.left_device.name, "clsact")
    pair.left.run("tc", "filter", "add", "dev", pair.left_device.name, "egress", *DROP_ALL)
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count)


SLOW = ("tbf", "rate", "8bit", "burst", "200", "limit")


@death("QDISC_DROP", "fault", "__dev_queue_xmit", "__tcf_kfree_skb_list", "kfree_skb_list",
       "kfree_skb_list_reason")
def qdisc_full(scene):
    """A pfifo of 5 packets is full, below a tbf that lets almost nothing out."""
    pair = scene.pair()
    name = pair.left_device.name
    pair.left.run("tc", "qdisc", "add", "dev", name, "root", "handle", "1:", *SLOW, "100000")
    pair.left.run("tc", "qdisc", "add", "dev", name, "parent", "1:1", "handle", "2:", "pfifo",
                  "limit", "5")
    scene.empty_at_last(pair.left_device)
    sender = scene.open(pair.left, *UDP4)
    # The burst lets the first packet out.
    scene.reader(pair.right, pair.RIGHT4, 9)
    send_udp(sender, pair.RIGHT4, 1 + 5 + scene.count, payload=b"x" * 150)


@death("QDISC_DROP", "fault", "__dev_queue_xmit", "__tcf_kfree_skb_list", "kfree_skb_list",
       "kfree_skb_list_reason")
def qdisc_blackhole(scene):
    """A qdisc of the kind blackhole."""
    pair = scene.pair()
    pair.left.run("tc", "qdisc", "add", "dev", pair.left_device.name, "root", "blackhole")
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count)


@death("QUEUE_PURGE", "benign", "__rtnl_unlock")
def qdisc_deleted(scene):
    """The qdisc is deleted with the packets in it."""
    pair = scene.pair()
    name = pair.left_device.name
    pair.left.run("tc", "qdisc", "add", "dev", name, "root", "handle", "1:", *SLOW, "100000")
    scene.reader(pair.right, pair.RIGHT4, 9)
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, 1 + scene.count, payload=b"x" * 150)
    pair.left.run("tc", "qdisc", "delete", "dev", name, "root")


@death("NEIGH_FAILED", "fault", "neigh_invalidate", count=3)
def neighbour_failed(scene):
    """A host on the link does not answer ARP."""
    wire = scene.wire()
    wire.namespace.sysctl(**{f"net.ipv4.neigh.{wire.name}.retrans_time_ms": 50})
    sender = scene.open(wire.namespace, *UDP4)
    send_udp(sender, wire.other4, scene.count)
    time.sleep(patience.seconds(0.3))


@death("NEIGH_FAILED", "fault", "neigh_invalidate", count=3,
       beside=("icmpv6_rcv",))
def neighbour6_failed(scene):
    """A host on the link does not answer neighbour solicitations."""
    wire = scene.wire(ipv6=True)
    wire.namespace.sysctl(**{f"net.ipv6.neigh.{wire.name}.retrans_time_ms": 50})
    sender = scene.open(wire.namespace, socket.AF_INET6, socket.SOCK_DGRAM)
    send_udp(sender, wire.other6, scene.count)
    time.sleep(patience.seconds(0.3))


@death("NEIGH_QUEUEFULL", "fault", "__neigh_event_send", undecided_before=NO_REASONS)
def neighbour_queue_full(scene):
    """More packets than the queue of a neighbour that has not answered yet."""
    wire = scene.wire()
    neigh = f"net.ipv4.neigh.{wire.name}."
    wire.namespace.sysctl(**{neigh + "unres_qlen_bytes": 1, neigh + "retrans_time_ms": 60000})
    sender = scene.open(wire.namespace, *UDP4)
    send_udp(sender, wire.other4, 1 + scene.count)


@death("FULL_RING", "fault", "tun_net_xmit", undecided_before=NO_REASONS)
def tun_full(scene):
    """The queue of a TUN or TAP device is full: its process does not read."""
    wire = scene.wire()
    wire.namespace.ip("link", "set", wire.name, "txqueuelen", "10")
    wire.drain()
    sender = scene.open(wire.namespace, *UDP4)
    send_udp(sender, wire.peer4, 10 + scene.count)


@death("QDISC_DROP", "fault", "__dev_forward_skb2", "__dev_queue_xmit", "__tcf_kfree_skb_list",
       "kfree_skb_list", "kfree_skb_list_reason")
def device_down(scene):
    """A packet socket sends to a device whose peer is down."""
    pair = scene.pair()
    pair.right.ip("link", "set", pair.right_device.name, "down")
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count)


def bridge(scene, *options, wires=2):
    """A bridge in a namespace, with TAP devices as ports."""
    namespace = scene.namespace()
    name = scene.lab.name()
    scene.link(namespace, name, "type", "bridge", "mcast_snooping", "0", *options)
    namespace.ip("link", "set", name, "up")
    ports = []
    for _ in range(wires):
        wire = scene.wire(namespace=namespace, join=False)
        namespace.ip("link", "set", wire.name, "master", name)
        ports.append(wire)
    for port in ports:
        waiting.until(lambda p=port: _forwards(namespace, p.name), bool)
    return Device(namespace, name), ports


def _forwards(namespace, port):
    return "state forwarding" in namespace.run("bridge", "link", "show", "dev", port)


def _bridged(port, to="02:4e:46:00:00:99", **kwargs):
    port.frame(packets.ipv4("10.1.1.1", "10.1.1.2", packets.UDP, bytes(20)), to=to, **kwargs)


@death("BRIDGE_INGRESS_STP_STATE", "policy", "br_handle_frame")
def bridge_blocked(scene):
    """A frame at a port of a bridge that is disabled."""
    _, ports = bridge(scene)
    ports[0].namespace.run("bridge", "link", "set", "dev", ports[0].name, "state", "0")
    for _ in scene.each:
        _bridged(ports[0])


@death("NO_TX_TARGET", "benign", "br_handle_frame_finish", undecided_before=(6, 14))
def bridge_no_port(scene):
    """A bridge has no other port for the frame."""
    _, ports = bridge(scene, wires=1)
    for _ in scene.each:
        _bridged(ports[0])


@death("NO_TX_TARGET", "benign", "br_handle_frame_finish", undecided_before=ALL_KERNELS)
def bridge_same_port(scene):
    """The destination of a frame is behind the port that it came from."""
    _, ports = bridge(scene)
    _bridged(ports[0], source="02:4e:46:00:00:99", to="02:4e:46:00:00:98")
    for _ in scene.each:
        _bridged(ports[0])


@death("MAC_INVALID_SOURCE", "fault", "br_handle_frame")
def bridge_multicast_source(scene):
    """The source address of a frame at a bridge is a multicast address."""
    _, ports = bridge(scene)
    for _ in scene.each:
        _bridged(ports[0], source="01:00:5e:00:00:01")


@death("MAC_IEEE_MAC_CONTROL", "benign", "br_handle_frame")
def bridge_pause_frame(scene):
    """A frame for the pause address at a bridge."""
    _, ports = bridge(scene)
    for _ in scene.each:
        _bridged(ports[0], to="01:80:c2:00:00:01")


@death(None, "policy", "br_allowed_ingress")
def bridge_vlan_filter(scene):
    """A frame of a VLAN that the port of a bridge does not have."""
    _, ports = bridge(scene, "vlan_filtering", "1")
    for _ in scene.each:
        _bridged(ports[0], vlan=(0x8100, 77))


@death("MAC_INVALID_SOURCE", "policy", "br_handle_frame_finish", since=(5, 16),
       undecided_before=ALL_KERNELS)
def bridge_locked(scene):
    """A frame from an unknown address at a locked port of a bridge."""
    _, ports = bridge(scene)
    ports[0].namespace.run("bridge", "link", "set", "dev", ports[0].name, "learning", "off",
                           "locked", "on")
    for _ in scene.each:
        _bridged(ports[0])


@death("UNHANDLED_PROTO", "benign", "llc_rcv")
def llc_unknown(scene):
    """An 802.3 frame for an unknown service access point."""
    wire = scene.wire()
    for _ in scene.each:
        wire.frame(b"\x7e\x7e\x03" + bytes(47), 50)


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_bridge(scene):
    """nftables drops a frame that a bridge forwards."""
    _, ports = bridge(scene)
    ports[0].namespace.nft_drop("forward", "ether type ip", family="bridge")
    for _ in scene.each:
        _bridged(ports[0])


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_arp(scene):
    """nftables drops an ARP request."""
    wire = scene.wire()
    wire.namespace.nft_drop("input", "arp operation request", family="arp")
    for _ in scene.each:
        wire.frame(_arp(wire), 0x0806)


@death("DEV_READY", "benign", "vlan_do_receive", undecided_before=ALL_KERNELS)
def vlan_down(scene):
    """A frame of a VLAN whose device is down."""
    wire = scene.wire()
    name = scene.lab.name()
    scene.link(wire.namespace, name, "link", wire.name, "type", "vlan", "id", "77")
    for _ in scene.each:
        wire.frame(packets.ipv4(wire.peer4, wire.own4, packets.UDP, bytes(20)),
                   vlan=(0x8100, 77))


@death("SOCKET_FILTER", "policy", "tun_net_xmit", undecided_before=NO_REASONS)
def tun_filter(scene):
    """The classic BPF filter of a TAP device refuses the packet."""
    wire = scene.wire()
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    program = struct.pack("H6xP", 1, ctypes.addressof(instruction))
    fcntl.ioctl(wire.tunnel.fd, 0x401054D5, program)  # TUNATTACHFILTER
    send_udp(scene.open(wire.namespace, *UDP4), wire.peer4, scene.count)


@death("TAP_TXFILTER", "benign", "tun_net_xmit", undecided_before=NO_REASONS)
def tap_address_filter(scene):
    """The process behind a TAP device has asked for other addresses."""
    wire = scene.wire()
    addresses = struct.pack("HH6s", 0, 1, bytes.fromhex("024e46000098"))
    fcntl.ioctl(wire.tunnel.fd, 0x400454D1, addresses)  # TUNSETTXFILTER
    send_udp(scene.open(wire.namespace, *UDP4), wire.peer4, scene.count)


@death("QDISC_DROP", "fault", "kfree_skb_list_reason", "kfree_skb_list", "__dev_queue_xmit",
       "__tcf_kfree_skb_list", modules=("sch_netem",))
def netem_loss(scene):
    """A netem that loses every packet."""
    pair = scene.pair()
    scene.needs(pair.left.run, "tc", "qdisc", "add", "dev", pair.left_device.name, "root", "netem",
                "loss", "100%")
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count)


@death("QDISC_DROP", "fault", "kfree_skb_list_reason", "kfree_skb_list", "__dev_queue_xmit",
       "__tcf_kfree_skb_list", modules=("sch_fq",))
def fq_flow_limit(scene):
    """A flow has more packets in a fq than its limit, while fq paces it."""
    pair = scene.pair()
    scene.needs(pair.left.run, "tc", "qdisc", "add", "dev", pair.left_device.name, "root", "handle",
                "1:", "fq", "flow_limit", "5", "maxrate", "8bit", "quantum", "1", "initial_quantum",
                "1")
    scene.empty_at_last(pair.left_device)
    sender = scene.open(pair.left, *UDP4)
    scene.reader(pair.right, pair.RIGHT4, 9)
    send_udp(sender, pair.RIGHT4, 1 + 5 + scene.count, payload=b"x" * 150)

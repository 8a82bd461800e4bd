# SPDX-License-Identifier: GPL-2.0-or-later
"""Deaths by netfilter, IPsec, BPF of cgroups and of routes."""

import contextlib
import os
import pathlib
import socket
import struct

from .. import packets
from . import bpf
from .scene import ALL_KERNELS, NO_REASONS, death, send_udp

UDP4 = (socket.AF_INET, socket.SOCK_DGRAM)
UDP6 = (socket.AF_INET6, socket.SOCK_DGRAM)
PORT = 5555
# The caller of kfree_skb where a hook says NF_DROP.
HOOK = ("nf_hook_slow",)


def _netfilter(scene, hook, version=4, sender=False, **kwargs):
    pair = scene.pair(ipv6=version == 6)
    where = pair.left if sender else pair.right
    where.nft_drop(hook, f"udp dport {PORT}", **kwargs)
    send_udp(scene.open(pair.left, *(UDP4 if version == 4 else UDP6)),
             pair.right_address(version), scene.count, PORT)
    family = kwargs.get("family", "inet")
    assert where.nft_counter(hook, family) == scene.count


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_prerouting(scene):
    """nftables drops the packet in prerouting."""
    _netfilter(scene, "prerouting")


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_input(scene):
    """nftables drops the packet in input."""
    _netfilter(scene, "input")


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_input6(scene):
    """nftables drops an IPv6 packet in input."""
    _netfilter(scene, "input", 6)


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_output(scene):
    """nftables drops the packet in output."""
    _netfilter(scene, "output", sender=True)


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_postrouting(scene):
    """nftables drops the packet in postrouting."""
    _netfilter(scene, "postrouting", sender=True)


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_forward(scene):
    """nftables drops the packet in forward."""
    near, far = scene.router()
    near.namespace.nft_drop("forward", f"udp dport {PORT}")
    for _ in scene.each:
        near.udp(port=PORT, to=far.peer4)
    assert near.namespace.nft_counter("forward") == scene.count


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_ingress(scene):
    """nftables drops the packet at a device's ingress."""
    pair = scene.pair()
    pair.right.nft_drop("ingress", f"udp dport {PORT}", family="netdev", device=pair.right_device)
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count, PORT)
    assert pair.right.nft_counter("ingress", "netdev") == scene.count


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_egress(scene):
    """nftables drops the packet at a device's egress."""
    pair = scene.pair()
    scene.needs(pair.left.nft_drop, "egress", f"udp dport {PORT}", family="netdev",
                device=pair.left_device)
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count, PORT)
    assert pair.left.nft_counter("egress", "netdev") == scene.count


@death("NETFILTER_DROP", "fault", "nf_queue")
def nft_queue_without_reader(scene):
    """nftables queues the packet for a process that is not there."""
    pair = scene.pair()
    scene.needs(pair.right.run, "nft", "-f", "-", input=f"""
table ip queues {{
	chain input {{
		type filter hook input priority 0; policy accept;
		udp dport {PORT} queue num 7
	}}
}}
""")
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count, PORT)


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def nft_reject(scene):
    """nftables rejects the packet."""
    pair = scene.pair()
    pair.right.run("nft", "-f", "-", input=f"""
table ip rejects {{
	chain input {{
		type filter hook input priority 0; policy accept;
		udp dport {PORT} reject
	}}
}}
""")
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count, PORT)


@death("NETFILTER_DROP", "policy", "nf_hook_slow", "nft_do_chain")
def conntrack_invalid(scene):
    """nftables drops what conntrack calls invalid."""
    wire = scene.wire()
    wire.namespace.run("nft", "-f", "-", input="""
table ip tracked {
	chain input {
		type filter hook input priority 0; policy accept;
		ct state invalid counter drop
	}
}
""")
    for _ in scene.each:
        wire.tcp(4, 5000, PORT, ["SYN", "RST", "FIN"], 1000)


def _policy(namespace, direction, *words):
    namespace.ip("xfrm", "policy", "add", "dir", direction, *words)


@death("XFRM_POLICY", "policy", "udp_queue_rcv_one_skb")
def xfrm_policy_in(scene):
    """An unprotected datagram for a socket, while a policy of IPsec requires protection."""
    pair = scene.pair()
    _policy(pair.right, "in", "src", pair.LEFT4, "dst", pair.RIGHT4, "tmpl", "proto", "esp", "mode",
            "transport")
    scene.reader(pair.right, pair.RIGHT4, PORT)
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count, PORT)


# It can also be a broadcast of a subnet that no socket wants: only the route says so.
@death("XFRM_POLICY", "policy", "__udp4_lib_rcv", "udp_rcv", undecided_before=ALL_KERNELS)
def xfrm_block_in(scene):
    """A policy of IPsec blocks a datagram for a closed port."""
    pair = scene.pair()
    _policy(pair.right, "in", "src", pair.LEFT4, "dst", pair.RIGHT4, "action", "block")
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count, PORT)


# The kernel looks for a socket first, and says that there is none; the policy keeps it from
# sending a reset.
@death("NO_SOCKET", "benign", "tcp_v4_rcv")
def xfrm_block_tcp(scene):
    """A policy of IPsec blocks a SYN for a closed port."""
    wire = scene.wire()
    _policy(wire.namespace, "in", "src", wire.peer4, "dst", wire.own4, "action", "block")
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["SYN"], 1000)


@death("XFRM_POLICY", "policy", "tcp_v4_rcv", undecided_before=NO_REASONS)
def xfrm_block_listener(scene):
    """A policy of IPsec blocks a SYN for a listener."""
    _block_listener(scene, 4)


@death("XFRM_POLICY", "policy", "tcp_v6_rcv", undecided_before=NO_REASONS)
def xfrm_block_listener6(scene):
    """A policy of IPsec blocks a SYN over IPv6 for a listener."""
    _block_listener(scene, 6)


def _block_listener(scene, version):
    wire = scene.wire(ipv6=version == 6)
    peer, own = wire.ends(version)
    _policy(wire.namespace, "in", "src", peer, "dst", own, "action", "block")
    scene.listener(wire.namespace, own, PORT)
    for i in scene.each:
        wire.tcp(version, 5000 + i, PORT, ["SYN"], 1000)


@death("XFRM_POLICY", "policy", "icmp_rcv", undecided_before=NO_REASONS)
def xfrm_block_icmp(scene):
    """A policy of IPsec blocks an ICMP message."""
    wire = scene.wire()
    _policy(wire.namespace, "in", "src", wire.peer4, "dst", wire.own4, "action", "block")
    for _ in scene.each:
        wire.ipv4(packets.ICMP, packets.icmp(8, 0, bytes(12)))


@death("XFRM_POLICY", "policy", "raw_rcv")
def xfrm_block_raw(scene):
    """A policy of IPsec blocks a packet for a raw socket."""
    wire = scene.wire()
    _policy(wire.namespace, "in", "src", wire.peer4, "dst", wire.own4, "action", "block")
    scene.open(wire.namespace, socket.AF_INET, socket.SOCK_RAW, 253)
    for _ in scene.each:
        wire.ipv4(253, bytes(20))


@death("XFRM_POLICY", "policy", "ip_forward")
def xfrm_block_forward(scene):
    """A policy of IPsec blocks a packet that a router forwards."""
    near, far = scene.router()
    _policy(near.namespace, "fwd", "src", near.peer4, "dst", far.peer4, "action", "block")
    for _ in scene.each:
        near.udp(to=far.peer4)


@death("XFRM_POLICY", "policy", "udpv6_queue_rcv_one_skb")
def xfrm_block_reader6(scene):
    """A policy of IPsec blocks a datagram over IPv6 for a socket."""
    pair = scene.pair(ipv6=True)
    _policy(pair.right, "in", "src", pair.LEFT6, "dst", pair.RIGHT6, "action", "block")
    scene.reader(pair.right, pair.RIGHT6, PORT)
    send_udp(scene.open(pair.left, *UDP6), pair.RIGHT6, scene.count, PORT)


# As for TCP, but only over IPv6: over IPv4 the kernel asks the policy first.
@death("NO_SOCKET", "benign", "__udp6_lib_rcv", "udpv6_rcv", undecided_before=NO_REASONS)
def xfrm_block_in6(scene):
    """A policy of IPsec blocks a datagram over IPv6 for a closed port."""
    pair = scene.pair(ipv6=True)
    _policy(pair.right, "in", "src", pair.LEFT6, "dst", pair.RIGHT6, "action", "block")
    send_udp(scene.open(pair.left, *UDP6), pair.RIGHT6, scene.count, PORT)


@death(None, "fault", "xfrm_input", modules=("esp4",))
def esp_without_state(scene):
    """An ESP packet without a security association."""
    wire = scene.wire()
    # Another association shows that the kernel has ESP.
    scene.needs(wire.namespace.ip, "xfrm", "state", "add", "src", wire.other4, "dst", wire.own4,
                "proto", "esp", "spi", "7", "mode", "transport", "enc", "cipher_null", "")
    for i in scene.each:
        wire.ipv4(50, struct.pack("!II32x", 0x4E46, i + 1))


@death(None, "fault", "xfrm_input", modules=("esp4",))
def esp_wrong_key(scene):
    """An ESP packet that its security association can't authenticate."""
    wire = scene.wire()
    scene.needs(wire.namespace.ip, "xfrm", "state", "add", "src", wire.peer4, "dst", wire.own4,
                "proto", "esp", "spi", "0x4e46", "mode", "transport", "auth", "hmac(sha1)",
                "0x" + "11" * 20, "enc", "cbc(aes)", "0x" + "22" * 16)
    for i in scene.each:
        wire.ipv4(50, struct.pack("!II", 0x4E46, i + 1) + bytes(64))


@contextlib.contextmanager
def _cgroup(name):
    """This process is in a cgroup of its own; gives its file descriptor."""
    root = next((p for p in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
                 if pathlib.Path(p, "cgroup.procs").exists()), None)
    if not root:
        raise LookupError("no cgroup2 here")
    before = pathlib.Path("/proc/self/cgroup").read_text().split("0::", 1)[1].split("\n", 1)[0]
    path = pathlib.Path(root, name)
    path.mkdir()
    try:
        (path / "cgroup.procs").write_text(str(os.getpid()))
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield fd
        finally:
            os.close(fd)
    finally:
        pathlib.Path(root, before.lstrip("/"), "cgroup.procs").write_text(str(os.getpid()))
        path.rmdir()


@death("BPF_CGROUP_EGRESS", "policy", "ip_finish_output")
def bpf_cgroup_egress(scene):
    """A BPF program of the sender's cgroup drops the packet."""
    pair = scene.pair()
    sender_cgroup = scene.keep(_cgroup(scene.lab.name()))
    program = scene.keep(bpf.Program(bpf.CGROUP_SKB, 0, bpf.CGROUP_EGRESS))
    program.attach(sender_cgroup, bpf.CGROUP_EGRESS)
    send_udp(scene.open(pair.left, *UDP4), pair.RIGHT4, scene.count)


@death("SOCKET_FILTER", "policy", "udp_queue_rcv_one_skb")
def bpf_cgroup_ingress(scene):
    """A BPF program of the reader's cgroup drops the packet."""
    wire = scene.wire()
    reader_cgroup = scene.keep(_cgroup(scene.lab.name()))
    program = scene.keep(bpf.Program(bpf.CGROUP_SKB, 0, bpf.CGROUP_INGRESS))
    program.attach(reader_cgroup, bpf.CGROUP_INGRESS)
    scene.reader(wire.namespace, wire.own4, PORT)
    for _ in scene.each:
        wire.udp(port=PORT)

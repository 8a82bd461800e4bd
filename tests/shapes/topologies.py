# SPDX-License-Identifier: GPL-2.0-or-later
"""The shapes of networks: how a packet gets from `left` to `right`.

A builder takes a lab and returns a Shape; its docstring is the way.  It raises Lacking if this
kernel has no such device.
"""

import contextlib
import dataclasses
import pathlib
import subprocess

from lab import kernel, net, offload, relay, sockets, xdp
from lab.net import Device, join, run

MTU = "1400"  # of what is put into a tunnel
# The networks of devices on top of others: IPv4, IPv6.
UPPER_NETWORKS = "10.77.5.0/24", "fd77:5::/64"
UPPER_LEFT, UPPER_RIGHT = ("10.77.5.1", "fd77:5::1"), ("10.77.5.2", "fd77:5::2")
SO_RCVBUFFORCE = 33


class Lacking(Exception):
    """This kernel lacks what a shape or a load needs."""


@dataclasses.dataclass
class Shape:
    """`sends`: the device that the sender's route has.  `forwards`: namespaces between the two that
    route, each of which must show the packets as forwarded."""

    left: net.Namespace
    right: net.Namespace
    addresses: dict  # {4: address, 6: address} that the sender sends to
    sends: net.Device
    forwards: tuple = ()
    # The sender's device has no TSO: the kernel splits an skb between its queue and its driver.
    splits: bool = False
    loses: bool = False
    stack: contextlib.ExitStack = dataclasses.field(default_factory=contextlib.ExitStack)


BUILDERS = {}


def topology(builder):
    BUILDERS[builder.__name__] = builder
    return builder


def _addresses(pair):
    return {4: pair.RIGHT4, 6: pair.RIGHT6}


def _shape(pair, **more):
    return Shape(pair.left, pair.right, _addresses(pair), pair.left_device, **more)


def _link(namespace, name, *words):
    """Make a device of a kind that this kernel may lack, with an index of the lab's own."""
    try:
        run("ip", "-n", namespace.name, "link", "add", "name", name, "index",
            namespace.new_index(), *words)
    except RuntimeError as error:
        if "Unknown device type" in str(error) or "not supported" in str(error):
            kind = words[words.index("type") + 1]
            raise Lacking(f"this kernel has no device of type {kind}") from error
        raise
    namespace.ip("link", "set", name, "up")
    return Device(namespace, name)


# ---- one link ----


@topology
def direct(lab):
    """left ── veth ── right"""
    return _shape(lab.pair())


@topology
def sniffed(lab):
    """A packet socket at both ends, as tcpdump has it."""
    shape = _shape(pair := lab.pair())
    for device in (pair.left_device, pair.right_device):
        tap = shape.stack.enter_context(sockets.packet(device))
        tap.setsockopt(sockets.socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 30)
    return shape


@topology
def gro(lab):
    """GRO at the receiving end of the veth pair, whose NAPI then merges."""
    pair = lab.pair()
    for device in (pair.left_device, pair.right_device):
        offload.switch(device, offload.SGRO, True)
    return _shape(pair)


@topology
def cut(lab):
    """The sender's device takes no skbs of several segments: software GSO cuts them."""
    shape = _shape(lab.pair(), splits=True)
    offload.switch(shape.sends, offload.STSO, False)
    return shape


@topology
def shaped(lab):
    """A token bucket at the sender cuts skbs of several segments, and lets them wait."""
    shape = _shape(lab.pair(), splits=True)
    try:
        shape.sends.namespace.run("tc", "qdisc", "add", "dev", shape.sends.name, "root", "tbf",
                                  "rate", "400mbit", "burst", "4000", "limit", "100000000")
    except RuntimeError as error:
        raise Lacking("this kernel has no qdisc tbf") from error
    return shape


def _sysfs(device, name, value):
    """A setting of a device; /sys shows the namespace of the process that mounted it."""
    path = f"/sys/class/net/{device.name}/{name}"
    try:
        device.namespace.run("sh", "-c", f"echo {value} > {path}")
    except RuntimeError as error:
        raise Lacking(f"this kernel refuses {name} of a veth device") from error


@topology
def threaded(lab):
    """NAPI runs in a kernel thread."""
    shape = gro(lab)
    for namespace in (shape.left, shape.right):
        for device in devices(namespace):
            _sysfs(device, "threaded", 1)
    return shape


@topology
def rps(lab):
    """RPS distributes what the receiving end gets."""
    pair = lab.pair()
    _sysfs(pair.right_device, "queues/rx-0/rps_cpus", 3)
    return _shape(pair)


def devices(namespace):
    """All but the loopback device."""
    with namespace.entered():
        names = [name for _, name in sockets.socket.if_nameindex() if name != "lo"]
    return [Device(namespace, name) for name in names]


# ---- devices on top of a link ----


def _upper(lab, a, b, *words, **more):
    """A pair of the same devices on top of two that are linked; returns the Shape of these.  In
    `words`, {lower} and {peer4} stand for what is below."""
    ends = []
    for device, own4, peer4 in ((a, net.Pair.LEFT4, net.Pair.RIGHT4),
                                (b, net.Pair.RIGHT4, net.Pair.LEFT4)):
        text = [w.format(lower=device.name, own4=own4, peer4=peer4) for w in words]
        ends.append(_link(device.namespace, lab.name(), *text))
    return _joined(*ends, **more)


def _joined(left, right, **more):
    """Both get addresses of their own network, and know each other."""
    join(left, *UPPER_LEFT, right, *UPPER_RIGHT)
    return Shape(left.namespace, right.namespace, dict(zip((4, 6), UPPER_RIGHT)), left, **more)


@topology
def vlan(lab):
    """A VLAN on the veth pair."""
    pair = lab.pair()
    return _upper(lab, pair.left_device, pair.right_device,
                  "link", "{lower}", "type", "vlan", "id", "7")


@topology
def vxlan(lab):
    """A VXLAN tunnel over the veth pair."""
    pair = lab.pair()
    return _upper(lab, pair.left_device, pair.right_device, "mtu", MTU, "type", "vxlan", "id", "7",
                  "local", "{own4}", "remote", "{peer4}", "dstport", "4789", "dev", "{lower}")


@topology
def gre(lab):
    """A GRE tunnel for Ethernet frames over the veth pair."""
    pair = lab.pair()
    return _upper(lab, pair.left_device, pair.right_device, "mtu", MTU, "type", "gretap",
                  "local", "{own4}", "remote", "{peer4}")


def _sublink(lab, kind, mode):
    """Two pods whose devices are slaves of the veths in their nodes."""
    def pod_above(below):
        pod, name = lab.namespace(), lab.name()
        _link(below.namespace, name, "link", below.name, "type", kind, "mode", mode)
        below.namespace.ip("link", "set", name, "netns", pod.name)
        pod.ip("link", "set", name, "up")
        return Device(pod, name)

    nodes = lab.pair()
    shape = _joined(pod_above(nodes.left_device), pod_above(nodes.right_device))
    if mode == "l3":
        # The node's namespace routes what its pods send (ipvlan_process_v4_outbound), and asks for
        # a neighbour that does not answer: the other node has no such address.
        for here, there, ends in ((nodes.left_device, nodes.right_device, UPPER_RIGHT),
                                  (nodes.right_device, nodes.left_device, UPPER_LEFT)):
            here.namespace.ip_batch(
                *(line for end, network in zip(ends, UPPER_NETWORKS)
                  for line in (f"route add {network} dev {here.name}",
                               f"neighbour replace {end} lladdr {there.mac} dev {here.name} "
                               "nud permanent")))
    return shape


@topology
def macvlan(lab):
    """Pods with macvlan devices."""
    return _sublink(lab, "macvlan", "bridge")


@topology
def ipvlan_l2(lab):
    """Pods with ipvlan devices in mode l2."""
    return _sublink(lab, "ipvlan", "l2")


@topology
def ipvlan_l3(lab):
    """Pods with ipvlan devices in mode l3."""
    return _sublink(lab, "ipvlan", "l3")


@topology
def bond(lab):
    """A bond with one veth at the sender."""
    pair = lab.pair()
    bonded = _link(pair.left, lab.name(), "type", "bond", "mode", "active-backup")
    pair.left.ip_batch(f"link set {pair.left_device.name} down",
                       f"link set {pair.left_device.name} master {bonded.name}",
                       f"link set {pair.left_device.name} up")
    return _joined(Device(pair.left, bonded.name), pair.right_device)


@topology
def vrf(lab):
    """The receiving end is in a VRF."""
    pair = lab.pair()
    pair.right.sysctl(**{"net.ipv4.udp_l3mdev_accept": 1, "net.ipv4.tcp_l3mdev_accept": 1})
    table = _link(pair.right, lab.name(), "type", "vrf", "table", "77")
    pair.right.ip("link", "set", pair.right_device.name, "master", table.name)
    return _joined(pair.left_device, pair.right_device)


# ---- something in between ----


@topology
def routed(lab):
    """left ── router ── right"""
    path = lab.path()
    return _shape(path, forwards=(path.router,))


@topology
def translated(lab):
    """The router translates both addresses: DNAT and masquerade."""
    path = lab.path()
    try:
        path.router.run("nft", "-f", "-", input=f"""
table inet translation {{
	chain to {{
		type nat hook prerouting priority -100;
		ip daddr {path.NEAR4} meta l4proto {{ tcp, udp }} dnat ip to {path.RIGHT4}
		ip6 daddr {path.NEAR6} meta l4proto {{ tcp, udp }} dnat ip6 to {path.RIGHT6}
	}}
	chain from {{
		type nat hook postrouting priority 100;
		oifname {path.far_device.name} masquerade
	}}
}}
""")
    except RuntimeError as error:
        raise Lacking("this kernel's nftables has no NAT") from error
    shape = _shape(path, forwards=(path.router,))
    shape.addresses = {4: path.NEAR4, 6: path.NEAR6}
    return shape


def _between(lab):
    """left ── middle ── right, of which the middle has no addresses: the devices, in this order."""
    left, middle, right = (lab.namespace() for _ in range(3))
    near, far = lab.veth(left, middle), lab.veth(middle, right)
    join(near[0], net.Pair.LEFT4, net.Pair.LEFT6, far[1], net.Pair.RIGHT4, net.Pair.RIGHT6)
    return *near, *far


@topology
def bridge(lab):
    """left ── bridge ── right"""
    first, near, far, last = _between(lab)
    name = _link(near.namespace, lab.name(), "type", "bridge", "mcast_snooping", "0").name
    near.namespace.ip_batch(*(f"link set {d.name} master {name}" for d in (near, far)))
    return Shape(first.namespace, last.namespace, {4: net.Pair.RIGHT4, 6: net.Pair.RIGHT6}, first,
                 forwards=(near.namespace,))


@topology
def redirected(lab):
    """An XDP program in between sends each packet to the other device."""
    if kernel.release() < (5, 13):
        # d3256efd8e8b
        raise Lacking("a veth of this kernel takes redirected frames only beside a program of XDP")
    first, near, far, last = _between(lab)
    shape = Shape(first.namespace, last.namespace, {4: net.Pair.RIGHT4, 6: net.Pair.RIGHT6}, first,
                  splits=True)
    for device, to in ((near, far), (far, near)):
        shape.stack.enter_context(xdp.redirecting(device, to))
    for device in (first, last):
        # A veth takes redirected frames only if its peer has NAPI.  A frame has neither segments
        # nor a checksum that is left to the hardware.
        offload.switch(device, offload.SGRO, True)
        offload.switch(device, offload.STXCSUM, False)
    return shape


@topology
def pods(lab):
    """pod ── node ── VXLAN ── node ── pod, as flannel does it."""
    nodes, made = lab.pair(), []
    pod_pair = lab.namespace(), lab.namespace()
    tunnel = _upper(lab, nodes.left_device, nodes.right_device, "mtu", MTU, "type", "vxlan", "id",
                    "7", "local", "{own4}", "remote", "{peer4}", "dstport", "4789", "dev",
                    "{lower}")
    for number, (node, pod) in enumerate(zip((nodes.left, nodes.right), pod_pair), 1):
        inside, outside = lab.veth(pod, node)
        join(inside, f"10.78.{number}.2", f"fd78:{number}::2",
             outside, f"10.78.{number}.1", f"fd78:{number}::1")
        pod.ip("link", "set", inside.name, "mtu", MTU)
        pod.ip_batch(f"route add default via 10.78.{number}.1",
                     f"route add default via fd78:{number}::1")
        other = 3 - number
        node.ip_batch(f"route add 10.78.{other}.0/24 via 10.77.5.{other}",
                      f"route add fd78:{other}::/64 via fd77:5::{other}")
        node.sysctl(**{"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        made.append(inside)
    return Shape(*pod_pair, {4: "10.78.2.2", 6: "fd78:2::2"}, made[0],
                 forwards=(tunnel.left, tunnel.right))


# ---- a network of user space ----


def _relayed(lab, **more):
    between = relay.Relay(lab, 2)
    shape = Shape(between.left, between.right, {4: between.RIGHT4}, between.left_device,
                  splits=True, **more)
    shape.stack.enter_context(between)
    return shape, between


@topology
def tun(lab):
    """left ── TUN ── program ── TUN ── right"""
    return _relayed(lab)[0]


@topology
def lossy(lab):
    """The program between loses 2 % of what has payload."""
    shape, between = _relayed(lab, loses=True)
    between.drop(relay.A, "1/50")
    return shape


def prepared():
    """Load the modules that Debian's kernels have for these shapes; none of them has to exist."""
    for module in ("8021q", "ip_gre", "ipvlan", "bonding", "vrf", "macvlan", "tun", "vxlan"):
        if pathlib.Path("/sbin/modprobe").exists():
            subprocess.run(["/sbin/modprobe", "-q", module], check=False)

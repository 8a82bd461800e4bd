# SPDX-License-Identifier: GPL-2.0-or-later
"""A journey survives a new head, a clone and a device above: what the receiver's namespace shows of
packets whose head a router, NAT or XDP copied on the way, which a router passed on as a clone, or
which came through a macvlan, VLAN or ipvlan device, while all are followed and while some are."""

import contextlib
import socket
import time

import pytest

from conftest import shared
from lab import loads, net, patience, sockets, waiting, xdp

pytestmark = pytest.mark.usefixtures("bpf")

ALL = ("cost.governor=off",)
# One journey in N, and no windows.
FEW = ("cost.governor=on", "cost.budget=100%", "cost.cpu_budget=100%")
PORT = 7777
SIZE = 100
COUNT = patience.fewer(5_000)
OFF = pytest.param("off", marks=pytest.mark.shared)
NAT = """
table ip heads {
	chain to { type nat hook prerouting priority -100; ip daddr %s tcp dport 7778 dnat to %s:7777; }
	chain from { type nat hook postrouting priority 100; masquerade; }
}
"""


@pytest.fixture
def daemon(request, kept, governor):
    """While all are followed, the tests share it.  One that follows some has a past of its own, and
    no other daemon of the file beside it."""
    if governor == "off":
        yield from shared(request, ALL)
    else:
        kept.end()
        yield request.getfixturevalue("start")(*FEW)


def exchange(sender, reader, count):
    """Each message is read before the next one is sent, so that TCP merges none of them."""
    for _ in range(count):
        sender.send(b"x" * SIZE)
        assert len(reader.recv(SIZE)) == SIZE


def delivered(daemon, device):
    row = daemon.latency(device, "rx_total") or {"count": 0}
    return row["count"], row.get("count_margin", 0), row.get("followed", row["count"])


def through_nat(path, stack):
    path.router.run("nft", "-f", "-", input=NAT % (path.NEAR4, path.RIGHT4))
    with path.right.entered():
        listener = stack.enter_context(socket.create_server((path.RIGHT4, PORT)))
    with path.left.entered():
        sender = stack.enter_context(socket.create_connection((path.NEAR4, PORT + 1)))
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sender, stack.enter_context(listener.accept()[0])


def through(path, stack, shape, version):
    """A sender and a reader of this shape."""
    if shape == "nat":
        return through_nat(path, stack)
    if shape == "xdp":
        stack.enter_context(xdp.attached(path.right_device, xdp.PASS))
    if shape == "sniffer":
        stack.enter_context(sockets.packet(path.near_device))
    return stack.enter_context(sockets.KINDS["udp" if shape == "udp" else "tcp"](
        path.left, path.right, path.right_address(version), PORT))


@pytest.mark.parametrize("governor", [OFF, "on"])
@pytest.mark.parametrize("shape, version", [("tcp", 4), ("tcp", 6), ("udp", 4), ("nat", 4),
                                            ("sniffer", 4), ("xdp", 4)])
def test_receiver_behind_a_router(path, daemon, shape, version, governor):
    with contextlib.ExitStack() as stack:
        sender, reader = through(path, stack, shape, version)
        check(daemon, stack, governor, path.right_device, lambda: exchange(sender, reader, COUNT))


def check(daemon, stack, governor, device, send):
    """That the device shows COUNT delivered packets more after `send`."""
    time.sleep(0.3)
    if governor == "on":
        stack.enter_context(loads.Flood())
        time.sleep(1)
    before = delivered(daemon, device)
    send()
    after = waiting.until(lambda: delivered(daemon, device),
                          lambda row: row[0] >= before[0] + COUNT, 1)
    count = after[0] - before[0]
    print(governor, count, after)
    if governor == "off":
        assert abs(count - COUNT) <= COUNT / 1000, (before, after)
    else:
        assert abs(count - COUNT) <= 2 * after[1] + COUNT / 50, (before, after)


ABOVE = {"macvlan": ("type", "macvlan", "mode", "bridge"),
         "vlan": ("type", "vlan", "id", "7"),
         "ipvlan": ("type", "ipvlan", "mode", "l2")}


def pod_above(lab, below, kind):
    """The device of a pod on top of its node's."""
    pod, name = lab.namespace(), lab.name()
    try:
        below.namespace.ip("link", "add", "link", below.name, "name", name,
                           "index", pod.new_index(), *ABOVE[kind])
    except RuntimeError as error:
        assert "Unknown device type" in str(error), error
        pytest.skip(f"this kernel has no {kind} devices")
    below.namespace.ip("link", "set", name, "netns", pod.name)
    pod.ip("link", "set", name, "up")
    return net.Device(pod, name)


@pytest.mark.parametrize("kind, protocol, governor", [
    pytest.param("macvlan", "udp", "off", marks=pytest.mark.shared),
    ("macvlan", "udp", "on"),
    pytest.param("macvlan", "tcp", "off", marks=pytest.mark.shared),
    ("macvlan", "tcp", "on"),
    pytest.param("vlan", "tcp", "off", marks=[pytest.mark.shared, pytest.mark.smoke]),
    pytest.param("ipvlan", "udp", "off", marks=[pytest.mark.shared, pytest.mark.smoke])])
def test_receiver_with_a_device_above(daemon, lab, kind, protocol, governor):
    nodes = lab.pair(ipv6=False)
    left, right = (pod_above(lab, below, kind)
                   for below in (nodes.left_device, nodes.right_device))
    net.join(left, net.Pair.LEFT4, net.Pair.LEFT6, right, net.Pair.RIGHT4, net.Pair.RIGHT6)
    with contextlib.ExitStack() as stack:
        sender, reader = stack.enter_context(sockets.KINDS[protocol](
            left.namespace, right.namespace, net.Pair.RIGHT4, PORT))
        check(daemon, stack, governor, right, lambda: exchange(sender, reader, COUNT))


def tunnel(lab, below, own, peer):
    """The device of a VXLAN tunnel between two nodes."""
    node, name = below.namespace, lab.name()
    node.ip("link", "add", "name", name, "index", node.new_index(), "mtu", "1400", "type", "vxlan",
            "id", "7", "local", own, "remote", peer, "dstport", "4789", "dev", below.name)
    node.ip("link", "set", name, "up")
    return net.Device(node, name)


@pytest.mark.parametrize("governor", [
    pytest.param("off", marks=[pytest.mark.shared, pytest.mark.smoke]), "on"])
def test_router_into_a_tunnel(daemon, lab, governor):
    """IPv6 passes on a clone, because the packet has too little room for the tunnel's headers."""
    nodes, pod = lab.pair(), lab.namespace()
    inside, outside = lab.veth(pod, nodes.left)
    near, far = (tunnel(lab, nodes.left_device, nodes.LEFT4, nodes.RIGHT4),
                 tunnel(lab, nodes.right_device, nodes.RIGHT4, nodes.LEFT4))
    net.join(inside, "10.78.1.2", "fd78:1::2", outside, "10.78.1.1", "fd78:1::1")
    net.join(near, "10.77.5.1", "fd77:5::1", far, "10.77.5.2", "fd77:5::2")
    pod.ip("route", "add", "default", "via", "fd78:1::1")
    nodes.right.ip("route", "add", "fd78:1::/64", "via", "fd77:5::1")
    nodes.left.sysctl(**{"net.ipv6.conf.all.forwarding": 1})
    with contextlib.ExitStack() as stack:
        sender, reader = stack.enter_context(sockets.udp(pod, nodes.right, "fd77:5::2", PORT))
        check(daemon, stack, governor, far, lambda: exchange(sender, reader, COUNT))
    forwarded = daemon.latency(near, "receive_to_queue", "fwd") or {"count": 0}
    margin = 2 * forwarded.get("count_margin", 0) + COUNT / 50
    assert abs(forwarded["count"] - COUNT) <= margin, forwarded

# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes packets die: the registry of deaths, and the scenes in which they happen.

A death is a function with the decorator `death`.  It gets a Scene, builds namespaces and devices
there, and sends exactly `scene.count` packets that all end at one place of the kernel.
"""

import contextlib
import dataclasses
import functools
import pathlib
import socket
import subprocess
import typing

from .. import packets, symbols, waiting

COUNT = 20
# kfree_skb has no reason before 5.17, and only that of the commonest drops before 6.2.
NO_REASONS, FEW_REASONS = (5, 17), (6, 2)
ALL_KERNELS = (1000, 0)  # no kernel says enough
# The tables of raw sockets: which of them are full tells two causes of IP_NOPROTO apart.
RAW = {4: "raw_v4_hashinfo", 6: "raw_v6_hashinfo"}
REGISTERED = {}


class Lacking(Exception):
    """This kernel lacks a feature that the death needs."""


# What the kernel, by way of ip, tc and nft, says about a feature that it does not have.
ABSENT = ("Unknown device type", "not supported", "No such file or directory", "is unknown",
          "Function not implemented", "type not found")


@dataclasses.dataclass(frozen=True)
class Death:
    """A way to die.  The docstring of `make` says what happens to the packet.

    `reason` and `kind` (the class) are what netflowd says on every kernel: the newest kernel's
    name, None if no kernel has one.  `places` are the functions that call kfree_skb on any kernel.
    """

    name: str
    make: typing.Callable
    reason: str
    kind: str
    places: tuple
    # The kernel's own counters, of nstat in the namespace `scene.here`; each packet adds 1.
    counters: tuple = ()
    modules: tuple = ()  # that it needs, which the kernel may not load by itself
    count: int = COUNT
    since: tuple = (0, 0)
    # Drops of other functions that come with these, of replies for example.
    beside: tuple = ()
    # Older kernels free the packet without the tracepoint.
    untraced_before: tuple = (0, 0)
    # {version: (reason, class)}: older kernels drop the packet for another reason of their own.
    was: dict = dataclasses.field(default_factory=dict)
    # On older kernels the evidence leaves several causes, of which no reason is the wrong one.
    undecided_before: tuple = (0, 0)
    # As on those, if /proc/kallsyms does not list this variable (CONFIG_KALLSYMS_ALL).
    undecided_without: str = ""

    def undecided(self, release):
        return release < self.undecided_before or \
            bool(self.undecided_without) and self.undecided_without not in symbols.running()

    @property
    def subject(self):
        return " ".join(self.make.__doc__.split()).rstrip(".")

    def expected(self, release):
        """(reason, class) on a kernel"""
        for before, was in sorted(self.was.items()):
            if release < before:
                return was
        return self.reason, self.kind


def death(reason, kind, *places, **kwargs):
    """Register a function as a way to die; its name with hyphens is the name of the death."""
    def register(make):
        name = make.__name__.replace("_", "-")
        assert kind in ("fault", "policy", "benign"), "the test made it, so it knows what it is"
        assert name not in REGISTERED, name
        REGISTERED[name] = Death(name, make, reason, kind, places, **kwargs)
        return make
    return register


class Scene:
    """The namespaces, devices and sockets of one death.  They exist until the drops are counted.

    `made` gets namespaces when they are new, before the scene sends a packet there.
    """

    def __init__(self, lab, count, made):
        self.lab = lab
        self.count = count
        self.made = made
        self.here = None          # the namespace whose counters of nstat tell of the death
        self.stack = contextlib.ExitStack()

    def close(self):
        self.stack.close()

    @property
    def each(self):
        """0, 1, … for each packet."""
        return range(self.count)

    def namespace(self, ipv6=False):
        namespace = self.lab.namespace(ipv6)
        self.made(namespace)
        self.here = self.here or namespace
        return namespace

    def pair(self, ipv6=False):
        pair = self.lab.pair(ipv6)
        self.made(pair.left, pair.right)
        self.here = pair.right
        return pair

    def wire(self, ipv6=False, namespace=None, **kwargs):
        """A namespace with a TAP device; this process is everything beyond it."""
        wire = Wire(self, namespace or self.namespace(ipv6), **kwargs)
        return wire

    def router(self, ipv6=False):
        """A namespace that forwards between two TAP devices; the two Wires."""
        near = self.wire(ipv6)
        far = Wire(self, near.namespace, network=89)
        forwards = {"net.ipv4.ip_forward": 1}
        if ipv6:
            forwards["net.ipv6.conf.all.forwarding"] = 1
        near.namespace.sysctl(**forwards)
        return near, far

    @staticmethod
    def needs(command, *arguments, **kwargs):
        """A command of the lab that fails on a kernel without the feature."""
        try:
            return command(*arguments, **kwargs)
        except RuntimeError as error:
            if any(text in str(error) for text in ABSENT):
                raise Lacking(str(error)) from error
            raise

    def link(self, namespace, name, *words):
        """`ip link add`"""
        self.needs(namespace.ip, "link", "add", name, *words)

    def keep(self, owned):
        """Close it when the drops are counted."""
        return self.stack.enter_context(owned)

    def empty_at_last(self, device):
        """Delete its qdisc, with the packets that wait in it, when the drops are counted.  When a
        namespace goes, they go later: as drops of the next scene, if that has the number again."""
        self.stack.callback(device.namespace.run, "tc", "qdisc", "del", "dev", device.name, "root")

    def open(self, namespace, *arguments):
        with namespace.entered():
            return self.keep(socket.socket(*arguments))

    def reader(self, namespace, address, port, kind=socket.SOCK_DGRAM):
        """A bound socket."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        reader = self.open(namespace, family, kind)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reader.bind((address, port))
        return reader

    def listener(self, namespace, address, port, backlog=128):
        listener = self.reader(namespace, address, port, socket.SOCK_STREAM)
        listener.listen(backlog)
        return listener


class Wire:
    """A TAP device of a namespace, with addresses and a permanent neighbour: the peer, which this
    process plays.  `network` is a part of the addresses."""

    PEER_MAC = "02:4e:46:00:00:01"

    def __init__(self, scene, namespace, network=88, flags=packets.IFF_TAP, join=True):
        self.namespace = namespace
        self.own4, self.peer4, self.other4 = (f"10.{network}.0.{n}" for n in (2, 1, 77))
        self.own6, self.peer6, self.other6 = (f"fd{network}::{n}" for n in (2, 1, 77))
        self.tunnel = scene.keep(packets.Tunnel(namespace, scene.lab.name(), flags))
        self.device = self.tunnel.device
        if join:
            self.join()

    @property
    def name(self):
        return self.device.name

    @property
    def mac(self):
        return self.device.mac

    def join(self):
        known = f"lladdr {self.PEER_MAC} dev {self.name} nud permanent"
        lines = [f"address add {self.own4}/24 dev {self.name}"]
        if self.mac:
            lines.append(f"neighbour replace {self.peer4} {known}")
        if self.namespace.ipv6:
            lines.append(f"address add {self.own6}/64 dev {self.name} nodad")
            if self.mac:
                lines.append(f"neighbour replace {self.peer6} {known}")
        self.namespace.ip_batch(*lines)
        # The kernel adds the local route to an IPv6 address in a work queue.
        if self.namespace.ipv6 and not waiting.until(self._receives_ipv6, bool):
            raise RuntimeError(f"no local route to {self.own6}")

    def _receives_ipv6(self):
        host = f"{packets.ipaddress.IPv6Address(self.own6).packed.hex()} 80 "
        with self.namespace.entered():
            return host in pathlib.Path("/proc/thread-self/net/ipv6_route").read_text()

    def write(self, data):
        """One frame, or packet of a TUN device, that the device receives."""
        self.tunnel.write(data)

    def frame(self, payload, kind=packets.ETH_IPV4, to=None, source=None, vlan=None):
        self.write(packets.ethernet(to or self.mac, source or self.PEER_MAC, kind, payload, vlan))

    def packet(self, packet, to=None):
        """An IP packet from the peer."""
        kind = packets.ETH_IPV6 if packet[0] >> 4 == 6 else packets.ETH_IPV4
        self.frame(packet, kind, to)

    def ipv4(self, protocol=packets.UDP, payload=b"", source=None, to=None, **kwargs):
        """An IPv4 packet from the peer to this namespace, or with other addresses."""
        self.frame(packets.ipv4(source or self.peer4, to or self.own4, protocol, payload, **kwargs))

    def ipv6(self, protocol=packets.UDP, payload=b"", source=None, to=None, mac=None, **kwargs):
        self.frame(packets.ipv6(source or self.peer6, to or self.own6, protocol, payload, **kwargs),
                   packets.ETH_IPV6, mac)

    def ends(self, version):
        """(peer, own)"""
        return (self.peer4, self.own4) if version == 4 else (self.peer6, self.own6)

    def udp(self, version=4, port=9, payload=b"x" * 20, source=None, to=None, mac=None, **kwargs):
        """A datagram from the peer; `kwargs` are those of packets.udp."""
        peer, own = self.ends(version)
        peer, own = source or peer, to or own
        segment = packets.udp(peer, own, 4999, port, payload, **kwargs)
        make = packets.ipv4 if version == 4 else packets.ipv6
        self.packet(make(peer, own, packets.UDP, segment), mac)

    def tcp(self, version, source_port, port, flags, *arguments, **kwargs):
        """A segment from the peer; the other arguments are those of packets.tcp."""
        peer, own = self.ends(version)
        segment = packets.tcp(peer, own, source_port, port, flags, *arguments, **kwargs)
        make = packets.ipv4 if version == 4 else packets.ipv6
        self.packet(make(peer, own, packets.TCP, segment))

    def read(self):
        """The next frame that the namespace sent, None if there is none."""
        return self.tunnel.read()

    def drain(self):
        """All frames that the namespace sent."""
        return list(iter(self.read, None))


def send_udp(sender, address, count, port=9, payload=b"x" * 20):
    """Datagrams from a socket of this process; returns how many the kernel accepted."""
    accepted = 0
    for _ in range(count):
        with contextlib.suppress(OSError):
            sender.sendto(payload, (address, port))
            accepted += 1
    return accepted


@functools.cache
def has_module(name):
    """The module is loaded or built in, or loads now."""
    if pathlib.Path("/sys/module", name).exists():
        return True
    done = subprocess.run(["modprobe", "-q", name], check=False, stderr=subprocess.DEVNULL)
    return done.returncode == 0

# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces, their links, and the kernel's own counters in them."""

import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import pathlib
import secrets
import socket
import struct
import subprocess

from . import patience, paths, waiting

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCGIFHWADDR = 0x8913, 0x8914, 0x8927
IFF_UP, IFF_RUNNING = 0x1, 0x40
ARPHRD_WITH_ADDRESS = (1, 772)  # Ethernet, loopback
_libc = ctypes.CDLL(None, use_errno=True)


def run(*command, check=True, **kwargs):
    """Run a command; returns its standard output as text."""
    done = subprocess.run(
        [str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=patience.seconds(kwargs.pop("timeout", 60)), **kwargs)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}: "
                           f"{done.stderr.strip()}")
    return done.stdout


class Device:
    """A network device in a namespace."""

    def __init__(self, namespace, name):
        self.namespace = namespace
        self.name = name
        with namespace.entered():
            self.ifindex = socket.if_nametoindex(name)
        kind, address = struct.unpack("H6s8x", self._ioctl(SIOCGIFHWADDR))
        self.mac = address.hex(":") if kind in ARPHRD_WITH_ADDRESS else None

    def _ioctl(self, request):
        """The union of a struct ifreq.  This runs no command, because a lab calls it often."""
        with self.namespace.entered(), \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            return fcntl.ioctl(any_socket, request, struct.pack("16s16x", self.name.encode()))[16:]

    def has_carrier(self):
        return bool(struct.unpack("H14x", self._ioctl(SIOCGIFFLAGS))[0] & IFF_RUNNING)

    def statistics(self):
        """`ip -s link`: {"rx": {...}, "tx": {...}}."""
        out = self.namespace.ip("-s", "-j", "link", "show", "dev", self.name)
        return json.loads(out)[0]["stats64"]

    def qdisc(self, kind):
        """`tc -s qdisc` of the first qdisc of that kind."""
        out = self.namespace.run("tc", "-s", "-j", "qdisc", "show", "dev", self.name)
        return next(q for q in json.loads(out) if q["kind"] == kind)


class Namespace:
    """A network namespace of `ip netns`."""

    # Of each process of pytest-xdist (gw0, gw1, …), others.
    _indexes = itertools.count(
        100 + 100_000 * int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")))

    def __init__(self, name, ipv6=True, made=False):
        self.name = name
        self.ipv6 = ipv6
        # How long it waits for the answer of a neighbour; None: as the kernel has it, 1 s.
        self.probe_ms = None
        if not made:
            run("ip", "netns", "add", name)
        self.inode = os.stat(f"/run/netns/{name}").st_ino
        # As little traffic as possible besides the test's own: no router solicitations, no
        # duplicate address detection, multicast listener reports at once or never.  And no limit
        # on the rate of ICMP errors.
        self.sysctl(**{
            "net.ipv6.conf.all.disable_ipv6": int(not ipv6),
            "net.ipv6.conf.default.disable_ipv6": int(not ipv6),
            "net.ipv6.conf.default.mldv1_unsolicited_report_interval": 0,
            "net.ipv6.conf.default.mldv2_unsolicited_report_interval": 0,
            "net.ipv6.conf.default.accept_dad": 0,
            "net.ipv6.conf.default.dad_transmits": 0,
            "net.ipv6.conf.default.router_solicitations": 0,
            "net.ipv6.conf.default.addr_gen_mode": 1,
            "net.ipv4.icmp_ratelimit": 0,
            "net.ipv6.icmp.ratelimit": 0,
        })
        if made:
            self.set_up("lo")
        else:
            self.ip("link", "set", "lo", "up")

    def run(self, *command, **kwargs):
        return run("ip", "netns", "exec", self.name, *command, **kwargs)

    def new_index(self):
        """An ifindex that no device of a test has or had: the kernel soon gives a namespace the
        inode of one that is gone, and a daemon knows a device by both.  The kernel's own choices
        are far below."""
        return next(Namespace._indexes)

    def ip(self, *arguments):
        return run("ip", "-n", self.name, *arguments)

    def ip_batch(self, *lines):
        """Several `ip` commands, one per line, in one process."""
        run("ip", "-n", self.name, "-batch", "-", input="\n".join(lines))

    def set_up(self, *names):
        """`ip link set up` of many devices, without a process."""
        with self.entered(), \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            for name in names:
                request = struct.pack("16sH14x", name.encode(), 0)
                flags, = struct.unpack("16xH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
                fcntl.ioctl(any_socket, SIOCSIFFLAGS,
                            struct.pack("16sH14x", name.encode(), flags | IFF_UP))

    def loopback(self):
        return Device(self, "lo")

    def sysctl(self, **settings):
        """Keys with dots or slashes.  /proc/sys/net shows the namespace of the thread that opens
        it."""
        with self.entered():
            for key, value in settings.items():
                pathlib.Path("/proc/sys", key.replace(".", "/")).write_text(str(value))

    @contextlib.contextmanager
    def entered(self):
        """This thread is in the namespace; sockets made at this time stay in it."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        inside = os.open(f"/run/netns/{self.name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _setns(inside)
            yield
        finally:
            _setns(before)
            os.close(inside)
            os.close(before)

    @contextlib.contextmanager
    def called(self, name):
        """It has another name of `ip netns` as well."""
        path = pathlib.Path("/run/netns", name)
        path.touch(exist_ok=False)
        run("mount", "--bind", f"/run/netns/{self.name}", path)
        try:
            yield name
        finally:
            run("ip", "netns", "delete", name)

    def nstat(self):
        """All counters of nstat by name; counters that the kernel has not touched are 0."""
        counters = _Counters()
        counters.update(json.loads(self.run("nstat", "-a", "-s", "-z", "-j"))["kernel"])
        return counters

    def nft_drop(self, hook, match, family="inet", priority=0, device=None):
        """A rule that counts and drops matching packets at a hook (input, output, prerouting …)."""
        where = f"{hook} device {device.name}" if device else hook
        self.run("nft", "-f", "-", input=f"""
table {family} drops_{hook} {{
	chain drops {{
		type filter hook {where} priority {priority}; policy accept;
		{match} counter drop
	}}
}}
""")

    def nft_counter(self, hook, family="inet"):
        """Packets that the rule of nft_drop counted."""
        out = json.loads(self.run("nft", "-j", "list", "table", family, f"drops_{hook}"))
        for item in out["nftables"]:
            for expression in item.get("rule", {}).get("expr", []):
                if "counter" in expression:
                    return expression["counter"]["packets"]
        raise LookupError(f"no counter at {hook}")

    def tool(self, name, *arguments, **kwargs):
        """Run one of tests/tools here; returns the numbers on its standard output."""
        out = self.run(paths.TOOLS / name, *arguments, timeout=120, **kwargs)
        return [int(word) for word in out.split()]

    def send_udp(self, address, port, count, *arguments):
        """Send exactly `count` datagrams; returns how many the kernel accepted."""
        attempted, accepted = self.tool("udp_send", "-n", count, *arguments, address, port)
        assert attempted == count
        return accepted


@contextlib.contextmanager
def inhabited(*namespaces):
    """A process is in each of the namespaces: others show their counters to nobody."""
    with contextlib.ExitStack() as stack:
        for namespace in namespaces:
            process = stack.enter_context(subprocess.Popen(
                ["ip", "netns", "exec", namespace.name, "sleep", str(patience.seconds(300))]))
            stack.callback(process.kill)
            place = pathlib.Path(f"/proc/{process.pid}/ns/net")
            assert waiting.until(lambda at=place: at.stat().st_ino, namespace.inode.__eq__)
        yield


class _Counters(dict):
    def __missing__(self, key):
        return 0

    def since(self, before, *names):
        return {name: self[name] - before[name] for name in names}


def _setns(fd):
    if _libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


class Lab:
    """Makes namespaces, with names that only this run uses, and deletes them all."""

    def __init__(self):
        self.prefix = "nft" + secrets.token_hex(3)
        self._numbers = itertools.count()
        self._names = []

    def name(self):
        """A name that is short enough for a device, and that no other run uses."""
        return f"{self.prefix}{next(self._numbers)}"

    def namespace(self, ipv6=True):
        name = self.name()
        self._names.append(name)
        return Namespace(name, ipv6)

    def namespaces(self, count, ipv6=True):
        """Many, made by one process."""
        names = [self.name() for _ in range(count)]
        self._names += names
        run("ip", "-batch", "-", input="\n".join(f"netns add {name}" for name in names),
            timeout=300)
        return [Namespace(name, ipv6, made=True) for name in names]

    def veth(self, a, b, queues=1, name=None):
        """A veth pair between two namespaces; its two Devices, each with that number of queues,
        and the first one with that name."""
        # Two indexes: the kernel takes a device for a physical one if its peer has the same, and
        # linkwatch reports the carrier of those only once per second (linkwatch_urgent_event).
        names, indexes = (name or self.name(), self.name()), (a.new_index(), b.new_index())
        numbers = "numtxqueues", str(queues), "numrxqueues", str(queues)
        run("ip", "link", "add", names[0], "index", indexes[0], *numbers, "netns", a.name,
            "type", "veth", "peer", "name", names[1], "index", indexes[1], *numbers,
            "netns", b.name)
        ends = Device(a, names[0]), Device(b, names[1])
        for end in ends:
            if end.namespace.probe_ms:
                end.namespace.sysctl(**{
                    f"net.{ip}.neigh.{end.name}.retrans_time_ms": end.namespace.probe_ms
                    for ip in ("ipv4", "ipv6")})
            end.namespace.ip("link", "set", end.name, "up")
        for end in ends:
            _wait_for_carrier(end)
        return ends

    def pair(self, ipv6=True, **kwargs):
        return Pair(self, ipv6, **kwargs)

    def path(self):
        return Path(self)

    def forget(self, namespace):
        """Delete one of its namespaces now."""
        self._names.remove(namespace.name)
        run("ip", "netns", "delete", namespace.name)

    def delete(self):
        for name in self._names:
            run("ip", "netns", "delete", name, check=False)
        self._names.clear()


def _wait_for_carrier(device):
    if not waiting.until(device.has_carrier, bool):
        raise RuntimeError(f"{device.name} has no carrier")


def join(a, a4, a6, b, b4, b6):
    """Give two Devices that reach each other addresses.  Each has a permanent neighbour entry for
    the other, so that ARP and neighbour discovery add nothing to the packets that a test counts."""
    for end, v4, v6, other, other4, other6 in ((a, a4, a6, b, b4, b6), (b, b4, b6, a, a4, a6)):
        known = f"lladdr {other.mac} dev {end.name} nud permanent"
        lines = [f"address add {v4}/24 dev {end.name}", f"neighbour replace {other4} {known}"]
        if end.namespace.ipv6:
            lines += [f"address add {v6}/64 dev {end.name} nodad",
                      f"neighbour replace {other6} {known}"]
        end.namespace.ip_batch(*lines)


class Pair:
    """left ── veth ── right"""

    LEFT4, RIGHT4 = "10.77.1.1", "10.77.1.2"
    LEFT6, RIGHT6 = "fd77:1::1", "fd77:1::2"

    def __init__(self, lab, ipv6=True, **kwargs):
        self.left, self.right = lab.namespace(ipv6), lab.namespace(ipv6)
        self.left_device, self.right_device = lab.veth(self.left, self.right, **kwargs)
        join(self.left_device, self.LEFT4, self.LEFT6,
             self.right_device, self.RIGHT4, self.RIGHT6)

    def right_address(self, version):
        return self.RIGHT4 if version == 4 else self.RIGHT6


class Path:
    """left ── veth ── router ── veth ── right; the router forwards IPv4 and IPv6."""

    LEFT4, NEAR4, FAR4, RIGHT4 = "10.77.1.1", "10.77.1.254", "10.77.2.254", "10.77.2.2"
    LEFT6, NEAR6, FAR6, RIGHT6 = "fd77:1::1", "fd77:1::254", "fd77:2::254", "fd77:2::2"

    def __init__(self, lab):
        self.left, self.router, self.right = (lab.namespace() for _ in range(3))
        self.left_device, self.near_device = lab.veth(self.left, self.router)
        self.far_device, self.right_device = lab.veth(self.router, self.right)
        join(self.left_device, self.LEFT4, self.LEFT6,
             self.near_device, self.NEAR4, self.NEAR6)
        join(self.far_device, self.FAR4, self.FAR6,
             self.right_device, self.RIGHT4, self.RIGHT6)
        self.router.sysctl(**{"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
        for namespace, v4, v6 in ((self.left, self.NEAR4, self.NEAR6),
                                  (self.right, self.FAR4, self.FAR6)):
            namespace.ip_batch(f"route add default via {v4}", f"route add default via {v6}")

    def right_address(self, version):
        return self.RIGHT4 if version == 4 else self.RIGHT6

# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest on Xen: its vif, both ends of which are here, and its driver's counters and messages."""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import socket
import time

from . import paths
from .net import Device, Namespace, run
from .pump import pump

SCRIPT = paths.TREE / "tests" / "vm" / "guest" / "xen"
ROCKET = re.compile(r"xennet: skb rides the rocket: (\d+) slots, (\d+) bytes")
# xen_netif_tx_request's size has 16 bits: XEN_NETIF_MAX_TX_SIZE.
WIRE_MAX = 65535
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33


def here():
    """True in a guest of tests/vm/run --xen."""
    return "NETFLOWD_VM_XEN" in os.environ


def has_frontend():
    """True if xen-netfront is loaded."""
    return pathlib.Path("/sys/module/xen_netfront").exists()


def load_frontend():
    run(SCRIPT, "frontend")


def unload_frontend():
    """Unbind the devices first, because they keep the module (xenbus_dev_probe)."""
    driver = pathlib.Path("/sys/bus/xen/drivers/vif")
    for device in driver.glob("vif-*"):
        (driver / "unbind").write_text(device.name)
    run("rmmod", "xen_netfront")


class _There(Namespace):
    """A namespace that the guest made."""

    # The base class would make the namespace.
    def __init__(self, name):  # pylint: disable=super-init-not-called
        self.name = name
        self.ipv6 = False
        self.inode = os.stat(f"/run/netns/{name}").st_ino


class Vif:
    """A frontend in the guest's first namespace, its backend in the namespace xenpeer."""

    def __init__(self, number, device):
        self.host, self.peer = _There("xenhost"), _There("xenpeer")
        self.device = Device(self.host, device)
        self.backend = Device(self.peer, f"vif0.{number}")
        self.name = device
        self.address, self.peer_address = f"10.77.{number}.1", f"10.77.{number}.2"

    def transmitted(self):
        """(packets, drops) of the frontend, as its driver counts them."""
        sent = self.device.statistics()["tx"]
        return sent["packets"], sent["dropped"]

    def bulk(self, size, count):
        """Make `count` writes of `size` bytes to a TCP stream, frontend to backend, and read them
        all."""
        return pump("tcp", self.host, self.peer, self.peer_address, 4000, count, size=size)

    @contextlib.contextmanager
    def mtu(self, size):
        """Set the MTU of the frontend, and 1500 afterwards.  The backend's cannot be as large."""
        try:
            self.host.ip("link", "set", self.name, "mtu", size)
            yield
        finally:
            self.host.ip("link", "set", self.name, "mtu", 1500)

    def woven_bulk(self, turns):
        """One task writes to two TCP streams in turn, a page's size each time, so that the bytes
        of each stream cross page borders and are not adjacent; returns the bytes that were read.

        Segments with as many pieces as fit need up to 34 slots.
        """
        # Writes gather in one segment only while earlier ones are not acknowledged.  TCP sends
        # small segments if the round trip is long (tcp_tso_autosize) or the window is small.
        self.host.sysctl(**{"net.ipv4.tcp_tso_rtt_log": 20})
        self.peer.run("tc", "qdisc", "replace", "dev", self.backend.name, "root",
                      "netem", "delay", "20ms")
        try:
            return self._woven_bulk(turns)
        finally:
            self.peer.run("tc", "qdisc", "delete", "dev", self.backend.name, "root")

    def _woven_bulk(self, turns):
        with self.peer.entered():
            server = socket.create_server((self.peer_address, 4001))
            server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
        with contextlib.ExitStack() as stack:
            stack.enter_context(server)
            pairs = []
            for _ in range(2):
                with self.host.entered():
                    writer = stack.enter_context(
                        socket.create_connection((self.peer_address, 4001)))
                writer.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 23)
                pairs.append((writer, stack.enter_context(server.accept()[0])))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                read = [pool.submit(_read_all, reader) for _, reader in pairs]
                for size in (100, *[4096] * turns):
                    for writer, _ in pairs:
                        writer.sendall(bytes(size))
                for writer, _ in pairs:
                    writer.shutdown(socket.SHUT_WR)
                return sum(r.result() for r in read)


def _read_all(reader):
    """Read until the other end is shut; returns the bytes."""
    total = 0
    while data := reader.recv(1 << 20):
        total += len(data)
    return total


def vif(number=0):
    """The vif of that number, made if it does not exist; xen-netfront must be loaded."""
    net = pathlib.Path(f"/sys/bus/xen/devices/vif-{number}/net")
    if net.exists():
        return Vif(number, next(net.iterdir()).name)
    return Vif(number, run(SCRIPT, "vif", number).strip())


class Messages:
    """Messages that the kernel logs from now on."""

    def __init__(self):
        self._log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self._log, 0, os.SEEK_END)

    def rockets(self, seconds=0.5):
        """[(slots, bytes), …] of the driver's messages within that time."""
        end = time.monotonic() + seconds
        found = []
        while True:
            try:
                line = os.read(self._log, 8192).decode(errors="replace")
            except BlockingIOError:
                if time.monotonic() > end:
                    return found
                time.sleep(0.05)
                continue
            found += [tuple(map(int, match)) for match in ROCKET.findall(line)]

    def close(self):
        os.close(self._log)

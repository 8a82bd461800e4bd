# SPDX-License-Identifier: GPL-2.0-or-later
"""A sick host is named: one fault in a healthy load, and it is the first line of `drops`, before
everything that the load leaves behind, with the number of packets that the kernel itself counted.
In an emulated machine this is the first line for the whole host, elsewhere the first one of the
namespaces of the test.
"""

import contextlib
import errno
import os
import socket
import struct

import pytest

from lab import loads, servers, waiting

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("bpf")]

ALONE = "NETFLOWD_VM" in os.environ
COUNT = 20
SIZE = 100  # bytes of payload


@pytest.fixture
def link(lab, tmp_path):
    """Two hosts with two links.  On one, nginx serves while the test runs; the other is free."""
    left, right = servers.host(lab), servers.host(lab)
    busy, own = servers.Link(lab, left, right, 1), servers.Link(lab, left, right, 2)
    with servers.nginx(right, tmp_path / "nginx"):
        def turn():
            servers.ab(left, busy.right_address(), 50, "-c", 5)
            servers.refused(left, busy.right_address(), 5)

        load = loads.Load(turn)
        load.start()
        try:
            yield own
        finally:
            load.stop()


def held(device, verb, rate):
    device.namespace.run("tc", "qdisc", verb, "dev", device.name, "root", "tbf", "rate", rate,
                         "burst", "20000" if rate == "1gbit" else "200", "limit", "1000000")


def accept_queue(link, stack):
    """A server that accepts too slowly: its queue has room for 2 * COUNT connections.

    Each of these faults returns the namespace in which packets drop, and a function that asks the
    kernel how many.
    """
    backlog = 2 * COUNT
    # Neighbours do not answer over a link that is held.
    for near, near_device, address, far_device in (
            (link.left, link.left_device, link.right_address(), link.right_device),
            (link.right, link.right_device, link.left_address(), link.left_device)):
        near.ip("neighbour", "replace", address, "lladdr", far_device.mac, "dev", near_device.name,
                "nud", "permanent")
    with link.right.entered():
        stack.enter_context(socket.create_server(("0.0.0.0", 8000), backlog=backlog))

    def connect(address, count):
        for _ in range(count):
            with link.left.entered():
                client = stack.enter_context(socket.socket())
            # It resets its connection at the end.  A FIN that nobody acknowledges would keep the
            # namespace, and be repeated, and dropped, while the next test runs.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.setblocking(False)
            assert client.connect_ex((address, 8000)) == errno.EINPROGRESS

    def queued():
        return int(link.right.run("ss", "-Hltn", "sport", "=", ":8000").split()[1])

    def arrived():
        # In this order, because a connection goes from the second to the first.
        return queued() + link.right.run("ss", "-Htn", "state", "syn-recv",
                                         "sport", "=", ":8000").count("\n")

    # The answers to most wait on this link, while others come over the busy one and fill the queue:
    # once it is full, the kernel answers no SYN.
    held(link.right_device, "add", "800bit")
    connect(link.right_address(), COUNT)
    assert waiting.until(arrived, lambda n: n >= COUNT) >= COUNT
    connect("10.80.1.2", backlog + 1)
    waiting.until(queued, lambda n: n == backlog + 1)
    held(link.right_device, "change", "1gbit")
    waiting.until(lambda: link.right.nstat()["TcpExtListenOverflows"], lambda n: n >= COUNT)
    return link.right, lambda: link.right.nstat()["TcpExtListenOverflows"]


def neighbour(link, stack):
    """A neighbour that is gone: its address is on the link, and nobody has it."""
    del stack
    sent = link.left.send_udp("10.80.2.77", 9, 3)
    waiting.until(lambda: link.left.ip("neighbour", "show", "10.80.2.77"),
                  lambda text: "FAILED" in text, seconds=10)
    # The kernel counts addresses that it could not resolve, but not their packets.
    return link.left, lambda: sent


def receive_buffer(link, stack):
    """A reader whose buffer is too small, and that does not read."""
    with link.right.entered():
        reader = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    reader.bind((link.right_address(), 9))
    link.left.send_udp(link.right_address(), 9, 10 * COUNT, "-s", SIZE)
    return link.right, lambda: link.right.nstat()["UdpRcvbufErrors"]


def transmit_queue(link, stack):
    """A device whose queue is too short for what its host sends.

    It would drop reports of multicast groups, too.  Those are no fault, but the kernel's counter
    has them: without IPv6 there are none.
    """
    del stack
    link.left.sysctl(**{f"net.ipv6.conf.{link.left_device.name}.disable_ipv6": 1})
    link.left.run("tc", "qdisc", "add", "dev", link.left_device.name, "root", "tbf", "rate", "800",
                  "burst", "200", "limit", "1000")
    link.left.send_udp(link.right_address(), 9, 10 * COUNT, "-s", SIZE, "-b", 1 << 20)
    return link.left, lambda: link.left_device.qdisc("tbf")["drops"]


def route(link, stack):
    """A router without a route to where the packets go."""
    del stack
    link.right.sysctl(**{"net.ipv4.ip_forward": 1})
    link.left.ip("route", "add", "10.99.0.0/24", "via", link.right_address())
    link.left.send_udp("10.99.0.1", 9, COUNT)
    return link.right, lambda: link.right.nstat()["IpExtInNoRoutes"]


def checksum(link, stack):
    """Frames whose IPv4 header was damaged on the way."""
    del stack
    with link.left.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((link.left_device.name, 0))
        ethernet = bytes.fromhex((link.right_device.mac + link.left_device.mac).replace(":", ""))
        ip = bytes.fromhex("4500001c000000004011dead0a5002010a500202") + bytes(8)
        for _ in range(COUNT):
            wire.send(ethernet + b"\x08\x00" + ip)
    return link.right, lambda: link.right.nstat()["IpExtInCsumErrors"]


def first_line(page, link):
    """The words of the first line of a page of `drops`: first is what is worst."""
    lines = page.splitlines()
    header = next(i for i, line in enumerate(lines) if line.split()[:1] == ["packets"])
    ours = {str(link.left.inode), str(link.right.inode)}
    words = (line.split() for line in lines[header + 1:])
    return next((line for line in words if ALONE or ours & set(line)), [])


@pytest.mark.parametrize("fault, reasons", [
    # netflowd's own drops and the kernel's counter have the same number here.
    (accept_queue, ("TCP_LISTEN_OVERFLOW", "ListenOverflows")),
    (neighbour, ("NEIGH_FAILED",)),
    pytest.param(receive_buffer, ("SOCKET_RCVBUFF",), marks=pytest.mark.smoke),
    # Up to 6.18 a qdisc gives no more than this; later ones say why.
    (transmit_queue, ("QDISC_DROP", "QDISC_OVERLIMIT", "QDISC_DROP_OVERLIMIT")),
    (route, ("IP_INNOROUTES",)),
    (checksum, ("IP_CSUM",)),
], ids=lambda value: getattr(value, "__name__", ""))
def test_the_fault_is_the_first_line(start, link, fault, reasons):
    daemon = start("elsewhere.interval=100ms")
    with contextlib.ExitStack() as stack:
        namespace, of_kernel = fault(link, stack)

        def pages():
            before = of_kernel()
            both = [daemon.netflowctl("drops", *words).stdout
                    for words in ((), ("--netns", namespace.inode))]
            return before if before == of_kernel() else None, both

        def named(found):
            count, both = found
            first = [first_line(page, link) for page in both]
            return count and all(
                words and int(words[0].replace(",", "")) == count and "fault" in words and
                any(reason in words for reason in reasons) and str(namespace.inode) in words
                for words in first)

        # A scan of the kernel's counters waits for 50 times the CPU time of the one before.
        found = waiting.until(pages, named, 60, 0.1)
    assert named(found), "\n".join([f"the kernel counted {found[0]}", *found[1]])

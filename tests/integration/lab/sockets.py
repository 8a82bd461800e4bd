# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of sockets in two namespaces, one to write and one to read."""

import contextlib
import socket
import struct

from . import patience

SO_TIMESTAMPNS = 35  # asm-generic/socket.h


def _family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


@contextlib.contextmanager
def udp(sender_namespace, reader_namespace, address, port):
    """(sender, reader)"""
    with contextlib.ExitStack() as stack:
        with reader_namespace.entered():
            reader = stack.enter_context(socket.socket(_family(address), socket.SOCK_DGRAM))
            reader.bind((address, port))
        with sender_namespace.entered():
            sender = stack.enter_context(socket.socket(_family(address), socket.SOCK_DGRAM))
            sender.connect((address, port))
        reader.settimeout(patience.seconds(10))
        yield sender, reader


@contextlib.contextmanager
def tcp(sender_namespace, reader_namespace, address, port):
    """(sender, reader), connected"""
    with contextlib.ExitStack() as stack:
        with reader_namespace.entered():
            listener = stack.enter_context(socket.socket(_family(address)))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.listen(1)
        with sender_namespace.entered():
            sender = stack.enter_context(socket.socket(_family(address)))
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sender.connect((address, port))
        reader = stack.enter_context(listener.accept()[0])
        reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader.settimeout(patience.seconds(10))
        yield sender, reader


@contextlib.contextmanager
def packet(device):
    """A packet socket as captures use it: it gets each packet that the device sends or receives."""
    every_protocol = 0x0003  # ETH_P_ALL
    with device.namespace.entered():
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(every_protocol))
    with tap:
        tap.bind((device.name, every_protocol))
        tap.settimeout(patience.seconds(10))
        yield tap


KINDS = {"udp": udp, "tcp": tcp}


def stamp_arrivals(reader):
    """The kernel keeps the time at which each datagram arrives.  It begins a moment later."""
    reader.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def arrival(reader):
    """Read a datagram; returns the time of its arrival, as time.time_ns()."""
    _, ((_, _, stamp),), _, _ = reader.recvmsg(2048, 64)
    second, nanosecond = struct.unpack("=qq", stamp)
    return second * 10**9 + nanosecond

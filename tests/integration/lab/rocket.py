# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/tools/rocket: UDP datagrams that need an exact number of slots (pages) when transmitted."""

import collections
import contextlib
import socket
import struct
import subprocess

from . import paths

Sent = collections.namedtuple("Sent", "sequence slots bytes")


def rocket(namespace, address, port, *slots, count=1):
    """Send `count` datagrams of each number of slots, in that order; returns a Sent for each."""
    numbers = namespace.tool("rocket", "-n", count, address, port, *slots)
    return [Sent(*numbers[at:at + 3]) for at in range(0, len(numbers), 3)]


def payload(sent):
    """The bytes that a reader must get."""
    head = struct.pack("!II", sent.sequence, sent.slots)
    return head + bytes(sent.sequence + 31 * i & 255 for i in range(len(head), sent.bytes))


@contextlib.contextmanager
def reader(namespace, address, port, seconds=10):
    """A socket for received(), bound before anything is sent."""
    with namespace.entered():
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        end.settimeout(seconds)
        end.bind((address, port))
        yield end


def received(end, count):
    """The next `count` payloads, in the order of their arrival."""
    return [end.recv(65536) for _ in range(count)]


class Built:
    """A datagram that is built first and sent by send().  `piece`: the bytes of each piece."""

    def __init__(self, namespace, address, port, slots, piece):
        with namespace.entered():
            self._tool = subprocess.Popen(
                [paths.TOOLS / "rocket", "-w", "-s", str(piece), address, str(port), str(slots)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.datagram = Sent(*map(int, self._tool.stdout.readline().split()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tool.communicate()

    def send(self):
        self._tool.stdin.write(b"\n")
        self._tool.stdin.flush()
        assert self._tool.stdout.readline() == b"sent\n"

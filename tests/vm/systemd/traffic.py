# SPDX-License-Identifier: GPL-2.0-or-later
"""Drops of a known number, from many causes."""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import time

NAMESPACES = 60
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
PORT = 9  # closed in every namespace


def _lo_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def _unshare():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")


class Load:
    """A process that keeps sending to closed ports, in NAMESPACES namespaces of its own.

    Each namespace is a cause of drops for IPv4, and one for IPv6.  The file gets a line for each
    round: the time before it, and the number of datagrams up to then.
    """

    causes = 2 * NAMESPACES

    def __init__(self, log):
        self.log = log
        self.pid = None

    def start(self):
        self.pid = os.fork()
        if not self.pid:
            try:
                self._run()
            finally:
                os.kill(os.getpid(), signal.SIGKILL)

    def _run(self):
        sockets = []
        for _ in range(NAMESPACES):
            _unshare()
            _lo_up()
            for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                # The socket stays in the namespace in which it was made.
                made = socket.socket(family, socket.SOCK_DGRAM)
                sockets.append((made, (address, PORT)))
        sent = 0
        with open(self.log, "w", encoding="utf-8") as log:
            while True:
                log.write(f"{time.time()} {sent}\n")
                log.flush()
                for made, address in sockets:
                    made.sendto(b"load", address)
                    sent += 1
                time.sleep(0.05)


def sent_until(log, moment):
    """How many datagrams the load had certainly sent at that time, by its file."""
    count = 0
    for line in log.read_text().splitlines():
        time_, number = line.split()
        if float(time_) <= moment:
            count = int(number)
    return count


def wait_for_write(directory, seconds):
    """Wait until the history's log changes: a write is then under way.  Whether it did in time."""
    path = directory / "history.db-wal"
    end = time.monotonic() + seconds
    before = os.stat(path)
    while time.monotonic() < end:
        now = os.stat(path)
        if (now.st_mtime_ns, now.st_size) != (before.st_mtime_ns, before.st_size):
            return True
    return False

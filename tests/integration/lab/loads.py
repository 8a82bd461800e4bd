# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads that run beside a test: skbs that never crossed a device, a flood, or any function."""

import contextlib
import socket
import struct
import threading

from . import patience

SO_RCVBUFFORCE = 33


class Load(threading.Thread):
    """Calls a function repeatedly until stop(), with a pause of `pause` seconds between."""

    def __init__(self, turn, pause=0):
        super().__init__(daemon=True)
        self.turn, self.pause = turn, pause
        self.turns = 0
        self.failure = None
        self.stopping = threading.Event()

    def run(self):
        try:
            while not self.stopping.is_set():
                self.turn()
                self.turns += 1
                self.stopping.wait(self.pause)
        # A test fails for any failure of its load: stop() raises it in the test's own thread.
        except Exception as failure:  # pylint: disable=broad-exception-caught
            self.failure = failure

    def stop(self):
        self.stopping.set()
        self.join(timeout=patience.seconds(10))
        assert self.failure is None, self.failure
        assert self.turns > patience.fewer(10), "the load did not run"


@contextlib.contextmanager
def loads(*turns):
    running = [Load(turn) for turn in turns]
    for load in running:
        load.start()
    try:
        yield running
    finally:
        for load in running:
            load.stop()


@contextlib.contextmanager
def reading(reader):
    """A thread reads all that arrives at a socket, which has room for a second of it."""
    def turn():
        with contextlib.suppress(TimeoutError):
            reader.recv(2048)

    reader.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    reader.settimeout(0.2)
    with loads(turn):
        yield


def unix_turn(kind):
    """Messages through an AF_UNIX pair: their readers pass skb_copy_datagram_iovec too."""
    a, b = socket.socketpair(socket.AF_UNIX, kind)

    def turn():
        for _ in range(50):
            a.send(b"x" * 700)
        for _ in range(50):
            b.recv(700)
    return turn


def netlink_turn():
    """Dumps of all links: netlink skbs, copied to their reader like a datagram."""
    RTM_GETLINK, NLM_F_REQUEST, NLM_F_DUMP, NLMSG_DONE = 18, 1, 0x300, 3
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    request = struct.pack("IHHII", 32, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + bytes(16)

    def turn():
        link.send(request)
        while struct.unpack_from("H", link.recv(65536), 4)[0] != NLMSG_DONE:
            pass
    return turn


class Flood:
    """Datagrams through the loopback device as fast as Python sends them."""

    def __init__(self):
        self.going = True
        self.receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.receiver.bind(("127.0.0.1", 0))
        self.receiver.settimeout(0.2)
        self.threads = [threading.Thread(target=turn) for turn in (self._send, self._receive)]

    def _send(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect(self.receiver.getsockname())
            while self.going:
                sender.send(bytes(64))

    def _receive(self):
        while self.going:
            try:
                self.receiver.recv(2048)
            except TimeoutError:
                pass

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.going = False
        for thread in self.threads:
            thread.join()
        self.receiver.close()

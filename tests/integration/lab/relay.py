# SPDX-License-Identifier: GPL-2.0-or-later
"""A network that delays, drops, reorders and duplicates what a test says, and knows what it did:
tests/tools/relay between two TUN devices.  Nothing that it drops passes the kernel."""

import json
import subprocess

from . import paths, patience
from .net import Device

A, B = "a", "b"  # the sides: what they send


class Relay:
    """left ── TUN ── relay ── TUN ── right.  What left sends is of side A, what right sends of B.
    Use it with `with`: the devices are gone after it."""

    LEFT4, RIGHT4 = "10.77.9.1", "10.77.9.2"

    def __init__(self, lab, round_trip_ms=0, seed=1):
        self.left, self.right = lab.namespace(ipv6=False), lab.namespace(ipv6=False)
        ends = [(namespace, lab.name(), namespace.new_index())
                for namespace in (self.left, self.right)]
        words = [str(word) for namespace, name, index in ends
                 for word in (f"/run/netns/{namespace.name}", name, index)]
        self._process = subprocess.Popen(
            [str(paths.TOOLS / "relay"), *words, str(seed)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)
        self._expect("ready")
        self.left_device, self.right_device = (
            _set_up(namespace, name, own, other) for (namespace, name, _), own, other in
            ((ends[0], self.LEFT4, self.RIGHT4), (ends[1], self.RIGHT4, self.LEFT4)))
        for side in A, B:
            self.delay(side, round_trip_ms / 2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(timeout=patience.seconds(10))
        self._process.stdout.close()

    def _line(self):
        line = self._process.stdout.readline().strip()
        assert line, f"the relay has ended: exit {self._process.wait()}"
        return line

    def _expect(self, word):
        line = self._line()
        assert line == word, line

    def _tell(self, *words):
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def _obey(self, *words):
        self._tell(*words)
        self._expect("ok")

    def delay(self, side, milliseconds):
        """Of all packets that the side sends from now on."""
        self._obey("delay", side, round(milliseconds * 1000))

    def drop(self, side, which):
        """`which` packets with payload, from now on: N, the Nth, "N-M", or "1/N", one in N at
        random."""
        self._obey("drop", side, which)

    def duplicate(self, side, which):
        self._obey("duplicate", side, which)

    def hold(self, side, which, milliseconds):
        """Deliver them that much later than the others."""
        self._obey("hold", side, which, round(milliseconds * 1000))

    def report(self):
        """By side: the numbers of packets `taken` from it, of them with `payload`, `given` to the
        other, `dropped`, `duplicated` and `held`; and `waits`: for each TCP segment that was
        given behind a hole in its sequence, its destination `port`, `sequence`, when it was given
        (`since_ns`, CLOCK_MONOTONIC), and how long before the one that filled the hole (`ns`)."""
        self._tell("report")
        report = json.loads(self._line())
        self._expect("ok")
        return report


def _set_up(namespace, name, own, other):
    namespace.ip_batch(f"address add {own} peer {other} dev {name}", f"link set {name} up")
    return Device(namespace, name)

# SPDX-License-Identifier: GPL-2.0-or-later
"""What is on its way, and what has been there for too long."""

import socket
import time

from lab import waiting


def test_what_has_long_gone_is_not_in_flight(start, bpf, silent_pair):
    """A datagram that no process reads: in flight at first, stale after 10 s."""
    del bpf
    daemon = start("inflight.entries=1048576")  # no three of them meet in a set of two
    with silent_pair.right.entered():
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        silent.bind((silent_pair.RIGHT4, 7000))
    try:
        before = daemon.status()["inflight"]["stale"]
        silent_pair.left.send_udp(silent_pair.RIGHT4, 7000, 150, "-s", 10)
        assert waiting.until(lambda: daemon.status()["inflight"]["in_flight"],
                             lambda count: count >= 150) >= 150
        time.sleep(10.5)
        stale = waiting.until(lambda: daemon.status()["inflight"]["stale"] - before,
                              lambda count: count >= 150, seconds=10)
        assert stale >= 150
    finally:
        silent.close()

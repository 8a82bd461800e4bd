# SPDX-License-Identifier: GPL-2.0-or-later
"""Two CPUs may both see a UDP datagram's end: the one that reads it and the one that frees it."""

import os

import pytest

from lab import paths, waiting


@pytest.mark.simultaneous
@pytest.mark.skipif(os.cpu_count() < 2, reason="takes two CPUs")
def test_a_datagram_is_timed_once(daemon, lab):
    namespace = lab.namespace(ipv6=False)
    device = namespace.loopback()
    words = namespace.run(paths.TOOLS.parent / "bench" / "udp_flood", "1", "64", "0", "1").split()
    received = int(words[1])

    def timed():
        return daemon.latency(device, "receive→copy")["count"]

    count = waiting.settled(timed, received)
    assert count <= received
    # A reader that took a datagram before it was seen to stand in the queue is not timed.
    assert count >= received * 0.97

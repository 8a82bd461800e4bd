# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's scans of the kernel's other counters of drops."""

from . import waiting

QUICK = "elsewhere.interval=100ms"
# A scan waits for 50 times the CPU time of the one before, and a guest under load is slow; a client
# that asks all the time waits too.
SECONDS, PAUSE = 60, 0.25


def finished(daemon, times=2):
    """Wait for scans that end after this call; the last of two also begins after it."""
    before = daemon.status()["elsewhere"]["scans"]
    assert waiting.until(lambda: daemon.status()["elsewhere"]["scans"],
                         lambda scans: scans >= before + times, SECONDS, PAUSE) >= before + times

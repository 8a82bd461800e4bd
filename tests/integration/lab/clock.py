# SPDX-License-Identifier: GPL-2.0-or-later
"""A host's clock that a test moves (tests/tools/preload/wall_clock.c): hours and days pass in
seconds.  Only CLOCK_REALTIME and CLOCK_BOOTTIME are the test's; packets, timers and delays are
real."""

import datetime
import os
import struct

from . import paths, waiting


def text(seconds):
    """RFC 3339, as the methods take it."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


def seconds(when):
    """The seconds since 1970 of a time in a reply, to the microsecond."""
    return datetime.datetime.fromisoformat(when[:26] + when[-6:]).timestamp()


class Clock:
    """It stands still, but for advance() and step()."""

    def __init__(self, directory, now):
        self._file = directory / "clock"
        self._steps = directory / "clock.steps"
        self._file.write_bytes(bytes(16))
        os.mkfifo(self._steps)
        # Kept open, so that a step without a daemon is lost and does not wait.
        self._fifo = os.open(self._steps, os.O_RDWR | os.O_NONBLOCK)
        self.now = now
        self.up = 1000.0
        self._set()

    def close(self):
        os.close(self._fifo)

    def _set(self):
        with open(self._file, "r+b", buffering=0) as file:
            file.write(struct.pack("=qq", round(self.now * 1e9), round(self.up * 1e9)))

    @property
    def environment(self):
        """For the programs that see this clock."""
        return {"LD_PRELOAD": str(paths.TOOLS / "preload" / "wall_clock.so"),
                "WALL_CLOCK_FILE": str(self._file), "WALL_CLOCK_STEPS": str(self._steps)}

    def advance(self, now):
        """Time passes until then."""
        assert now >= self.now
        self.up += now - self.now
        self.now = now
        self._set()

    def step(self, now):
        """Somebody sets the clock; the kernel tells programs that ask for it."""
        self.now = now
        self._set()
        os.write(self._fifo, b"x")


def written(daemon, now):
    """Wait until all that happened up to `now`, a time of the daemon's clock, is in the history."""
    def read():
        when = daemon.status()["history"].get("written")
        return seconds(when) if when else 0.0
    found = waiting.until(read, lambda at: at >= now - 1e-5, seconds=10, pause=0.005)
    assert found >= now - 1e-5, daemon.status()["history"]

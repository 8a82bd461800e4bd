# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for a condition, with a time limit."""

import time

from . import patience


def until(read, good, seconds=5.0, pause=0.02):
    """Read until good(value) holds; returns the last value read, good or not."""
    end = time.monotonic() + patience.seconds(seconds)
    while True:
        value = read()
        if good(value) or time.monotonic() > end:
            return value
        time.sleep(pause)


def settled(read, expected, seconds=5.0, still=0.1):
    """Read until the value is `expected`, and once more a moment later, in case it runs past it."""
    value = until(read, lambda v: v == expected, seconds)
    if value == expected:
        time.sleep(still)
        value = read()
    return value

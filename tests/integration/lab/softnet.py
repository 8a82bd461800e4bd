# SPDX-License-Identifier: GPL-2.0-or-later
"""The counters of /proc/net/softnet_stat, and a host that squeezes its receive softirqs."""

import contextlib
import pathlib

import pytest

BUDGET = pathlib.Path("/proc/sys/net/core/netdev_budget")


def softnet():
    """{cpu: (processed, dropped, time_squeeze)} as the kernel prints it."""
    rows = {}
    lines = pathlib.Path("/proc/net/softnet_stat").read_text().splitlines()
    for number, line in enumerate(lines):
        words = [int(word, 16) for word in line.split()]
        # Since 5.10, a column of its own holds the CPU.
        rows[words[12] if len(words) > 12 else number] = tuple(words[:3])
    return rows


def received():
    """Packets that the whole host received."""
    return sum(row[0] for row in softnet().values())


def squeezed():
    """Receive softirqs of all CPUs that ended with packets left."""
    return sum(row[2] for row in softnet().values())


@contextlib.contextmanager
def squeezing():
    """net_rx_action() gives up after each poll that found a packet, on the whole host."""
    before = BUDGET.read_text()
    try:
        BUDGET.write_text("1")
    except OSError as error:
        pytest.skip(f"cannot write {BUDGET}: {error.strerror}")
    try:
        yield
    finally:
        BUDGET.write_text(before)

# SPDX-License-Identifier: GPL-2.0-or-later
"""What /proc/net/softnet_stat counts, and a host that squeezes its receive softirqs."""

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
        # The CPU is a column of its own since 5.10.
        rows[words[12] if len(words) > 12 else number] = tuple(words[:3])
    return rows


def squeezed():
    """Receive softirqs that ended with packets left, of all CPUs."""
    return sum(row[2] for row in softnet().values())


@contextlib.contextmanager
def squeezing():
    """net_rx_action() gives up after each poll that found a packet, on all of the host."""
    before = BUDGET.read_text()
    try:
        BUDGET.write_text("1")
    except OSError as error:
        pytest.skip(f"{BUDGET} cannot be written: {error.strerror}")
    try:
        yield
    finally:
        BUDGET.write_text(before)

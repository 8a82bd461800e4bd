# SPDX-License-Identifier: GPL-2.0-or-later
"""Fragmented free memory: tests/tools/fragment."""

import contextlib
import pathlib
import subprocess

from . import paths

# These let the kernel run with few free pages, keep locked pages where they are, and keep
# allocations from falling back to ZONE_DMA, whose free blocks stay whole.
SETTINGS = {
    "min_free_kbytes": "1024",
    "compact_unevictable_allowed": "0",
    "lowmem_reserve_ratio": "1",
}


@contextlib.contextmanager
def fragmented():
    """Leave single free pages, but no block of 8 free pages or more."""
    with contextlib.ExitStack() as stack:
        for name, value in SETTINGS.items():
            setting = pathlib.Path("/proc/sys/vm", name)
            stack.callback(setting.write_text, setting.read_text())
            setting.write_text(value)
        fragment = stack.enter_context(subprocess.Popen(
            [paths.TOOLS / "fragment"], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert int(fragment.stdout.readline() or 0), f"fragment: exit {fragment.wait()}"
        yield


def free_block():
    """True if there is a free block of 8 pages or more outside ZONE_DMA."""
    zones = [line.split() for line in pathlib.Path("/proc/buddyinfo").read_text().splitlines()]
    return any(int(blocks) for zone in zones if zone[3] != "DMA" for blocks in zone[4 + 3:])

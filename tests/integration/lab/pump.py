# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/tools/pump: what it sends is read, all of it."""

import collections

from . import paths
from .net import run

Pumped = collections.namedtuple("Pumped", "messages bytes messages_read bytes_read")


def pump(kind, writer, reader, address, port, count, size=100, window=32, before=(), timeout=300):
    """From one Namespace to another; `before`: a command that runs it."""
    out = run(*before, paths.TOOLS / "pump", "-w", window, "-s", size,
              "-W", f"/run/netns/{writer.name}", "-R", f"/run/netns/{reader.name}",
              kind, address, port, count, timeout=timeout)
    return Pumped(*map(int, out.split()))

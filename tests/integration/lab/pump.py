# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/tools/pump: it sends messages and reads all of them."""

import collections

from . import paths
from .net import run

Pumped = collections.namedtuple("Pumped", "messages bytes messages_read bytes_read")


def pump(kind, writer, reader, address, port, count, size=100, window=32, before=(), patient=False,
         timeout=300):
    """Send from one Namespace to another; `before` is a command prefix that runs the tool.
    `patient`: the reader sleeps in recv() when a message is sent."""
    out = run(*before, paths.TOOLS / "pump", *["-p"] * patient, "-w", window, "-s", size,
              "-W", f"/run/netns/{writer.name}", "-R", f"/run/netns/{reader.name}",
              kind, address, port, count, timeout=timeout)
    return Pumped(*map(int, out.split()))

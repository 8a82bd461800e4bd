# SPDX-License-Identifier: GPL-2.0-or-later
"""How slow this machine is.

NETFLOWD_PATIENCE says how many times slower than hardware (1 unless set; tests/vm sets it for its
guests).  It stretches limits of time, and the delays that tests make on purpose, so that the time
the machine itself takes is as small beside them as elsewhere, and makes floods smaller where only
their rate matters.  It changes no answer, and no count of what was sent and seen.
"""

import os

FACTOR = float(os.environ.get("NETFLOWD_PATIENCE", "1"))
# How far two clocks, or a clock and a moment that a test made, may be apart.
CLOCK_NS = 1e6 * FACTOR


def seconds(limit):
    """A limit in seconds, or None for none, on this machine."""
    return None if limit is None else limit * FACTOR


def milliseconds(delay):
    """A delay that a test makes, whole milliseconds."""
    return round(delay * FACTOR)


def fewer(count):
    """A rate, or the packets of a flood that is to last as long as elsewhere, whatever their number."""
    return round(count / FACTOR)

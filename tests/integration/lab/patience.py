# SPDX-License-Identifier: GPL-2.0-or-later
"""How slow this machine is.

NETFLOWD_PATIENCE is the factor by which it is slower than hardware (default 1; tests/vm sets it for
its guests).  The factor stretches time limits and the delays that tests make on purpose, so that
the machine's own delays stay small compared with them.  It makes floods smaller where only their
rate matters.  It changes no answer, and no count of packets that were sent and seen.
"""

import os

import pytest

FACTOR = float(os.environ.get("NETFLOWD_PATIENCE", "1"))
# How far two clocks, or a clock and a moment that a test made, may be apart.
CLOCK_NS = 1e6 * FACTOR

# For tests of how a budget is spent, to which the kernel makes no difference.
needs_real_cpus = pytest.mark.skipif(
    FACTOR > 1, reason="on an emulated CPU, the least that netflowd can do exceeds the budget")


def seconds(limit):
    """A time limit in seconds on this machine; None, no limit, stays None."""
    return None if limit is None else limit * FACTOR


def milliseconds(delay):
    """A delay that a test makes, in whole milliseconds."""
    return round(delay * FACTOR)


def fewer(count):
    """A rate, or the packets of a flood that must last as long as on hardware."""
    return round(count / FACTOR)

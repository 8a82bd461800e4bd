# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios that need the host's help: a CPU for some milliseconds, a timer that fires on time.

A test proves by what it measured, or by the kernel's trace, that its scenario took place.  An
attempt in which it did not is no verdict: it is made again, and ten of these are a failure.
"""

ATTEMPTS = 10


class Invalid(Exception):
    """The host did not let the scenario take place; the text says what was missing."""


def need(condition, reason):
    """End this attempt without a verdict unless the scenario took place."""
    if not condition:
        raise Invalid(str(reason))


def valid(attempt):
    """What `attempt` returns, the first time that its scenario takes place."""
    reasons = []
    while len(reasons) < ATTEMPTS:
        try:
            return attempt()
        except Invalid as reason:
            reasons.append(str(reason))
    raise AssertionError("the host did not let the scenario take place: " + "; ".join(reasons))

# SPDX-License-Identifier: GPL-2.0-or-later
"""The equations of GetStatus, read at a moment when nothing moves."""

from . import waiting

_ENDS = ("delivered", "transmitted", "forwarded", "dropped", "overwritten", "invalidated",
         "in_flight", "stale", "unaccounted")


def since(after, before):
    return {k: after[k] - before[k] for k in after
            if isinstance(after[k], int) and not isinstance(after[k], bool)}


def _still(status):
    latency = status["latency"]
    return not status["inflight"]["moved"] and not status["drops"]["moved"] and \
        not status["inflight"]["unaccounted"] and \
        latency["chosen"] == latency["recorded"] + latency["throttled"] + latency["ring_full"]


def quiet(daemon, seconds=20):
    """A status during whose reading no packet of the host moved."""
    return waiting.until(daemon.status, _still, seconds)


def check_balanced(daemon):
    """Check that all equations hold, to the unit; returns the status."""
    status = quiet(daemon)
    inflight, drops, latency = status["inflight"], status["drops"], status["latency"]
    assert inflight["begun"] == sum(inflight[end] for end in _ENDS), inflight
    assert inflight["unaccounted"] == 0 and inflight["balanced"] is True, inflight
    real = drops["hits"] - drops["completed"]
    assert real == drops["counted"] + drops["unkeyed"], drops
    assert real == drops["recorded"] + drops["throttled"] + drops["ring_full"], drops
    assert latency["chosen"] == \
        latency["recorded"] + latency["throttled"] + latency["ring_full"], latency
    return status

# SPDX-License-Identifier: GPL-2.0-or-later
"""Which probes a daemon has on this kernel."""

import os

# Every probe is attached, if the host has its device.
ALL = "slots.devices=*"


def facts(daemon):
    """What tests/vm/table compares, of a daemon with ALL."""
    return {"release": os.uname().release,
            "probes": daemon.call("ListProbes")["probes"],
            "coverage": daemon.status()["coverage"]}


def attached(daemon, probe):
    return any(p["name"] == probe and p["state"] == "attached"
               for p in daemon.call("ListProbes")["probes"])


def follows_queues(daemon):
    """True if this kernel does not let netflowd know which skb a UDP reader reads (bpf/reader.h).
    A reader on another CPU can then be faster than netflowd."""
    return attached(daemon, "sock_recv_length")

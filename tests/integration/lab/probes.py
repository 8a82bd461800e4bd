# SPDX-License-Identifier: GPL-2.0-or-later
"""Which probes a daemon has on this kernel."""


def attached(daemon, probe):
    return any(p["name"] == probe and p["state"] == "attached"
               for p in daemon.call("ListProbes")["probes"])


def follows_queues(daemon):
    """True if this kernel does not let netflowd know which skb a UDP reader reads (bpf/reader.h).
    A reader on another CPU can then be faster than netflowd."""
    return attached(daemon, "sock_recv_length")

# SPDX-License-Identifier: GPL-2.0-or-later
"""`perf script netdev-times`, run by perf itself: what others make of the same packets."""

import collections
import os
import re
import shutil
import subprocess

# What its record script asks for, but for skb:kfree_skb: since 5.17 that event has a `reason`, and
# the script of perf 6.1, which does not know of it, ends with an error at the first one.  It would
# only say which of the received packets were dropped.
EVENTS = ("net:net_dev_xmit", "net:net_dev_queue", "net:netif_receive_skb", "net:netif_rx",
          "skb:consume_skb", "skb:skb_copy_datagram_iovec", "napi:napi_poll",
          "irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_entry",
          "irq:softirq_exit", "irq:softirq_raise")

_BEGIN = re.compile(r"(\d+\.\d+)sec cpu=\d+")
_EVENT = re.compile(r"(irq_entry|softirq_entry|netif_receive_skb|skb_copy_datagram_iovec)"
                    r"\(\+(-?[\d.]+)msec(.*)\)")

# One packet; times in ns from the first interrupt of its softirq, `copy` None when it was not seen.
Received = collections.namedtuple("Received", "length softirq_entry receive copy")


def why_not():
    """Why it cannot be run here; None when it can."""
    perf = shutil.which("perf")
    if not perf:
        return "perf is not installed: package linux-perf"
    listed = subprocess.run([perf, "script", "-l"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)
    return None if "netdev-times" in listed.stdout else "this perf has no script netdev-times"


def record(file):
    """The words before a command that record what happens while it runs."""
    words = ["perf", "record", "-q", "-a", "-m", "8M", "-o", str(file)]
    for event in EVENTS:
        words += ["-e", event]
    return [*words, "--"]


def received(file):
    """What it makes of a recording: the Received of every packet that it shows."""
    os.rename(file, file.with_name("perf.data"))  # the name that its report script reads
    done = subprocess.run(["perf", "script", "report", "netdev-times", "rx"], cwd=file.parent,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=300)
    if done.returncode:
        raise RuntimeError(f"netdev-times: exit {done.returncode}: {done.stderr.strip()}")
    return _packets(done.stdout)


def _packets(text):
    packets, entry = [], None
    for line in text.splitlines():
        if _BEGIN.match(line):
            entry = None
        event = _EVENT.search(line)
        if not event:
            continue
        name, at = event[1], float(event[2]) * 1e6
        if name == "softirq_entry":
            entry = at
        elif name == "netif_receive_skb":
            length = int(re.search(r"len=(\d+)", event[3])[1])
            packets.append(Received(length, entry, at, None))
        elif name == "skb_copy_datagram_iovec":
            packets[-1] = packets[-1]._replace(copy=at)
    return packets

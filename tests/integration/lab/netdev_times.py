# SPDX-License-Identifier: GPL-2.0-or-later
"""`perf script netdev-times`, run by perf itself: an independent view of the same packets."""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from . import patience

# The events of its record script, without skb:kfree_skb.  Since 5.17 that event has a `reason`,
# which the script of perf 6.1 does not know: it ends with an error at the first such event.  The
# event would only show which of the received packets were dropped.
EVENTS = ("net:net_dev_xmit", "net:net_dev_queue", "net:netif_receive_skb", "net:netif_rx",
          "skb:consume_skb", "skb:skb_copy_datagram_iovec", "napi:napi_poll",
          "irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_entry",
          "irq:softirq_exit", "irq:softirq_raise")

_BEGIN = re.compile(r"(\d+)\.(\d{6})sec cpu=\d+")
_EVENT = re.compile(r"(softirq_entry|netif_receive_skb)"
                    r"\(\+(-?[\d.]+)msec(.*)\)")

# What the script of perf 6.1 takes only from this tree's driver.
DRIVER = pathlib.Path(__file__).with_name("netdev_times_driver.py")

# All that it found, see netdev_times_driver.py, and the lines that it printed.
Found = collections.namedtuple("Found", "events runs sent lines")

# One packet, in CLOCK_MONOTONIC ns; `irq` is the first interrupt of its softirq.
Received = collections.namedtuple("Received", "length irq softirq_entry receive")


class Incomplete(Exception):
    """Not all of the traffic is there."""


def why_not():
    """Why it cannot run here; None if it can."""
    perf = shutil.which("perf")
    if not perf:
        return "perf is not installed: package linux-perf"
    listed = subprocess.run([perf, "script", "-l"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)
    return None if "netdev-times" in listed.stdout else "this perf has no script netdev-times"


@contextlib.contextmanager
def recording(directory, more=()):
    """perf records the kernel's events, and those that `more` adds, into that directory."""
    # Without -o, perf writes to its standard output, because that is a pipe.
    words = ["perf", "record", "-q", "-a", "-m", "8M", "-k", "CLOCK_MONOTONIC",
             "-o", "perf.data"]
    for event in EVENTS:
        words += ["-e", event]
    words += more
    # The command that perf runs reports that perf records, and its end stops perf.
    words += ["--", "sh", "-c", "echo ready; read -r line"]
    with subprocess.Popen(words, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as perf:
        try:
            assert perf.stdout.readline() == "ready\n", "perf record did not start"
            yield
        finally:
            perf.stdin.close()
    assert (directory / "perf.data").exists(), "perf record wrote nothing"


def found(directory):
    """What it finds in the recording in that directory, which may have skb:kfree_skb."""
    place = directory / "found.json"
    done = subprocess.run(["perf", "script", "-i", "perf.data", "-s", DRIVER], cwd=directory,
                          env={**os.environ, "NETDEV_TIMES": str(_script()), "FOUND": str(place)},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False,
                          stderr=subprocess.PIPE, timeout=patience.seconds(120))
    if done.returncode:
        raise RuntimeError(f"netdev-times: exit {done.returncode}: {done.stderr.strip()}")
    if re.search(r"\blost \d+", done.stderr):
        raise Incomplete(f"perf lost events: {done.stderr.strip()}")
    its = json.loads(place.read_text(encoding="utf-8"))
    if any(its.pop("overflow")):
        raise Incomplete("netdev-times forgot packets: its tables have room for 65536")
    times = [event[0] for event in its["events"]]
    assert times == sorted(times), "events came out of order, and netdev-times sorts nothing"
    return Found(lines=done.stdout.splitlines(), **its)


def _script():
    """Where perf has it."""
    done = subprocess.run(["perf", "--exec-path"], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(done.stdout.strip(), "scripts/python/netdev-times.py")


def received(directory):
    """The packets that it shows for the recording in that directory, a Received for each."""
    done = subprocess.run(["perf", "script", "report", "netdev-times", "rx"], cwd=directory,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=600)
    if done.returncode:
        raise RuntimeError(f"netdev-times: exit {done.returncode}: {done.stderr.strip()}")
    return _packets(done.stdout)


def _packets(text):
    packets, irq, entry = [], None, None
    for line in text.splitlines():
        begin = _BEGIN.match(line)
        if begin:
            irq = int(begin[1]) * 1_000_000_000 + int(begin[2]) * 1000
        event = _EVENT.search(line)
        if not event:
            continue
        at = irq + float(event[2]) * 1e6
        if event[1] == "softirq_entry":
            entry = at
        else:
            length = int(re.search(r"len=(\d+)", event[3])[1])
            packets.append(Received(length, irq, entry, at))
    return packets

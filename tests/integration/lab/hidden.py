# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel hides from the programs.

A kernel that is not Debian's may exempt tasks from tracing: it runs no program for what happens on
top of them, such as a packet that arrives in their time, but its own trace events.
"""

import collections
import contextlib
import os
import pathlib
import re

from . import attempts, kernel

# What may take away a packet's stage, or that a reader of the tests got on its CPU.
EVENTS = {"net/netif_receive_skb": "0", "net/net_dev_queue": "0", "net/net_dev_start_xmit": "0",
          "net/net_dev_xmit": "0", "napi/napi_poll": "0", "skb/kfree_skb": "0",
          "sched/sched_switch": 'next_comm ~ "python*"'}
PREFIX = "nft-hidden-"


class Trace:
    """The kernel's trace of the exempted tasks: the threads of process 1, as far as is known."""

    def __init__(self, stack):
        instances = stack.enter_context(kernel.tracefs()) / "instances"
        _remove_abandoned(instances)
        self._instance = instances / f"{PREFIX}{os.getpid()}"
        self._instance.mkdir()
        stack.callback(kernel.remove_instance, self._instance)
        self._tasks = None
        self.begin()
        (self._instance / "buffer_size_kb").write_text("64")
        for event, which in EVENTS.items():
            (self._instance / "events" / event / "filter").write_text(which)
            (self._instance / "events" / event / "enable").write_text("1")

    def begin(self):
        """Forget what was hidden until now."""
        tasks = " ".join(sorted(os.listdir("/proc/1/task")))
        if tasks != self._tasks:
            (self._instance / "set_event_pid").write_text(tasks)
            self._tasks = tasks
        (self._instance / "trace").write_text("")

    def hidden(self):
        """{event: how many}"""
        lines = (self._instance / "trace").read_text(errors="replace").splitlines()
        events = (re.search(r": (\w+): ", line) for line in lines if line[0] != "#")
        return collections.Counter(event[1] for event in events if event)


def _remove_abandoned(instances):
    """Those of processes that were killed."""
    for instance in instances.glob(f"{PREFIX}*"):
        if not pathlib.Path("/proc", instance.name.removeprefix(PREFIX)).exists():
            with contextlib.suppress(OSError):
                kernel.remove_instance(instance)


@contextlib.contextmanager
def nothing(trace):
    """The attempt is valid only if the kernel hides nothing meanwhile; `trace` is None on a kernel
    that exempts no tasks."""
    if trace:
        trace.begin()
    yield
    events = trace.hidden() if trace else {}
    attempts.need(not events, f"hidden from the programs: {words(events)}")


def words(events):
    """What was hidden, in a line."""
    return ", ".join(f"{count} {event}" for event, count in sorted(events.items()))

# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that run again, because the kernel hid from the programs what they needed.

A kernel that is not Debian's may exempt tasks from tracing: it runs no program for what happens on
top of them, but its own trace events.  If one of these was a packet, a test with a daemon that
fails proves nothing.  It runs again up to two times, three such runs are all that a process makes,
and the summary says what was hidden.  A test that fails while nothing was hidden has failed; so has
one whose daemon crashed, ended with an error, left something behind, or has a sanitizer's report.
"""

import collections
import contextlib
import os
import pathlib
import re

from _pytest.runner import runtestprotocol

from . import kernel

# What may take away a packet's stage, or that a reader of the tests got on its CPU.
EVENTS = {"net/netif_receive_skb": "0", "net/net_dev_queue": "0", "net/net_dev_start_xmit": "0",
          "net/net_dev_xmit": "0", "napi/napi_poll": "0", "skb/kfree_skb": "0",
          "sched/sched_switch": 'next_comm ~ "python*"'}
TIMES, TIMES_IN_ALL = 2, 3
NEED_PROGRAMS = {"start", "daemon", "recording"}
SANITIZED = re.compile(r"Sanitizer: |runtime error: ")
PREFIX = "nft-hidden-"
OUTCOME = "repeated"


class Unclean(Exception):
    """A daemon crashed, ended with an error, left something behind, or has a sanitizer's report: no
    hidden event is the cause."""


class _Trace:
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


class Again:
    """Runs the tests with a daemon of this process, on a kernel that hides events."""

    def __init__(self):
        self._stack = contextlib.ExitStack()
        self._trace = None
        self._left = TIMES_IN_ALL

    def close(self):
        self._stack.close()

    def run(self, item, nextitem):
        """Run the test, and again if that is due; the last run is its verdict."""
        self._trace = self._trace or _Trace(self._stack)
        where = {"nodeid": item.nodeid, "location": item.location}
        item.ihook.pytest_runtest_logstart(**where)
        for left in reversed(range(TIMES + 1)):
            self._trace.begin()
            item.unclean = False
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            hidden = self._trace.hidden()
            if not (hidden and left and self._left and _may_repeat(item, reports)):
                break
            self._left -= 1
            self._log_repeated(item, reports, hidden)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(**where)

    def _log_repeated(self, item, reports, hidden):
        what = ", ".join(f"{count} {event}" for event, count in sorted(hidden.items()))
        # pytest copies it to the reports of the next run, and so to tests/run.
        item.user_properties.append((OUTCOME, f"hidden from the programs: {what}"))
        for report in reports:
            if report.failed:
                report.outcome = OUTCOME
                report.sections.append((OUTCOME, what))
                item.ihook.pytest_runtest_logreport(report=report)


def _may_repeat(item, reports):
    failed = [report for report in reports if report.failed]
    said = (text for report in failed
            for text in (report.longreprtext, *(content for _, content in report.sections)))
    return failed and not item.unclean and not any(map(SANITIZED.search, said))


def summarize(terminal):
    """The failures of the runs that were no verdict."""
    reports = terminal.getreports(OUTCOME)
    if reports:
        terminal.section("repeated, because the kernel hid events from the programs")
    for report in reports:
        hidden = dict(report.sections)[OUTCOME]
        terminal.write_line(f"{report.nodeid}, {report.when}: hidden: {hidden}")
        terminal.write_line(report.longreprtext)

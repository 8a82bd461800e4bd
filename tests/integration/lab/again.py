# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that run again, because the kernel hid from the programs what they needed.

A kernel that is not Debian's may exempt tasks from tracing: it runs no program for what happens on
top of them, but its own trace events.  If one of these was a packet, a test with a daemon that
fails proves nothing.  It runs again up to two times, three such runs are all that a process makes,
and the summary says what was hidden.  A test that fails while nothing was hidden has failed; so has
one whose daemon crashed, ended with an error, left something behind, or has a sanitizer's report.
"""

import contextlib
import re

from _pytest.runner import runtestprotocol

from . import hidden

TIMES, TIMES_IN_ALL = 2, 3
NEED_PROGRAMS = {"start", "kept", "daemon", "recording"}
SANITIZED = re.compile(r"Sanitizer: |runtime error: ")
OUTCOME = "repeated"


class Unclean(Exception):
    """A daemon crashed, ended with an error, left something behind, or has a sanitizer's report: no
    hidden event is the cause."""


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
        self._trace = self._trace or hidden.Trace(self._stack)
        where = {"nodeid": item.nodeid, "location": item.location}
        item.ihook.pytest_runtest_logstart(**where)
        for left in reversed(range(TIMES + 1)):
            self._trace.begin()
            item.unclean = False
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            events = self._trace.hidden()
            if not (events and left and self._left and _may_repeat(item, reports)):
                break
            self._left -= 1
            self._log_repeated(item, reports, events)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(**where)

    def _log_repeated(self, item, reports, events):
        what = hidden.words(events)
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

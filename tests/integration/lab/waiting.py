# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for a condition, with a time limit; and waits that are measured."""

import contextlib
import os
import pathlib
import time

from . import patience


def until(read, good, seconds=5.0, pause=0.02):
    """Read until good(value) holds; returns the last value read, good or not."""
    end = time.monotonic() + patience.seconds(seconds)
    while True:
        value = read()
        if good(value) or time.monotonic() > end:
            return value
        time.sleep(pause)


def settled(read, expected, seconds=5.0, still=0.1):
    """Read until the value is `expected`, and once more a moment later, in case it runs past it."""
    value = until(read, lambda v: v == expected, seconds)
    if value == expected:
        time.sleep(still)
        value = read()
    return value


def still(read, seconds=5.0, pause=0.2):
    """Read until the value is that of the reading before; returns it."""
    end = time.monotonic() + patience.seconds(seconds)
    value = read()
    while True:
        time.sleep(pause)
        last, value = value, read()
        if value == last or time.monotonic() > end:
            return value


def between(measured_ns, least_ns, most_ns):
    """From 5 % or 1 ms below the least to 5 % or 1 ms above the most."""
    return (least_ns - max(0.05 * least_ns, patience.CLOCK_NS) <= measured_ns <=
            most_ns + max(0.05 * most_ns, patience.CLOCK_NS))


class Wait:
    """A wait that the test makes and measures from outside: it begins within one call, which sends,
    and ends within another, which reads.  On a quiet machine its lower and upper limit differ by
    some microseconds; a busy machine may stop the test in between."""

    def __init__(self, send):
        self._before = time.monotonic_ns()
        send()
        self._sent = time.monotonic_ns()
        self.least_ns = self.most_ns = None

    def end(self, read):
        reading = time.monotonic_ns()
        result = read()
        self.least_ns = reading - self._sent
        self.most_ns = time.monotonic_ns() - self._before
        return result

    def is_of(self, measured_ns):
        """Whether that is what it lasted."""
        return between(measured_ns, self.least_ns, self.most_ns)


def time_of(call, pid):
    """Seconds that a call took, without those in which a thread of this process or of the process
    that answers was ready to run and others had the CPUs: any program of the machine causes that.
    """
    return time_and_result(call, pid)[0]


def time_and_result(call, pid):
    """time_of() the call, and what it returns."""
    before = _waited(os.getpid(), pid)
    begin = time.monotonic()
    result = call()
    took = time.monotonic() - begin
    after = _waited(os.getpid(), pid)
    waited = sum(after[thread] - before[thread] for thread in after.keys() & before.keys())
    return took - waited, result


def waited(pid):
    """Seconds for which the threads of a process were ready to run and others had the CPUs."""
    return sum(_waited(pid).values())


def _waited(*pids):
    """{thread: seconds that it waited for a CPU}"""
    waited = {}
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                waited[task] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return waited

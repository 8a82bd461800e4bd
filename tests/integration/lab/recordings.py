# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings, as trace-cmd reads them."""

import collections
import contextlib
import os
import pathlib
import re
import subprocess

from . import paths, patience
from .daemon import netflowctl
from .varlink import Client

TRACEFS = pathlib.Path("/sys/kernel/tracing")
INSTANCES = TRACEFS / "instances"
MARK = re.compile(r"netflowd: CLOCK_REALTIME - CLOCK_MONOTONIC = (-?\d+) ns")

# libtracecmd 3.1.6 does not free the name of a recording's clock.  LeakSanitizer recognizes that by
# the function, which the quick way to walk the stack does not find.
SANITIZER = {"ASAN_OPTIONS": "fast_unwind_on_malloc=0",
             "LSAN_OPTIONS": f"suppressions={paths.TREE / 'tests/integration/lab/leaks'}"}

# time in ns; the text behind the name
Event = collections.namedtuple("Event", "task pid cpu time name text")

_EVENT = re.compile(r"\s*(.*)-(\d+) +\[(\d+)\] +(\d+)\.(\d+): (\w+): +(.*)")


@contextlib.contextmanager
def mounted():
    """tracefs is where administrators find it."""
    if INSTANCES.exists():
        yield
        return
    subprocess.run(["mount", "-t", "tracefs", "nodev", TRACEFS], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", TRACEFS], check=True)


def instances():
    """The names of the instances of recordings."""
    return {entry.name for entry in INSTANCES.iterdir()
            if entry.name.startswith("netflowd-record-")}


def record(*arguments, **kwargs):
    return netflowctl("record", *arguments, check=False, **kwargs)


@contextlib.contextmanager
def recorder(*arguments):
    """A netflowd --record, which has begun to record; at the end it is no longer running."""
    process = subprocess.Popen([str(paths.DAEMON), "--record", *map(str, arguments)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line == f"recording into {arguments[0]}\n", process.communicate()
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def served(path, directory, *settings):
    """A Client of netflowd --replay."""
    directory.mkdir()
    words = [paths.DAEMON, "--replay", path, "--runtime-dir", directory]
    for setting in settings:
        words += ["--set", setting]
    with subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, env={**os.environ, **SANITIZER}) as process:
        try:
            line = process.stdout.readline()
            assert line == f"serving the recording on {directory}/io.netflowd\n", line
            with contextlib.closing(Client(directory / "io.netflowd")) as client:
                yield client
        finally:
            process.terminate()
    assert process.returncode == 0


def trace_cmd(*arguments):
    """What trace-cmd prints; it may complain about nothing."""
    done = subprocess.run(["trace-cmd", *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          errors="replace", timeout=patience.seconds(120))
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def events(path):
    """Every event of a recording, in the order of time."""
    found = [_EVENT.fullmatch(line) for line in
             trace_cmd("report", "-t", "-i", path).splitlines()
             if not line.startswith("cpus=") and "EVENTS DROPPED" not in line
             and not re.fullmatch(r"CPU \d+ is empty", line)]
    assert all(found), path
    return [Event(task, int(pid), int(cpu), int(seconds) * 10 ** 9 + int(rest), name, text)
            for task, pid, cpu, seconds, rest, name, text in (match.groups() for match in found)]


def summary(text):
    """(events, lost events) of the lines that end a recording."""
    recorded = re.search(r"^recorded ([\d,]+) events in ", text, re.MULTILINE)
    lost = re.search(r"^([\d,]+) events were lost, on CPU ", text, re.MULTILINE)
    assert recorded and bool(lost) != ("no event was lost\n" in text), text
    return (int(recorded[1].replace(",", "")), int(lost[1].replace(",", "")) if lost else 0)

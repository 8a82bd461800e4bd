# SPDX-License-Identifier: GPL-2.0-or-later
"""Known delays: a task takes a CPU, or a CPU serves no softirqs, until a known moment."""

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import time

from . import kernel, paths, patience, waiting

# The system calls of a Python thread that waits in recv, with a timeout or without: poll or ppoll,
# recvfrom.
_RECEIVING = {"x86_64": ("7", "45"), "aarch64": ("73", "207")}[os.uname().machine]

_SPIN = """
import os, sys, time
cpu, milliseconds = int(sys.argv[1]), int(sys.argv[2])
os.sched_setaffinity(0, {cpu})
print("ready", flush=True)
sys.stdin.readline()
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(30))
begin = time.monotonic_ns()
print(begin, flush=True)
end = begin + milliseconds * 1000000
while time.monotonic_ns() < end:
    pass
end = time.monotonic_ns()
# Sleep releases the CPU at once; the exit of Python would take longer.
time.sleep(0.02)
print(end, flush=True)
"""


def can_stall():
    """True if BPF_PROG_TEST_RUN keeps softirqs off (see softirq_stall): it did on 6.18, not on
    6.1."""
    return kernel.release() >= (6, 18)


def two_cpus():
    return len(os.sched_getaffinity(0)) >= 2


@contextlib.contextmanager
def urgent():
    """Ordinary tasks do not delay this thread (they do delay its children), so that it measures
    the delay that it makes and not how busy the machine is."""
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(20))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def on_cpu(cpu):
    """This thread runs on that CPU only, and ordinary tasks do not delay it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        with urgent():
            yield
    finally:
        os.sched_setaffinity(0, before)


class _Taker:
    """A process that prepares itself first and takes a CPU on command."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        if self._line() != "ready":
            self.process.wait()
            raise RuntimeError(f"{command[0]} did not start")

    def _line(self):
        return self.process.stdout.readline().strip()

    def _send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=patience.seconds(20))
        self.process.stdout.close()


class Spinner(_Taker):
    """A SCHED_FIFO task that spins on a CPU: no ordinary task runs there at the same time."""

    def __init__(self, cpu, milliseconds):
        super().__init__(sys.executable, "-c", _SPIN, cpu, milliseconds)

    def begin(self):
        """Begin to spin; returns the CLOCK_MONOTONIC ns of the begin."""
        self._send("\n")
        return int(self._line())

    def end(self):
        """Wait for the end; returns its CLOCK_MONOTONIC ns."""
        return int(self._line())


class Stall(_Taker):
    """A CPU that serves no softirqs: tests/tools/softirq_stall."""

    def __init__(self, cpu, milliseconds):
        super().__init__(paths.TOOLS / "softirq_stall", cpu, milliseconds)

    def begin(self):
        """Begin the stall; returns, once it is on, the CLOCK_MONOTONIC ns at which it ends."""
        self._send("\n")
        until = int(self._line())
        time.sleep(0.003)
        return until

    def wait(self):
        if self.process.wait(timeout=patience.seconds(20)):
            raise RuntimeError("the stall ended too soon")


class Reader(threading.Thread):
    """Reads one message from a socket, on one CPU; `tid` is the thread, `read_ns` the time after
    the read."""

    def __init__(self, socket, cpu):
        super().__init__(daemon=True)
        self.socket, self.cpu = socket, cpu
        self.read_ns = self.tid = self.message = None
        self._ready = threading.Event()

    def run(self):
        os.sched_setaffinity(0, {self.cpu})
        self.tid = threading.get_native_id()
        self._ready.set()
        self.message = self.socket.recv(65536)
        self.read_ns = time.monotonic_ns()

    def start_and_sleep(self):
        """Start; returns when the thread waits in recv."""
        self.start()
        self._ready.wait()
        waiting.until(self._sleeps_in_recv, bool)
        time.sleep(0.02)

    def _sleeps_in_recv(self):
        """True if the thread sleeps in recv, and not on Python's own lock."""
        task = pathlib.Path(f"/proc/self/task/{self.tid}")
        state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        return state == "S" and (task / "syscall").read_text().split()[0] in _RECEIVING


def receive_on(device, cpu):
    """The device passes the packets that it receives to that CPU (RPS)."""
    device.namespace.run("sh", "-c",
                         f"echo {1 << cpu:x} > /sys/class/net/{device.name}/queues/rx-0/rps_cpus")

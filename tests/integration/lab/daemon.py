# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts and stops netflowd, and calls its methods."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from . import backends, kernel, paths, patience, waiting
from .varlink import Client

# The sanitized build starts more slowly.
READY_SECONDS = 60
# A connection is not used again after this time without a call.
IDLE_SECONDS = 10


class NotReady(Exception):
    """The daemon ended before it was ready."""


class Daemon:
    """One run of netflowd.  `command` is a prefix that runs it: setpriv, unshare, deny_syscall.

    `pass_fds` are inherited, and `environment` is added to that of the tests.  `history` is a
    directory for the history on disk; without it, there is none.  The governor is off unless
    `settings` say otherwise, because most tests need every journey.  lab/backends.py says which
    backend it runs.
    """

    def __init__(self, directory, *settings, options=(), command=(), binary=None, pass_fds=(),
                 environment=None, history=None):
        self.directory = pathlib.Path(directory)
        # A pause is kept there, too: not where the next daemon finds it.
        settings = (f"history.directory={history or self.directory.with_suffix('.state')}",
                    *(() if history else ("history.enabled=no",)),
                    "cost.governor=off", *backends.settings(), *settings)
        self.socket_path = self.directory / "io.netflowd"
        self.options = [*options, *(o for setting in settings for o in ("--set", setting))]
        self.command = command or backends.command()
        self.binary = binary or paths.DAEMON
        self.pass_fds = pass_fds
        self.environment = environment or {}
        self.process = None
        self._client = None
        self._called = 0.0
        self.bpf = None
        self._runs = 0

    # ---- life ----

    def arguments(self):
        return [str(word) for word in (*self.command, self.binary, "--runtime-dir", self.directory,
                                       *self.options)]

    def start(self):
        """Start the daemon, and wait until it reports that it is ready."""
        self._runs += 1
        with self._notify_socket() as (notify, address):
            environment = {**os.environ, "NOTIFY_SOCKET": address,
                           "UBSAN_OPTIONS": "print_stacktrace=1", **self.environment}
            with open(self.log_path, "wb") as log:
                self.process = subprocess.Popen(self.arguments(), stdin=subprocess.DEVNULL,
                                                stdout=log, stderr=log, env=environment,
                                                pass_fds=self.pass_fds)
            self._wait_ready(notify)
        self.bpf = kernel.bpf_objects(self.pid)
        return self

    @contextlib.contextmanager
    def _notify_socket(self):
        address = self.directory / f"notify.{self._runs}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(address))
            address.chmod(0o777)
            notify.settimeout(0.1)
            try:
                yield notify, str(address)
            finally:
                address.unlink()

    def _wait_ready(self, notify):
        end = time.monotonic() + patience.seconds(READY_SECONDS)
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                if b"READY=1" in notify.recv(65536).split(b"\n"):
                    return
            if self.process.poll() is not None:
                raise NotReady(f"exit {self.process.returncode}: {self.log()}")
        self.process.kill()
        self.process.wait()
        raise NotReady(f"not ready after {READY_SECONDS} s: {self.log()}")

    def stop(self, number=signal.SIGTERM):
        """Stop the daemon; returns the exit status as subprocess gives it."""
        self.forget_client()
        self.process.send_signal(number)
        try:
            return self.process.wait(timeout=patience.seconds(20))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def forget_client(self):
        if self._client:
            self._client.close()
            self._client = None

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self):
        return self.process.pid

    @property
    def log_path(self):
        return self.directory / f"log.{self._runs}"

    def log(self):
        return self.log_path.read_text(errors="replace")

    def all_logs(self):
        return "".join(p.read_text(errors="replace")
                       for p in sorted(self.directory.glob("log.*")))

    def leftovers(self):
        """Everything that a stopped daemon left: its BPF objects, its socket, its other files."""
        def alive():
            return {f"{kind} {number}" for kind in ("prog", "map", "link")
                    for number in self.bpf[kind] & kernel.bpf_objects_alive(kind)}

        # The kernel frees BPF objects after an RCU grace period.
        left = waiting.until(alive, lambda found: not found)
        ours = re.compile(r"log\.\d+|lock")
        left |= backends.instances_of(self.pid)
        left |= {path.name for path in self.directory.iterdir() if not ours.fullmatch(path.name)}
        return left

    # ---- questions ----

    def client(self, **kwargs):
        """A separate connection; the caller closes it."""
        return Client(self.socket_path, **kwargs)

    def call(self, method, **parameters):
        # The daemon disconnects a client that has not called for 30 s (control.idle).
        if self._called + IDLE_SECONDS < time.monotonic():
            self.forget_client()
        if not self._client:
            self._client = self.client()
        if method.startswith("Get"):
            backends.catch_up()
        try:
            return self._client.call(method, **parameters)
        finally:
            self._called = time.monotonic()

    def status(self):
        return self.call("GetStatus")

    def coverage(self, question):
        return next(c for c in self.status()["coverage"] if c["question"] == question)

    def knows_reasons(self):
        return self.coverage("drop_reasons")["state"] != "unavailable"

    def drop_rows(self, device=None, protocol=None, reason=None):
        """The finest rows about a lab Device; ignores `reason` on a kernel without reasons."""
        if reason is not None and not self.knows_reasons():
            reason = None
        return [row for row in self.call("GetDrops")["rows"]
                if (device is None or backends.is_about(row, device))
                and (protocol is None or backends.is_of(row, protocol))
                and (reason is None or row.get("reason") == reason)]

    def dropped(self, device=None, protocol=None, reason=None):
        return sum(row["packets"] for row in self.drop_rows(device, protocol, reason))

    def records(self, device=None, protocol=None, limit=1 << 20, **parameters):
        records = self.call("GetDropRecords", limit=limit, **parameters)["records"]
        return [r for r in records
                if (device is None or backends.is_about(r, device))
                and (protocol is None or backends.is_of(r, protocol))]

    def latency(self, device, segment, direction=None):
        """The one latency of a lab Device, or None when it was not seen."""
        found = [l for l in self.call("GetLatency", all=True)["latencies"]
                 if backends.is_about(l, device)
                 and l["segment"] == segment and direction in (None, l["direction"])]
        assert len(found) <= 1
        return found[0] if found else None

    def netflowctl(self, *arguments, timeout=30, **kwargs):
        """Run the command line tool against this daemon."""
        backends.catch_up()
        done = netflowctl("--socket", self.socket_path, *arguments, timeout=timeout, **kwargs)
        backends.skip_refused(done.stderr)
        return done


def netflowctl(*arguments, timeout=30, **kwargs):
    return subprocess.run([str(paths.CLI), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          timeout=patience.seconds(timeout), **kwargs)

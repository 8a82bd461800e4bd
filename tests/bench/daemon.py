# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon under test: starts and stops it, calls its Varlink methods, reads its size."""

import json
import os
import pathlib
import socket
import subprocess
import time

START_TIMEOUT_S = 15
CALL_TIMEOUT_S = 30


class Failed(Exception):
    """A part of the benchmark could not run; the text says which and why."""


def private_process(command, **options):
    """Start a child that the kernel kills when this process ends in any way."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *command], **options)


def stop_process(process, number, timeout_s=20):
    """Signal the child and wait for its end; return its exit status."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failed(f"{process.args[4]} did not end within {timeout_s} s "
                     f"of signal {number}") from None


def cpu_ns(pid):
    """CPU time of all threads, from schedstat: it counts ns, and stat only clock ticks."""
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())


def host_cpu_ns():
    """The time that the CPUs were busy since the boot."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + softirq) * 10**9 // os.sysconf("SC_CLK_TCK")


def last_line(path):
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


class Daemon:
    def __init__(self, program, work, *settings):
        self.program = program
        # Its history goes to a directory of the benchmark.
        self.settings = self._known(program, f"history.directory={work / 'history'}", *settings)
        self.directory = work / "run"
        self.log = work / "netflowd.log"
        self.notify_path = work / "notify"
        self.process = None

    @staticmethod
    def _known(program, *settings):
        """The settings that a release knows: older ones lack some."""
        done = subprocess.run([str(program), "--help"], stdout=subprocess.PIPE, text=True,
                              check=False)
        return tuple(setting for setting in settings if setting.split("=")[0] in done.stdout)

    def start(self):
        """Start netflowd and wait for READY=1; return the seconds from exec to READY=1."""
        self.directory.mkdir(exist_ok=True)
        self.notify_path.unlink(missing_ok=True)
        with (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify,
              open(self.log, "wb") as log):
            notify.bind(str(self.notify_path))
            notify.settimeout(0.1)
            environment = dict(os.environ, NOTIFY_SOCKET=str(self.notify_path))
            begin = time.monotonic()
            self.process = private_process(
                [str(self.program), "--runtime-dir", str(self.directory),
                 *(word for setting in self.settings for word in ("--set", setting))],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            while not self._is_ready(notify):
                if self.process.poll() is not None:
                    raise Failed(f"netflowd ended before it was ready: {last_line(self.log)}")
                if time.monotonic() - begin > START_TIMEOUT_S:
                    raise Failed(f"netflowd was not ready after {START_TIMEOUT_S} s")
            return time.monotonic() - begin

    @staticmethod
    def _is_ready(notify):
        try:
            return b"READY=1" in notify.recv(4096).split(b"\n")
        except socket.timeout:
            return False

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """A failure to stop must not hide an earlier failure."""
        try:
            self.stop()
        except Failed:
            if kind is None:
                raise

    def stop(self):
        if self.process:
            process, self.process = self.process, None
            status = stop_process(process, 15)
            if status:
                raise Failed(f"netflowd exited with status {status}: {last_line(self.log)}")

    def call(self, method, **parameters):
        request = {"method": f"io.netflowd.{method}", "parameters": parameters}
        try:
            reply = self._exchange(json.dumps(request).encode())
        except OSError as error:
            raise Failed(f"netflowd, {method}: {error}") from None
        answer = json.loads(reply)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']} {answer.get('parameters')}")
        return answer["parameters"]

    def _exchange(self, request):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(CALL_TIMEOUT_S)
            client.connect(str(self.directory / "io.netflowd"))
            client.sendall(request + b"\0")
            reply = bytearray()
            while not reply.endswith(b"\0"):
                piece = client.recv(65536)
                if not piece:
                    raise ConnectionError("netflowd closed the connection in the middle of a reply")
                reply += piece
            return reply[:-1]

    def attached_probes(self, measure_ms=None):
        parameters = {} if measure_ms is None else {"measure_ms": measure_ms}
        probes = self.call("ListProbes", **parameters)["probes"]
        return [probe for probe in probes if probe["state"] == "attached"]

    def hits(self):
        return {probe["name"]: probe["hits"] for probe in self.attached_probes()}

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise Failed("/proc/PID/status of netflowd has no VmRSS")

    def tables_bytes(self):
        return self.call("GetStatus")["cost"]["tables_bytes"]

    def cpu_ns(self):
        return cpu_ns(self.process.pid)

    def wakeups(self):
        """How often a thread has waited, and so was woken."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        return sum(int(line.split()[1]) for task in tasks.iterdir()
                   for line in (task / "status").read_text().splitlines()
                   if line.startswith("voluntary_ctxt_switches:"))

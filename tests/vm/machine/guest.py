# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts QEMU, gives the guest its command, waits for its end, and reports the result."""

import contextlib
import fcntl
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys

from . import debian, initramfs
from .trouble import Trouble

# Values of --nics: (device of QEMU, module of its driver)
NICS = {
    "virtio": ("virtio-net-pci", "virtio_net"),
    "e1000e": ("e1000e", "e1000e"),
}
# Values of --threads.  With a thread for each CPU, QEMU 7.2 sometimes keeps code that it translated
# while another CPU patched it: the guest then keeps hitting a breakpoint that its memory no longer
# contains (__schedule's tracepoint, text_poke_bp).  With a single thread, a CPU waits up to 0.1 s
# for its turn.
THREADS = ("single", "multi")

# All that QEMU knows, less what makes it slow: it does "rep movsb", which kernels and libraries
# prefer on such processors, byte by byte.
CPU = "max,erms=off,fsrm=off"

MACS = ("52:54:00:6e:66:0a", "52:54:00:6e:66:0b")

# About how many times slower than hardware the guest is, for tests that wait.
PATIENCE = "8"
# The file for --probes, in the guest.
PROBES = "/run/result/probes.json"
CONSOLE_TAIL = 60  # lines
# Time for a guest that hangs to panic and print where it hangs, see _interrupt().
LAST_WORDS = 10  # seconds
# Messages of a kernel that detects a fault and continues.
COMPLAINT = re.compile(r"WARNING: |BUG: |INFO: task .* blocked|rcu: INFO|soft lockup|Call Trace")


class Guest:
    """One run of one machine.  As a context manager it locks its directory, `place`.

    A hypervisor (xen.py), if there is one, starts the kernel.  With a disk (debian.py), the guest
    runs the system on it; otherwise it runs on this machine's own root file system.
    """

    def __init__(self, tree, kernel, place, options, hypervisor=None, disk=None):
        self.tree = tree
        self.kernel = kernel
        self.place = place
        self.options = options
        self.hypervisor = hypervisor
        self.disk = disk
        self.initramfs = place / "initramfs.cpio"
        self.console = place / "console.log"
        self.complaints = place / "qemu.log"
        self.result = place / "result"
        # What the last guest with --probes wrote; guests without do not touch it.
        self.probes = place / "probes.json"
        self._lock = None

    def __enter__(self):
        self.place.mkdir(exist_ok=True)
        self._lock = open(self.place / "lock", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise Trouble(f"another guest with kernel {self.kernel.name} is running: "
                          "wait for its end") from error
        return self

    def __exit__(self, *_):
        self._lock.close()

    def run(self, command):
        """Run a shell command in the guest and return its exit status."""
        self._prepare(command)
        ended = self._emulate()
        self._complaints()
        self._keep_probes()
        status = self._read("status")
        if status is None:
            raise Trouble(f"{ended}; {self._console_tail()}")
        return int(status)

    # ---- before ----

    def _prepare(self, command):
        if not os.access(self.tree / "build", os.R_OK):
            raise Trouble("nothing is built: run `make all tools`")
        if self.disk:
            initramfs.build(self.kernel, self.initramfs, "init-disk", debian.MODULES)
        else:
            initramfs.build(self.kernel, self.initramfs)
        shutil.rmtree(self.result, ignore_errors=True)
        self.result.mkdir()
        if self.options.probes:
            self.probes.unlink(missing_ok=True)
        (self.result / "command").write_text(command + "\n")
        if self.options.prepare:
            (self.result / "prepare").write_text(self.options.prepare + "\n")
        (self.result / "environment").write_text("".join(
            f"{name}={shlex.quote(value)}\n" for name, value in self._environment().items()))
        self.console.unlink(missing_ok=True)

    def _environment(self):
        environment = {
            "NETFLOWD_PATIENCE": PATIENCE,
            # Shorter than on the running kernel (make check).
            "NETFLOWD_SOAK_SECONDS": "30",
            "NETFLOWD_TEST_BULK_BYTES": str(64 << 20),
            "NETFLOWD_VM": self.kernel.name,
            # No test in a guest needs a plugin, and finding them takes seconds.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "NETFLOWD_VM_MODULES": str(self.kernel.modules),
        }
        if self.options.probes and not self.options.starts:
            environment["NETFLOWD_PROBES"] = PROBES
        if self.options.nics:
            environment |= {
                "NETFLOWD_VM_NIC_MODULE": NICS[self.options.nics][1],
                "NETFLOWD_VM_MAC_A": MACS[0],
                "NETFLOWD_VM_MAC_B": MACS[1],
            }
        if self.hypervisor:
            environment |= self.hypervisor.environment()
        for setting in self.options.set:
            name, equals, value = setting.partition("=")
            if not equals or not name.isidentifier():
                raise Trouble(f"--set {setting}: must be NAME=VALUE")
            environment[name] = value
        return environment

    def _qemu(self, monitor):
        """QEMU and its arguments; `monitor` is the file descriptor of its monitor."""
        # The kernel kills QEMU when this process ends in any way.
        yield from ("setpriv", "--pdeathsig", "KILL")
        yield from ("qemu-system-x86_64", "-machine", "q35",
                    "-accel", f"tcg,thread={self.options.threads}",
                    "-smp", f"{self.options.cpus},maxcpus="
                            f"{max(self.options.cpus, self.options.possible_cpus)}",
                    "-nodefaults", "-no-user-config", "-display", "none",
                    *(() if self.options.prepare else ("-no-reboot",)),
                    "-serial", f"file:{self.console}", "-serial", "stdio",
                    "-chardev", f"socket,id=monitor,fd={monitor}",
                    "-mon", "chardev=monitor,mode=control")
        boot = self.hypervisor.boot if self.hypervisor else _boot
        yield from boot(self.kernel, self.initramfs, self._command_line(), self.options, CPU)
        if self.disk:
            yield from ("-drive", f"file={_escaped(self.disk)},format=raw,if=virtio,snapshot=on")
            yield from self._share("tree", self.tree, readonly="on",
                                   security_model="passthrough", multidevs="remap")
        else:
            yield from self._share("host", "/", readonly="on", security_model="passthrough",
                                   multidevs="remap")
        yield from self._share("result", self.result, security_model="mapped-file")
        if self.options.nics:
            for name, mac in zip("ab", MACS):
                yield from ("-netdev", f"hubport,id={name},hubid=0", "-device",
                            f"{NICS[self.options.nics][0]},netdev={name},mac={mac},romfile=")

    @staticmethod
    def _share(tag, path, **settings):
        words = [f"local,path={_escaped(path)},mount_tag={tag}",
                 *(f"{key}={value}" for key, value in settings.items())]
        return "-virtfs", ",".join(words)

    def _command_line(self):
        # tsc=reliable: a vCPU that the host does not run for a while looks like an unstable TSC,
        # and every other clock costs an exit from the guest.  The options from mitigations=off on
        # only make the guest faster: no defences that an emulator does not need, no wait for
        # normal RCU grace periods, and programs at constant addresses, so that QEMU reuses
        # translated code.  With --threads=multi an RCU stall is the first sign of the known hang,
        # so the guest panics then.
        return " ".join(("loglevel=4", "oops=panic", "panic=-1",
                         "unknown_nmi_panic", "tsc=reliable", f"netflowd.tree={self.tree}",
                         "mitigations=off", "init_on_alloc=0", "no5lvl",
                         "norandmaps", "rcupdate.rcu_expedited=1",
                         *(["sysctl.kernel.panic_on_rcu_stall=1"] if self.options.threads == "multi"
                           else [])))

    # ---- during ----

    def _emulate(self):
        """Run QEMU to its end; return how it ended, for a message."""
        sys.stdout.flush()
        monitor, theirs = socket.socketpair()
        with monitor, theirs, open(self.complaints, "wb") as log:
            try:
                qemu = subprocess.Popen(list(self._qemu(theirs.fileno())), stderr=log,
                                        stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
            except FileNotFoundError as error:
                raise Trouble("setpriv is not installed: run `make packages`") from error
            try:
                code = qemu.wait(timeout=self.options.time_limit)
            except subprocess.TimeoutExpired:
                _interrupt(qemu, monitor)
                return f"the guest had no result after {self.options.time_limit} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    qemu.kill()
                qemu.wait()
        if code:
            text = self.complaints.read_text(errors="replace").strip()
            return f"QEMU ended with exit status {code}: {text}"
        return "the guest ended without a result"

    # ---- after ----

    def _keep_probes(self):
        written = self.result / self.probes.name
        if written.exists():
            shutil.copy(written, self.probes)

    def _read(self, name):
        """A file that the guest wrote; None if it ended before."""
        try:
            return (self.result / name).read_text(errors="replace").strip() or None
        except FileNotFoundError:
            return None

    def _complaints(self):
        log = (self._read("dmesg") or "").splitlines()
        lines = [line for line in log if COMPLAINT.search(line)]
        if lines:
            print(f"the guest's kernel logged faults (the whole log: {self.result / 'dmesg'}):",
                  *lines[:10], sep="\n    ", file=sys.stderr)

    def _console_tail(self):
        try:
            lines = self.console.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return "its console is empty"
        return "\n    ".join(["the end of its console:", *lines[-CONSOLE_TAIL:]])


def _boot(kernel, initramfs_path, command_line, options, cpu):
    """QEMU's arguments without a hypervisor."""
    yield from ("-cpu", cpu, "-m", str(options.memory), "-kernel", str(kernel.image),
                "-initrd", str(initramfs_path), "-append", f"console=ttyS0 {command_line}")


def _interrupt(qemu, monitor):
    """Send an NMI: the kernel of a guest that hangs then panics and prints where it hangs."""
    monitor.settimeout(LAST_WORDS)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        for command in ("qmp_capabilities", "inject-nmi"):
            monitor.sendall(json.dumps({"execute": command}).encode())
            monitor.recv(65536)
        qemu.wait(timeout=LAST_WORDS)


def _escaped(path):
    """The text as a value among QEMU's options, where a comma is doubled."""
    return str(path).replace(",", ",,")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts QEMU, hands the guest its command, waits for the end, and says what came of it."""

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

from . import initramfs
from .trouble import Trouble

# --nics: the device of QEMU, the driver's module
NICS = {
    "virtio": ("virtio-net-pci", "virtio_net"),
    "e1000e": ("e1000e", "e1000e"),
}
# --threads.  With a thread for each CPU, QEMU 7.2 was seen to keep code that it had translated
# while another CPU was patching it; that guest met for ever a breakpoint no longer in its memory
# (__schedule's tracepoint, text_poke_bp).  With one for all, CPUs wait up to 0.1 s for a turn.
THREADS = ("single", "multi")

MACS = ("52:54:00:6e:66:0a", "52:54:00:6e:66:0b")

# How many times slower than hardware the guest is, for tests that wait: about.
PATIENCE = "8"
CONSOLE_TAIL = 60  # lines
# How long a guest that hangs may take to say where, see _interrupt().
LAST_WORDS = 10  # seconds
# What a kernel says of itself when something is wrong and it goes on.
COMPLAINT = re.compile(r"WARNING: |BUG: |INFO: task .* blocked|rcu: INFO|soft lockup|Call Trace")


class Guest:
    """One run of one machine.  As a context it holds its own folder, `place`, for itself.

    With a hypervisor (xen.py) the kernel is started by that.
    """

    def __init__(self, tree, kernel, place, options, hypervisor=None):
        self.tree = tree
        self.kernel = kernel
        self.place = place
        self.options = options
        self.hypervisor = hypervisor
        self.initramfs = place / "initramfs.cpio"
        self.console = place / "console.log"
        self.complaints = place / "qemu.log"
        self.result = place / "result"
        self._lock = None

    def __enter__(self):
        self.place.mkdir(exist_ok=True)
        self._lock = open(self.place / "lock", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise Trouble(f"a guest with kernel {self.kernel.name} is running already") from error
        return self

    def __exit__(self, *_):
        self._lock.close()

    def run(self, command):
        """Run a shell command in the guest; its exit status."""
        self._prepare(command)
        ended = self._emulate()
        self._complaints()
        status = self._read("status")
        if status is None:
            raise Trouble(f"{ended} {self._console_tail()}")
        return int(status)

    # ---- before ----

    def _prepare(self, command):
        if not os.access(self.tree / "build", os.R_OK):
            raise Trouble("nothing is built: make all tools")
        initramfs.build(self.kernel, self.initramfs)
        shutil.rmtree(self.result, ignore_errors=True)
        self.result.mkdir()
        (self.result / "command").write_text(command + "\n")
        (self.result / "environment").write_text("".join(
            f"{name}={shlex.quote(value)}\n" for name, value in self._environment().items()))
        self.console.unlink(missing_ok=True)

    def _environment(self):
        environment = {
            "NETFLOWD_PATIENCE": PATIENCE,
            # Asked for in full on the running kernel (make check).
            "NETFLOWD_SOAK_SECONDS": "30",
            "NETFLOWD_TEST_BULK_BYTES": str(64 << 20),
            "NETFLOWD_VM": self.kernel.name,
            "NETFLOWD_VM_MODULES": str(self.kernel.modules),
        }
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
                raise Trouble(f"--set {setting}: NAME=VALUE expected")
            environment[name] = value
        return environment

    def _qemu(self, monitor):
        """QEMU and its arguments; `monitor` is the file descriptor of its monitor."""
        # Killed with us, however we are killed.
        yield from ("setpriv", "--pdeathsig", "KILL")
        yield from ("qemu-system-x86_64", "-machine", "q35",
                    "-accel", f"tcg,thread={self.options.threads}",
                    "-smp", str(self.options.cpus),
                    "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                    "-serial", f"file:{self.console}", "-serial", "stdio",
                    "-chardev", f"socket,id=monitor,fd={monitor}",
                    "-mon", "chardev=monitor,mode=control")
        boot = self.hypervisor.boot if self.hypervisor else _boot
        yield from boot(self.kernel, self.initramfs, self._command_line(), self.options)
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
        # tsc=reliable: a vCPU that the host did not run for a while looks like a bad clock, and
        # every other clock costs an exit from the guest.  The second line is for speed alone:
        # defences that an emulator does not need, grace periods that are not waited out, programs
        # that are always at the same addresses, so that their translations are used again.
        # A stall of RCU ends it: of the one hang that is known it is the first sign.
        return " ".join(("loglevel=4", "oops=panic", "panic=-1",
                         "unknown_nmi_panic", "tsc=reliable", f"netflowd.tree={self.tree}",
                         "mitigations=off", "init_on_alloc=0", "no5lvl",
                         "norandmaps", "rcupdate.rcu_expedited=1",
                         *(["sysctl.kernel.panic_on_rcu_stall=1"] if self.options.threads == "multi"
                           else [])))

    # ---- meanwhile ----

    def _emulate(self):
        """Run QEMU to its end; how it ended, as the beginning of a sentence."""
        sys.stdout.flush()
        monitor, theirs = socket.socketpair()
        with monitor, theirs, open(self.complaints, "wb") as log:
            try:
                qemu = subprocess.Popen(list(self._qemu(theirs.fileno())), stderr=log,
                                        stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
            except FileNotFoundError as error:
                raise Trouble("setpriv is not installed: make packages") from error
            try:
                code = qemu.wait(timeout=self.options.time_limit)
            except subprocess.TimeoutExpired:
                _interrupt(qemu, monitor)
                return f"no result after {self.options.time_limit} s."
            finally:
                with contextlib.suppress(ProcessLookupError):
                    qemu.kill()
                qemu.wait()
        if code:
            return f"QEMU: exit {code}: {self.complaints.read_text(errors='replace').strip()}\n"
        return "the guest ended without a result."

    # ---- after ----

    def _read(self, name):
        """A file that the guest left; None when it did not get so far."""
        try:
            return (self.result / name).read_text(errors="replace").strip() or None
        except FileNotFoundError:
            return None

    def _complaints(self):
        log = (self._read("dmesg") or "").splitlines()
        lines = [line for line in log if COMPLAINT.search(line)]
        if lines:
            print(f"the guest's kernel complained ({self.result / 'dmesg'}):", *lines[:10],
                  sep="\n    ", file=sys.stderr)

    def _console_tail(self):
        try:
            lines = self.console.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return "Its console is empty."
        return "\n    ".join(["Its console ended:", *lines[-CONSOLE_TAIL:]])


def _boot(kernel, initramfs_path, command_line, options):
    """QEMU's words, without a hypervisor."""
    yield from ("-cpu", "max", "-m", str(options.memory), "-kernel", str(kernel.image),
                "-initrd", str(initramfs_path), "-append", f"console=ttyS0 {command_line}")


def _interrupt(qemu, monitor):
    """An NMI makes the kernel of a guest that hangs panic, and say where it was."""
    monitor.settimeout(LAST_WORDS)
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        for command in ("qmp_capabilities", "inject-nmi"):
            monitor.sendall(json.dumps({"execute": command}).encode())
            monitor.recv(65536)
        qemu.wait(timeout=LAST_WORDS)


def _escaped(path):
    """As a value among QEMU's options."""
    return str(path).replace(",", ",,")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Features of the running kernel, and its own trace of kfree_skb for comparison."""

import bisect
import collections
import contextlib
import ctypes
import errno
import functools
import json
import os
import pathlib
import re
import secrets
import struct
import subprocess
import time

# location=__udp4_lib_rcv+0x7e5/0xa60 [module], or a bare address
_EVENT = re.compile(r"kfree_skb: .*?protocol=(\d+) location=([^\s/]+)(?:/0x[0-9a-f]+)?"
                    r"(?: \[[^]]+\])?(?:.*? reason: (\S+))?")

# enum bpf_cmd; __NR_bpf
_NEXT_ID = {"prog": 11, "map": 12, "link": 31}
_SYS_BPF = {"x86_64": 321, "aarch64": 280}
# The same numbers on all machines; uapi/linux/mount.h.
_SYS_FSOPEN, _SYS_FSCONFIG, _SYS_FSMOUNT = 430, 431, 432
_FSOPEN_CLOEXEC, _FSMOUNT_CLOEXEC, _FSCONFIG_CMD_CREATE = 1, 1, 6
_libc = ctypes.CDLL(None, use_errno=True)


def release():
    """The kernel's version as numbers, (6, 1)."""
    return tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])


def preempts_tracepoints():
    """True if a task can preempt another one inside a program at a tracepoint: 7.x no longer
    disables preemption there (__DECLARE_TRACE in include/linux/tracepoint.h)."""
    return release() >= (7, 0)


def untraced():
    """The largest share of events for which the kernel may run no program.  A kernel that is not
    Debian's may exempt a task from tracing, and then runs no program on top of it.  On one, some 70
    of 15,000 softirqs in /proc/softirqs were not among the hits of softirq_entry."""
    return 0 if "Debian" in os.uname().version else 0.001


def untraced_burst(count):
    """How many of a scenario's `count` packets that a timer sends such a kernel may hide: all of a
    timer's turn or two, if the timer runs on top of that task."""
    return count // 5 if untraced() else 0


@functools.cache
def has_btf():
    return os.path.exists("/sys/kernel/btf/vmlinux")


def _system_call(number, *arguments):
    """Any system call that returns a number; arguments are numbers, bytes or None."""
    result = _libc.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"system call {number}: {os.strerror(error)}")
    return result


@contextlib.contextmanager
def tracefs():
    """The path of a private mount of tracefs.

    The mount is attached to no directory: no other process finds it in /proc/mounts, nothing can
    delete its files by mistake, and the kernel unmounts it when its descriptor is closed, however
    this process ends (fsmount(2), since 5.2).
    """
    context = _system_call(_SYS_FSOPEN, b"tracefs", _FSOPEN_CLOEXEC)
    try:
        _system_call(_SYS_FSCONFIG, context, _FSCONFIG_CMD_CREATE, None, None, 0)
        mount = _system_call(_SYS_FSMOUNT, context, _FSMOUNT_CLOEXEC, 0)
    finally:
        os.close(context)
    try:
        yield pathlib.Path(f"/proc/self/fd/{mount}")
    finally:
        os.close(mount)


@functools.cache
def drop_reasons():
    """{number: name} from the kernel's own format file; empty where kfree_skb has no reason."""
    with tracefs() as where:
        text = (where / "events/skb/kfree_skb/format").read_text()
    return {int(number): name
            for number, name in re.findall(r'\{ ?(\d+), "([A-Z0-9_]+)" ?\}', text)}


def has_drop_reasons():
    with tracefs() as where:
        return " reason;" in (where / "events/skb/kfree_skb/format").read_text()


def has_event(name):
    """Whether the kernel has a trace event, such as kmem:kmem_cache_alloc."""
    with tracefs() as where:
        return (where / "events" / name.replace(":", "/")).exists()


@functools.cache
def _symbols():
    """[(address, name)] of the kernel's functions, in order."""
    with open("/proc/kallsyms") as lines:
        fields = (line.split() for line in lines)
        return sorted((int(f[0], 16), f[2]) for f in fields if f[1] in "tTwW")


def code_of(*names):
    """(address, address of the next function) of those of these functions that the kernel has."""
    symbols = _symbols()
    addresses = sorted({address for address, _ in symbols})
    return [(begin, addresses[bisect.bisect_right(addresses, begin)])
            for begin, name in symbols if name in names]


@functools.cache
def _location(text):
    """A location of the trace as symbol+offset.  Older kernels print a bare address; kernels before
    5.12 print only its hash, which gives None."""
    if not re.fullmatch("(0x)?[0-9a-f]{16}", text):
        return text
    address = int(text, 16)
    if address >> 32 == 0:
        return None
    base, name = _symbols()[bisect.bisect_right(_symbols(), (address, "\x7f")) - 1]
    return f"{name}+0x{address - base:x}"


def modules_changed():
    """Read the symbols again: a module was loaded or unloaded."""
    _location.cache_clear()
    _symbols.cache_clear()


class DropTrace:
    """Counts of the kfree_skb events of the whole host, by (EtherType, location, reason)."""

    def __init__(self):
        self.counts = collections.Counter()
        self.lost = 0

    def matching(self, protocol, reason=None, location=None):
        """Events of that kind.  An event whose location the kernel hid matches any location."""
        return sum(n for (p, l, r), n in self.counts.items()
                   if p == protocol and reason in (None, r)
                   and (location in (None, l) or l is None))


def _events(instance):
    """(EtherType, location, reason) of each event.

    Where the kernel can print addresses without hashing them (since 5.12), this reads the trace
    twice: without hashing, 6.1 leaves the reason's name empty.
    """
    hashing = instance / "options/hash-ptr"
    events = _read(instance)
    if not hashing.exists():
        return events
    hashing.write_text("0")
    return [(protocol, location, reason)
            for (protocol, _, reason), (_, location, _) in zip(events, _read(instance))]


def _read(instance):
    with open(instance / "trace", errors="replace") as lines:
        found = (_EVENT.search(line) for line in lines)
        return [(int(event[1]), _location(event[2]), event[3]) for event in found if event]


@contextlib.contextmanager
def drop_trace(kib_per_cpu=8192):
    trace = DropTrace()
    with tracefs() as where:
        instance = where / "instances" / ("nft" + secrets.token_hex(4))
        instance.mkdir()
        try:
            (instance / "buffer_size_kb").write_text(str(kib_per_cpu))
            (instance / "events/skb/kfree_skb/enable").write_text("1")
            yield trace
            time.sleep(0.05)
            (instance / "events/skb/kfree_skb/enable").write_text("0")
            for protocol, location, reason in _events(instance):
                trace.counts[protocol, location, reason] += 1
            for stats in instance.glob("per_cpu/cpu*/stats"):
                trace.lost += int(re.search(r"overrun: (\d+)", stats.read_text())[1])
        finally:
            remove_instance(instance)


@contextlib.contextmanager
def event_counts(*events, which="0", tasks=()):
    """{event: times that the kernel ran its trace event}, filled in when the block ends.

    An event is a path like "skb/kfree_skb".  `which` is the kernel's filter for each, "0" for none;
    with `tasks`, only events on top of these thread IDs count.  Each has a trace of its own, whose
    statistics count what the trace kept and what it overwrote: netflowd's programs have no part in
    it.
    """
    counts = {}
    with contextlib.ExitStack() as stack:
        instances = stack.enter_context(tracefs()) / "instances"
        traces = {}
        for event in events:
            traces[event] = instances / ("nft" + secrets.token_hex(4))
            traces[event].mkdir()
            stack.callback(remove_instance, traces[event])
            (traces[event] / "events" / event / "filter").write_text(which)
            (traces[event] / "set_event_pid").write_text(" ".join(tasks))
            (traces[event] / "events" / event / "enable").write_text("1")
        yield counts
        for event, trace in traces.items():
            (trace / "events" / event / "enable").write_text("0")
            counts[event] = sum(int(number) for stats in trace.glob("per_cpu/cpu*/stats")
                                for number in re.findall(r"^(?:entries|overrun): (\d+)$",
                                                         stats.read_text(), re.MULTILINE))


@contextlib.contextmanager
def hidden_counts(prefix):
    """As event_counts(), the packets of devices whose names begin like this that no program saw:
    what untraced() is about.  The exempted tasks seen so far are the threads of process 1."""
    if not untraced():
        yield {}
        return
    with event_counts("net/netif_receive_skb", "net/net_dev_xmit", which=f'name ~ "{prefix}*"',
                      tasks=os.listdir("/proc/1/task")) as counts:
        yield counts


@functools.cache
def hides_switches(cpu, rounds=20):
    """Whether the trace of sched_switch lacks switches from the idle task on this CPU: a task that
    sleeps there is switched to at the end of each sleep, unless others keep the CPU busy."""
    with tracefs() as where:
        instance = where / "instances" / ("nft" + secrets.token_hex(4))
        instance.mkdir()
        try:
            event = instance / "events/sched/sched_switch"
            code = f"import os, time; os.sched_setaffinity(0, {{{cpu}}}); time.sleep(0.1)\n" \
                   f"for _ in range({rounds}): time.sleep(0.005)"
            with subprocess.Popen(["/usr/bin/python3", "-c", code]) as task:
                (event / "filter").write_text(f"next_pid == {task.pid}")
                (event / "enable").write_text("1")
            seen = (instance / f"per_cpu/cpu{cpu}/trace").read_text().count("sched_switch:")
        finally:
            remove_instance(instance)
    return seen < rounds


def append(file, line):
    """Write a line to a file of tracefs that keeps what it has."""
    # open() would seek to the end, which this file refuses.
    fd = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, line.encode() + b"\n")
    finally:
        os.close(fd)


def remove_instance(instance):
    """Remove an instance, which stays busy for a moment after its events were on."""
    for _ in range(100):
        try:
            instance.rmdir()
            return
        except OSError:
            time.sleep(0.02)
    instance.rmdir()


def bpf_objects(pid):
    """The programs, maps and links that a process holds: {"prog": {id, …}, "map": …, "link": …}."""
    held = {"prog": set(), "map": set(), "link": set()}
    for fd in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = fd.read_text()
        except OSError:
            continue
        for kind, number in re.findall(r"^(prog|map|link)_id:\s*(\d+)$", text, re.MULTILINE):
            held[kind].add(int(number))
    return held


def _program_numbers(pid, field):
    """{program: this number of its fdinfo} of the programs that a process holds."""
    found = {}
    for fd in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = fd.read_text()
        except FileNotFoundError:  # a connection that just ended
            continue
        value = re.search(rf"^{field}:\s*(\d+)$", text, re.MULTILINE)
        if value:
            number = re.search(r"^prog_id:\s*(\d+)$", text, re.MULTILINE)[1]
            show = ["bpftool", "--json", "prog", "show", "id", number]
            done = subprocess.run(show, check=True, stdout=subprocess.PIPE)
            found[json.loads(done.stdout)["name"]] = int(value[1])
    return found


def verified_insns(pid):
    """{program: instructions that the verifier processed} of the programs that a process holds;
    empty before 5.16, which has no such number."""
    return _program_numbers(pid, "verified_insns")


def recursion_misses(pid):
    """{program: times that the kernel did not run it because it ran already} of the programs that a
    process holds; empty before 5.12, which has no such number."""
    return _program_numbers(pid, "recursion_misses")


def bpf_objects_alive(kind):
    """The ids of all programs, maps or links of the host, from bpf(2) itself: bpftool stops halfway
    if another process's object disappears before bpftool reads it."""
    command, number = _NEXT_ID[kind], _SYS_BPF[os.uname().machine]
    alive, at = set(), 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("III", at, 0, 0), 128)
        if _libc.syscall(number, command, attributes, 12):
            error = ctypes.get_errno()
            if error == errno.ENOENT:
                return alive
            raise OSError(error, f"bpf: next {kind} after {at}")
        at, = struct.unpack_from("I", attributes, 4)
        alive.add(at)

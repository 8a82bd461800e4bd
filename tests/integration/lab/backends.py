# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend of the daemons under test.

NETFLOWD_TEST_BACKEND selects it: bpf (default), tracefs, or fallback: the daemon does not see the
kernel's BTF, and has to choose tracefs itself.  With trace events a row has the name of a device
only, and an EtherType instead of a protocol: the helpers of lab compare these.  What trace events
do not show at all is for the mark `needs`.
"""

import functools
import os
import pathlib
import tempfile
import time

import pytest

from . import kernel

NAME = os.environ.get("NETFLOWD_TEST_BACKEND", "bpf")
SETTINGS = {"bpf": None, "tracefs": "probes.backend=tracefs", "fallback": "probes.backend=auto"}
assert NAME in SETTINGS, f"NETFLOWD_TEST_BACKEND={NAME}: it is one of {', '.join(SETTINGS)}"
TRACE_EVENTS = NAME != "bpf"
RUNNING = "tracefs" if TRACE_EVENTS else "bpf"
# A command prefix that hides the kernel's BTF from a program, and nothing else.
WITHOUT_BTF = ("unshare", "--mount", "--propagation", "slave", "sh", "-c",
               "mount -t tmpfs tmpfs /sys/kernel/btf && exec \"$@\"", "sh")
# The backend on trace events reads the ring buffers at this interval, with this margin.
PERIOD_SECONDS = 0.1
MARGIN_SECONDS = 0.03


INSTANCES = pathlib.Path("/sys/kernel/tracing/instances")
# The ring buffers have the events of the whole host: with this size a flood of another process
# pushes out none of a test.
BUFFER_KIB = 32768


def settings():
    """The settings of every daemon; those of a test come after them."""
    return (SETTINGS[NAME], f"probes.trace_buffer={BUFFER_KIB}") if TRACE_EVENTS else ()


def command():
    """The command prefix of every daemon that has none of its own."""
    return WITHOUT_BTF if NAME == "fallback" else ()


def instances_of(pid):
    """The trace instances of a daemon."""
    return {path.name for path in INSTANCES.glob(f"netflowd-*-{pid}")}


def catch_up():
    """Wait until the daemon has read the events of all that happened before this call."""
    if TRACE_EVENTS:
        time.sleep(PERIOD_SECONDS + MARGIN_SECONDS)


def is_about(row, device):
    """Whether a row, or a device of a record, is that of a lab Device."""
    if TRACE_EVENTS and "netns" not in row:
        return row.get("device") == device.name
    return (row.get("netns"), row.get("ifindex")) == (device.namespace.inode, device.ifindex)


def description(device):
    """A device of a record, with all that the backend knows."""
    if TRACE_EVENTS:
        return {"device": device.name}
    return {"device": device.name, "ifindex": device.ifindex, "netns": device.namespace.inode,
            "netns_name": device.namespace.name}


# Where a device drops what the lab's own IPv6 sends: reports of multicast listeners (ICMPv6).
_MULTICAST = "ip6_mc_input"


def is_of(row, protocol):
    """Whether a row or a record is of a protocol, such as ipv4/udp, as far as the backend knows."""
    if TRACE_EVENTS:
        return row.get("protocol") == protocol.split("/")[0] and row.get("function") != _MULTICAST
    return row.get("protocol") == protocol


def bytes_of(*rows):
    """The bytes of all these rows; None if the backend does not know them."""
    if TRACE_EVENTS and not any("bytes" in row for row in rows):
        return None
    return sum(row["bytes"] for row in rows)


def lost(daemon):
    """Events that the kernel's ring buffers lost since the daemon started, each of them a drop at
    most.  0 with the backend bpf, whose programs miss none that it does not count itself."""
    return daemon.status()["trace"]["lost"] if TRACE_EVENTS else 0


def report_losses(daemon):
    """Print what the ring buffers lost, for the output of a test that failed."""
    if TRACE_EVENTS:
        print(f"trace: {daemon.status()['trace']}")


def selecting(device):
    """The parameters that select the records of a device."""
    if TRACE_EVENTS:
        return {"device": device.name}
    return {"netns": str(device.namespace.inode)}


# ---- what the backend does not show -----------------------------------------


@functools.cache
def _gaps():
    """{question: reason} of the coverage that a daemon with this backend reports, and of the cost
    that it cannot measure."""
    from .daemon import Daemon  # pylint: disable=import-outside-toplevel,cyclic-import
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(pathlib.Path(directory)).start()
        try:
            status = daemon.status()
        finally:
            daemon.stop()
    assert status["backend"]["name"] == RUNNING, status["backend"]
    gaps = {row["question"]: row["reason"] for row in status["coverage"] if "reason" in row}
    if "unmeasurable" in status["cost"]:
        gaps["cost"] = status["cost"]["unmeasurable"]
    return gaps


def skip_without(question, words):
    """Skip the test if the daemon's coverage of this question says that it lacks these words, such
    as headers.  With the backend bpf no test is skipped, and a gap is a failure of the test."""
    reason = _gaps().get(question, "") if TRACE_EVENTS else ""
    if words in reason:
        pytest.skip(f"coverage of {question}: {reason}")


def skip_without_switches(cpu):
    """Skip the test if this kernel does not trace that a reader on this CPU gets on it."""
    if TRACE_EVENTS and kernel.hides_switches(cpu):
        pytest.skip(f"coverage of wake: this kernel does not trace sched_switch from the idle task "
                    f"of CPU {cpu}, so the stages wakeup and run are missing there")


_REFUSED = "netflowctl: cannot select by this: "


def skip_refused(text):
    """Skip the test if netflowctl said that this backend cannot select by an option."""
    if TRACE_EVENTS and text and text.startswith(_REFUSED):
        pytest.skip(f"coverage: {text.removeprefix(_REFUSED).strip()}")


def skip_unselectable(error):
    """Skip the test if the daemon replied that this backend cannot select by a criterion."""
    if TRACE_EVENTS and error.name == "CannotSelect":
        pytest.skip(f"coverage of {error.parameters['criterion']}: {error.parameters['reason']}")

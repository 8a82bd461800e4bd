# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile conditions: without rights, without BTF, without bpf(), with a second daemon, after a
kill -9.  The daemon says what is missing and how to fix it, continues with the rest, and leaves
nothing behind."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

from lab import kernel, paths, patience, waiting
from lab.daemon import NotReady
from lab.varlink import VarlinkError

NOBODY = 65534


@pytest.fixture
def binary_for_all(tmp_path):
    """A copy of the daemon that any user may run, wherever the tree is."""
    copy = tmp_path / "netflowd"
    shutil.copy(paths.DAEMON, copy)
    copy.chmod(0o755)
    return copy


def refusal(daemon):
    """The output of a daemon that does not start; checks that it exits with 1."""
    with pytest.raises(NotReady) as caught:
        daemon.start()
    assert daemon.process.returncode == 1, caught.value
    assert "io.netflowd" not in {p.name for p in daemon.directory.iterdir()}
    return daemon.log()


def without(*capabilities):
    """A setpriv command that runs root without these capabilities."""
    return ["setpriv", "--bounding-set", ",".join(f"-{c}" for c in capabilities),
            "--inh-caps", ",".join(f"-{c}" for c in capabilities)]


# ---- start and end ----


@pytest.mark.smoke
def test_terminated_leaves_nothing(start, bpf):
    daemon = start()
    for kind in ("prog", "map", "link"):
        assert daemon.bpf[kind] and daemon.bpf[kind] <= kernel.bpf_objects_alive(kind)
    assert daemon.stop(signal.SIGTERM) == 0
    assert daemon.leftovers() == set()


def test_interrupted_leaves_nothing(start, bpf):
    daemon = start()
    assert daemon.stop(signal.SIGINT) == 0
    assert daemon.leftovers() == set()


def test_killed_and_started_again_at_once(start, bpf):
    daemon = start()
    held = daemon.bpf
    assert daemon.stop(signal.SIGKILL) == -signal.SIGKILL
    assert daemon.socket_path.exists()
    daemon.start()
    assert daemon.status()["daemon"]["pid"] == daemon.pid

    def alive():
        return {kind: held[kind] & kernel.bpf_objects_alive(kind)
                for kind in ("prog", "map", "link")}

    # The kernel detaches the programs of the killed daemon by itself.
    left = waiting.until(alive, lambda found: not any(found.values()))
    assert not any(left.values()), left


def test_second_daemon_says_who_is_there(start, built):
    first = start()
    done = run_daemon("--runtime-dir", str(first.directory))
    assert done.returncode == 1
    assert re.search(rf"\b{first.pid}\b", done.stderr), done.stderr
    assert first.running and first.socket_path.exists()
    assert first.status()["daemon"]["pid"] == first.pid


def test_socket_of_a_dead_daemon_is_replaced(start, built):
    daemon = start.make()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(daemon.socket_path))
    daemon.start()
    assert daemon.status()["daemon"]["pid"] == daemon.pid


def test_programs_bear_our_name(start, bpf):
    """`bpftool prog` shows by the names that the programs are netflowd's."""
    daemon = start()
    out = subprocess.run(["bpftool", "-j", "prog", "list"], stdout=subprocess.PIPE, check=True)
    names = {row["id"]: row.get("name", "") for row in json.loads(out.stdout)}
    mine = [names[number] for number in daemon.bpf["prog"] if number in names]
    assert mine and all(name.startswith("nf_") for name in mine), mine


# ---- rights ----


def test_not_root(start, binary_for_all):
    daemon = start.make(binary=binary_for_all, command=[
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"])
    os.chown(daemon.directory, NOBODY, NOBODY)
    log = refusal(daemon)
    assert "CAP_BPF" in log and "CAP_PERFMON" in log, log
    assert "root" in log and "AmbientCapabilities" in log, log
    assert len(log.splitlines()) <= 3, log


@pytest.mark.parametrize("missing, named, other", [
    (("bpf", "sys_admin"), "CAP_BPF", "CAP_PERFMON"),
    (("perfmon", "sys_admin"), "CAP_PERFMON", "CAP_BPF"),
], ids=["bpf", "perfmon"])
def test_missing_capability(start, built, missing, named, other):
    log = refusal(start.make(command=without(*missing)))
    assert f"{named} missing" in log, log
    assert f"{other} missing" not in log and f"{other} and" not in log, log
    assert "setcap" in log and "AmbientCapabilities" in log, log


# Before 5.11 the kernel charges BPF memory to RLIMIT_MEMLOCK; to raise that limit, a process needs
# CAP_SYS_RESOURCE.
LOCKS_MEMORY = kernel.release() < (5, 11)
MAY_LOCK = ["prlimit", "--memlock=unlimited"] if LOCKS_MEMORY else []
FEWEST = without("sys_admin", "net_admin", "sys_ptrace", "sys_resource")


def test_sys_admin_is_not_needed(start, pair, bpf):
    """CAP_BPF, CAP_PERFMON and CAP_SYSLOG are enough (before 5.11 with memory that may be locked)
    for all except measuring the programs, and netflowd says so."""
    daemon = start(command=[*MAY_LOCK, *FEWEST])
    pair.left.send_udp(pair.RIGHT4, 9, 100)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"),
                           100) == 100
    cost = daemon.call("GetStatus", measure_ms=10)["cost"]
    probes = daemon.call("ListProbes", measure_ms=10)
    for reply in (cost, probes):
        assert reply.get("measured_ns") is None
        assert "CAP_SYS_ADMIN" in reply["unmeasurable"]


def test_limited_memory_is_said(start, built, bpf):
    if not LOCKS_MEMORY:
        pytest.skip("this kernel does not charge BPF memory to RLIMIT_MEMLOCK")
    daemon = start("probes.backend=bpf", command=["prlimit", "--memlock=65536", *FEWEST])
    nothing_but_status(daemon, "bpf()", "RLIMIT_MEMLOCK", "CAP_SYS_RESOURCE", "LimitMEMLOCK")


def test_without_symbols(start, pair, bpf):
    """Locations are addresses, and coverage names the missing capability."""
    daemon = start(command=[*MAY_LOCK, *without("syslog", "sys_admin")])
    if not _kallsyms_hidden(daemon.pid):
        pytest.skip("this kernel shows symbols without CAP_SYSLOG")
    coverage = daemon.coverage("drop_locations")
    assert coverage["state"] != "full"
    assert "CAP_SYSLOG" in coverage["reason"]
    pair.left.send_udp(pair.RIGHT4, 9, 10)
    rows = waiting.until(lambda: daemon.drop_rows(pair.right_device, "ipv4/udp"), bool)
    assert all(row["location"].startswith("0x") for row in rows)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"),
                           10) == 10


def _kallsyms_hidden(pid):
    restrict = int(pathlib.Path("/proc/sys/kernel/kptr_restrict").read_text())
    paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    return restrict > 0 or paranoid > 1


# ---- what the kernel lacks ----


def nothing_but_status(daemon, *words):
    """The daemon runs, says why it sees nothing, and gives that reason in every answer."""
    status = daemon.status()
    assert status["backend"]["name"] == "none"
    reason = status["backend"]["reason"]
    for word in words:
        assert word in reason, reason
    coverage = {c["question"]: c["state"] for c in status["coverage"]}
    # The kernel's log reports rockets without any program.
    assert (coverage.pop("slots_log"), coverage.pop("slots")) == ("full", "degraded")
    # Nor do the kernel's other counters of drops need one.
    assert coverage.pop("drops_elsewhere") in ("full", "degraded")
    assert set(coverage.values()) == {"unavailable"}
    assert all(c.get("reason") for c in status["coverage"] if c["state"] != "full")
    assert {p["state"] for p in daemon.call("ListProbes")["probes"]} == {"unavailable"}
    for method in ("GetDrops", "GetDropRecords", "GetLatency"):
        with pytest.raises(VarlinkError) as caught:
            daemon.call(method)
        assert caught.value.name == "NoData"
        assert caught.value.parameters["reason"]
    return reason


def test_without_btf(start, built):
    if any(p.exists() for p in _other_btf()):
        pytest.skip("this host also has the kernel's BTF outside /sys/kernel/btf")
    hide = "mount -t tmpfs tmpfs /sys/kernel/btf && exec \"$@\""
    if not kernel.has_btf():
        daemon = start("probes.backend=bpf")
    else:
        daemon = start("probes.backend=bpf", command=["unshare", "--mount", "sh", "-c", hide, "sh"])
    nothing_but_status(daemon, "BTF", "CONFIG_DEBUG_INFO_BTF")


def _other_btf():
    """The other files in which libbpf looks for the kernel's BTF."""
    release = os.uname().release
    return [pathlib.Path(p) for p in (
        f"/boot/vmlinux-{release}", f"/lib/modules/{release}/vmlinux-{release}",
        f"/lib/modules/{release}/build/vmlinux", f"/usr/lib/debug/boot/vmlinux-{release}",
        f"/usr/lib/debug/lib/modules/{release}/vmlinux",
        f"/usr/lib/debug/boot/vmlinux-{release}.debug")]


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_without_bpf(start, built, error):
    daemon = start("probes.backend=bpf", command=[paths.TOOLS / "deny_syscall", "bpf", error])
    reason = nothing_but_status(daemon, "bpf()")
    assert ("seccomp" in reason) or ("CONFIG_BPF_SYSCALL" in reason), reason


def test_without_tracefs(start, pair, bpf):
    """The bpf backend does not need tracefs."""
    hide = "; ".join(f"test ! -d {where} || mount -t tmpfs tmpfs {where}"
                     for where in ("/sys/kernel/tracing", "/sys/kernel/debug"))
    daemon = start(command=["unshare", "--mount", "sh", "-c", f"{hide}; exec \"$@\"", "sh"])
    assert daemon.status()["backend"]["name"] == "bpf"
    pair.left.send_udp(pair.RIGHT4, 9, 10)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"),
                           10) == 10


@pytest.mark.parametrize("probe, question", [
    ("kfree_skb", "drops"), ("netif_receive_skb", "rx_latency"), ("net_dev_xmit", "tx_latency"),
    ("napi_poll", "napi")])
def test_probe_that_is_not_there(start, bpf, probe, question):
    """A missing probe reduces coverage; it is not a failure."""
    daemon = start(f"probes.disable={probe}")
    probes = {p["name"]: p for p in daemon.call("ListProbes")["probes"]}
    assert probes[probe]["state"] == "unavailable" and probes[probe]["reason"]
    assert probes[probe].get("hits") is None
    others = {p["state"] for name, p in probes.items() if name != probe}
    assert "attached" in others and "unavailable" not in others
    coverage = daemon.coverage(question)
    assert coverage["state"] != "full"
    assert probe in coverage["reason"]


def test_coverage_names_every_probe_that_is_not_there(start, bpf):
    """All probes of one question: the reason lists each of them, to the end."""
    names = ["irq_handler_entry", "irq_handler_exit", "softirq_raise", "softirq_entry",
             "softirq_exit", "netif_receive_skb", "sk_data_ready", "skb_copy_datagram_iovec",
             "sock_recv_length", "consume_skb"]
    # A scan could find other tests' XDP programs.
    daemon = start(f"probes.disable={','.join(names)}", "elsewhere.interval=0")
    probes = {p["name"]: p for p in daemon.call("ListProbes")["probes"]}
    coverage = daemon.coverage("rx_latency")
    assert coverage["state"] == "unavailable"
    assert coverage["reason"] == "; ".join(
        f"{name}: switched off by probes.disable (lost without it: {probe['lost_without']})"
        for name, probe in probes.items() if name in names)
    assert len(coverage["reason"]) > 1024


# ---- the command line of the daemon ----


def run_daemon(*arguments):
    return subprocess.run([str(paths.DAEMON), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          timeout=patience.seconds(20))


def test_help_and_version(built):
    done = run_daemon("--help")
    assert done.returncode == 0 and not done.stderr
    for word in ("--runtime-dir", "--config", "--set", "records.rate", "inflight.entries"):
        assert word in done.stdout
    done = run_daemon("--version")
    assert done.returncode == 0 and done.stdout.startswith("netflowd ")


@pytest.mark.parametrize("arguments, words", [
    (["--sett", "records.rate=1"], ["--sett"]),
    (["--runtime-dri", "/tmp"], ["--runtime-dri", "--runtime-dir"]),
    (["--set", "record.rate=1"], ["record.rate", "records.rate"]),
    (["--set", "records.rate"], ["records.rate"]),
    (["--set", "records.rate=many"], ["records.rate", "many"]),
    (["--set", "records.rate=-1"], ["records.rate", "-1"]),
    (["--set", "inflight.entries=100"], ["inflight.entries", "64", "128"]),
    (["--set", "inflight.entries=99999999999999999999"], ["inflight.entries"]),
    (["--set", "probes.disable=kfree_sbk"], ["kfree_sbk", "kfree_skb"]),
    (["--config", "/nonexistent"], ["/nonexistent"]),
    (["start"], ["start"]),
], ids=lambda value: " ".join(value) if value and value[0].startswith("--") else None)
def test_wrong_argument(built, tmp_path, arguments, words):
    """The daemon exits with 2, and names the wrong word and the nearest valid one."""
    done = run_daemon(*arguments)
    assert done.returncode == 2, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_config_file(start, bpf, tmp_path):
    config = tmp_path / "netflowd.conf"
    config.write_text("[records]\nrecent = 123\n\n[inflight]\nentries = 256\n")
    daemon = start(options=["--config", config])
    assert daemon.call("GetDropRecords")["capacity"] == 123
    tables = {t["name"]: t for t in daemon.status()["tables"]}
    assert any(t["entries"] == 256 for t in tables.values()), tables


@pytest.mark.parametrize("text, words", [
    ("[records]\nrate = 5\nrecnt = 1\n", [":3", "records.recnt", "records.recent"]),
    ("[records]\n\nrate = x\n", [":3", "records.rate", "x"]),
    ("[record]\nrate = 5\n", [":2", "record.rate", "records.rate"]),
])
def test_wrong_config_file(built, tmp_path, text, words):
    config = tmp_path / "netflowd.conf"
    config.write_text(text)
    done = run_daemon("--config", str(config), "--runtime-dir", str(tmp_path))
    assert done.returncode == 2, done.stderr
    for word in [str(config), *words]:
        assert word in done.stderr, done.stderr

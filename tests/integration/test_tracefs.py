# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend on trace events: when it is chosen, what it counts, and what it leaves behind."""

import contextlib
import signal

import pytest

from lab import backends, kernel, recordings, waiting

SENT = 4217
WITHOUT_BTF = ["unshare", "--mount", "sh", "-c",
               "mount -t tmpfs tmpfs /sys/kernel/btf && exec \"$@\"", "sh"]


@pytest.fixture(autouse=True)
def mounted():
    with recordings.mounted():
        yield


@contextlib.contextmanager
def other_tracer(name):
    """An instance of another program, which records kfree_skb."""
    path = recordings.INSTANCES / name
    path.mkdir()
    try:
        (path / "events/skb/kfree_skb/enable").write_text("1", encoding="ascii")
        yield path
    finally:
        kernel.remove_instance(path)


def make(start, setting="probes.backend=tracefs", **kwargs):
    return start.make(setting, f"probes.trace_buffer={backends.BUFFER_KIB}", **kwargs)


@pytest.fixture
def tracing(start):
    return make(start).start()


def test_chosen_where_no_program_runs(start, bpf):
    """Without BTF, netflowd says which backend it runs instead, why, and what that costs."""
    daemon = make(start, "probes.backend=auto", command=WITHOUT_BTF).start()
    backend = daemon.status()["backend"]
    assert backend["name"] == "tracefs"
    assert "BTF" in backend["reason"]
    text = daemon.netflowctl("status").stdout
    assert f"tracefs: {backend['reason']}" in text
    assert "the backend tracefs runs: each packet costs more than with BPF programs" in daemon.log()
    assert "BTF" in daemon.log()


def test_bpf_does_not_fall_back(start, bpf):
    daemon = start("probes.backend=bpf", command=WITHOUT_BTF)
    backend = daemon.status()["backend"]
    assert backend["name"] == "none"
    assert "BTF" in backend["reason"]
    assert not backends.instances_of(daemon.pid)


def test_bpf_is_first(start, bpf):
    daemon = start("probes.backend=auto")
    assert daemon.status()["backend"]["name"] == "bpf"
    assert not backends.instances_of(daemon.pid)


def test_the_end_removes_the_instance(tracing):
    assert backends.instances_of(tracing.pid) == {f"netflowd-live-{tracing.pid}"}
    assert tracing.stop() == 0
    assert not backends.instances_of(tracing.pid)


def test_what_a_killed_daemon_left(start, tracing):
    """The next daemon removes it; instances of running processes and of other programs stay."""
    tracing.stop(signal.SIGKILL)
    assert backends.instances_of(tracing.pid) == {f"netflowd-live-{tracing.pid}"}
    with other_tracer("nfttracer") as other, other_tracer("netflowd-live-0") as similar:
        second = make(start).start()
        assert not backends.instances_of(tracing.pid)
        third = make(start).start()
        assert backends.instances_of(second.pid) and backends.instances_of(third.pid)
        for daemon in (second, third):
            assert daemon.stop() == 0
        for path in (other, similar):
            enabled = (path / "events/skb/kfree_skb/enable").read_text(encoding="ascii")
            assert enabled.strip() == "1"


def test_refused_on_loopback(tracing, lab):
    """The drops of `lo` in all namespaces count together, so only those of the test's own address
    family and reason are compared; the kernel's own trace says how many the whole host had."""
    before = tracing.dropped()
    namespace = lab.namespace(ipv6=False)
    device = namespace.loopback()

    def dropped():
        return sum(row["packets"] for row in tracing.call("GetDrops")["rows"]
                   if (row.get("device"), row.get("protocol"), row.get("reason")) ==
                   (device.name, "ipv4", "NO_SOCKET"))

    first = waiting.until(dropped, lambda count: count == dropped())
    statistics = namespace.nstat()
    with kernel.drop_trace() as trace:
        namespace.send_udp("127.0.0.1", 9, SENT)
    assert namespace.nstat().since(statistics, "UdpNoPorts") == {"UdpNoPorts": SENT}
    counted = waiting.until(dropped, lambda count: count - first >= SENT) - first
    others = trace.matching(0x0800, "NO_SOCKET") - SENT
    assert SENT <= counted <= SENT + others, (counted, others)
    assert others or counted == SENT
    assert tracing.dropped() >= before + SENT

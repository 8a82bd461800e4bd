# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend on trace events: when it is chosen, what it counts, and what it leaves behind."""

import collections
import concurrent.futures
import contextlib
import functools
import json
import signal
import socket
import subprocess
import time

import pytest

from lab import backends, kernel, ledgers, paths, recordings, waiting
from lab.daemon import netflowctl
from lab.pump import pump

pytestmark = pytest.mark.alone

SENT = 4217
# Then the daemon has read what happened before.
SETTLED_SECONDS = 0.4
ROUNDS, LATER_SECONDS = 50, 0.01


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


def make(start, *settings, **kwargs):
    return start.make(*(settings or ("probes.backend=tracefs",)),
                      f"probes.trace_buffer={backends.BUFFER_KIB}", **kwargs)


@pytest.fixture
def tracing(start):
    return make(start).start()


def test_chosen_where_no_program_runs(start, bpf):
    """Without BTF, netflowd says which backend it runs instead, why, and what that costs."""
    daemon = make(start, "probes.backend=auto", command=backends.WITHOUT_BTF).start()
    backend = daemon.status()["backend"]
    assert backend["name"] == "tracefs"
    assert "BTF" in backend["reason"]
    text = daemon.netflowctl("status").stdout
    assert f"tracefs: {backend['reason']}" in text
    assert "the backend tracefs runs: netflowd reads every event" in daemon.log()
    assert "BTF" in daemon.log()


def test_bpf_does_not_fall_back(start, bpf):
    daemon = start("probes.backend=bpf", command=backends.WITHOUT_BTF)
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
        return refused(tracing.call("GetDrops")["rows"], device.name)

    first = waiting.until(dropped, lambda count: count == dropped())
    statistics = namespace.nstat()
    with kernel.drop_trace() as trace:
        namespace.send_udp("127.0.0.1", 9, SENT)
    assert namespace.nstat().since(statistics, "UdpNoPorts") == {"UdpNoPorts": SENT}
    counted = waiting.until(dropped, lambda count: count - first >= SENT) - first
    others = trace.matching(0x0800, reason()) - SENT
    assert SENT <= counted <= SENT + others, (counted, others)
    assert others or counted == SENT
    assert tracing.dropped() >= before + SENT
    # CPUs that could be added have no ring buffer.
    assert "cannot read" not in tracing.log()


# ---- devices that are excluded ----


@pytest.fixture
def pairs(lab):
    """One to follow, and one to exclude, on which only the test's own packets move."""
    return lab.pair(ipv6=False), lab.pair(ipv6=False)


def exclusion(pair):
    """A name, and a pattern that no other device of the test matches."""
    return f"{pair.left_device.name}, {pair.right_device.name}*"


@pytest.fixture
def excluding(start, pairs):
    return make(start, "probes.backend=tracefs",
                f"probes.trace_exclude={exclusion(pairs[1])}").start()


def is_seen(daemon, device):
    """Whether any answer has a row about this device."""
    latencies = daemon.call("GetLatency", all=True)["latencies"]
    napi = daemon.call("GetNapi")["napi"]
    return any(row.get("device") == device.name
               for row in [*latencies, *napi, *daemon.call("GetDrops")["rows"]])


def latencies(daemon, device, segment):
    """How many packets of a device have this segment."""
    return sum(row["count"] for row in daemon.call("GetLatency", all=True)["latencies"]
               if (row.get("device"), row["segment"]) == (device.name, segment))


def reason():
    """The reason of a datagram to a closed port; None: the kernel has no reasons."""
    return "NO_SOCKET" if kernel.has_drop_reasons() else None


def refused(rows, device):
    """The datagrams to closed ports of a device; None: of those that are not known."""
    return sum(row["packets"] for row in rows
               if (row.get("device"), row.get("protocol")) == (device, "ipv4")
               and reason() in (None, row.get("reason")))


def received(daemon):
    return daemon.status()["packets"]["received"]


def test_excluded_devices(excluding, pairs):
    """Of two pairs that are busy at the same time, only one is followed; all datagrams arrive."""
    daemon, (shown, excluded) = excluding, pairs
    time.sleep(SETTLED_SECONDS)
    before = received(daemon)
    with kernel.event_counts("net/netif_receive_skb") as counts:
        # What the daemon reads from now on happened in this block.
        time.sleep(SETTLED_SECONDS)
        first = received(daemon)
        with concurrent.futures.ThreadPoolExecutor() as executor:
            pumps = [executor.submit(pump, "udp", pair.left, pair.right, pair.RIGHT4, 7000, SENT)
                     for pair in pairs]
        assert all(done.result().messages_read == SENT for done in pumps)
        delivered = waiting.settled(
            lambda: latencies(daemon, shown.right_device, "receive_to_copy"), SENT)
        assert delivered == SENT
        seen = received(daemon) - first
    assert first >= before
    assert latencies(daemon, shown.left_device, "queue_to_start_xmit") == SENT
    assert SENT <= seen <= counts["net/netif_receive_skb"] - SENT
    for device in (excluded.left_device, excluded.right_device):
        assert not is_seen(daemon, device)
    assert ledgers.check_balanced(daemon)
    path = recordings.INSTANCES / f"netflowd-live-{daemon.pid}" / "events/net/net_dev_xmit/filter"
    assert excluded.left_device.name in path.read_text(encoding="ascii")


def test_drops_of_excluded_devices(excluding, pairs):
    """They count exactly; that a device had them is not known."""
    daemon, (shown, _) = excluding, pairs

    def dropped(device):
        return refused(daemon.call("GetDrops")["rows"], device)

    first = waiting.until(lambda: dropped(None), lambda count: count == dropped(None))
    with kernel.drop_trace() as trace:
        for pair in pairs:
            assert pair.left.send_udp(pair.RIGHT4, 9, SENT) == SENT
    waiting.until(lambda: dropped(None) - first, lambda count: count >= SENT)
    others = trace.matching(0x0800, reason()) - 2 * SENT
    assert dropped(shown.right_device.name) == SENT
    assert SENT <= dropped(None) - first <= SENT + others
    assert not is_seen(daemon, pairs[1].right_device)


def test_one_socket_for_both(start, lab):
    """A reader takes a datagram of an excluded device, and that of a followed one a while later:
    each read is that of its own datagram."""
    sender, reader = lab.namespace(ipv6=False), lab.namespace(ipv6=False)
    ends = [lab.veth(sender, reader) for _ in range(2)]
    for number, (left, right) in enumerate(ends):
        sender.ip("address", "add", f"10.78.{number}.1/24", "dev", left.name)
        reader.ip("address", "add", f"10.78.{number}.2/24", "dev", right.name)
    daemon = make(start, "probes.backend=tracefs",
                  f"probes.trace_exclude={ends[1][0].name} {ends[1][1].name}").start()
    with contextlib.ExitStack() as stack:
        with reader.entered():
            server = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            server.bind(("0.0.0.0", 7001))
        with sender.entered():
            client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for _ in range(ROUNDS):
            client.sendto(b"excluded", ("10.78.1.2", 7001))
            client.sendto(b"shown", ("10.78.0.2", 7001))
            assert server.recv(100) == b"excluded"
            time.sleep(LATER_SECONDS)
            assert server.recv(100) == b"shown"
    shown = ends[0][1]
    assert waiting.settled(lambda: latencies(daemon, shown, "receive_to_copy"), ROUNDS) == ROUNDS
    row = next(row for row in daemon.call("GetLatency", all=True)["latencies"]
               if (row.get("device"), row["segment"]) == (shown.name, "receive_to_copy"))
    assert row["mean_ns"] >= LATER_SECONDS * 1e9
    assert not is_seen(daemon, ends[1][1])


def test_exclusion_is_reported(excluding, pairs):
    names = exclusion(pairs[1])
    for question in ("drops", "rx_latency", "tx_latency", "napi", "devices"):
        row = excluding.coverage(question)
        assert row["state"] == "degraded"
        assert "devices excluded by probes.trace_exclude (" in row["reason"]
        assert row["reason"].endswith(f": {names}")
    assert names in excluding.netflowctl("status").stdout.replace("\n", " ")


def test_bpf_excludes_nothing(start, pairs, bpf):
    daemon, excluded = start("probes.backend=bpf",
                             f"probes.trace_exclude={exclusion(pairs[1])}"), pairs[1]
    assert pump("udp", excluded.left, excluded.right, excluded.RIGHT4, 7000, 100).messages_read
    for device, segment in ((excluded.left_device, "queue_to_start_xmit"),
                            (excluded.right_device, "softirq_to_receive")):
        counted = functools.partial(latencies, daemon, device, segment)
        assert waiting.settled(counted, 100) == 100
    assert "trace_exclude" not in str(daemon.status()["coverage"])


@pytest.fixture
def recording(built, cli):
    """Recordings can be made."""
    del built, cli


@pytest.mark.usefixtures("recording")
def test_a_recording_without_devices(pairs, tmp_path):
    shown, excluded = pairs
    file = tmp_path / "trouble.dat"
    commands = "; ".join(
        f"ip netns exec {pair.left.name} {paths.TOOLS / 'udp_send'} -n {SENT} {pair.RIGHT4} 9"
        for pair in pairs)
    done = recordings.record(file, "--exclude", exclusion(excluded), "--", "sh", "-c", commands)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{SENT} {SENT}\n") == 2

    events = recordings.events(file)
    counts = collections.Counter(event.name for event in events
                                 if f"dev={shown.right_device.name} " in event.text)
    assert counts["netif_receive_skb"] == SENT
    for device in (excluded.left_device, excluded.right_device):
        assert not [event for event in events if event.name != "print"
                    and device.name in event.text]
    dropped = sum(event.name == "kfree_skb" and "protocol=2048" in event.text
                  and (reason() or "") in event.text for event in events)

    done = netflowctl("--json", "replay", file, "drops")
    rows = json.loads(done.stdout)["rows"]
    assert refused(rows, shown.right_device.name) == SENT
    assert sum(refused(rows, device) for device in {row.get("device") for row in rows}) == dropped
    assert dropped >= 2 * SENT
    status = json.loads(netflowctl("--json", "replay", file, "status").stdout)
    reasons = {row["question"]: row.get("reason", "") for row in status["coverage"]}
    assert f"devices excluded by --exclude (what they receive is not followed): " \
        f"{exclusion(excluded)}" in reasons["rx_latency"]


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("value, why", [
    ("veth\"", "a name has a character that it cannot have"),
    ("veth[0-9]", "a name has a character that it cannot have"),
    ("veth\x01", "a name has a character that it cannot have"),
    ("a_name_that_is_too_long", "names have at most 15 characters; shorten it with *"),
    ("eth0 *", "* excludes all devices"),
    (" ".join(f"v{i}" for i in range(33)), "more than 32 names; name fewer, with patterns"),
])
def test_bad_exclusions(tmp_path, value, why):
    """Each error names the place, what is wrong and what to do."""
    file = tmp_path / "netflowd.conf"
    file.write_text(f"[probes]\ntrace_exclude = {value}\n", encoding="ascii")
    for arguments, place in (
            (("--config", file, "--check-config"), f"{file}:2: probes.trace_exclude: "),
            (("--set", f"probes.trace_exclude={value}", "--check-config"),
             "probes.trace_exclude: "),
            (("--record", tmp_path / "a.dat", "--exclude", value), "--exclude: ")):
        done = subprocess.run([paths.DAEMON, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 2, done
        assert place in done.stderr and why in done.stderr
    assert not (tmp_path / "a.dat").exists()

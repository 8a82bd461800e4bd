# SPDX-License-Identifier: GPL-2.0-or-later
"""Slots on a real xen-netfront, compared with its driver's messages, counters and deliveries.

Runs in a guest of `tests/vm/run --xen` (make check-xen), with NETFLOWD_XEN_LATE=1, so that the
first test loads the driver after the daemon has started.
"""

import collections
import concurrent.futures
import contextlib
import signal
import socket

import pytest

from lab import backends, journeys, kernel, ledgers, memory, recordings, rocket, sockets, xen
from lab.alerts import Rules, reaches
from lab.waiting import settled, until

SLOTS = (9, 17, 18, 19, 31)
EACH = 5
LIMIT = 18  # XEN_NETIF_NR_SLOTS_MIN
PORT = 5000
BIG = 3

pytestmark = pytest.mark.skipif(not xen.here(), reason="no Xen here: make check-xen")


@pytest.fixture
def messages():
    messages = xen.Messages()
    try:
        yield messages
    finally:
        messages.close()


@pytest.fixture
def vif():
    """The guest's vif, with its driver."""
    if not xen.has_frontend():
        xen.load_frontend()
    return xen.vif()


# ---- answers of the daemon ----


def source(daemon):
    """The probe of xen-netfront: state, how, reason."""
    return daemon.call("GetSlots")["xen"]


def counts(daemon, vif):
    """The daemon's counts of a frontend; None before its first transmit."""
    found = daemon.call("GetSlots", device=vif.name)["devices"]
    assert len(found) <= 1
    return found[0] if found else None


def histogram(daemon, vif):
    """Transmits by slots."""
    device = counts(daemon, vif) or {"histogram": []}
    return collections.Counter({bucket["slots"]: bucket["count"] for bucket in device["histogram"]})


def outcomes(daemon, vif):
    """The outcomes of overflows, without the zeros."""
    return {outcome: count for outcome, count in counts(daemon, vif)["outcomes"].items() if count}


def records(daemon, vif, kind):
    held = daemon.call("GetSlotsRecords", device=vif.name, limit=1 << 16)["records"]
    return [record for record in held if record["kind"] == kind]


# ---- traffic ----


class Ride:
    """Every number of slots in turn, with TCP bulk between; checks the counts at each step.

    `since`: the device's packets and drops at the moment when the daemon began to see it.
    """

    def __init__(self, daemon, vif, messages, since=None):
        self.daemon, self.vif, self.messages = daemon, vif, messages
        self.counted = collections.Counter()
        self.packets, self.drops = since or vif.transmitted()

    def all(self):
        with rocket.reader(self.vif.peer, self.vif.peer_address, PORT, seconds=60) as end:
            for slots in SLOTS:
                self._bulk()
                self._rockets(slots, end)
        assert self.vif.transmitted()[1] == self.drops

    def _histogram(self):
        return histogram(self.daemon, self.vif)

    def _bulk(self):
        """A single stream of 65 KiB segments never rides the rocket."""
        bulk = self.vif.bulk(size=65536, count=20)
        assert bulk.bytes_read == bulk.bytes == 20 * 65536
        assert not self.messages.rockets()
        seen = until(self._histogram, lambda seen: seen.total() == self._transmitted())
        assert seen.total() == self._transmitted()
        assert overflowed(seen) == overflowed(self.counted)
        self.counted = seen

    def _transmitted(self):
        """The driver's own count since the daemon sees the device."""
        return self.vif.transmitted()[0] - self.packets

    def _rockets(self, slots, end):
        sent = rocket.rocket(self.vif.host, self.vif.peer_address, PORT, slots, count=EACH)
        assert rocket.received(end, EACH) == [rocket.payload(one) for one in sent]
        self.counted[slots] += EACH
        assert settled(self._histogram, self.counted) == self.counted
        logged = [driver for driver, _ in self.messages.rockets()]
        assert logged == ([slots] * EACH if slots > LIMIT else [])


def overflowed(histogram):
    return {slots: count for slots, count in histogram.items() if slots > LIMIT}


def check_overflows(daemon, vif):
    """Check that all overflows sent were counted and linearized, each with a layout that matches
    its slots and its length."""
    device = counts(daemon, vif)
    assert device["xen"]
    assert device["overflows"] == 2 * EACH
    assert outcomes(daemon, vif) == {"linearized": 2 * EACH}
    overflows = records(daemon, vif, "overflow")
    assert collections.Counter(r["slots"] for r in overflows) == {19: EACH, 31: EACH}
    for record in overflows:
        assert record["outcome"] == "linearized"
        check_layout(record)


def check_layout(record):
    pieces = [record["head"], *record["frags"]]
    assert record["limit"] == LIMIT
    assert [piece["slots"] for piece in pieces] == [pages(piece) for piece in pieces]
    assert sum(piece["slots"] for piece in pieces) == record["slots"]
    assert sum(piece["size_bytes"] for piece in pieces) == record["length_bytes"]
    assert record["task"]["comm"] == "rocket"
    assert record["offload"]["sg"]


def check_too_big(daemon, vif):
    """Send datagrams that the driver drops and counts."""
    _, dropped = vif.transmitted()
    with vif.mtu(xen.WIRE_MAX), vif.host.entered():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(BIG):
                sender.sendto(bytes(65507), (vif.peer_address, PORT))
    assert vif.transmitted()[1] - dropped == BIG
    assert settled(lambda: (counts(daemon, vif) or {}).get("too_big"), BIG) == BIG
    big = records(daemon, vif, "too_big")
    assert [record["outcome"] for record in big] == ["dropped"] * BIG
    assert [record["length_bytes"] for record in big] == [14 + 20 + 8 + 65507] * BIG


def pages(piece):
    return (piece["offset"] % 4096 + piece["size_bytes"] + 4095) // 4096


# ---- tests ----


def test_frontend_loaded_after_the_daemon(start, messages):
    if xen.has_frontend():
        pytest.skip("xen-netfront is loaded already: NETFLOWD_XEN_LATE=1")
    daemon = start()
    assert source(daemon)["state"] == "unneeded"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        # As at boot: the hypervisor offers the device before its driver is there.
        coming = pool.submit(xen.vif)
        xen.load_frontend()
        attached = until(lambda: source(daemon), lambda source: source["state"] == "attached", 30)
        vif = coming.result()
    assert (attached["state"], attached["how"]) == ("attached", "fentry"), attached
    assert "every second" not in daemon.log()
    # netflowd counts all transmits of the device, from its first packet on.
    Ride(daemon, vif, messages, since=(0, 0)).all()
    check_overflows(daemon, vif)


def test_frontend_loaded_before_the_daemon(vif, start, messages):
    daemon = start()
    assert source(daemon)["state"] == "attached", source(daemon)
    Ride(daemon, vif, messages).all()
    check_overflows(daemon, vif)


def test_device_added_after_the_daemon(vif, start, messages):
    daemon = start()
    second = xen.vif(1)
    assert second.name != vif.name
    Ride(daemon, second, messages).all()
    check_overflows(daemon, second)
    assert not counts(daemon, vif)


def test_overflows_of_tcp(vif, start, messages):
    """The rockets of two woven streams are not predictable: the driver's messages list them."""
    daemon = start()
    logged = []
    for _ in range(5):
        assert vif.woven_bulk(turns=1000) == 2 * (100 + 1000 * 4096)
        logged += messages.rockets()
        if logged:
            break
    assert logged, "the streams never rode the rocket"
    assert settled(lambda: outcomes(daemon, vif), {"linearized": len(logged)}) == {
        "linearized": len(logged)}
    overflows = records(daemon, vif, "overflow")
    assert len(overflows) == len(logged)
    assert [(r["slots"], r["length_bytes"]) for r in overflows] == logged
    assert all(record["gso_size"] for record in overflows)


def test_too_big_for_the_wire(vif, start):
    daemon = start()
    check_too_big(daemon, vif)
    assert not counts(daemon, vif)["overflows"]


def test_overflows_that_cannot_be_linearized(vif, start, messages, tmp_path):
    """To linearize 31 slots of 30 KB, the driver needs 8 contiguous pages.  Without them it drops
    the packet and counts it; all packets that it did not drop arrive."""
    rules = Rules(tmp_path / "rules")
    rules.write("10.conf", "[alert slot-overflow]\ncondition = slot_overflow\nwindow = 10min\n")
    daemon = start(rules.setting)
    before = vif.transmitted()[1]
    with contextlib.ExitStack() as stack:
        stack.enter_context(vif.mtu(xen.WIRE_MAX))
        end = stack.enter_context(
            rocket.reader(vif.peer, vif.peer_address, PORT, seconds=60))
        whole, broken = ([stack.enter_context(rocket.Built(vif.host, vif.peer_address, PORT, 31,
                                                           piece=2000)) for _ in range(EACH)]
                         for _ in range(2))
        for datagram in whole:
            datagram.send()
        assert vif.transmitted()[1] == before
        trace = stack.enter_context(kernel.drop_trace())
        with memory.fragmented():
            for datagram in broken:
                assert not until(memory.free_block, lambda there: not there)
                datagram.send()
        dropped = vif.transmitted()[1] - before
        # The kernel may have made such a block after the check.
        assert dropped and dropped <= EACH
        arrived = 2 * EACH - dropped
        assert rocket.received(end, arrived) == [rocket.payload(whole[0].datagram)] * arrived
        assert [slots for slots, _ in messages.rockets()] == [31] * 2 * EACH

    expected = {"linearized": arrived, "dropped": dropped}
    assert settled(lambda: outcomes(daemon, vif), expected) == expected
    overflows = records(daemon, vif, "overflow")
    assert collections.Counter(record["outcome"] for record in overflows) == expected
    for record in overflows:
        check_layout(record)
        assert record["slots"] == 31
        assert record["length_bytes"] == 14 + 20 + 8 + whole[0].datagram.bytes
    check_drops(daemon, vif, trace, dropped)
    fired = reaches(daemon, "slot-overflow", "firing", 30)
    assert f"(linearized {arrived}, dropped {dropped})" in fired["summary"]
    assert f"dropped {dropped}" in daemon.netflowctl("alerts").stdout
    assert f"{dropped} dropped" in daemon.netflowctl("slots").stdout


def check_drops(daemon, vif, trace, dropped):
    """Check that the drop probe and the kernel's trace of kfree_skb saw exactly these drops."""
    (location, packets), = ((row["location"].split(" ")[0], row["packets"])
                            for row in daemon.drop_rows(vif.device, "ipv4/udp"))
    assert location.startswith("xennet_start_xmit+") and packets == dropped
    assert trace.lost == 0
    assert trace.matching(0x0800, None, location) == dropped


def test_completions_are_not_drops(vif, start):
    """xen-netfront frees transmitted packets with dev_kfree_skb_irq(), and xen-netback purges a
    queue of packets that the guest has received.  The kernel's own trace shows both as drops,
    without a reason or with the reason of a purge."""
    count = 100
    daemon = start(*journeys.EVERY)
    before = ledgers.quiet(daemon)["drops"]["completed"]
    ends = {vif.device: vif.device.statistics()["tx"], vif.backend: vif.backend.statistics()["tx"]}
    with sockets.udp(vif.host, vif.peer, vif.peer_address, PORT) as (sender, reader), \
            sockets.udp(vif.peer, vif.host, vif.address, PORT) as (back_sender, back_reader), \
            kernel.drop_trace() as trace:
        for _ in range(count):
            sender.send(b"x")
            reader.recv(10)
            back_sender.send(b"x")
            back_reader.recv(10)
        packets = {}
        for device, then in ends.items():
            now = device.statistics()["tx"]
            packets[device] = now["packets"] - then["packets"]
            assert packets[device] >= count and now["dropped"] == then["dropped"]
        completed = settled(lambda: daemon.status()["drops"]["completed"] - before,
                            sum(packets.values()))
        assert completed == sum(packets.values())
    for function in ("net_tx_action", "xenvif_rx_copy_flush"):
        assert sum(seen for (_, location, _), seen in trace.counts.items()
                   if location and location.startswith(function)) >= count
    ledgers.check_balanced(daemon)
    for device, transmitted in packets.items():
        assert not daemon.drop_rows(device)
        assert journeys.histogram(daemon, device, "xmit_to_free", "tx")["count"] == transmitted
        records = journeys.wait_for(daemon, count, device, "transmitted")
        assert len(journeys.to_port(records, PORT)) == count


def test_exact_without_stages(vif, start, messages, tmp_path):
    """Slots, rockets and completions do not depend on the probes that load or a pause detaches."""
    daemon = start("cost.governor=on", f"history.directory={tmp_path}")
    daemon.call("Pause")
    before = ledgers.quiet(daemon)["drops"]["completed"]
    ends = {device: device.statistics()["tx"]["packets"] for device in (vif.device, vif.backend)}
    rocket.rocket(vif.host, vif.peer_address, PORT, *SLOTS, count=EACH)
    with sockets.udp(vif.peer, vif.host, vif.address, PORT) as (sender, reader):
        for _ in range(EACH):
            sender.send(b"x")
            reader.recv(10)
    packets = {device: device.statistics()["tx"]["packets"] - then for device, then in ends.items()}
    assert settled(lambda: histogram(daemon, vif), dict.fromkeys(SLOTS, EACH)) == dict.fromkeys(
        SLOTS, EACH)
    assert [driver for driver, _ in messages.rockets()] == [19] * EACH + [31] * EACH
    check_overflows(daemon, vif)
    completed = settled(lambda: daemon.status()["drops"]["completed"] - before,
                        sum(packets.values()))
    assert completed == sum(packets.values())
    functions = {row.get("function") for device in packets for row in daemon.drop_rows(device)}
    assert functions <= {"udp_rcv", "__udp4_lib_rcv"}, functions  # no one reads the rockets


@pytest.mark.parametrize("way, how", (("fentry", "fentry"), ("kprobe", "kprobe"),
                                      ("tracepoint", "tp_btf")))
def test_each_way_to_attach(vif, start, messages, way, how):
    """The counts do not depend on how the probe is attached."""
    daemon = start(f"slots.attach={way}")
    assert source(daemon).get("how") == how, source(daemon)
    rocket.rocket(vif.host, vif.peer_address, PORT, *SLOTS, count=EACH)
    assert settled(lambda: histogram(daemon, vif), dict.fromkeys(SLOTS, EACH)) == dict.fromkeys(
        SLOTS, EACH)
    assert [driver for driver, _ in messages.rockets()] == [19] * EACH + [31] * EACH
    check_overflows(daemon, vif)
    check_too_big(daemon, vif)


def test_log_agrees(vif, start, messages):
    """The probe saw every rocket in the kernel's log."""
    daemon = start()
    rocket.rocket(vif.host, vif.peer_address, PORT, 19, 31)
    assert [slots for slots, _ in messages.rockets()] == [19, 31]
    log = until(lambda: daemon.call("GetSlots")["log"],
                lambda log: [rocket["state"] for rocket in log["newest"]] == ["seen"] * 2)
    assert [(r["slots"], r["state"]) for r in log["newest"]] == [(19, "seen"), (31, "seen")]
    assert (log["rockets"], log["unseen"]) == (2, 0)
    assert daemon.coverage("slots_log")["state"] == "full"


# ---- trace events ----


@pytest.fixture
def tracefs():
    """tracefs is mounted longer than a daemon runs."""
    with recordings.mounted():
        yield


def tracing(start):
    return start("probes.backend=tracefs", f"probes.trace_buffer={backends.BUFFER_KIB}")


# What of a record depends neither on when it was seen nor on what is left of its task.
SEEN = ("kind", "device", "outcome", "slots", "limit", "length_bytes", "head", "frags", "gso_size",
        "gso_segs", "offload", "involved")


def shown(daemon, vif):
    """(counts, records) of a device, without its network namespace: trace events do not show it."""
    device = counts(daemon, vif)
    held = daemon.call("GetSlotsRecords", device=vif.name, limit=1 << 16)["records"]
    return ({name: value for name, value in device.items()
             if name not in ("ifindex", "netns", "netns_name", "last_overflow")},
            [{name: record.get(name) for name in SEEN}
             for record in sorted(held, key=lambda record: record["time"])])


def test_trace_events_show_what_the_programs_show(tracefs, vif, start, tmp_path):
    """Each number of slots, segments of TCP and datagrams that are too big: the programs, the trace
    events of this host and a recording have the same counts and records."""
    programs, events = start(), tracing(start)
    assert (source(events)["state"], source(events)["how"]) == ("attached", "event")
    path = tmp_path / "trace.dat"
    before, _ = vif.transmitted()
    with recordings.recorder(path, "--buffer", backends.BUFFER_KIB) as recorder:
        rocket.rocket(vif.host, vif.peer_address, PORT, *range(1, 20), 31, count=2)
        assert vif.woven_bulk(turns=100) == 2 * (100 + 100 * 4096)
        transmits = vif.transmitted()[0] - before
        check_too_big(programs, vif)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(60) == 0
    expected = settled(lambda: histogram(events, vif).total(), transmits + BIG)
    assert expected == transmits + BIG
    assert "transmits were not counted" not in events.coverage("slots")["reason"]
    device, held = shown(programs, vif)
    assert device["overflows"] and device["too_big"] == BIG and len(held) > device["overflows"]
    assert shown(events, vif) == (device, held)
    with recordings.served(path, tmp_path / "replay") as replay:
        assert shown(replay, vif) == (device, held)


def test_trace_events_of_a_driver_that_is_loaded_later(tracefs, start):
    """The kernel attaches the events before the driver runs, also after it was unloaded.  They do
    not depend on those that a pause disables."""
    if xen.has_frontend():
        xen.unload_frontend()
    daemon = tracing(start)
    assert source(daemon)["state"] == "unneeded"
    daemon.call("Pause")
    xen.load_frontend()
    vif = xen.vif(3)
    assert source(daemon)["state"] == "attached"
    rocket.rocket(vif.host, vif.peer_address, PORT, *SLOTS, count=EACH)
    seen = settled(lambda: histogram(daemon, vif).total(), vif.transmitted()[0])
    assert seen == vif.transmitted()[0] == EACH * len(SLOTS)
    assert histogram(daemon, vif) == dict.fromkeys(SLOTS, EACH)
    assert outcomes(daemon, vif) == {"linearized": 2 * EACH}


KPROBES = recordings.TRACEFS / "kprobe_events"


def kprobe_events():
    """The kernel's kprobe events, as GROUP/NAME."""
    lines = KPROBES.read_text(encoding="ascii").splitlines()
    return {line.split()[0].split(":")[1] for line in lines}


def test_trace_events_that_were_left_behind(tracefs, start):
    """netflowd removes its own kprobe events when it ends, and those of one that was killed when it
    starts; it leaves those of others alone."""
    stale, others = "netflowd/xennet_start_xmit_7", "lab/xennet_start_xmit"
    for name in (stale, others):
        kernel.append(KPROBES, f"p:{name} __udp_enqueue_schedule_skb")
    try:
        killed = tracing(start)
        ours = {name for name in kprobe_events() if name.startswith("netflowd/xennet_start_xmit")}
        assert len(ours) > 2 and stale not in ours
        killed.stop(signal.SIGKILL)
        assert ours <= kprobe_events()
        assert tracing(start).stop() == 0
        assert kprobe_events() == {others}
    finally:
        kernel.append(KPROBES, f"-:{others}")


# This test must be the last: it does not restore the frontends of the others.
@pytest.mark.parametrize("way, number", (("kprobe", 4), ("tracepoint", 5)))
def test_driver_that_is_reloaded(start, way, number):
    """Neither way keeps the module from being unloaded; both count again after it is reloaded,
    however soon."""
    if not xen.has_frontend():
        xen.load_frontend()
    daemon = start(f"slots.attach={way}")
    assert source(daemon)["state"] == "attached", source(daemon)
    xen.unload_frontend()
    xen.load_frontend()
    fresh = xen.vif(number)

    def one():
        rocket.rocket(fresh.host, fresh.peer_address, PORT, 9)
        return histogram(daemon, fresh)

    assert until(one, bool, 30)
    assert source(daemon)["state"] == "attached", source(daemon)
    rocket.rocket(fresh.host, fresh.peer_address, PORT, 19, count=EACH)
    assert settled(lambda: histogram(daemon, fresh)[19], EACH) == EACH

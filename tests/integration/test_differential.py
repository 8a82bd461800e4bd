# SPDX-License-Identifier: GPL-2.0-or-later
"""The BPF programs and trace events at the same time, over the same packets: they count the same
drops and ends, to the unit, and measure the same times.

Compared is what trace events show:
  - devices by name, which the lab gives to one device each;
  - protocols by EtherType;
  - drops of packets that a device had before: one that is dropped before net_dev_queue has none;
  - drops in the softirq that received the packet: what waits in the backlog of a TCP socket has no
    device either.  So no segment is sent again here, neither for its place in the order (all are
    sent on one CPU), nor for a machine that stood still (TCP waits for long).
"""

import collections
import contextlib
import itertools
import os
import socket
import threading
import time

import pytest

from lab import attempts, backends, kernel, patience, probes, pump, recordings, waiting
from lab.net import join

pytestmark = pytest.mark.alone

PORT = 7777
SENT = 1000
SO_RCVBUFFORCE = 33
# Many skbs can wait for their reader at once, and none loses its entry.
ROOM = "inflight.entries=262144"
# Segments whose histograms count the ends of journeys: delivered, transmitted, forwarded.
ENDS = ("receive_to_copy", "start_xmit_to_xmit", "receive_to_queue")
# At each event, the trace and the programs read the clock one after the other; see also timed().
# Between the two, an emulated CPU takes tens of µs for a kprobe of the trace.
SHARE, LEAST_NS = 0.10, 2000 if patience.FACTOR == 1 else 30_000
MEASURE_MS = 1000
# A hit that finds a journey takes up to this many times as long as the mean of all hits.
FINDS = 4
# A median of fewer journeys is that of single ones.
ENOUGH = 200
# On a busy host the one waits where the other reads its clock: so often medians may differ.
TRIES = 3
RECORD_SECONDS = 5


@pytest.fixture
def both(tracefs, start, bpf):
    """A daemon with each backend."""
    return (start("probes.backend=bpf", ROOM),
            start("probes.backend=tracefs", f"probes.trace_buffer={backends.BUFFER_KIB}", ROOM))


class Net:
    """left ── router ── right; and a bridge between two hosts."""

    FIRST, SECOND = "10.78.1.1", "10.78.1.2"

    def __init__(self, lab):
        self.path = lab.path()
        self.ends = [lab.namespace(ipv6=False) for _ in range(2)]
        middle, bridge = lab.namespace(ipv6=False), lab.name()
        middle.ip("link", "add", bridge, "type", "bridge", "forward_delay", "0",
                  "mcast_snooping", "0")
        middle.ip("link", "set", bridge, "up")
        self.devices = [self.path.left_device, self.path.near_device, self.path.far_device,
                        self.path.right_device]
        for end in self.ends:
            outer, inner = lab.veth(end, middle)
            middle.ip("link", "set", inner.name, "master", bridge)
            self.devices += [outer, inner]
        first, second = self.devices[-4], self.devices[-2]
        join(first, self.FIRST, None, second, self.SECOND, None)
        for device in first, second:
            device.namespace.sysctl(**{"net.ipv4.tcp_early_retrans": 0})
            device.namespace.ip("route", "change", "10.78.1.0/24", "dev", device.name,
                                "rto_min", "10s")
        self.path.right.nft_drop("input", "udp dport 5555")
        device = self.path.right_device
        self.path.right.run("tc", "qdisc", "add", "dev", device.name, "root", "handle", "1:", "tbf",
                            "rate", "8mbit", "burst", "2000", "limit", "20000")
        self.names = {device.name for device in self.devices}
        self.between_ns = LEAST_NS

    def settle(self):
        """Until the qdisc is empty."""
        device = self.path.right_device
        waiting.until(lambda: device.qdisc("tbf")["qlen"], lambda n: n == 0)


def read_all(reader, stop):
    reader.settimeout(0.1)
    while True:
        try:
            reader.recv(2048)
        except TimeoutError:
            if stop.is_set():
                return


def mixed(net, late):
    """UDP that is read, TCP, closed ports, a firewall's rule, a full qdisc, a router, a bridge.
    `late`: all UDP is sent before any is read, because the reader of another CPU could be faster
    than the programs where only the order of a socket's queue tells what it read."""
    path, (first, second) = net.path, net.ends
    one_cpu = ("taskset", "-c", min(os.sched_getaffinity(0)))
    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        readers = []
        for namespace, address in ((path.right, path.RIGHT4), (second, net.SECOND)):
            with namespace.entered():
                reader = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            reader.bind((address, PORT))
            reader.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
            readers.append(threading.Thread(target=read_all, args=(reader, stop)))
            if not late:
                readers[-1].start()
        rate = ("-r", 4000)
        flows = ((path.left, path.RIGHT4, PORT, SENT, *rate),
                 (first, net.SECOND, PORT, SENT, *rate),
                 (path.left, path.RIGHT4, 9, SENT, *rate),
                 (path.left, path.RIGHT6, 9, SENT, *rate),
                 (path.left, path.RIGHT4, 5555, SENT, *rate),
                 (path.right, path.LEFT4, 9, SENT, "-s", 1000, "-b", 1 << 26))
        for flow, (namespace, *arguments) in enumerate(flows):
            namespace.send_udp(*arguments)
            # The first flows are those of the readers.
            if late and flow < len(readers):
                readers[flow].start()
        net.settle()
        pump.pump("tcp", first, second, net.SECOND, PORT + 1, 300, window=1, before=one_cpu)
        time.sleep(0.2)
        stop.set()
        for reader in readers:
            reader.join()
    time.sleep(backends.PERIOD_SECONDS + backends.MARGIN_SECONDS)


def drops(daemon, net):
    """{(reason, location, device, EtherType): packets} of the lab's devices."""
    counts = collections.Counter()
    for row in daemon.call("GetDrops")["rows"]:
        if row.get("device") in net.names:
            # A recording has no names of modules.
            key = (row.get("reason"), row["location"].partition(" [")[0], row["device"],
                   row["protocol"].split("/")[0])
            counts[key] += row["packets"]
    return counts


def without_reason(counts):
    found = collections.Counter()
    for (_, *place), packets in counts.items():
        found[tuple(place)] += packets
    return found


def latencies(daemon, net):
    """{(device, segment, direction): latency} of the lab's devices."""
    return {(l["device"], l["segment"], l["direction"]): l
            for l in daemon.call("GetLatency", all=True)["latencies"]
            if l.get("device") in net.names}


def ends(found):
    return {key: latency["count"] for key, latency in found.items() if key[1] in ENDS}


def missed(programs):
    """What the programs did not see."""
    status = programs.status()
    return {"drops": status["drops"]["missed"], "stages": status["inflight"]["missed"],
            "entries": status["inflight"]["overwritten"]}


def losses(programs, trace):
    """What either daemon did not see."""
    return {"events": trace.status()["trace"]["lost"], **missed(programs)}


def median(latency):
    """Interpolated in its bucket: those of the reply are upper ends of buckets, which are wider
    than the difference allowed."""
    left = latency["count"] / 2
    for bucket in latency["buckets"]:
        if bucket["count"] >= left:
            width = bucket["below_ns"] - bucket["from_ns"]
            return bucket["from_ns"] + width * left / bucket["count"]
        left -= bucket["count"]
    raise AssertionError(latency)


@contextlib.contextmanager
def timed(programs, net):
    """At an event, the trace reads the clock before a program begins, or after it has ended.  So an
    interval differs by as much as a program takes, which the kernel measures during the block: it
    takes longer on a busy machine."""
    def measure():
        with programs.client() as client:
            client.call("GetStatus", measure_ms=MEASURE_MS)

    measuring = threading.Thread(target=measure)
    measuring.start()
    try:
        yield
    finally:
        measuring.join()
    net.between_ns = max(LEAST_NS, *(FINDS * probe.get("ns_per_hit", 0)
                                     for probe in programs.call("ListProbes")["probes"]))


def compare_medians(ours, theirs, between_ns):
    """[(device, segment, direction, ns, ns)] of the medians that are too far apart."""
    medians = [(*key, median(ours[key]), median(theirs[key])) for key in ours.keys() & theirs.keys()
               if min(ours[key]["count"], theirs[key]["count"]) >= ENOUGH]
    return [row for row in medians if abs(row[-1] - row[-2]) > max(SHARE * row[-2], between_ns)]


def compare(net, programs, trace):
    """`programs` and `trace` are pairs of drops and latencies.  Counts must be equal; returns the
    medians that are too far apart."""
    (drops_seen, ours), (drops_traced, theirs) = programs, trace
    if kernel.has_drop_reasons():
        assert drops_seen == drops_traced
        assert {reason for reason, *_ in drops_traced} >= {"NO_SOCKET", "NETFILTER_DROP"}
    else:
        # netflowd infers reasons, of some places from the headers, which trace events lack.
        assert without_reason(drops_seen) == without_reason(drops_traced)
        assert {reason for reason, *_ in drops_traced} >= {None, "NETFILTER_DROP"}
    assert ends(ours) == ends(theirs)
    assert len({segment for _, segment, _ in theirs}) > 8, "the scenario did not work"
    assert {device for device, _, _ in theirs} <= net.names
    return compare_medians(ours, theirs, net.between_ns)


def compared(scenario):
    """Compare what `scenario(attempt)` returns: a network, the answers of both, and what spoils
    their comparison.  It is made again when one of them lost something, because other processes'
    packets filled its tables or ring buffers, or because the kernel skipped its programs (a
    real-time kernel that preempts them does, and one that exempts a task); and when packets came
    between the two answers.  When only medians differ, it is made again, too, but twice at most."""
    numbers = itertools.count()

    def attempt():
        net, programs, trace, spoiled = scenario(next(numbers))
        attempts.need(not any(spoiled.values()),
                      f"one of the daemons lost something, or packets came late: {spoiled}")
        return compare(net, programs, trace)

    for _ in range(TRIES):
        apart = attempts.valid(attempt)
        if not apart:
            return
    assert apart == []


def answers(daemon, net):
    return drops(daemon, net), latencies(daemon, net)


def came_since(answer, daemon, net):
    """What the daemon counted since it gave that answer."""
    then, now = ({**dropped, **ends(timed)} for dropped, timed in (answer, answers(daemon, net)))
    return {"came since": [key for key in now if now[key] != then.get(key)]}


def since(before, now):
    return {what: count - before[what] for what, count in now.items()}


@pytest.mark.smoke
def test_the_same_packets(both, lab):
    programs, trace = both
    late = probes.follows_queues(programs)

    def scenario(_):
        net = Net(lab)
        before = losses(programs, trace)
        with kernel.hidden_counts(lab.prefix) as hidden, timed(programs, net):
            mixed(net, late)
        counted, traced = answers(programs, net), answers(trace, net)
        return (net, counted, traced,
                since(before, losses(programs, trace)) | hidden
                | came_since(counted, programs, net))

    compared(scenario)


@pytest.mark.smoke
def test_a_recording(start, bpf, lab, tmp_path):
    """Five seconds, recorded and replayed, and what a daemon counted in the same five."""
    del bpf
    programs = start("probes.backend=bpf", ROOM)
    late = probes.follows_queues(programs)

    def scenario(attempt):
        file = tmp_path / f"{attempt}.dat"
        before = missed(programs)
        with kernel.hidden_counts(lab.prefix) as hidden, \
                recordings.recorder(file, "--buffer", backends.BUFFER_KIB) as recorder:
            net = Net(lab)
            began = time.monotonic()
            with timed(programs, net):
                while time.monotonic() - began < RECORD_SECONDS:
                    mixed(net, late)
            counted = answers(programs, net)
            recorder.terminate()
            printed, _ = recorder.communicate()
        spoiled = (since(before, missed(programs)) | hidden | came_since(counted, programs, net)
                   | {"events": recordings.summary(printed)[1]})
        with recordings.served(file, tmp_path / f"replay{attempt}", ROOM) as replay:
            return net, counted, answers(replay, net), spoiled

    with recordings.mounted():
        compared(scenario)

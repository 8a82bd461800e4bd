# SPDX-License-Identifier: GPL-2.0-or-later
"""The replay of a recording against `perf script netdev-times`, which is not ours, of the same
traffic.  Both show the same packets.  Their times of each packet agree, or one of the RULES
explains the difference, and the raw events prove that it holds for this packet."""

import collections
import contextlib
import re
import time

import pytest

from lab import netdev_times, patience, pump, recordings, sockets, two_traces
from lab.net import Lab
from lab.two_traces import COPY, FREE

pytestmark = pytest.mark.alone

PORT = 7777
CLOSED = 9
LONG, TALKS, REFUSED, REFUSED_LOCAL = 300, 300, 300, 100
# perf and the recording read the clock at one event in this time, or the CPU did something else.
# An emulated machine takes some µs for perf's work in between.
READING_NS = 10_000 if patience.FACTOR > 1 else 1000
# netdev-times prints whole µs.
PRINTED_NS = 1000
QUIET_S = 0.2

SENT = re.compile(r"\s*(\S+)\s+(\d+)\s+(\d+)\.(\d{6})sec\s+([\d.]+)msec\s+([\d.]+)msec")

# A receive or queue event, and {stage: event} of its packet in both tools; None: it shows none.
Packet = collections.namedtuple("Packet", "event theirs ours")
# A stage at which they differ; "packet": one of them does not show the packet.
Difference = collections.namedtuple("Difference", "stage packet theirs ours")
Rule = collections.namedtuple("Rule", "stage name reason proof")


# ---- why they differ: each proof is made from the raw events ----


def xmit_of(life):
    return next((event for event in life if event.name == "net_dev_xmit"), None)


def has_no_end(run, it):
    """Neither kfree_skb nor consume_skb names it after net_dev_xmit."""
    life = run.traces.life(it.packet.event)
    end = life.index(xmit_of(life)) if xmit_of(life) else 0
    return it.theirs is None and not [e for e in life[end:] if e.name in FREE]


def is_queued_again(run, it):
    """It is queued again before its end, which netdev-times gives to the later entry."""
    life = run.traces.life(it.packet.event)
    again = [event for event in life if event.name == "net_dev_queue"]
    ends = [event for event in life if event.name in FREE]
    return it.theirs is None and bool(again and ends) and again[0].theirs < ends[0].theirs


def is_passed(run, it):
    """Its peer receives it, with or without the link header, before the end that they show."""
    queue, passed = it.packet.event, it.packet.ours.get("passed")
    life = run.traces.life(queue)
    return (it.ours is None and passed in life and it.theirs in life
            and passed.theirs < it.theirs.theirs
            and queue.length - passed.length in (0, 14, 18))


def is_of_another(run, it):
    """The end that netdev-times shows comes after the memory was given to another skb, after the
    skb was sent on, or after its peer received it: what it shows is of an older skb."""
    theirs = it.theirs if it.stage in ("free", "end") else it.theirs and it.theirs.get("end")
    life = run.traces.life(it.packet.event)
    if theirs is None:
        return False
    between = life[:life.index(theirs)] if theirs in life else [None]
    gone = theirs not in life or any(e.name in ("net_dev_queue", "netif_receive_skb")
                                     for e in between)
    return gone and (it.stage != "received" or it.ours is None)


def has_no_reader(run, it):
    """No event names its end: the kernel consumed it, merged it, or freed it silently."""
    life = run.traces.life(it.packet.event)
    return it.ours is None and not [e for e in life if e.name in (COPY, "kfree_skb")]


def shows_no_end(run, it):
    return "end" not in it.theirs and has_no_reader(run, it)


def is_dropped_later(run, it):
    """The drop has a record, without a device, and is in another context than the reception."""
    life = run.traces.life(it.packet.event)
    ends = [event for event in life if event.name in (COPY, "kfree_skb")]
    return it.ours is None and bool(ends) and ends[0] in run.unplaced \
        and ends[0].theirs > run.traces.exit_after(it.packet.event).theirs


def joined(run, it):
    """It was sent during the run of the softirq, so that its wait began with start_xmit."""
    event = it.packet.event
    return (it.ours is not None and it.ours.name == "net_dev_start_xmit"
            and it.ours.skb == event.skb and it.theirs.cpu == event.cpu
            and it.theirs.ours < it.ours.ours < event.ours)


def is_read_silently(run, it):
    """Our end is an event that netdev-times does not know, and none that it knows came before."""
    event, end = it.packet.event, it.ours
    if it.theirs is not None or end is None or end.name in (COPY, "kfree_skb"):
        return False
    before = [e for e in run.traces.life(event) if e.ours and e.ours < end.ours]
    return event.ours < end.ours and not [e for e in before if e.name in (COPY, "kfree_skb")] \
        and (not end.skb or end in run.traces.life(event))


def is_freed_as_sent(run, it):
    """netdev-times looks among the sent packets first, and finds this skb there."""
    queue = run.freed.get(it.ours)
    return it.theirs is None and it.ours is not None and it.ours.name == "kfree_skb" \
        and queue is not None and it.packet.event in run.traces.life(queue)


RULES = (
    Rule("sent", "no end", "The kernel frees an skb of TCP or UDP without an event, and "
         "netdev-times prints only packets whose end it has seen.", has_no_end),
    Rule("sent", "queued again", "A router sends the same skb again, and netdev-times gives its "
         "end to the newest entry of the address.", is_queued_again),
    Rule("free", "passed on", "lo and veth pass the skb on, which ends its transmission; "
         "netdev-times takes the end of its reception for that of the transmission.", is_passed),
    Rule("free", "matches by address alone", "The skb is gone, and netdev-times takes the end of "
         "another one at the same address.", is_of_another),
    Rule("end", "matches by address alone", "The skb is gone or sent on, and netdev-times takes "
         "the copy of another one at the same address.", is_of_another),
    Rule("received", "matches by address alone", "The same for an skb whose end has no event.",
         is_of_another),
    Rule("received", "no end", "No event shows the end of a pure ACK, of a segment that TCP merges "
         "or of what the kernel itself consumes, so that a replay has no record.", shows_no_end),
    Rule("received", "dropped later", "TCP drops a segment from the backlog of a busy socket after "
         "the softirq, and a replay is not sure that it is the received one.", is_dropped_later),
    Rule("softirq_entry", "joined the run", "The packet was sent while the softirq ran, so that it "
         "did not wait since its entry.", joined),
    Rule("end", "unknown reader", "Readers of UDP pass sock_recv_length or consume_skb, which "
         "netdev-times does not match with received packets.", is_read_silently),
    Rule("end", "freed as sent", "netdev-times looks for a dropped skb among the sent ones first, "
         "and finds it there because lo or veth passed it on.", is_freed_as_sent),
)


# ---- the traffic ----


def talk(sender, reader, count):
    """A request and a response, one after the other."""
    for _ in range(count):
        for source, target, size in ((sender, reader, 200), (reader, sender, 1000)):
            source.sendall(bytes(size))
            while size:
                size -= len(target.recv(size))


def traffic(path):
    """Through a router and on loopback: datagrams alone, in bursts, long ones, and some that no
    socket gets; TCP with and without answers.  Returns how many datagrams were read."""
    left, right = path.left, path.right
    read = 0
    for reader, address, count, options in (
            (right, path.RIGHT4, 500, {"window": 1, "patient": True}),
            (right, path.RIGHT4, 1000, {"window": 32}),
            (left, "127.0.0.1", 300, {"window": 4}),
            # The reader of a long datagram passes skb_copy_datagram_iovec.
            (left, "127.0.0.1", LONG, {"window": 4, "size": 20000})):
        read += pump.pump("udp", left, reader, address, PORT, count, **options).messages_read
    left.send_udp(path.RIGHT4, CLOSED, REFUSED)
    left.send_udp("127.0.0.1", CLOSED, REFUSED_LOCAL)
    for reader, address in ((right, path.RIGHT4), (left, "127.0.0.1")):
        with sockets.tcp(left, reader, address, PORT) as pair:
            talk(*pair, TALKS)
    pump.pump("tcp", left, right, path.RIGHT4, PORT, 300, size=5000)
    return read


# ---- both tools ----

EVERY = ("latency.sample_one_in=1", "records.rate=1000000",
         "records.recent=1048576")


class Run:
    """The traffic as both tools show it."""

    def __init__(self, path, directory):
        directory.mkdir()
        file, found = self._record(path, directory)
        events, offset = two_traces.of_recording(file)
        self.traces = two_traces.Traces(two_traces.of_perf(found.events), events, self.begin,
                                        self.end)
        if self.traces.missing:
            raise netdev_times.Incomplete(
                f"only one trace has {self.traces.missing[:5]}, {len(self.traces.missing)} in all")
        self.lines = found.lines
        self.rows = found.sent
        self.interrupted = self.traces.interrupted()
        self.their_sent = two_traces.their_sent(found, self.traces)
        self.their_received = two_traces.their_received(found, self.traces)
        self.freed = {row["free"]: queue for queue, row in self.their_sent.items()}
        with recordings.served(file, directory / "replay", *EVERY) as client:
            self.records = client.call("GetLatencyRecords", limit=1 << 20)["records"]
            drops = client.call("GetDropRecords", limit=1 << 20)["records"]
            status = client.call("GetStatus")
        assert status["latency"]["chosen"] == len(self.records)
        assert not status["inflight"]["overwritten"]
        self.our_sent, self.our_received, self.unplaced = two_traces.ours(
            self.records, drops, offset, self.traces)

    def _record(self, path, directory):
        file = directory / "recording.dat"
        words = ["-e", "skb:kfree_skb", *two_traces.allocations()]
        with netdev_times.recording(directory, words), \
                recordings.recorder(file, "--buffer", 65536) as recorder:
            time.sleep(QUIET_S)
            self.begin = time.monotonic_ns()
            self.datagrams = traffic(path)
            self.end = time.monotonic_ns()
            time.sleep(QUIET_S)
            recorder.terminate()
            out, err = recorder.communicate(timeout=patience.seconds(60))
        assert recorder.returncode == 0, err
        if recordings.summary(out)[1]:
            raise netdev_times.Incomplete(f"the recording lost events: {out}")
        return file, netdev_times.found(directory)

    def packets(self):
        """(name, stages, packets)"""
        for name, event, stages, theirs, ours in (
                ("sent", "net_dev_queue", ("xmit", "free"), self.their_sent, self.our_sent),
                ("received", "netif_receive_skb", ("softirq_entry", "irq", "end"),
                 self.their_received, self.our_received)):
            yield name, stages, [Packet(e, theirs.get(e), ours.get(e))
                                 for e in self.traces.packets(event)]


def compare(name, stages, packet):
    """(stage, their event, our event) of one packet."""
    theirs, ours = packet.theirs, packet.ours
    if theirs and ours:
        yield name, packet.event, packet.event
        for stage in stages:
            # The record of a drop has no other stages.
            if stage == "end" or "dropped" not in ours:
                yield stage, theirs.get(stage), ours.get(stage)
    elif theirs or ours:
        yield name, theirs, ours


@contextlib.contextmanager
def deleted(lab):
    try:
        yield lab
    finally:
        lab.delete()


@pytest.fixture(name="run", scope="module")
def fixture_run(built, cli, tmp_path_factory):
    del built, cli
    reason = netdev_times.why_not()
    if reason:
        pytest.skip(reason)
    with recordings.mounted(), deleted(Lab()) as lab:
        run = complete(lab.path(), tmp_path_factory.mktemp("run"))
    if len(run.traces.packets(two_traces.ALLOCATED)) < run.datagrams:
        pytest.skip("this kernel allocates skbs without an event, so that nothing proves the rules")
    return run


def complete(path, directory, rounds=3):
    """A Run of which both traces have all events."""
    try:
        return Run(path, directory / str(rounds))
    except netdev_times.Incomplete:
        if rounds == 1:
            raise
    return complete(path, directory, rounds - 1)


@pytest.fixture(name="compared", scope="module")
def fixture_compared(run):
    return Compared(run)


class Compared:
    """All packets: the events that both tools show, and the differences with their rule or None."""

    def __init__(self, run):
        self.same = []
        self.differences = []
        for name, stages, packets in run.packets():
            for packet in packets:
                for stage, theirs, ours in compare(name, stages, packet):
                    if theirs is not ours:
                        it = Difference(stage, packet, theirs, ours)
                        self.differences.append((it, rule_of(run, it)))
                    elif theirs:
                        self.same.append((stage, theirs))


def rule_of(run, it):
    return next((rule for rule in RULES if rule.stage == it.stage and rule.proof(run, it)), None)


# ---- the tests ----


def test_every_packet(run, compared):
    """Both tools show each packet with the same events, or a rule explains the difference."""
    agree = collections.Counter(stage for stage, _ in compared.same)
    rules = collections.Counter((rule.stage, rule.name) for _, rule in compared.differences if rule)
    print(f"the same: {agree}\nexplained: {rules}")
    assert not [f"{it.stage}\n theirs {it.theirs}\n ours {it.ours}\n {it.packet}\n "
                f"then {run.traces.life(it.packet.event)}"
                for it, rule in compared.differences if not rule][:5]
    # Of all segments of a request or a response, both show the copy; of a closed port's datagrams
    # both know when they were received and freed.
    copies = sum(1 for stage, event in compared.same if stage == "end" and event.name == COPY)
    assert copies >= LONG + 2 * 2 * TALKS
    assert agree["sent"] == agree["xmit"] >= REFUSED + REFUSED_LOCAL


def test_times(compared):
    """perf and the recording read the clock one after the other at the same event: they are apart
    by more only where the CPU did something else in between."""
    apart = sorted(abs(event.theirs - event.ours) for _, event in compared.same)
    later = sum(ns > READING_NS for ns in apart)
    print(f"median {apart[len(apart) // 2]} ns, at most {apart[-1]} ns; {later} of {len(apart)} "
          f"more than {READING_NS} ns")
    assert apart[len(apart) // 2] <= READING_NS


def test_lines_are_those_of_the_tables(run):
    """What netdev-times prints of sent packets is what its tables have, in µs."""
    lines = [match for match in map(SENT.fullmatch, run.lines) if match]
    assert len(lines) == len(run.rows) == len(run.their_sent)
    for line, row in zip(lines, run.rows):
        queue = int(line[3]) * 10 ** 9 + int(line[4]) * 1000
        assert (line[1], int(line[2])) == (row["dev"], row["len"])
        assert 0 <= row["queue_t"] - queue < PRINTED_NS
        assert abs(float(line[5]) * 1e6 - (row["xmit_t"] - row["queue_t"])) < PRINTED_NS
        assert abs(float(line[6]) * 1e6 - (row["free_t"] - row["xmit_t"])) < PRINTED_NS


def test_only_interrupts_are_printed(run):
    """netdev-times prints no softirq that another source than an interrupt's handler raised: veth
    and lo have none, so that only its tables have what it knows of their packets."""
    for packet in run.their_received.values():
        assert ("irq" in packet) == (packet["softirq_entry"] in run.interrupted)


def test_no_journey_is_of_two_skbs(run):
    """The kernel allocated no other skb at the address between the first and the last event."""
    for event, stages in (*run.our_sent.items(), *run.our_received.items()):
        last = stages.get("free") or stages.get("passed") or stages.get("end")
        assert not last.skb or event is last or last in run.traces.life(event), (event, stages)


def test_every_datagram_is_read(run):
    """Each read ends one journey: with sock_recv_length, or with an event of its skb just before in
    the same task.  If another CPU frees the datagram before that, its record names no reader."""
    reads = {event for event in run.traces.events if event.name == "sock_recv_length"
             and event.members["task"] == "pump" and run.begin <= event.ours <= run.end}
    if not reads:
        pytest.skip("this kernel has no sock_recv_length")
    ends = [stages["end"] for stages in run.our_received.values() if "end" in stages]
    assert len(reads) >= run.datagrams and len(ends) == len(set(ends))
    readers = {event.tid for event in reads}
    before, without = set(), []
    for event in sorted(reads.union(ends), key=lambda event: event.ours):
        if event.name != "sock_recv_length":
            before.add(event.tid)
        elif event.tid in before:
            before.discard(event.tid)
        elif event not in ends:
            without.append(event)
    freed = [stages["end"] for stages in run.our_received.values()
             if "end" in stages and stages["end"].name == "consume_skb"
             and stages["end"].tid not in readers and not stages["task"]]
    print(f"{len(reads)} reads, {len(without)} of datagrams that were freed before")
    assert len(without) <= len(freed)

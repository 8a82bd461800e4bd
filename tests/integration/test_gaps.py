# SPDX-License-Identifier: GPL-2.0-or-later
"""A hole in TCP's sequence is not this host: the wait behind it is gap_wait.  A relay between two
TUN devices loses and reorders segments, and knows how long each one waited."""

import fcntl
import socket
import statistics
import struct
import termios
import threading

import pytest

from lab import journeys, ledgers, patience, relay, sockets, waiting

pytestmark = [pytest.mark.alone, pytest.mark.shared(*journeys.EVERY),
              pytest.mark.usefixtures("bpf")]

ROUND_TRIP_MS = 20
SEGMENT = 1448
PORT = 7801


def transfer(net, segments, port=PORT):
    """Send that many segments from left to right through the relay, and read all of them."""
    size = segments * SEGMENT
    with sockets.tcp(net.left, net.right, net.RIGHT4, port) as (sender, reader):
        sender.settimeout(patience.seconds(60))
        writer = threading.Thread(target=sender.sendall, args=(bytes(size),))
        writer.start()
        got = 0
        while got < size:
            got += len(reader.recv(1 << 16))
        writer.join()
    return net.report()[relay.A]


def sequence(record):
    """The number of the first byte of its segment, from its header."""
    header = bytes.fromhex(record["header"])
    return struct.unpack_from("!I", header, (header[0] & 15) * 4 + 4)[0]


def records_of(daemon, net):
    """The latency records of the segments, by sequence number."""
    records = [r for r in journeys.ask(daemon, net.right_device)
               if r["outcome"] == "delivered" and journeys.destination_port(r) == PORT]
    for record in records:
        journeys.check(record)
    return {sequence(r): r for r in records}


def gap_of(record):
    return next((t["duration_ns"] for t in record["times"]
                 if (t["from"], t["to"]) == ("receive", "gap_filled")), None)


def histograms(daemon, net):
    return tuple(journeys.histogram(daemon, net.right_device, segment, "rx")
                 for segment in ("gap_wait", "receive_to_sock_queue"))


def matched(report, records):
    """The waits that the relay and netflowd know of the same segments, as pairs of ns.  Each one
    that the relay gave behind a hole has waited, and no other one has."""
    waits = {w["sequence"]: w["ns"] for w in report["waits"] if w["port"] == PORT}
    # At an announcement of more segments, netflowd looks at the last 256, and the others say so.
    records = {n: r for n, r in records.items()
               if "more segments at once" not in journeys.missing(r).get("sock_queue", "")}
    both = waits.keys() & records.keys()
    wrong = [(n, waits.get(n), gap_of(r)) for n, r in records.items()
             if (n in waits) != (gap_of(r) is not None)]
    assert not wrong, wrong[:10]
    assert len(both) >= 0.5 * len(waits), "most were merged, or too many waited at once"
    return [(waits[n], gap_of(records[n])) for n in both]


def test_loss(daemon, lab):
    """2 % of the segments are lost: the wait for them is gap_wait, and not the stack's."""
    with relay.Relay(lab, ROUND_TRIP_MS) as net:
        net.drop(relay.A, "1/50")
        report = transfer(net, 1500)
        # On a slow machine TCP also sends again what is only late.
        assert net.left.nstat()["TcpRetransSegs"] >= report["dropped"] > 0
        records = records_of(daemon, net)
        pairs = matched(report, records)
        gaps, queued = histograms(daemon, net)
    assert not any("missing_segment" in r for r in records.values()), "the network lost them"
    page = daemon.netflowctl("report", "--html", "-").stdout
    assert "gap_wait" in page
    assert "its slowest segment was <b>receive→sock_queue" not in page, "this host is blamed"
    assert gaps["count"] == len(pairs)
    known, seen = (statistics.median(side) for side in zip(*pairs))
    assert abs(seen - known) <= 0.1 * known
    assert abs(gaps["p50_ns"] - known) <= 0.225 * known  # a bucket is up to 12.5 % off
    # A busy machine delays single segments; that none has waited for another one is proven above.
    assert queued["p50_ns"] <= 200_000 * patience.FACTOR, queued
    ledgers.check_balanced(daemon)


def test_dropped_here(daemon, lab):
    """A rule of this host drops one segment in 50: all that waited name one of its drops."""
    with relay.Relay(lab, ROUND_TRIP_MS) as net:
        net.right.nft_drop("prerouting", f"tcp dport {PORT} tcp flags & (syn | fin) == 0 "
                                         "numgen inc mod 50 20")
        report = transfer(net, 600)
        counted = net.right.nft_counter("prerouting")
        waited = {n: r for n, r in records_of(daemon, net).items() if gap_of(r) is not None}
        drops = [r for r in daemon.call("GetDropRecords")["records"]
                 if r.get("netns") == net.right.inode and r["reason"] == "NETFILTER_DROP"]
        page = daemon.netflowctl("slow", "--segment", "gap_wait", "--dev",
                                 net.right_device.name).stdout
    assert not report["dropped"] and len(drops) == counted >= 10
    known = {(r["flow"], sequence(r), r["time"]) for r in drops}
    assert len(waited) >= counted, "no segment waited"
    for number, record in waited.items():
        missing = record["missing_segment"]
        assert (missing["flow"], sequence(missing), missing["time"]) in known
        assert missing["flow"] == record["flow"]
        assert 0 < (number - sequence(missing)) % 2**32 < 2**31, "it is before the one that waited"
        assert missing["time"] < record["time"]
    assert "the missing segment was dropped on this host at" in page and "NETFILTER_DROP" in page


def test_no_loss(daemon, lab):
    """Nothing is lost: no segment has waited."""
    with relay.Relay(lab, 2) as net:
        report = transfer(net, 500)
        records = records_of(daemon, net)
        gaps, queued = histograms(daemon, net)
    assert not report["waits"] and not report["dropped"]
    assert gaps is None and queued["count"] >= 500
    assert all(gap_of(r) is None for r in records.values())


def test_reordered(daemon, lab):
    """Each 40th segment is overtaken, and nothing is lost."""
    with relay.Relay(lab, ROUND_TRIP_MS) as net:
        for n in range(40, 400, 40):
            net.hold(relay.A, n, 3)
        report = transfer(net, 400)
        pairs = matched(report, records_of(daemon, net))
    assert pairs and not report["dropped"] and report["held"] == 9
    assert statistics.median(seen for _, seen in pairs) < 4_000_000 * patience.FACTOR


def unread(reader):
    """Bytes in the socket's queue."""
    return struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, bytes(4)))[0]


def test_merged(daemon, lab):
    """TCP appends the missing segment to the one before it, which nobody has read: what waited
    still shows that."""
    with relay.Relay(lab, ROUND_TRIP_MS) as net, \
            sockets.tcp(net.left, net.right, net.RIGHT4, PORT) as (sender, reader):
        net.drop(relay.A, 2)
        for size in (10, 10, SEGMENT):
            sender.sendall(bytes(size))
        size = 20 + SEGMENT
        # MSG_PEEK would copy them, which ends their journeys.
        waiting.until(lambda: unread(reader), lambda n: n == size)
        report = net.report()[relay.A]
        reader.recv(size, socket.MSG_WAITALL)
        records = journeys.wait_for(daemon, 2, net.right_device, "delivered")
    gap = [gap_of(r) for r in records if gap_of(r)]
    assert report["dropped"] == 1 and len(report["waits"]) == 1
    assert [r.get("merged_bytes") for r in records] == [10, None], "TCP has not merged them"
    assert len(gap) == 1
    assert abs(gap[0] - report["waits"][0]["ns"]) <= patience.CLOCK_NS

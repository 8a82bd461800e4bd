# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers that are late: which packets have no end, and that each count says so."""

import contextlib
import socket
import threading
import time

import pytest

from lab import patience, waiting
from lab.loads import SO_RCVBUFFORCE
from lab.net import inhabited

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("bpf")]

PORT = 7998
EPOCH = "1970-01-01T00:00:00Z"
# Twice as many skbs as there are entries.
MANY, ENTRIES = 4217, 2048
LEAST = ("cost.governor=on", "cost.budget=0.01%", "cost.cpu_budget=0.01%")
# A tail lasts 50 ms, and a reader comes every 250 ms.
LATE_SECONDS, LOAD_SECONDS, RATE = 0.25, 3, 10_000


@contextlib.contextmanager
def receiver(namespace):
    """A UDP socket with room for all."""
    with namespace.entered():
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with reader:
        reader.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 29)
        reader.bind(("", PORT))
        reader.setblocking(False)
        yield reader


def drain(reader):
    """Read what is queued; returns how many datagrams it was."""
    read = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            reader.recv(2048)
            read += 1
    return read


def segment_of(reply, name):
    row, = (row for row in reply["latencies"] if row["segment"] == name)
    return row


def copied(reply):
    """(the latency of receive→copy, what is said of the followed)"""
    return segment_of(reply, "receive_to_copy"), reply["followed"]


def send_all(pair, reader, count):
    assert pair.left.send_udp(pair.right_address(4), PORT, count) == count
    assert drain(reader) == count


def test_journeys_that_lose_their_entry(start, silent_pair, tmp_path):
    """More datagrams wait for their reader than the in-flight table has entries: none is lost
    without a word."""
    daemon = start("cost.governor=off", f"inflight.entries={ENTRIES}", "history.interval=1s",
                   history=tmp_path)
    pair = silent_pair
    with inhabited(pair.left, pair.right), receiver(pair.right) as reader:
        send_all(pair, reader, MANY)
        device = {"device": pair.right_device.name}

        def asked():
            # After a status, the histograms are the older reading, which is taken first: the
            # kernel's count is read after them, and limits the margin.
            time.sleep(patience.seconds(0.3))
            daemon.status()
            time.sleep(patience.seconds(0.3))
            return daemon.call("GetLatency", **device)

        reply = waiting.until(
            asked, lambda now: "count_margin" not in segment_of(now, "receive_to_sock_queue"), 10)
        row, followed = copied(reply)
        lost = followed["overwritten_packets"]
        assert row["count"] <= ENTRIES and "detached_packets" not in followed
        # Journeys of other packets of this host can be among the lost ones.
        assert MANY - row["count"] <= lost <= 1.05 * MANY, (row, followed)
        assert row["count_margin"] == row["packets"] - row["count"] == MANY - row["count"]
        assert lost == daemon.status()["inflight"]["overwritten"]
        # What passed both of its ends is exact.
        assert segment_of(reply, "receive_to_sock_queue")["count"] == MANY
        text = daemon.netflowctl("latency", "--dev", pair.right_device.name).stdout
        assert f"About {lost:,} packets lost their place" in text and "inflight.entries" in text
        assert "Journeys were followed for" not in text
        delivered, = (line for line in daemon.netflowctl("status").stdout.splitlines()
                      if line.split()[:1] == ["delivered"])
        assert "of those followed to their end" in delivered
        past, followed = waiting.until(
            lambda: copied(daemon.call("GetLatency", since=EPOCH, **device)),
            lambda now: now[0].get("packets") == MANY and "overwritten_packets" in now[1])
        assert followed["overwritten_packets"] >= MANY - past["count"]
        assert past["count"] + past["count_margin"] >= MANY


class LateReader(threading.Thread):
    """Empties a socket now and then."""

    def __init__(self, reader):
        super().__init__()
        self.reader, self.read, self.end = reader, 0, threading.Event()

    def run(self):
        while not self.end.wait(LATE_SECONDS):
            self.read += drain(self.reader)
        self.read += drain(self.reader)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.join()


def test_waits_that_outlast_a_window(start, silent_pair):
    """Most datagrams wait until probes are detached.  The margin includes them, and latency says
    it."""
    daemon = start(*LEAST)
    pair, count = silent_pair, RATE * LOAD_SECONDS
    with receiver(pair.right) as reader, LateReader(reader) as late:
        pair.left.send_udp(pair.right_address(4), PORT, count, "-r", RATE)
    assert late.read == count
    reply = daemon.call("GetLatency", device=pair.right_device.name)
    followed = reply["followed"]
    assert followed["detached_packets"] > 0, followed
    # With luck a reader comes while a tail lasts.
    for row in reply["latencies"]:
        if row["segment"] == "receive_to_copy":
            assert abs(row["count"] - count) <= row["count_margin"] + 1, (row, followed)
    text = daemon.netflowctl("latency", "--dev", pair.right_device.name).stdout
    assert "packets had not ended when netflowd detached its probes" in text, text


@pytest.mark.parametrize("governor", ["off", "on"])
def test_waits_that_outlast_a_pause(start, silent_pair, governor):
    """What was queued before the pause is read during it."""
    daemon = start(f"cost.governor={governor}")
    pair = silent_pair
    with receiver(pair.right) as reader:
        assert pair.left.send_udp(pair.right_address(4), PORT, MANY) == MANY
        daemon.netflowctl("pause")
        assert drain(reader) == MANY
        daemon.netflowctl("resume")
    followed = daemon.call("GetLatency")["followed"]
    lost = followed["detached_packets"] + followed.get("overwritten_packets", 0)
    if governor == "off":
        # Journeys of other packets of this host can be among them.
        assert MANY <= lost <= 1.05 * MANY, followed
    else:
        assert 0.7 * MANY <= lost <= 1.3 * MANY, followed
    assert "of those followed to their end" in daemon.netflowctl("status").stdout

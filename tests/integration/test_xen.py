# SPDX-License-Identifier: GPL-2.0-or-later
"""Slots on a real xen-netfront, against what its driver says, counts and delivers.

Runs in a guest of `tests/vm/run --xen` (make check-xen).  There with NETFLOWD_XEN_LATE=1, so that
the first test sees the driver come.
"""

import collections
import errno
import socket

import pytest

from lab import rocket, xen
from lab.waiting import settled, until

SLOTS = (9, 17, 18, 19, 31)
EACH = 5
LIMIT = 18  # XEN_NETIF_NR_SLOTS_MIN
PORT = 5000

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


# ---- what the daemon says ----


def device_of(daemon, vif):
    """The daemon's counts of a frontend; None before its first transmit."""
    found = [d for d in daemon.call("GetSlots")["devices"] if d["device"] == vif.name]
    assert len(found) <= 1
    return found[0] if found else None


def histogram(daemon, vif):
    """Transmits by slots."""
    device = device_of(daemon, vif)
    return collections.Counter({b["slots"]: b["transmits"] for b in device["histogram"]}
                               if device else {})


def overflows(daemon, vif):
    """Overflows by outcome, those that there are."""
    device = device_of(daemon, vif)
    return {o["outcome"]: o["transmits"] for o in device["overflows"] if o["transmits"]} \
        if device else {}


def records(daemon, vif):
    return [r for r in daemon.call("GetSlotsRecords", limit=1 << 20)["records"]
            if r["device"] == vif.name]


# ---- what is sent ----


def ride(daemon, vif, messages):
    """Every number of slots in turn, with TCP bulk between: checks the counts step by step."""
    drops = vif.transmitted()[1]
    with rocket.reader(vif.peer, vif.peer_address, PORT) as end:
        for slots in SLOTS:
            bulk = vif.bulk(size=65536, count=20)
            assert bulk.bytes_read == bulk.bytes == 65536 * 20
            # A single stream never rides; its acknowledgements and its end are over by now.
            assert not messages.rockets()
            before = settled_histogram(daemon, vif)
            sent = rocket.rocket(vif.host, vif.peer_address, PORT, slots, count=EACH)
            assert rocket.received(end, EACH) == [rocket.payload(s) for s in sent]
            told = messages.rockets()
            assert [slots for slots, _ in told] == ([slots] * EACH if slots > LIMIT else [])
            after = settled(lambda: histogram(daemon, vif), before + collections.Counter({slots: EACH}))
            assert after - before == {slots: EACH}
    assert vif.transmitted()[1] == drops


def settled_histogram(daemon, vif):
    """Every transmit that the driver counted is in it."""
    return until(lambda: histogram(daemon, vif),
                 lambda seen: sum(seen.values()) == sum(vif.transmitted()))


def check_records(daemon, vif):
    """One for each overflow, laid out as its slots and its bytes are."""
    overflowed = [r for r in records(daemon, vif) if r["slots"] > LIMIT]
    wanted = {slots: EACH for slots in SLOTS if slots > LIMIT}
    assert collections.Counter(r["slots"] for r in overflowed) == wanted
    for record in overflowed:
        assert record["outcome"] == "linearized"
        assert record["limit"] == LIMIT
        assert pages(record["head_offset"], record["head_bytes"]) + sum(
            pages(f["offset"], f["size"]) for f in record["frags"]) == record["slots"]
        assert record["head_bytes"] + sum(f["size"] for f in record["frags"]) == record["bytes"]


def pages(offset, size):
    return (offset % 4096 + size + 4095) // 4096


# ---- tests ----


def test_frontend_that_came_after_the_daemon(start, messages):
    if xen.has_frontend():
        pytest.skip("xen-netfront is loaded already: NETFLOWD_XEN_LATE=1")
    daemon = start()
    xen.load_frontend()
    vif = xen.vif()
    ride(daemon, vif, messages)
    assert overflows(daemon, vif) == {"linearized": 2 * EACH}
    check_records(daemon, vif)


def test_frontend_that_was_there(vif, start, messages):
    daemon = start()
    ride(daemon, vif, messages)
    assert overflows(daemon, vif) == {"linearized": 2 * EACH}
    check_records(daemon, vif)


def test_device_that_came_after_the_daemon(vif, start, messages):
    daemon = start()
    second = xen.vif(1)
    assert second.name != vif.name
    ride(daemon, second, messages)
    assert overflows(daemon, second) == {"linearized": 2 * EACH}


def test_too_big_for_the_wire(vif, start):
    daemon = start()
    _, dropped = vif.transmitted()
    with vif.mtu(xen.WIRE_MAX), vif.host.entered():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(3):
                try:
                    sender.sendto(bytes(65507), (vif.peer_address, PORT))
                except OSError as error:  # the drop may be told to the sender
                    assert error.errno == errno.ENOBUFS
    assert vif.transmitted()[1] - dropped == 3
    device = until(lambda: device_of(daemon, vif), lambda d: d and d["too_big"] == 3)
    assert device["too_big"] == 3
    big = [r for r in records(daemon, vif) if r["too_big"]]
    assert [r["outcome"] for r in big] == ["dropped"] * 3
    assert all(r["bytes"] > xen.WIRE_MAX for r in big)

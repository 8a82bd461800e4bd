# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices come and go: each keeps its own numbers, however few slots and inode numbers there are."""

import time

import pytest

from lab import kernel, waiting

PER_PAIR = 50


def _sent(daemon, device):
    """Packets that left through a device, told by the count of a tx segment."""
    latencies = daemon.call("GetLatency")["latencies"]
    return sum(row["count"] for row in latencies
               if row["segment"] == "start_xmit_to_xmit" and row.get("device") == device.name
               and row["netns"] == device.namespace.inode and row["ifindex"] == device.ifindex)


def test_a_reused_inode_is_another_namespace(daemon, lab):
    """The kernel gives a deleted namespace's inode number to the next one made."""
    if kernel.release() < (5, 12):
        pytest.skip("before 5.12 a namespace has no cookie from birth, so only its inode number tells it")
    seen = {}
    for round_ in range(3):
        pair = lab.pair(ipv6=False)
        pair.left.send_udp(pair.RIGHT4, 9, PER_PAIR + round_)
        device = pair.left_device
        waiting.settled(lambda: _sent(daemon, device), PER_PAIR + round_)
        assert _sent(daemon, device) == PER_PAIR + round_
        rows = [row for row in daemon.drop_rows(pair.right_device)
                if row.get("reason", "NO_SOCKET") == "NO_SOCKET" and
                row["device"] == pair.right_device.name and row["protocol"] == "ipv4/udp"]
        assert [row["packets"] for row in rows] == [PER_PAIR + round_]
        seen.setdefault(device.namespace.inode, []).append(device.name)
        lab.delete()


def test_slots_are_given_back(start, bpf, lab):
    """Six slots for twice ten devices and lo: none is counted as another, nothing is lost."""
    daemon = start("devices.slots=8", "devices.idle=1")
    devices = []
    for count in range(10):
        pair = lab.pair(ipv6=False)
        pair.left.send_udp(pair.RIGHT4, 9, PER_PAIR + count)
        assert waiting.settled(lambda: _sent(daemon, pair.left_device), PER_PAIR + count) == \
            PER_PAIR + count, daemon.call("GetLatency")["latencies"]
        devices.append(pair.left_device)
        time.sleep(2.6)
    for count, device in enumerate(devices):
        assert _sent(daemon, device) == PER_PAIR + count
    assert daemon.coverage("devices")["state"] == "full"


def test_more_devices_than_slots_is_said(start, bpf, lab):
    """All at once: what finds no slot is counted together, and coverage says so."""
    daemon = start("devices.slots=8", "devices.idle=600")
    for _ in range(5):
        pair = lab.pair(ipv6=False)
        pair.left.send_udp(pair.RIGHT4, 9, PER_PAIR)
    together = [row for row in daemon.call("GetLatency")["latencies"] if "device" not in row]
    assert sum(row["count"] for row in together if row["segment"] == "start_xmit_to_xmit") >= PER_PAIR
    coverage = daemon.coverage("devices")
    assert coverage["state"] == "degraded"
    assert "devices.slots" in coverage["reason"]

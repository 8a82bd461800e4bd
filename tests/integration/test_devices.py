# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices come and go: each keeps its own numbers, also with few slots and reused inode numbers."""

import collections
import time

import pytest

from lab import device_slots, kernel, waiting

pytestmark = pytest.mark.alone

PER_PAIR = 50
SLOTS = 8
# The lab uses at most four of the six slots at once: those of its newest pair, and those of the
# pair before, until they have been idle for a second.
FOREIGN_MAX = 2


def _sent(daemon, device):
    """Packets that left through a device, by the count of a tx segment."""
    latencies = daemon.call("GetLatency", all=True)["latencies"]
    return sum(row["count"] for row in latencies
               if row["segment"] == "start_xmit_to_xmit" and row.get("device") == device.name
               and row["netns"] == device.namespace.inode and row["ifindex"] == device.ifindex)


def _settled(daemon, device, expected):
    return waiting.settled(lambda: _sent(daemon, device), expected)


def _foreign(daemon, own):
    """{(netns, ifindex): count} of devices outside the namespaces `own`: they had a slot too."""
    counts = collections.Counter()
    for row in daemon.call("GetLatency", all=True)["latencies"]:
        if "device" in row and row["netns"] not in own:
            counts[row["netns"], row["ifindex"]] += row["count"]
    return counts


def _wait_for_quiet(daemon, own):
    """Wait until few foreign devices move packets, but at most a minute."""
    def moving():
        before = _foreign(daemon, own)
        time.sleep(1)
        return _foreign(daemon, own) - before

    waiting.until(moving, lambda devices: len(devices) <= FOREIGN_MAX, seconds=60)


@pytest.mark.needs("devices", "several network namespaces")
def test_a_reused_inode_is_another_namespace(daemon, lab):
    """The kernel gives a deleted namespace's inode number to the next one made."""
    if kernel.release() < (5, 12):
        pytest.skip("before 5.12 a namespace has no cookie from birth, so netflowd distinguishes "
                    "namespaces by inode number only")
    seen = {}
    for round_ in range(3):
        pair = lab.pair(ipv6=False)
        pair.left.send_udp(pair.RIGHT4, 9, PER_PAIR + round_)
        device = pair.left_device
        _settled(daemon, device, PER_PAIR + round_)
        assert _sent(daemon, device) == PER_PAIR + round_
        rows = [row for row in daemon.drop_rows(pair.right_device)
                if row.get("reason", "NO_SOCKET") == "NO_SOCKET" and
                row["device"] == pair.right_device.name and row["protocol"] == "ipv4/udp"]
        assert [row["packets"] for row in rows] == [PER_PAIR + round_]
        seen.setdefault(device.namespace.inode, []).append(device.name)
        lab.delete()


def _pairs(lab, count, made):
    """New pairs, each made when it is needed and added to `made`."""
    for _ in range(count):
        made.append(lab.pair(ipv6=False))
        yield made[-1]


def _turnover(daemon, pairs):
    """Send through pairs, one after another; returns the wrong numbers, None if all are right."""
    sent = {}
    for count, pair in enumerate(pairs, PER_PAIR):
        pair.left.send_udp(pair.RIGHT4, 9, count)
        sent[pair.left_device] = count
        if _settled(daemon, pair.left_device, count) != count:
            return daemon.call("GetLatency", all=True)["latencies"]
        # Those of pairs that are idle, for the next one.
        waiting.until(lambda: device_slots.free(daemon, SLOTS),
                      lambda free: min(free) >= device_slots.FREE_MIN, seconds=40)
        coverage = daemon.coverage("devices")
        if coverage["state"] != "full":
            return coverage
    counted = {device: _sent(daemon, device) for device in sent}
    if counted != sent:
        return {device.name: (count, counted[device]) for device, count in sent.items()}
    return None


@pytest.mark.needs("devices", "several network namespaces")
def test_slots_are_given_back(start, bpf, lab):
    """Six slots for eight devices and lo: none is counted as another, nothing is lost.

    All devices of the host share the slots.  If devices of other processes take more than the lab
    leaves over, wrong numbers prove nothing, and the test tries again, at most twice.
    """
    wrong = foreign = None
    for _ in range(3):
        daemon, made = start(f"devices.slots={SLOTS}", "devices.idle=1"), []
        wrong = _turnover(daemon, _pairs(lab, 4, made))
        own = {namespace.inode for pair in made for namespace in (pair.left, pair.right)}
        foreign = _foreign(daemon, own)
        if not wrong or len(foreign) <= FOREIGN_MAX:
            break
        _wait_for_quiet(daemon, own)
        assert daemon.stop() == 0
    assert not wrong, (wrong, foreign)


def test_more_devices_than_slots_is_said(start, bpf, lab):
    """All at once: devices without a slot are counted together, and coverage says so."""
    daemon = start("devices.slots=8", "devices.idle=600")
    for _ in range(5):
        pair = lab.pair(ipv6=False)
        pair.left.send_udp(pair.RIGHT4, 9, PER_PAIR)
    together = [row for row in daemon.call("GetLatency", all=True)["latencies"]
                if "device" not in row]
    transmits = [row["count"] for row in together if row["segment"] == "start_xmit_to_xmit"]
    assert sum(transmits) >= PER_PAIR
    coverage = daemon.coverage("devices")
    assert coverage["state"] == "degraded"
    assert "devices.slots" in coverage["reason"]

# SPDX-License-Identifier: GPL-2.0-or-later
"""One number, every way: what was made is what each view shows, to the unit, whoever has the name
or the number now."""

import json
import time

import pytest

from lab import packets, recordings, waiting
from lab.net import Namespace, run

pytestmark = [pytest.mark.patient, pytest.mark.usefixtures("cli")]

FAST = "history.interval=1s"
KEYS = ("reason", "location", "dev", "proto", "netns")


def since(seconds):
    """A moment of the past, for a question to the history."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - seconds))


def written(daemon, count=2):
    """Wait until this many more intervals are in the history."""
    before = daemon.status()["history"]["intervals"]
    assert waiting.until(lambda: daemon.status()["history"]["intervals"] >= before + count, bool)


def packets_of(daemon, **parameters):
    return daemon.call("GetDrops", **parameters)["packets"]


# ---- trace events: devices have a name only ----


@pytest.fixture
def by_events(start, tmp_path):
    with recordings.mounted():
        yield start(FAST, "probes.backend=tracefs", "probes.trace_buffer=8192",
                 history=tmp_path / "history")


def test_two_devices_that_only_their_names_distinguish(by_events, lab):
    """They have one reason, location and protocol."""
    daemon = by_events
    made = {}
    for count in (30, 20):
        pair = lab.pair(ipv6=False)
        pair.left.send_udp(pair.RIGHT4, 9, count)
        made[pair.right_device.name] = count
    for name, count in made.items():
        assert waiting.settled(lambda n=name: packets_of(daemon, device=n), count) == count
    written(daemon, 4)
    for name, count in made.items():
        for past in ({}, {"since": since(60)}):
            reply = daemon.call("GetDrops", device=name, **past)
            assert reply["packets"] == count, (name, past)
            # Trace events show neither segments nor bytes.
            for row in (reply, *reply["rows"]):
                assert "segments" not in row and "bytes" not in row, past
        for key in KEYS:
            reply = daemon.call("GetDrops", device=name, by=key, since=since(60))
            assert [row["packets"] for row in reply["rows"]] == [count], key
    text = daemon.netflowctl("drops", "--since", "1m", "--dev", name, "--json").stdout
    assert json.loads(text)["packets"] == count


# ---- a namespace is itself ----


@pytest.mark.usefixtures("bpf")
def test_a_namespace_with_the_name_and_the_number_of_another(start, lab, tmp_path):
    daemon = start(FAST, history=tmp_path / "history")
    pair = lab.pair(ipv6=False)
    name, inode = pair.right.name, pair.right.inode
    pair.left.send_udp(pair.RIGHT4, 9, 22)

    def counts(**question):
        return [packets_of(daemon, netns=name, **question, **past)
                for past in ({}, {"since": since(60)})]

    assert waiting.until(counts, lambda got: got == [22, 22]) == [22, 22]
    written(daemon)
    run("ip", "netns", "delete", name)
    # The kernel gives the number to the next namespace, sooner or later.
    again = Namespace(name, ipv6=False)
    again.send_udp("127.0.0.1", 9, 8)
    written(daemon)
    assert waiting.until(counts, lambda got: got == [8, 8]) == [8, 8], again.inode == inode
    for by in ("dev", "netns", "reason"):
        assert counts(by=by) == [8, 8]
    reply = daemon.call("GetDrops", netns=name, since=since(60))
    assert reply["folded"] == 22
    # Nobody has the name any more: then all that had it are meant.
    run("ip", "netns", "delete", name)
    assert packets_of(daemon, netns=name, since=since(60)) == 30
    pair.right = again


# ---- what a record has, now and in the past ----


@pytest.fixture
def tap(lab):
    namespace = lab.namespace(ipv6=False)
    with packets.Tunnel(namespace, lab.name(), packets.IFF_TAP) as tunnel:
        namespace.ip("address", "add", "192.0.2.2/24", "dev", tunnel.device.name)
        yield tunnel


@pytest.mark.needs("drops", "headers")
def test_a_tag_is_found_in_the_past(start, tap, tmp_path):
    daemon = start(FAST, history=tmp_path / "history")
    tap.device.namespace.nft_drop("ingress", "", family="netdev", device=tap.device)
    mac, source, own = tap.device.mac, "192.0.2.1", "192.0.2.2"
    packet = packets.ipv4(source, own, packets.UDP, packets.udp(source, own, 1, 2, b"x" * 30))
    for tag in ((0x8100, 3 << 13 | 42), None):
        tap.write(packets.ethernet(mac, "02:00:00:00:00:77", packets.ETH_IPV4, packet, vlan=tag))
    expressions = {"vlan": 1, "vlan 42": 1, "vlan 43": 0, "vlan 42 and udp port 2": 1,
                   "udp port 2": 2, f"ether dst {mac}": 2}

    def found(**past):
        return {text: daemon.call("GetDropRecords", netns=tap.device.namespace.name, filter=text,
                                  **past)["matched"] for text in expressions}

    assert waiting.until(found, lambda got: got == expressions) == expressions
    written(daemon)
    assert found(since=since(60)) == expressions

# SPDX-License-Identifier: GPL-2.0-or-later
"""A device is itself: a rename follows, and a device with the name and the ifindex of one that is
gone does not inherit its drops."""

import contextlib
import json
import socket
import time

import pytest

from conftest import needs_bpf
from lab import attempts, kernel, packets, patience, sockets, waiting
from lab.alerts import SETTINGS, Rules, alert, seconds
from lab.net import Device, Pair, join, run
from lab.prometheus import scrape
from test_every_way import FAST, KEYS, packets_of, since, written

# Trace events show the name of a device only.
pytestmark = [pytest.mark.usefixtures("cli"), pytest.mark.xdist_group("itself"),
              pytest.mark.needs("devices", "several network namespaces")]

FIRST, SECOND = "itself1", "itself2"


@pytest.fixture(scope="module")
def historian(kept, tmp_path_factory):
    """A daemon with a history, metrics, and a rule for each of two names."""
    needs_bpf()
    rules = Rules(tmp_path_factory.mktemp("rules") / "rules")
    rules.write("10-test.conf", "".join(
        f"[alert {name}]\ncondition = drop_rate\ndevice = {name}\nwindow = 1m\nover = 0\n"
        for name in (FIRST, SECOND)))
    # Of each interval there is room for the records of all causes of tests beside these.
    return kept(FAST, "history.records=1024", rules.setting, *SETTINGS, "metrics.listen=unix",
                history=tmp_path_factory.mktemp("history"))


class Changing:
    """A device that drops datagrams to a closed port, and changes its name and namespace."""

    def __init__(self, lab, name):
        self.pair = lab.pair(ipv6=False)
        self.home = self.namespace = self.pair.right
        self.device = self.pair.right_device
        self.rename(name)

    def drop(self, count):
        assert self.pair.left.send_udp(Pair.RIGHT4, 9, count) == count

    def _up(self, name):
        self.namespace.ip("link", "set", name, "up")
        self.device = Device(self.namespace, name)
        # Without a carrier, a device drops what it is to send.
        for end in (self.pair.left_device, self.device):
            assert waiting.until(end.has_carrier, bool)

    def rename(self, name):
        self.namespace.ip_batch(f"link set {self.device.name} down",
                                f"link set {self.device.name} name {name}")
        self._up(name)

    def move(self, namespace, name):
        self.namespace.ip("link", "set", self.device.name, "netns", namespace.name, "name", name)
        self.namespace = namespace
        self._up(name)
        self.namespace.ip_batch(f"address add {Pair.RIGHT4}/24 dev {name}")

    def replace(self):
        """Delete it, and make one with its name and ifindex."""
        self.namespace.ip("link", "delete", self.device.name)
        left = self.pair.left_device
        run("ip", "link", "add", self.device.name, "index", self.device.ifindex,
            "netns", self.namespace.name, "type", "veth", "peer", "name", left.name,
            "netns", left.namespace.name)
        left.namespace.ip("link", "set", left.name, "up")
        self._up(self.device.name)
        self.pair.left_device = Device(left.namespace, left.name)
        join(self.pair.left_device, Pair.LEFT4, None, self.device, Pair.RIGHT4, None)


def every_way(daemon, **where):
    """The packets that each view has of a device."""
    found = {}
    for when, past in (("now", {}), ("past", {"since": since(3600)})):
        found[when] = packets_of(daemon, **where, **past)
        for by in KEYS:
            rows = daemon.call("GetDrops", by=by, **where, **past)["rows"]
            found[when, by] = sum(row["packets"] for row in rows)
    found["records"] = daemon.call("GetDropRecords", **where)["matched"]
    text = daemon.netflowctl("drops", "--dev", where["device"], "--json").stdout
    found["netflowctl"] = json.loads(text)["packets"]
    return found


def agrees(daemon, count, **where):
    """Wait until all views have this number."""
    got = waiting.until(lambda: every_way(daemon, **where),
                        lambda got: set(got.values()) == {count}, pause=0.2)
    assert set(got.values()) == {count}, (where, got)


def stored(daemon, device):
    """The records of a device in the history, which keeps a few of each cause and interval."""
    return daemon.call("GetDropRecords", device=device, since=since(3600))["records"]


def of_series(daemon, device, expected):
    """The drops of a device in metrics, whose text can be a second old."""
    def read():
        text = scrape(daemon.directory / "metrics.sock")[1]
        return sum(int(line.split()[-1]) for line in text.splitlines()
                   if line.startswith("netflowd_drops_total{") and f'device="{device}"' in line)

    return waiting.until(read, lambda got: got == expected, pause=0.2)


def test_a_rename_follows(historian, lab):
    daemon, device = historian, Changing(lab, FIRST)
    device.drop(7)
    agrees(daemon, 7, device=FIRST)
    written(daemon)
    assert of_series(daemon, FIRST, 7) == 7
    device.rename(SECOND)
    # The first drop shows the new name.
    device.drop(1)
    agrees(daemon, 8, device=SECOND)
    written(daemon)
    scrape(daemon.directory / "metrics.sock")
    device.drop(4)
    agrees(daemon, 12, device=SECOND)
    assert {record["device"] for record in stored(daemon, SECOND)} == {FIRST, SECOND}
    # The old name means the same device, as long as no other one has it.
    agrees(daemon, 12, device=FIRST)
    assert daemon.call("GetDrops", device=FIRST)["renamed"] == SECOND
    text = daemon.netflowctl("drops", "--dev", FIRST).stdout
    assert f"; the device has another name now: {SECOND}" in text
    assert "another name" not in daemon.netflowctl("drops", "--dev", SECOND).stdout
    # What was counted under a name stays there.
    assert of_series(daemon, SECOND, 4) == 4
    assert of_series(daemon, FIRST, 7) == 7
    for name, count in ((FIRST, 7), (SECOND, 4)):
        found = waiting.until(lambda n=name: alert(daemon, n), lambda got: got["state"] == "firing")
        assert found["state"] == "firing" and found["evidence"]["count"] == count, name
    # Another device gets the old name.
    other = Changing(lab, FIRST)
    other.drop(3)
    agrees(daemon, 3, device=FIRST, netns=other.home.name)
    agrees(daemon, 12, device=SECOND)


def test_a_successor_does_not_inherit(historian, lab):
    daemon, device = historian, Changing(lab, lab.name())
    name, index = device.device.name, device.device.ifindex
    device.drop(12)
    agrees(daemon, 12, device=name)
    written(daemon)
    device.replace()
    replaced = time.time()
    assert device.device.ifindex == index
    device.drop(20)
    agrees(daemon, 20, device=name)
    records = stored(daemon, name)
    assert records and all(seconds(record["time"]) > replaced for record in records)
    for past in ({}, {"since": since(3600)}):
        assert daemon.call("GetDrops", device=name, **past)["folded"] == 12
        rows = daemon.call("GetDrops", by="dev", netns=device.home.name, **past)["rows"]
        of_each = sorted(row["packets"] for row in rows if row["device"] == name)
        assert of_each == [12, 20], past


def test_a_device_that_comes_back(historian, lab):
    """Moved to another namespace and back, under a new name each time."""
    daemon, device = historian, Changing(lab, lab.name())
    names = [device.device.name, lab.name(), lab.name()]
    device.drop(5)
    agrees(daemon, 5, device=names[0])
    written(daemon)
    away = lab.namespace(ipv6=False)
    device.move(away, names[1])
    device.drop(6)
    agrees(daemon, 6, device=names[1])
    device.move(device.home, names[2])
    device.drop(7)
    agrees(daemon, 12, device=names[2])
    agrees(daemon, 6, device=names[1])


def received(daemon, name, now, past):
    """Wait until the device has received so many packets, by the name that a row shows."""
    def read():
        return [{row["device"]: row["count"]
                 for row in daemon.call("GetLatency", device=name, all=True, **when)["latencies"]
                 if row["segment"] == "rx_total"} for when in ({}, {"since": since(3600)})]

    got = waiting.until(read, lambda got: got == [now, past], pause=0.2)
    assert got == [now, past]


def test_latency_is_of_the_device(historian, lab):
    daemon, device = historian, Changing(lab, lab.name())
    first, second = device.device.name, lab.name()
    with sockets.udp(device.pair.left, device.home, Pair.RIGHT4, 9000) as (sender, reader):
        def deliver(count):
            for _ in range(count):
                sender.send(b"x")
                reader.recv(10)

        deliver(10)
        received(daemon, first, {first: 10}, {first: 10})
        written(daemon)
        device.rename(second)
        deliver(5)
        for name in (first, second):
            received(daemon, name, {second: 15}, {first: 10, second: 5})
        written(daemon)
        device.replace()
        deliver(3)
        received(daemon, second, {second: 3}, {second: 3})


class Host:
    """The namespace of the daemon and of the tests."""

    entered = staticmethod(contextlib.nullcontext)

    @staticmethod
    def ip(*arguments):
        return run("ip", *arguments)


@pytest.fixture
def host_tap(lab):
    """A TAP device in the daemon's own namespace, and a name for it."""
    with packets.Tunnel(Host, lab.name(), packets.IFF_TAP) as tunnel:
        yield tunnel, lab.name()


def test_counts_of_the_kernel_are_of_the_device(historian, lab):
    """A device of the daemon's own namespace that is made again under its name."""
    daemon = historian
    peer, own = "192.0.2.1", "192.0.2.2"

    def rows(name):
        return sorted((row["count"], row.get("packets"))
                      for row in daemon.call("GetLatency", all=True)["latencies"]
                      if row.get("device") == name and row["segment"] == "rx_total")

    def deliver(name, count, expected):
        with packets.Tunnel(Host, name, packets.IFF_TUN) as tun, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
            Host.ip("address", "add", f"{own}/30", "dev", name)
            reader.bind((own, 9001))
            reader.settimeout(patience.seconds(5))
            for _ in range(count):
                tun.write(packets.ipv4(peer, own, packets.UDP,
                                       packets.udp(peer, own, 1, 9001, b"x")))
                reader.recv(10)
            got = waiting.until(lambda: rows(name), lambda got: got == expected, pause=0.2)
        # From 6.18 on, a datagram that its reader takes before netflowd sees it in the queue has no
        # latency, and is missing here.
        attempts.need(kernel.release() < (6, 18) or
                      sum(row[0] for row in got) >= sum(row[0] for row in expected),
                      f"{got}, not {expected}")
        return got == expected

    def attempt():
        name = lab.name()
        assert deliver(name, 4, [(4, 4)]), rows(name)
        assert deliver(name, 3, [(3, 3), (4, None)]), rows(name)

    attempts.valid(attempt)


@pytest.mark.skipif(kernel.release() < (5, 14), reason="no socket shows the cookie")
def test_the_kernel_is_asked_for_the_name(historian, host_tap, lab):
    """In the daemon's own namespace, no packet has to pass after a rename, or a successor."""
    daemon, (tap, second) = historian, host_tap
    first = tap.device.name
    for _ in range(4):
        tap.write(packets.ethernet(tap.device.mac, "02:00:00:00:00:77", 0x88b5, b"x" * 60))
    agrees(daemon, 4, device=first)
    written(daemon)
    Host.ip("link", "set", first, "down")
    Host.ip("link", "set", first, "name", second)
    agrees(daemon, 4, device=second)
    Host.ip("link", "add", first, "type", "veth", "peer", "name", lab.name())
    try:
        agrees(daemon, 0, device=first)
        assert daemon.call("GetDrops", device=first).get("renamed") is None
        agrees(daemon, 4, device=second)
    finally:
        Host.ip("link", "delete", first)

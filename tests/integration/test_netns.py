# SPDX-License-Identifier: GPL-2.0-or-later
"""A network namespace selects by its name, by its inode number, and the host's own by "host": the
same packets each time, and exactly those that were sent there."""

import contextlib
import json
import os
import random

import pytest

from lab import journeys, waiting
from lab.net import run
from lab.varlink import VarlinkError

pytestmark = [
    pytest.mark.alone, pytest.mark.usefixtures("bpf", "cli"),
    pytest.mark.shared(*journeys.EVERY, "records.rate=1000000")]

FINE, FAILED, USAGE, UNREACHABLE = range(4)
TO_RIGHT, TO_LEFT = 30, 7
PAIRS = {}  # of each daemon, the one with its drops
# Linux gives it to the first network namespace since 6.18 (NET_NS_INIT_INO).
INIT_INODE = 0xEFFFFFF9


@pytest.fixture
def dropped(daemon, kept_lab):
    """(daemon, pair) after 30 drops on the right and 7 on the left, each of which left a record."""
    if daemon not in PAIRS:
        pair = kept_lab.pair(ipv6=False)
        assert pair.left.send_udp(pair.RIGHT4, 9, TO_RIGHT) == TO_RIGHT
        assert pair.right.send_udp(pair.LEFT4, 9, TO_LEFT) == TO_LEFT
        for device, count in ((pair.right_device, TO_RIGHT), (pair.left_device, TO_LEFT)):
            assert waiting.settled(lambda d=device: daemon.dropped(d, "ipv4/udp"), count) == count
        PAIRS[daemon] = pair
    return daemon, PAIRS[daemon]


def packets(daemon, netns, **parameters):
    return daemon.call("GetDrops", netns=netns, **parameters)["packets"]


# ---- by name and by number ----


@pytest.mark.smoke
def test_drops(dropped):
    daemon, pair = dropped
    for namespace, count in ((pair.right, TO_RIGHT), (pair.left, TO_LEFT)):
        for netns in (namespace.name, str(namespace.inode)):
            answer = daemon.call("GetDrops", netns=netns)
            assert answer["packets"] == count == sum(r["packets"] for r in answer["rows"])
            assert {row["netns"] for row in answer["rows"]} == {namespace.inode}
            records = daemon.call("GetDropRecords", netns=netns, limit=1000)
            assert records["matched"] == count == len(records["records"])
            assert {record["netns"] for record in records["records"]} == {namespace.inode}


def test_drops_on_the_command_line(dropped):
    daemon, pair = dropped
    for arguments in (["drops"], ["drops", "--records"], ["latency"], ["slow", "--all"]):
        answers = []
        for netns in (pair.right.name, str(pair.right.inode)):
            done = daemon.netflowctl(*arguments, "--netns", netns, "--json")
            assert done.returncode == FINE, done.stderr
            answer = json.loads(done.stdout)
            # Any drop on this host changes `held`.
            for moment in ("time", "since", "elapsed_ns", "held"):
                answer.pop(moment, None)
            answers.append(answer)
        assert answers[0] == answers[1], arguments
        assert answers[0].get("packets", TO_RIGHT) == TO_RIGHT
    text = daemon.netflowctl("drops", "--netns", pair.right.name).stdout
    assert text.startswith(f"{TO_RIGHT} packets ") and f"--netns {pair.right.name}" in text


def test_latency(dropped):
    daemon, pair = dropped
    found = daemon.call("GetLatency", netns=pair.right.name)["latencies"]
    assert found and {latency["netns"] for latency in found} == {pair.right.inode}
    assert found == daemon.call("GetLatency", netns=str(pair.right.inode))["latencies"]
    records = daemon.call("GetLatencyRecords", netns=pair.left.name, limit=1000)["records"]
    assert records
    assert records == daemon.call("GetLatencyRecords", netns=str(pair.left.inode),
                                  limit=1000)["records"]


def test_slots(start, silent_pair):
    pair = silent_pair
    daemon = start(f"slots.devices={pair.left_device.name}")
    pair.left.send_udp(pair.RIGHT4, 9, TO_RIGHT)
    by_name = waiting.until(lambda: daemon.call("GetSlots", netns=pair.left.name)["devices"],
                            lambda devices: devices and devices[0]["transmits"] == TO_RIGHT)
    assert [(d["device"], d["transmits"]) for d in by_name] == [(pair.left_device.name, TO_RIGHT)]
    assert by_name == daemon.call("GetSlots", netns=str(pair.left.inode))["devices"]
    assert daemon.call("GetSlots", netns=pair.right.name)["devices"] == []
    assert daemon.call("GetSlotsRecords", netns=pair.left.name)["matched"] == 0


def test_stream(daemon, silent_pair):
    pair = silent_pair
    with daemon.client() as client:
        client.monitor(netns=pair.left.name)
        pair.left.send_udp(pair.RIGHT4, 9, 5)
        pair.right.send_udp(pair.LEFT4, 9, 2)
        got = [client.next_record()["drop"] for _ in range(2)]
    assert {record["netns"] for record in got} == {pair.left.inode}


# ---- the host's own ----


def host_inode():
    """The number of init's namespace, and that this process is in it."""
    own = os.stat("/proc/self/ns/net").st_ino
    try:
        host = os.stat("/proc/1/ns/net").st_ino
    except PermissionError:
        host = INIT_INODE
    if host != own:
        pytest.skip("not in the host's network namespace, or the kernel does not show it")
    return host


@contextlib.contextmanager
def device_of_the_host(lab, namespace):
    """(device, address) in the host's own namespace, whose peer is in `namespace`."""
    name, peer, net = lab.name(), lab.name(), f"10.78.{random.randrange(256)}"
    run("ip", "link", "add", name, "type", "veth", "peer", "name", peer, "netns", namespace.name)
    try:
        run("ip", "link", "set", name, "addrgenmode", "none")
        run("ip", "address", "add", f"{net}.1/24", "dev", name)
        run("ip", "link", "set", name, "up")
        namespace.ip("address", "add", f"{net}.2/24", "dev", peer)
        namespace.ip("link", "set", peer, "up")
        yield name, f"{net}.1"
    finally:
        run("ip", "link", "delete", name)


def test_host(daemon, lab):
    inode, namespace = host_inode(), lab.namespace(ipv6=False)
    with device_of_the_host(lab, namespace) as (device, address):
        assert namespace.send_udp(address, 9, TO_RIGHT) == TO_RIGHT
        said = waiting.settled(lambda: packets(daemon, "host", device=device, by="proto"), TO_RIGHT)
        assert said == TO_RIGHT
        for netns in ("host", str(inode)):
            answer = daemon.call("GetDrops", netns=netns, device=device)
            assert answer["packets"] == TO_RIGHT
            assert {row["netns"] for row in answer["rows"]} == {inode}
        assert packets(daemon, namespace.name, device=device) == 0
        done = daemon.netflowctl("drops", "--netns", "host", "--dev", device, "--json")
        assert json.loads(done.stdout)["packets"] == TO_RIGHT


def test_host_is_the_host_whatever_is_called_so(dropped):
    host_inode()
    daemon, pair = dropped
    if os.path.exists("/run/netns/host"):
        pytest.skip("a network namespace of this machine is called host")
    with pair.right.called("host"):
        assert packets(daemon, "host", device=pair.right_device.name) == 0


# ---- names ----


def test_name_is_looked_up_at_each_call(dropped, lab):
    daemon, pair = dropped
    name = lab.name()
    for namespace, count in ((pair.right, TO_RIGHT), (pair.left, TO_LEFT)):
        with pytest.raises(VarlinkError) as error:
            packets(daemon, name)
        assert error.value.name == "UnknownNetns"
        with namespace.called(name):
            assert packets(daemon, name) == count


def test_digits_are_a_number(dropped):
    """A namespace whose name has digits only is selected by its inode number."""
    daemon, pair = dropped
    with pair.right.called(str(random.randrange(10**6, 10**7))) as name:
        assert packets(daemon, name) == 0
        assert packets(daemon, str(pair.right.inode)) == TO_RIGHT


def test_number_of_no_namespace(daemon):
    """It may have been one's: what was counted of it stays."""
    assert daemon.call("GetDrops", netns="1")["rows"] == []


@pytest.mark.parametrize("netns", ["", "0", "4294967296", "../self", ".", "x" * 256])
def test_what_is_neither(daemon, netns):
    for method in ("GetDrops", "GetLatency", "GetSlotsRecords"):
        with pytest.raises(VarlinkError) as error:
            daemon.call(method, netns=netns)
        assert error.value.error == "org.varlink.service.InvalidParameter"
        assert error.value.parameters == {"parameter": "netns"}


def test_unknown_name(daemon, lab):
    name = lab.namespace(ipv6=False).name
    for wrong, nearest in ((name + "x", name), (name[:-1] + "-" + name[-1:], name),
                           ("no such namespace on earth", None)):
        for method in ("GetDrops", "GetDropRecords", "GetLatency", "GetLatencyRecords", "GetSlots",
                       "GetSlotsRecords"):
            with pytest.raises(VarlinkError) as error:
                daemon.call(method, netns=wrong)
            assert error.value.name == "UnknownNetns"
            expected = {"netns": wrong} | ({"nearest": nearest} if nearest else {})
            assert error.value.parameters == expected
    with daemon.client() as client, pytest.raises(VarlinkError) as error:
        client.monitor(netns=name + "x")
    assert error.value.parameters == {"netns": name + "x", "nearest": name}
    done = daemon.netflowctl("drops", "--netns", name + "x")
    assert done.returncode == USAGE and done.stdout == ""
    assert done.stderr == \
        f"netflowctl: no such network namespace: {name}x (did you mean {name}?)\n"

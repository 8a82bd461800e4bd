# SPDX-License-Identifier: GPL-2.0-or-later
"""Ring slots on the devices of slots.devices: datagrams with a known number of pages, the
histogram, the records and their page layout; the ledger of slots; the kernel's log."""

import collections
import functools
import json
import os
import re
import secrets
import subprocess
import time

import pytest

from lab import offload, paths, rocket, waiting
from lab.pump import pump
from lab.varlink import VarlinkError

SLOTS = (9, 17, 18, 19, 31)
EACH = 5
LIMIT = 18
PORT = 7000
PAGE = 4096
# The linear part of a datagram of tests/tools/rocket: Ethernet, IP, UDP and 8 bytes.
HEAD = 14 + 20 + 8 + 8
PIECE = 80

# A name that only devices of this process have, one at a time.
NAMED = f"nfs{secrets.token_hex(4)}"

pytestmark = pytest.mark.usefixtures("bpf")
# What a test recorded takes nothing from the token buckets of the next one.
shared = pytest.mark.shared(f"slots.devices={NAMED}", "records.rate=1000000")


def slots_of(daemon, device):
    """The daemon's counts of a lab Device, None if there are none."""
    found = [d for d in daemon.call("GetSlots")["devices"]
             if (d.get("netns"), d.get("ifindex")) == (device.namespace.inode, device.ifindex)]
    assert len(found) <= 1
    return found[0] if found else None


def histogram(daemon, device):
    found = slots_of(daemon, device)
    return {b["slots"]: b["count"] for b in found["histogram"]} if found else {}


def records_of(daemon, device, **parameters):
    return [r for r in daemon.call("GetSlotsRecords", limit=1 << 20, **parameters)["records"]
            if (r.get("netns"), r.get("ifindex")) == (device.namespace.inode, device.ifindex)]


def pages(piece):
    return (piece["offset"] % PAGE + piece["size_bytes"] + PAGE - 1) // PAGE


def ledger(daemon):
    """The ledger of slots, after a check that it is balanced and that nothing is lost."""
    now = waiting.until(lambda: daemon.status()["slots"], lambda l: not l["moved"])
    assert now["balanced"]
    assert now["hits"] == now["counted"] + now["unkeyed"]
    assert now["chosen"] == (now["recorded"] + now["throttled"] + now["ring_full"] +
                             now["unended"])
    return now


@pytest.fixture
def watched(start, silent_pair):
    """A daemon that counts the transmits of the left end of a pair."""
    return start(f"slots.devices={silent_pair.left_device.name}"), silent_pair


@pytest.fixture
def followed(daemon, lab):
    """The daemon of `shared`, and a pair whose left end it counts from now on."""
    # Its answer comes after all records of an earlier test's device.
    daemon.call("GetSlots")
    return daemon, lab.pair(ipv6=False, name=NAMED)


def ride(pair, *slots, count=EACH):
    """Send datagrams of each number of slots, and check that they arrive whole."""
    with rocket.reader(pair.right, pair.RIGHT4, PORT) as end:
        sent = rocket.rocket(pair.left, pair.RIGHT4, PORT, *slots, count=count)
        assert rocket.received(end, len(sent)) == [rocket.payload(s) for s in sent]
    return sent


# ---- counting ----


@pytest.mark.smoke
def test_each_number_of_slots(watched):
    daemon, pair = watched
    ride(pair, *SLOTS)
    expected = {slots: EACH for slots in SLOTS}
    device = pair.left_device
    assert waiting.settled(lambda: histogram(daemon, device), expected) == expected
    found = slots_of(daemon, device)
    assert found["device"] == device.name
    assert not found["xen"]
    assert found["transmits"] == EACH * len(SLOTS)
    assert found["near_misses"] == 2 * EACH
    assert found["overflows"] == 2 * EACH
    # veth accepts any number of slots.
    assert found["outcomes"] == {"sent": 2 * EACH, "linearized": 0, "dropped": 0, "requeued": 0,
                                 "unseen": 0}
    assert found["too_big"] == 0
    assert slots_of(daemon, pair.right_device) is None
    now = ledger(daemon)
    assert now["hits"] == EACH * len(SLOTS)
    assert now["chosen"] == now["recorded"] == 4 * EACH


def transmits(daemon, device):
    return (slots_of(daemon, device) or {}).get("transmits")


@shared
def test_bulk_is_counted_to_the_packet(followed):
    """TCP with segments of all sizes: netflowd counts as many transmits as the device packets."""
    daemon, pair = followed
    for size, count in ((1, 10), (100, 10), (65536, 200)):
        done = pump("tcp", pair.left, pair.right, pair.RIGHT4, PORT + size % 7, count, size=size)
        assert done.bytes_read == size * count
    packets = pair.left_device.statistics()["tx"]["packets"]
    assert waiting.settled(lambda: transmits(daemon, pair.left_device), packets) == packets
    found = slots_of(daemon, pair.left_device)
    assert sum(b["count"] for b in found["histogram"]) == packets
    # The segments of a single stream are whole adjacent pages, so they always fit in the ring.
    assert found["overflows"] == 0
    assert max(b["slots"] for b in found["histogram"]) >= 16


def test_limit_is_a_setting(start, silent_pair):
    daemon = start(f"slots.devices={silent_pair.left_device.name}", "slots.limit=10")
    ride(silent_pair, 8, 9, 10, 11, count=2)
    found = waiting.until(lambda: slots_of(daemon, silent_pair.left_device),
                          lambda f: f and f["transmits"] == 8)
    assert (found["near_misses"], found["overflows"]) == (4, 2)
    assert daemon.call("GetSlots")["limit"] == 10
    assert {r["limit"] for r in records_of(daemon, silent_pair.left_device)} == {10}


def test_every_device(start, silent_pair):
    daemon = start("slots.devices=*")
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 20)
    for device in (silent_pair.left_device, silent_pair.right_device):
        packets = device.statistics()["tx"]["packets"]
        read = functools.partial(transmits, daemon, device)
        assert waiting.settled(read, packets) == packets


# Devices whose slots netflowd counts separately.
ROOM = 64


def test_more_devices_than_room(start, lab):
    """netflowd counts all devices, those without room together.  Other tests' devices take places,
    too."""
    inside, count = lab.namespace(ipv6=False), ROOM + 6
    inside.ip_batch(*(line for number in range(count) for line in (
        f"link add fill{number} type veth peer name peer{number}",
        f"addr add 10.9.{number}.1/24 dev fill{number}",
        f"link set peer{number} up", f"link set fill{number} arp off up")))
    daemon = start("slots.devices=*")
    for number in range(count):
        inside.send_udp(f"10.9.{number}.2", 9, 10)
    least = 10 * count
    now = waiting.until(lambda: daemon.status()["slots"], lambda l: l["hits"] >= least)
    ledger(daemon)
    devices = daemon.call("GetSlots")["devices"]
    mine = [d["transmits"] for d in devices if d.get("netns") == inside.inode]
    others = [d["transmits"] for d in devices if d.get("device") is None]
    assert set(mine) == {10} and sum(d.get("device") is not None for d in devices) == ROOM
    assert sum(mine) + sum(others) >= least and now["unkeyed"] >= least - sum(mine)


def test_not_loaded_unless_asked_for(daemon, pair):
    pair.left.send_udp(pair.RIGHT4, 9, 10)
    answer = daemon.call("GetSlots")
    assert answer["devices"] == []
    assert answer["named"] == {"state": "unneeded",
                               "reason": "no device is named in slots.devices: netflowd --set "
                                         "slots.devices=DEVICE counts the pages that its transmits "
                                         "need"}
    assert answer["ledger"]["hits"] == 0
    probes = {p["name"]: p for p in daemon.call("ListProbes")["probes"]}
    assert probes["slots_devices"]["state"] == "unneeded"
    assert probes["slots_devices"]["group"] == "slots"


def test_probe_switched_off(start, silent_pair):
    daemon = start(f"slots.devices={silent_pair.left_device.name}",
                   "probes.disable=slots_devices")
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 10)
    assert daemon.call("GetSlots")["devices"] == []
    coverage = daemon.coverage("slots")
    assert coverage["state"] == "degraded"
    assert "slots_devices: switched off by probes.disable" in coverage["reason"]


# ---- records ----


@shared
def test_page_layout(followed):
    daemon, pair = followed
    sent = {s.sequence: s for s in ride(pair, 17, 18, 19, 31)}
    records = waiting.until(lambda: records_of(daemon, pair.left_device),
                            lambda found: len(found) == len(sent))
    assert len(records) == len(sent)
    for record in records:
        # The payload begins with the sequence number, behind 20 bytes of IP and 8 of UDP.
        datagram = sent.pop(int(record["header"][56:64], 16))
        assert record["slots"] == datagram.slots
        assert record["limit"] == LIMIT
        assert record["kind"] == ("overflow" if datagram.slots > LIMIT else "near_miss")
        assert record["length_bytes"] == datagram.bytes + 42
        assert record["head"]["size_bytes"] == HEAD
        straddling = (datagram.slots - 1) // 2
        frags = record["frags"]
        assert [f["size_bytes"] for f in frags] == [PIECE] * (datagram.slots // 2)
        assert [f["offset"] % PAGE for f in frags[:straddling]] == [PAGE - PIECE // 2] * straddling
        for piece in (record["head"], *frags):
            assert piece["slots"] == pages(piece)
        assert sum(p["slots"] for p in (record["head"], *frags)) == datagram.slots
    assert not sent


@shared
def test_what_a_record_says(followed):
    daemon, pair = followed
    before = time.time()
    ride(pair, 19, count=1)
    record, = waiting.until(lambda: records_of(daemon, pair.left_device), bool)
    assert record["device"] == pair.left_device.name
    assert record["outcome"] == "sent"
    assert not record["xen"]
    assert record["protocol"] == "ipv4/udp"
    assert re.fullmatch(rf"udp {pair.LEFT4}:\d+ > {pair.RIGHT4}:{PORT}", record["flow"])
    assert record["task"]["comm"] == "rocket" and record["task"]["involved"]
    assert record.get("gso_size") is None
    assert record["offload"] == {"sg": True, "gso": True, "tso": True}
    seconds = time.strptime(record["time"][:19], "%Y-%m-%dT%H:%M:%S")
    assert abs(time.mktime(seconds) - before) < 86400


@shared
@pytest.mark.parametrize("command, member", [(offload.SGSO, "gso"), (offload.STSO, "tso")])
def test_offload_is_that_of_the_moment(followed, command, member):
    daemon, pair = followed
    ride(pair, 19, count=1)
    offload.switch(pair.left_device, command, False)
    ride(pair, 19, count=1)
    records = waiting.until(lambda: records_of(daemon, pair.left_device), lambda r: len(r) == 2)
    assert [r["offload"][member] for r in records] == [True, False]


def test_gso_of_a_record(start, silent_pair):
    """A TCP segment of many packets is an overflow at a low limit."""
    daemon = start(f"slots.devices={silent_pair.left_device.name}", "slots.limit=4")
    pair = silent_pair
    done = pump("tcp", pair.left, pair.right, pair.RIGHT4, PORT, 16, size=65536)
    assert done.bytes_read == 16 * 65536
    records = waiting.until(lambda: records_of(daemon, pair.left_device), bool)
    big = [r for r in records if r.get("gso_size")]
    assert big
    for record in big:
        assert record["protocol"] == "ipv4/tcp"
        assert record["gso_segs"] == -(-(record["length_bytes"] - 66) // record["gso_size"])
        assert record["head"]["size_bytes"] + sum(f["size_bytes"] for f in record["frags"]) == \
            record["length_bytes"]


def test_filters(watched):
    daemon, pair = watched
    ride(pair, 18, 19, count=1)
    waiting.until(lambda: records_of(daemon, pair.left_device), lambda r: len(r) == 2)
    answer = daemon.call("GetSlotsRecords", filter=f"udp dst port {PORT}", limit=1)
    assert answer["matched"] == 2 and len(answer["records"]) == 1
    assert answer["records"][0]["slots"] == 19
    assert daemon.call("GetSlotsRecords", filter="tcp")["matched"] == 0
    assert daemon.call("GetSlotsRecords", netns=str(pair.right.inode))["matched"] == 0
    assert daemon.call("GetSlots", netns=str(pair.right.inode))["devices"] == []
    name = pair.left_device.name
    assert len(daemon.call("GetSlots", device=name)["devices"]) == 1
    with pytest.raises(VarlinkError) as caught:
        daemon.call("GetSlots", device=name + "x")
    assert caught.value.name == "UnknownDevice"


def test_near_misses_do_not_hide_overflows(start, silent_pair):
    """Token buckets of ten records each: near misses and overflows have separate buckets."""
    daemon = start(f"slots.devices={silent_pair.left_device.name}", "records.rate=1")
    near = 11 * os.cpu_count()
    ride(silent_pair, 18, count=near)
    ride(silent_pair, 19, count=1)
    found = waiting.until(lambda: slots_of(daemon, silent_pair.left_device),
                          lambda f: f and f["overflows"] == 1)
    assert (found["near_misses"], found["overflows"]) == (near, 1)
    kinds = collections.Counter(r["kind"] for r in records_of(daemon, silent_pair.left_device))
    assert kinds["overflow"] == 1 and 10 <= kinds["near_miss"] < near
    now = ledger(daemon)
    assert now["chosen"] == near + 1
    assert now["throttled"] == now["chosen"] - kinds.total()


@shared
def test_dropped_in_start_xmit(followed):
    """veth drops packets that are too long for its peer in its start_xmit, and counts them."""
    daemon, pair = followed
    pair.right.ip("link", "set", pair.right_device.name, "mtu", "600")
    rocket.rocket(pair.left, pair.RIGHT4, PORT, *SLOTS, count=EACH)
    found = waiting.until(lambda: slots_of(daemon, pair.left_device),
                          lambda f: f and f["transmits"] == EACH * len(SLOTS))
    assert pair.left_device.statistics()["tx"]["dropped"] == 4 * EACH
    assert found["outcomes"] == {"sent": 0, "linearized": 0, "dropped": 2 * EACH, "requeued": 0,
                                 "unseen": 0}
    records = records_of(daemon, pair.left_device)
    assert [r["outcome"] for r in records] == ["dropped"] * (4 * EACH)


# ---- streams, the command line ----


@shared
def test_stream(followed):
    daemon, pair = followed
    with daemon.client() as client:
        client.send("io.netflowd.Monitor", {"records": ["slots"]}, more=True)
        assert client.reply("io.netflowd.Monitor") == {}
        ride(pair, 9, 31, count=1)
        answer = client.reply("io.netflowd.Monitor")
    assert answer.keys() == {"slots"}
    assert answer["slots"]["slots"] == 31


@shared
def test_command_line_follows(followed, cli):
    daemon, pair = followed
    with subprocess.Popen([paths.CLI, "--socket", daemon.socket_path, "slots", "--follow", "--json",
                           "--limit", "2"], stdout=subprocess.PIPE, text=True) as following:
        # It ends by itself after two records, however long its start was.
        waiting.until(lambda: ride(pair, 19, 31, count=1), lambda _: following.poll() is not None,
                      seconds=20, pause=0.1)
        out = following.stdout.read()
    records = [json.loads(line) for line in out.splitlines()]
    assert len(records) == 2 and {r["kind"] for r in records} == {"overflow"}


def test_command_line(watched, cli):
    daemon, pair = watched
    assert "netflowd has seen no transmit since" in daemon.netflowctl("slots").stdout
    ride(pair, *SLOTS)
    waiting.until(lambda: slots_of(daemon, pair.left_device),
                  lambda f: f and f["transmits"] == EACH * len(SLOTS))
    done = daemon.netflowctl("slots")
    assert (done.returncode, done.stderr) == (0, "")
    for slots in SLOTS:
        assert re.search(rf"^ +{slots} +{EACH} +20.0 %", done.stdout, re.MULTILINE), done.stdout
    assert f"{2 * EACH} overflows: {2 * EACH} sent; {2 * EACH} near misses" in done.stdout
    assert "overflow  31 slots of 18  sent" in done.stdout
    assert "|...............#|#...............|" in done.stdout
    whole = json.loads(daemon.netflowctl("slots", "--json").stdout)
    assert whole["devices"] == daemon.call("GetSlots")["devices"]
    records = json.loads(daemon.netflowctl("slots", "--records", "--json", "--limit", 3).stdout)
    assert [r["slots"] for r in records["records"]] == [31] * 3
    text = daemon.netflowctl("slots", "--dev", pair.left_device.name, "udp port 7000").stdout
    assert text.count("overflow") == 2 * EACH
    wrong = daemon.netflowctl("slots", "--limit", "3")
    assert wrong.returncode == 2 and "--limit is for" in wrong.stderr
    unknown = daemon.netflowctl("slots", "--dev", pair.left_device.name + "x")
    assert unknown.returncode == 2 and pair.left_device.name in unknown.stderr


def test_command_line_without_data(daemon, cli):
    done = daemon.netflowctl("slots")
    assert done.returncode == 0
    assert "No data: " in done.stdout and "slots.devices=DEVICE" in " ".join(done.stdout.split())


# ---- the kernel's log ----


class Log:
    """A pipe that replaces /dev/kmsg: each write is one record."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.pipe = os.open(path, os.O_RDWR)

    def write(self, text, priority=4):
        os.write(self.pipe, f"{priority},1,2,-;{text}\n".encode())
        time.sleep(0.02)

    def close(self):
        os.close(self.pipe)


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path / "kmsg")
    try:
        yield log
    finally:
        log.close()


def test_rocket_that_the_probe_did_not_see(start, log):
    daemon = start(f"slots.kmsg={log.path}")
    assert daemon.coverage("slots")["state"] == "full"
    log.write("xennet: skb rides the rocket: 19 slots, 1514 bytes")
    log.write("something else")
    # netflowd ignores lines that a process wrote: facility 1.
    log.write("xennet: skb rides the rocket: 20 slots, 1514 bytes", priority=12)
    now = waiting.until(lambda: daemon.call("GetSlots")["log"], lambda l: l["rockets"] == 1)
    assert now["readable"] and now["rockets"] == 1
    assert now["newest"][0]["state"] == "pending" and now["unseen"] == 0
    now = waiting.until(lambda: daemon.call("GetSlots")["log"], lambda l: l["unseen"] == 1)
    assert (now["rockets"], now["unseen"]) == (1, 1)
    newest, = now["newest"]
    assert (newest["slots"], newest["length_bytes"], newest["state"]) == (19, 1514, "unseen")
    coverage = daemon.coverage("slots")
    assert coverage["state"] == "degraded"
    assert "the probe did not see 1 of 1 rockets in the kernel's log" in coverage["reason"]
    assert "19 slots, 1,514 B  unseen" in daemon.netflowctl("slots").stdout


def test_log_that_cannot_be_read(start, tmp_path):
    daemon = start(f"slots.kmsg={tmp_path}/nothing")
    coverage = daemon.coverage("slots_log")
    assert coverage["state"] == "unavailable"
    assert "No such file or directory" in coverage["reason"]
    assert daemon.coverage("slots")["state"] == "full"
    answer = daemon.call("GetSlots")["log"]
    assert not answer["readable"] and "No such file" in answer["reason"]


def test_log_on_a_host_without_programs(start, log):
    """Where no probe can run, the kernel's log is the only source."""
    daemon = start(f"slots.kmsg={log.path}", "probes.disable=xennet_start_xmit slots_devices")
    log.write("xennet: skb rides the rocket: 34 slots, 65226 bytes")
    answer = waiting.until(lambda: daemon.call("GetSlots")["log"], lambda l: l["rockets"] == 1)
    assert answer["newest"][0]["slots"] == 34
    assert daemon.coverage("slots")["state"] == "degraded"

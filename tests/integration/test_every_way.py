# SPDX-License-Identifier: GPL-2.0-or-later
"""One number, every way: what was made is what each view shows, to the unit, whoever has the name
or the number now."""

import collections
import contextlib
import itertools
import json
import math
import re
import socket
import time

import pytest

from lab import attempts, backends, deaths, kernel, packets, patience, recordings, waiting
from lab.alerts import Rules
from lab.daemon import netflowctl
from lab.net import Namespace, run
from lab.prometheus import scrape
from lab.varlink import VarlinkError
from test_report import number, write

pytestmark = pytest.mark.usefixtures("cli")

FAST = "history.interval=1s"
KEYS = ("reason", "location", "dev", "proto", "netns")


def since(seconds):
    """A moment of the past, for a question to the history."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - seconds))


def intervals(daemon):
    """How many intervals are in the history."""
    return daemon.status()["history"]["intervals"]


def written(daemon, count=2, before=None):
    """Wait until this many more intervals are in the history than now, or than `before`."""
    before = intervals(daemon) if before is None else before
    assert waiting.until(lambda: intervals(daemon) >= before + count, bool, 10 + count)


def packets_of(daemon, **parameters):
    try:
        return daemon.call("GetDrops", **parameters)["packets"]
    except VarlinkError as error:
        # With trace events, netflowd knows a device from its first packet on.
        assert error.name == "UnknownDevice", error
        return 0


# ---- trace events: devices have a name only ----


@pytest.fixture
def by_events(tracefs, start, tmp_path):
    return start(FAST, "probes.backend=tracefs", "probes.trace_buffer=8192",
                 history=tmp_path / "history")


@pytest.mark.alone
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
    # One may have begun before the drops, and one has them: then nothing may come in another.
    written(daemon, 3)
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


@pytest.mark.alone
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
    # The history keeps so many records of an interval, fairly by cause: also those of a test beside
    # this one that has many causes.
    daemon = start(FAST, "history.records=1024", history=tmp_path / "history")
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

    assert waiting.until(found, lambda got: got == expressions, 20) == expressions
    written(daemon)
    assert found(since=since(60)) == expressions


# ---- every view of what was made ----

# Each in namespaces of its own, so that a namespace has one cause and its replies.
KINDS = """nft-prerouting nft-input nft-output nft-forward nft-ingress ipv4-version ipv4-checksum
    ipv4-truncated ipv4-other-host ipv4-ttl ipv4-no-route ipv4-blackhole-route ipv4-martian-source
    igmp-checksum unknown-ethertype tc-ingress tc-egress device-down tcp-closed-port tcp-checksum
    tcp-listener-ack udp-closed-port udp-checksum udp-length udp-full-buffer udp-socket-filter
    icmp-checksum raw-socket-filter""".split()
# Each is asked for dozens of times, which takes minutes in an emulated machine.
SOME_KINDS = KINDS if patience.FACTOR == 1 else KINDS[::5]
FEWEST = 11
# A trace event names no device of these: the packet is a copy, or no stage saw it before.
NOT_IN_TRACE = ("raw-socket-filter", "tc-egress")
DELIVERED, FORWARDED, FLOODED = 311, 287, 4000
FLOOD = f"""
[alert flood]
condition = drop_rate
over = {patience.fewer(1000)}/s
window = 2s
severity = warning
"""


def opened(namespace):
    with namespace.entered():
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


class Made:
    """Drops of many kinds, deliveries and forwards, each of a known number."""

    def __init__(self, lab, stack):
        self.lab = lab
        self.began = time.time()
        self.recorded = None  # (events, lost events) of the recording
        self.kinds = {}    # {name of a death: (how many, its functions, its namespaces)}
        known = {death.name: death for death in deaths.DEATHS
                 if kernel.release() >= max(death.since, death.untraced_before)}
        for count, name in enumerate(filter(known.get, SOME_KINDS), FEWEST):
            namespaces = []
            scene = deaths.Scene(lab, count, lambda *new, to=namespaces: to.extend(new))
            stack.callback(scene.close)
            with contextlib.suppress(deaths.Lacking):
                known[name].make(scene)
                self.kinds[name] = count, known[name].places, namespaces
        self.path = lab.path()
        self.deliver(stack)
        # What the rule of the alert is about.
        self.flooded = lab.pair(ipv6=False)
        self.flooded.left.send_udp(self.flooded.RIGHT4, 9, FLOODED)

    def ago(self):
        """Seconds since before anything was made."""
        return math.ceil(time.time() - self.began) + 1

    def deliver(self, stack):
        """Datagrams through a router to a reader, and others to a port that no socket has."""
        path = self.path
        sender, reader = (stack.enter_context(opened(namespace))
                          for namespace in (path.left, path.right))
        reader.bind((path.RIGHT4, 7000))
        reader.settimeout(patience.seconds(10))
        for _ in range(DELIVERED):
            sender.sendto(b"x", (path.RIGHT4, 7000))
            reader.recv(2048)
        path.left.send_udp(path.RIGHT4, 9, FORWARDED)

    def wrong(self, rows):
        """{kind: (made, shown)} where the rows of drops, or records, show another number."""
        kind_of = {namespace.inode: name for name, (_, _, namespaces) in self.kinds.items()
                   for namespace in namespaces}
        shown = collections.Counter()
        for row in rows:
            name = kind_of.get(row.get("netns"))
            functions = {row.get("function"), re.split(r"[.+]", row.get("location", ""))[0]}
            if name and functions & set(self.kinds[name][1]):
                shown[name] += row.get("packets", 1)
        return {name: (count, shown[name]) for name, (count, _, _) in self.kinds.items()
                if shown[name] != count}


@pytest.fixture(name="views")
def fixture_views(start, lab, tmp_path, bpf):
    """(a daemon, what was made while it ran, and a recording of it)"""
    del bpf
    rules = Rules(tmp_path / "rules")
    rules.write("10-flood.conf", FLOOD)
    numbers = itertools.count()

    def attempt(outer):
        """The recording has the events of the whole host, and may lose some of them."""
        with contextlib.ExitStack() as stack:
            number = next(numbers)
            daemon = start(FAST, "metrics.listen=unix", "alerts.interval=200ms", rules.setting,
                           "latency.sample_one_in=1", history=tmp_path / f"history{number}")
            stack.callback(daemon.stop)
            written(daemon, 1)
            file = tmp_path / f"made{number}.dat"
            with recordings.recorder(file, "--buffer", backends.BUFFER_KIB) as process:
                made = Made(lab, stack)
                time.sleep(0.2)
                process.terminate()
                made.recorded = recordings.summary(process.communicate()[0])
            attempts.need(not made.recorded[1], f"the recording lost {made.recorded[1]} events")
            outer.push(stack.pop_all())
        return daemon, made, file

    with recordings.mounted(), contextlib.ExitStack() as outer:
        yield attempts.valid(lambda: attempt(outer))


def exported(daemon, *arguments):
    """{type: rows}, the same as lines and as a document."""
    lines = collections.defaultdict(list)
    for line in daemon.netflowctl("export", "--format", "ndjson", *arguments).stdout.splitlines():
        line = json.loads(line)
        lines[line["type"]].append(line)
    document = json.loads(daemon.netflowctl("export", "--format", "json", *arguments).stdout)
    for rows in (lines, document):
        yield rows


def samples(daemon, family):
    """The samples of a family of metrics, as rows."""
    for line in scrape(daemon.directory / "metrics.sock")[1].splitlines():
        if line.startswith(family + "{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            netns = labels.get("netns", "")
            yield {**labels, "netns": int(netns) if netns.isdigit() else None,
                   "packets": int(line.split()[-1])}


def check_top(daemon, device, count):
    """The column `total` of the device's drops."""
    text = daemon.netflowctl("top", "--count", 1, "--dev", device.name).stdout
    head, *rows = re.search(r"^drops .*?\n(?=\n)", text, re.MULTILINE | re.DOTALL)[0].splitlines()
    end = head.index("total") + len("total")
    assert sum(number(row[:end].split()[-1]) for row in rows) == count


def check_drops(daemon, made, tmp_path):
    """Of all kinds, by each key, in each view."""
    assert waiting.until(lambda: made.wrong(daemon.call("GetDrops")["rows"]),
                         lambda wrong: not wrong) == {}
    before = intervals(daemon)
    # This asks for no history, so it is done while the history gets what was made.
    check_top(daemon, made.flooded.right_device, FLOODED)
    written(daemon, before=before)
    past = {"since": since(made.ago())}
    assert made.wrong(daemon.call("GetDrops", **past)["rows"]) == {}
    assert made.wrong(daemon.call("GetDropRecords", limit=1 << 20)["records"]) == {}
    for when, key in itertools.product(({}, past), (*KEYS, "cgroup")):
        for name, (count, _, namespaces) in made.kinds.items():
            replies = [daemon.call("GetDrops", netns=str(namespace.inode), by=key, **when)
                       for namespace in namespaces]
            shown = [sum(reply["packets"] for reply in replies),
                     sum(row["packets"] for reply in replies for row in reply["rows"])]
            assert shown == [count, count], (name, key, when, [reply["rows"] for reply in replies])
    for when in ((), ("--since", f"{made.ago()}s")):
        shown = json.loads(daemon.netflowctl("drops", "--json", "--all", *when).stdout)
        assert made.wrong(shown["rows"]) == {}, when
        for rows in exported(daemon, *when):
            assert made.wrong(rows["drops"]) == {}, when
        page = write(daemon, tmp_path / "page.html", *when)
        listed = page.tables["drops by location, device, protocol and namespace"]
        own = {namespace.name: count for count, _, namespaces in made.kinds.values()
               for namespace in namespaces}
        listed = [row for row in listed if row["netns"] in own]
        assert listed and all(number(row["packets"]) == own[row["netns"]] for row in listed), when
    assert made.wrong(samples(daemon, "netflowd_drops_total")) == {}


def check_incident(daemon, made):
    def complete():
        return [one for one in daemon.call("GetIncidents")["incidents"] if one["complete"]]

    incident = waiting.until(complete, bool)[0]
    one = daemon.call("GetIncident", id=incident["id"])
    assert made.wrong(one["drops"]) == {}


def check_latency(daemon, made):
    """Of packets that were delivered and forwarded, where all were followed."""
    path = made.path
    expected = {(path.right_device.name, "rx_total"): DELIVERED,
                (path.right_device.name, "receive_to_sock_queue"): DELIVERED,
                (path.far_device.name, "forward_total"): DELIVERED + FORWARDED,
                (made.flooded.left_device.name, "tx_total"): FLOODED}

    def shown(rows):
        sums = collections.Counter()
        for row in rows:
            assert "count_margin" not in row
            sums[row.get("device"), row["segment"]] += row["count"]
        return {key: sums[key] for key in expected}

    assert shown(daemon.call("GetLatency", all=True)["latencies"]) == expected
    past = since(made.ago())
    assert shown(daemon.call("GetLatency", all=True, since=past)["latencies"]) == expected
    sender = made.flooded.left_device.name
    for when in ({}, {"since": past}):
        reply = daemon.call("GetLatency", device=sender, **when)
        assert [row["count"] for row in reply["worst"]] == [FLOODED] and reply["devices"] == 1, when
    for when in ((), ("--since", f"{made.ago()}s")):
        for rows in exported(daemon, "--all", *when):
            assert shown(rows["latency"]) == expected, when
        text = daemon.netflowctl("latency", "--dev", path.right_device.name, *when).stdout
        assert re.search(rf"rx total +\S+ +{DELIVERED} ", text), text


def check_replay(daemon, made, file):
    def replayed(*arguments):
        return json.loads(netflowctl("replay", file, *arguments, "--json").stdout)

    assert (replayed("status")["trace"]["events"], 0) == made.recorded

    def by_device(rows):
        sums = collections.Counter()
        missing = {namespace.inode for name in NOT_IN_TRACE if name in made.kinds
                   for namespace in made.kinds[name][2]}
        for row in rows:
            if row.get("device", "").startswith(made.lab.prefix) and \
                    row.get("netns") not in missing:
                sums[row["device"], row["function"]] += row["packets"]
        return sums

    assert by_device(replayed("drops", "--all")["rows"]) == \
        by_device(daemon.call("GetDrops")["rows"])
    rows = [row for row in replayed("latency", "--all")["latencies"]
            if row["segment"] == "rx_total" and row["device"] == made.path.right_device.name]
    assert [row["count"] for row in rows] == [DELIVERED]


@pytest.mark.alone
@pytest.mark.needs("drops", "headers")
def test_every_view(views, tmp_path):
    daemon, made, file = views
    assert len(made.kinds) > len(SOME_KINDS) / 2
    check_drops(daemon, made, tmp_path)
    check_incident(daemon, made)
    check_latency(daemon, made)
    check_replay(daemon, made, file)

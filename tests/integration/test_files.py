# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that netflowctl writes for other programs: tshark reads pcapng, and a schema checks
trace events.  Their contents equal the daemon's answers."""

import collections
import datetime
import json
import pathlib
import shutil
import subprocess

import pytest

from lab import journeys, patience, waiting

pytestmark = pytest.mark.usefixtures("cli")

SCHEMA = pathlib.Path(__file__).parent / "trace.schema.json"
COUNT = 20


def fine(done):
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


@pytest.fixture
def sent(start, silent_pair, bpf):
    """Datagrams without a reader: netflowd records the path of each, because it samples all, and
    its drop."""
    pair = silent_pair
    daemon = start(*journeys.EVERY)
    pair.left.send_udp(pair.RIGHT4, 9, COUNT, "-p", 4444)
    waiting.until(lambda: daemon.records(netns=str(pair.right.inode)), lambda r: len(r) == COUNT)
    return daemon, pair


def tshark(path, *fields):
    """The packets of a file: their fields, each a list of values."""
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    out = subprocess.run(
        ["tshark", "-n", "-r", path, "-T", "json",
         *(word for field in fields for word in ("-e", field))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout
    return [packet["_source"]["layers"] for packet in json.loads(out)]


def epoch(time):
    """An RFC 3339 time in the form in which tshark prints frame.time_epoch."""
    date, rest = time[:19], time[19:]
    fraction, offset = rest[1:10], rest[10:]
    seconds = datetime.datetime.fromisoformat(date + offset.replace("Z", "+00:00")).timestamp()
    return f"{int(seconds)}.{fraction}"


FIELDS = ("frame.time_epoch", "frame.interface_name", "frame.interface_description", "frame.len",
          "frame.comment", "eth.src", "eth.dst", "ip.src", "ip.dst", "ip.ttl", "udp.srcport",
          "udp.dstport", "_ws.expert.severity")
# PI_WARN of Wireshark's expert information; a comment counts as one of the lowest severity.
WARNING = 0x600000


def assert_same(packet, record, device, length):
    """Check that tshark reads the record's values from the file."""
    first = {name: values[0] for name, values in packet.items()}
    assert first["frame.time_epoch"] == epoch(record["time"])
    assert first["frame.interface_name"] == device["device"]
    assert first["frame.interface_description"].startswith(f"network namespace {device['netns']}")
    assert int(first["frame.len"]) == length
    assert (first["ip.src"], first["ip.dst"]) == (record["ip"]["source"],
                                                  record["ip"]["destination"])
    assert int(first["ip.ttl"]) == record["ip"]["ttl"]
    assert int(first["udp.srcport"]) == record["transport"]["source_port"]
    assert int(first["udp.dstport"]) == record["transport"]["destination_port"]
    if record.get("ethernet"):
        assert first["eth.src"] == record["ethernet"]["source"]
        assert first["eth.dst"] == record["ethernet"]["destination"]
    assert all(int(s) < WARNING for s in packet.get("_ws.expert.severity", []))


def wire_length(record):
    """The length of the IP packet with an Ethernet header of 14 bytes or a cooked one of 16."""
    return record["ip"]["length_bytes"] + (14 if record.get("ethernet") else 16)


def test_drops_as_packets(sent, tmp_path):
    daemon, pair = sent
    path = tmp_path / "drops.pcapng"
    text = fine(daemon.netflowctl("drops", "--netns", pair.right.inode, "--pcap", path,
                                  "udp dst port 9"))
    assert text.startswith(f"{COUNT} packets ") and str(path) in text
    records = daemon.records(netns=str(pair.right.inode))
    packets = tshark(path, *FIELDS)
    assert len(packets) == len(records) == COUNT
    for packet, record in zip(packets, records):
        assert_same(packet, record, record, wire_length(record))
        comment, = packet["frame.comment"]
        assert record["location"] in comment
        assert not record.get("reason") or record["reason"] in comment
    assert [p.name for p in tmp_path.glob("drops*")] == [path.name], "a temporary file was left"


def paths_of(daemon, netns):
    reply = daemon.call("GetLatencyRecords", netns=str(netns), limit=100000,
                        filter="udp port 9 and udp port 4444")
    return reply["records"]


def test_paths_as_packets(sent, tmp_path):
    daemon, pair = sent
    path = tmp_path / "paths.pcapng"
    records = waiting.until(lambda: paths_of(daemon, pair.left.inode), lambda r: len(r) == COUNT)
    fine(daemon.netflowctl("slow", "--all", "--netns", pair.left.inode, "--pcap", path,
                           "udp port 9 and udp port 4444"))
    packets = tshark(path, *FIELDS)
    assert len(packets) == len(records)
    for packet, record in zip(packets, records):
        assert_same(packet, record, record["devices"][-1], wire_length(record))
        comment, = packet["frame.comment"]
        dominant = record["dominant"].replace("_to_", "→")
        assert dominant in comment and record["outcome"] in comment


def test_packets_in_a_pipe(sent):
    """With "-", the packets and nothing besides them go to the standard output."""
    daemon, pair = sent
    done = subprocess.run(
        [daemon.netflowctl("--version").args[0], "--socket", daemon.socket_path, "drops",
         "--netns", str(pair.right.inode), "--pcap", "-"], stdout=subprocess.PIPE,
        timeout=patience.seconds(30))
    assert done.returncode == 0
    assert done.stdout[:4] == b"\x0a\x0d\x0d\x0a"


def tracks(trace):
    """The slices of each track, in order of time."""
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append(event)
    return {track: sorted(slices, key=lambda s: (s["ts"], s["dur"]))
            for track, slices in found.items()}


def test_trace(sent, tmp_path):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    daemon, pair = sent
    path = tmp_path / "trace.json"
    records = waiting.until(lambda: paths_of(daemon, pair.left.inode), lambda r: len(r) == COUNT)
    fine(daemon.netflowctl("export", "--format", "trace", "-o", path, "--netns", pair.left.inode,
                           "udp port 9 and udp port 4444"))
    trace = json.loads(path.read_text())
    jsonschema.validate(trace, json.loads(SCHEMA.read_text()))
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert sorted((s["name"], round(s["dur"] * 1000)) for s in slices) == sorted(
        (journeys.segment(t), t["duration_ns"]) for r in records for t in r["times"])
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert named == set(tracks(trace))
    for track in tracks(trace).values():
        for one, following in zip(track, track[1:]):
            assert one["ts"] + one["dur"] <= following["ts"] + 0.0005, (one, following)


def test_trace_of_nothing(daemon, lab, tmp_path):
    """An empty trace is valid, and netflowctl says that it is empty."""
    namespace = lab.namespace(ipv6=False)
    done = daemon.netflowctl("export", "--netns", namespace.inode)
    assert done.returncode == 0 and "empty" in done.stderr
    assert json.loads(done.stdout)["traceEvents"] == []

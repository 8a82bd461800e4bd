# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowctl replay: what a recording shows is what happened while it was made."""

import contextlib
import datetime
import json
import os
import pathlib
import random
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time

import pytest

from lab import backends, kernel, paths, patience, recordings, waiting
from lab.daemon import netflowctl
from lab.recordings import record

COUNT = 4217
# A recording has the packets of other tests, too.
ROOM = ("--buffer", backends.BUFFER_KIB)
DELAY = 0.03
READS = 40
NOBODY = 65534
DAC_READ_SEARCH = 2
SEND = paths.TOOLS / "udp_send"


def replay(*arguments, **kwargs):
    return netflowctl("replay", *arguments, check=False, **kwargs)


def replayed(file, *command):
    """The JSON of a command on a recording."""
    done = netflowctl("--json", "replay", file, *command, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def objects_in(text):
    """The JSON objects of a text, one after the other."""
    while text := text.lstrip():
        found, end = json.JSONDecoder().raw_decode(text)
        yield found
        text = text[end:]


def in_namespace(namespace, *command):
    return ["ip", "netns", "exec", namespace.name, *map(str, command)]


@pytest.fixture(scope="module")
def tracefs():
    with recordings.mounted():
        yield


# They mount tracefs, and look for what others leave there.
pytestmark = [pytest.mark.xdist_group("recordings"),
              pytest.mark.usefixtures("recording")]


@pytest.fixture
def recording(built, cli, tracefs):
    """Recordings can be made and replayed; nothing of a replay is left."""
    del built, cli, tracefs
    before = set(pathlib.Path(tempfile.gettempdir()).glob("netflowctl.*"))
    yield
    assert set(pathlib.Path(tempfile.gettempdir()).glob("netflowctl.*")) == before


@pytest.fixture
def pair(lab):
    return lab.pair()


@pytest.fixture
def closed_port(pair, tmp_path):
    """A recording of COUNT datagrams to a closed port; their device is pair.right_device."""
    file = tmp_path / "drops.dat"
    done = record(file, *ROOM, "--", *in_namespace(pair.left, SEND, "-n", COUNT, "-s", 100,
                                                   pair.RIGHT4, 9))
    assert done.returncode == 0, done.stderr
    assert recordings.summary(done.stdout)[1] == 0
    return file


def of_device(device, rows):
    return [row for row in rows if row.get("device") == device.name]


def segment(file, device, name):
    reply = replayed(file, "latency", "--dev", device.name)
    return next(row for row in reply["segments"] if row["segment"] == name)


@contextlib.contextmanager
def reader_and_writer(pair, file):
    """Two sockets on the ends of the pair while netflowd records."""
    with pair.right.entered():
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with pair.left.entered():
        writer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with reader, writer, recordings.recorder(file, *ROOM) as recorder:
        reader.bind((pair.RIGHT4, 0))
        writer.connect(reader.getsockname())
        yield reader, writer
        recorder.terminate()
        assert recorder.wait(patience.seconds(30)) == 0


# ---- what it shows ----


def test_every_drop(closed_port, pair):
    before = time.time()
    reply = replayed(closed_port, "drops")
    rows = of_device(pair.right_device, reply["rows"])
    assert sum(row["packets"] for row in rows) == COUNT
    assert {row["function"] for row in rows} <= {"__udp4_lib_rcv", "udp_rcv"}
    assert {row["protocol"] for row in rows} == {"ipv4"}
    if kernel.has_drop_reasons():
        assert {row["reason"] for row in rows} == {"NO_SOCKET"}
    assert all("bytes" not in row and "netns" not in row for row in rows)
    assert "bytes" not in reply
    made = time.mktime(time.strptime(rows[0]["last"][:19], "%Y-%m-%dT%H:%M:%S"))
    assert before - patience.seconds(300) < made <= before


def test_records_of_drops(closed_port, pair):
    reply = replayed(closed_port, "drops", "--records", "--limit", 1000)
    records = of_device(pair.right_device, reply["records"])
    assert records
    for one in records:
        assert one["length_bytes"] == 128
        assert one["task"]["comm"] == "udp_send" and "pid" not in one["task"]
        assert "flow" not in one and "header" not in one


def test_a_reader_that_waits(pair, tmp_path):
    """A reader that sleeps before it reads finds each datagram DELAY old, and so do we."""
    file = tmp_path / "wait.dat"
    with reader_and_writer(pair, file) as (reader, writer):
        waits = []
        for _ in range(READS):
            waits.append(waiting.Wait(lambda: writer.send(bytes(777))))
            time.sleep(DELAY)
            waits[-1].end(lambda: reader.recv(2000))
    row = segment(file, pair.right_device, "receive_to_copy")
    assert row["count"] == READS
    least, most = (statistics.fmean(ns) for ns in
                   zip(*((wait.least_ns, wait.most_ns) for wait in waits)))
    assert waiting.between(row["mean_ns"], least, most)
    slow = replayed(file, "slow", "--dev", pair.right_device.name, "--limit", 1000)
    for one in slow["records"]:
        assert one["outcome"] == "delivered" and one["length_bytes"] == 777 + 28
        assert one["dominant"].endswith("to_copy")
    # Slow journeys of tests beside this one are in the recording, and use up its CPU's rate, too.
    assert 0 < len(slow["records"]) <= READS
    assert READS - len(slow["records"]) <= slow["ledger"]["throttled"]


def test_delivered_is_counted(pair, tmp_path):
    file = tmp_path / "read.dat"
    with reader_and_writer(pair, file) as (reader, writer):
        for _ in range(COUNT):
            writer.send(b"x")
            reader.recv(10)
    assert segment(file, pair.right_device, "receive_to_copy")["count"] == COUNT
    assert segment(file, pair.left_device, "tx_total")["count"] == COUNT


def test_forwarded_is_counted(lab, tmp_path):
    path = lab.path()
    file = tmp_path / "forward.dat"
    done = record(file, *ROOM, "--", *in_namespace(path.left, SEND, "-n", COUNT, "-s", 100,
                                                   path.RIGHT4, 9))
    assert done.returncode == 0, done.stderr
    assert segment(file, path.far_device, "forward_total")["count"] == COUNT
    rows = of_device(path.right_device, replayed(file, "drops")["rows"])
    assert sum(row["packets"] for row in rows) == COUNT


def test_status_of_a_recording(closed_port):
    status = replayed(closed_port, "status")
    assert status["backend"]["name"] == "replay"
    assert str(closed_port) in status["backend"]["reason"]
    assert "host" not in status
    assert status["recording"]["dated"] is True
    assert status["trace"]["lost"] == status["trace"]["unreadable"] == 0
    assert status["trace"]["events"] > 6 * COUNT
    coverage = {row["question"]: row for row in status["coverage"]}
    assert coverage["drops"]["state"] == "degraded"
    assert "headers" in coverage["drops"]["reason"]
    assert coverage["drops_elsewhere"]["state"] == "unavailable"


def test_overview(closed_port):
    done = replay(closed_port)
    assert done.returncode == 0, done.stderr
    for title in ("== Drops", "== Latency", "== Slow packets", "== NAPI", "== Ring slots"):
        assert title in done.stdout
    assert "4,217" in done.stdout
    # A setting of a running daemon is no advice for a recording.
    assert "--set" not in done.stdout


@pytest.mark.parametrize("place", ["before", "after"])
def test_overview_as_json(closed_port, place):
    """An object of each command, in that order."""
    words = ["--json", closed_port] if place == "before" else [closed_port, "--json"]
    done = replay(*words)
    assert done.returncode == 0, done.stderr
    drops, latency, slow, napi, slots = objects_in(done.stdout)
    assert sum(row["packets"] for row in drops["rows"] if row.get("reason") == "NO_SOCKET"
               or row["location"].startswith("__udp4_lib_rcv")) >= COUNT
    assert "latencies" in latency and "records" in slow and "cpus" in napi and "xen" in slots


def test_files_for_other_programs(closed_port, tmp_path):
    for words in (("report", "--html", tmp_path / "page.html"),
                  ("export", "-o", tmp_path / "trace.json"),
                  ("drops", "--records", "--pcap", tmp_path / "drops.pcapng")):
        done = replay(closed_port, *words)
        assert done.returncode == 0, done.stderr
        assert words[-1].stat().st_size > 100
    json.loads((tmp_path / "trace.json").read_text())


def test_versions_and_compression(closed_port, tmp_path):
    """The same recording in version 7, plain and compressed, shows the same."""
    expected = replayed(closed_port, "drops")["rows"]
    for compression in ("none", "any"):
        other = tmp_path / f"{compression}.dat"
        subprocess.run(["trace-cmd", "convert", "-i", closed_port, "-o", other,
                        "--file-version", "7", "--compression", compression],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert replayed(other, "drops")["rows"] == expected


def test_lost_events(lab, tmp_path):
    """A ring buffer that is too small loses events: the ledger counts them."""
    namespace = lab.namespace()
    file = tmp_path / "lost.dat"
    cpu = min(os.sched_getaffinity(0))
    done = record(file, "--buffer", 64, "--", *in_namespace(
        namespace, "taskset", "-c", cpu, SEND, "-n", 200000, "-s", 100, "127.0.0.1", 9))
    assert done.returncode == 0, done.stderr
    lost = recordings.summary(done.stdout)[1]
    if not lost:
        pytest.skip("this host read the ring buffers fast enough")
    trace = replayed(file, "status")["trace"]
    assert trace["losses"] > 0
    assert trace["lost"] == lost
    assert "gaps" in replay(file, "status").stdout


# ---- what it refuses ----


def test_selections_that_it_cannot_make(closed_port, pair):
    for words in (("drops", "--records", "udp port 9"), ("drops", "--netns", "host")):
        done = replay(closed_port, *words)
        assert done.returncode == 2
        assert "cannot select by this: trace events" in done.stderr
    assert replayed(closed_port, "drops", "--dev", pair.right_device.name)["packets"] == COUNT
    assert replay(closed_port, "drops", "--since", "10m").returncode == 1


def test_a_pause_is_of_a_host(closed_port):
    """A recording has no probes, and a replay must not pause the netflowd of this host."""
    kept = pathlib.Path("/var/lib/netflowd/pause")
    before = kept.read_bytes() if kept.exists() else None
    for command in ("pause", "resume"):
        done = replay(closed_port, command)
        assert done.returncode == 1
        assert "a recording is shown" in done.stderr
    assert (kept.read_bytes() if kept.exists() else None) == before
    assert "paused" not in replayed(closed_port, "status")


def test_not_a_recording(tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    for file, why in ((empty, "does not begin with the mark"),
                      (paths.TREE / "README.md", "does not begin with the mark"),
                      (tmp_path, "is not a regular file"),
                      (tmp_path / "none", "No such file")):
        done = replay(file, "drops")
        assert done.returncode == 1
        assert why in done.stderr, done.stderr


def test_truncated(closed_port, pair, tmp_path):
    """It shows what is there, and says where the file ends."""
    whole = closed_port.read_bytes()
    short = tmp_path / "short.dat"
    shown = []
    for tenths in range(10):
        size = len(whole) * tenths // 10 + 5
        short.write_bytes(whole[:size])
        done = netflowctl("--json", "replay", short, "drops", check=False)
        if done.returncode:
            assert "mark" in done.stderr or f"ends at offset {size}" in done.stderr, done.stderr
            continue
        assert f"ends at offset {size}" in done.stderr
        shown.append(sum(row["packets"] for row in
                         of_device(pair.right_device, json.loads(done.stdout)["rows"])))
    assert shown == sorted(shown) and 0 < len(shown)
    assert all(count <= COUNT for count in shown)


# What trace-cmd.dat.v6(5) says: the table of the CPUs, and the options.  Their numbers are
# trace-cmd's.
BUFFER, OFFSET, CYCLES = 3, 7, 14


PAGE = 4096


def table_of_cpus(data):
    return data.index(b"flyrecord\0") + len(b"flyrecord\0")


def cpus_of(data):
    """Of each CPU: where its pages begin, and their bytes."""
    return [struct.unpack_from("=QQ", data, table_of_cpus(data) + 16 * i)
            for i in range(os.cpu_count())]


def fullest_cpu(data):
    """Where the pages of the CPU with the most of them begin."""
    return max(cpus_of(data), key=lambda cpu: cpu[1])[0]


def with_option(data, number, content):
    """A file with one more option, whose pages begin a page later."""
    option = struct.pack("=HI", number, len(content)) + content
    at = data.index(b"options  \0") + len(b"options  \0")
    first = min(begin for begin, _ in cpus_of(data) if begin)
    data = bytearray(data[:at] + option + data[at:first] + bytes(PAGE - len(option)) +
                     data[first:])
    for cpu, (begin, size) in enumerate(cpus_of(data)):
        if begin:
            struct.pack_into("=QQ", data, table_of_cpus(data) + 16 * cpu, begin + PAGE, size)
    return bytes(data)


def test_instance_of_a_recording(closed_port, tmp_path):
    """trace-cmd record -B: the events are in a buffer of another name, of the same CPUs."""
    data = with_option(closed_port.read_bytes(), BUFFER, struct.pack("=Q", 0) + b"other\0")
    table = table_of_cpus(data)
    table_bytes = 16 * os.cpu_count()
    # The option names the place of a second table, which gets the first one's pages.
    at = data.index(struct.pack("=Q", 0) + b"other\0")
    second = b"flyrecord\0" + data[table:table + table_bytes]
    data = bytearray(data[:at] + struct.pack("=Q", len(data)) + data[at + 8:] + second)
    data[table:table + table_bytes] = bytes(table_bytes)
    other = tmp_path / "instance.dat"
    other.write_bytes(data)
    for command, rows in (("drops", "rows"), ("napi", "cpus"), ("latency", "segments")):
        assert replayed(other, command)[rows] == replayed(closed_port, command)[rows]


def test_clock_of_cycles(closed_port, tmp_path):
    """Of a clock that counts cycles, the file has the factor: 2048 / 1024 nanoseconds here."""
    other = tmp_path / "cycles.dat"
    other.write_bytes(with_option(closed_port.read_bytes(), CYCLES,
                                  struct.pack("=IIQ", 2048, 10, 0)))
    before, after = (replayed(file, "status") for file in (closed_port, other))
    assert after["recording"]["duration_ns"] == 2 * before["recording"]["duration_ns"]
    assert after["trace"] == before["trace"]
    before, after = (replayed(file, "latency")["segments"] for file in (closed_port, other))
    assert [row["max_ns"] for row in after] == [2 * row["max_ns"] for row in before]


def test_clock_that_is_moved(closed_port, tmp_path):
    """trace-cmd record --date: all times are moved by as much."""
    other = tmp_path / "moved.dat"
    other.write_bytes(with_option(closed_port.read_bytes(), OFFSET, b"%d\0" % (3600 * 10**9)))
    before, after = (replayed(file, "status")["recording"] for file in (closed_port, other))
    begins = [datetime.datetime.fromisoformat(recording["from"][:26])
              for recording in (before, after)]
    assert begins[1] - begins[0] == datetime.timedelta(hours=1)
    assert after["duration_ns"] == before["duration_ns"]
    before, after = (replayed(file, "latency")["segments"] for file in (closed_port, other))
    assert after == before


@pytest.mark.parametrize("size", [0, 2048, 5000, 1 << 30])
def test_pages_that_no_kernel_has(closed_port, tmp_path, size):
    at = 14
    bent = tmp_path / "bent.dat"
    whole = closed_port.read_bytes()
    bent.write_bytes(whole[:at] + struct.pack("=I", size) + whole[at + 4:])
    done = replay(bent, "drops")
    assert done.returncode == 1
    assert f"at offset {at} it has {size} as the bytes of a page" in done.stderr, done.stderr


def test_event_that_is_longer_than_its_page(closed_port, tmp_path):
    """It and what is behind it in this page are not shown, and it is counted."""
    data = bytearray(closed_port.read_bytes())
    page = fullest_cpu(data)
    first, = struct.unpack_from("=I", data, page + 16)
    # A type of 0 has the length in the word behind it.
    struct.pack_into("=II", data, page + 16, first & ~31, 1 << 24)
    bent = tmp_path / "bent.dat"
    bent.write_bytes(data)
    before, after = (replayed(file, "status")["trace"] for file in (closed_port, bent))
    assert (before["unreadable"], after["unreadable"]) == (0, 1)
    assert after["events"] < before["events"]


@pytest.mark.parametrize("events", [
    # The bytes of the page's events, and that events were lost before it, and how many.
    3 << 30 | (1 << 27) - 1,
    1 << 20,
])
@pytest.mark.parametrize("cycles", [False, True])
def test_page_that_is_longer_than_its_file(closed_port, tmp_path, events, cycles):
    """It is not shown, but what comes behind it is, and the ledger has both."""
    data = closed_port.read_bytes()
    if cycles:
        data = with_option(data, CYCLES, struct.pack("=IIQ", 2048, 10, 0))
    data = bytearray(data)
    begin, size = max(cpus_of(data), key=lambda cpu: cpu[1])
    assert size >= 3 * 4096
    struct.pack_into("=Q", data, begin + 4096 + 8, events)
    bent = tmp_path / "bent.dat"
    bent.write_bytes(data)
    before, after = (replayed(file, "status")["trace"] for file in (closed_port, bent))
    assert (after["unreadable"], after["losses"]) == (1, 1)
    # A page has at most as many events as bytes / 16.
    assert before["events"] - 256 <= after["events"] < before["events"]


def test_last_page_of_a_cpu_is_damaged(closed_port, tmp_path):
    """The next page is another CPU's, so this one is missing."""
    data = bytearray(closed_port.read_bytes())
    begin, size = min(cpu for cpu in cpus_of(data) if cpu[1])
    if size < 2 * 4096 or begin + size == len(data):
        pytest.skip("only the last CPU has more than one page")
    struct.pack_into("=Q", data, begin + size - 4096 + 8, 1 << 20)
    bent = tmp_path / "bent.dat"
    bent.write_bytes(data)
    assert replayed(bent, "status")["trace"]["unreadable"] == 1


def test_damaged(closed_port, tmp_path):
    """Whatever a file has, the answer comes, and is an answer or an error with a remedy."""
    whole = closed_port.read_bytes()
    bent = tmp_path / "bent.dat"
    pages = min(begin for begin, _ in cpus_of(whole) if begin)
    chance = random.Random(20261126)
    for i in range(24):
        data = bytearray(whole)
        # Every other time only in the pages of events.
        first = pages if i % 2 else 0
        for _ in range(chance.choice((1, 50, 1000))):
            data[chance.randrange(first, len(data))] = chance.randrange(256)
        bent.write_bytes(data)
        done = replay(bent, "drops", timeout=patience.seconds(60))
        assert done.returncode == 0 or f"netflowd: {bent} " in done.stderr, done.stderr
        assert "signal" not in done.stderr


def test_first_page_is_damaged(closed_port, tmp_path):
    """libtracecmd crashes on it."""
    data = bytearray(closed_port.read_bytes())
    struct.pack_into("=Q", data, fullest_cpu(data) + 8, 3 << 30 | (1 << 27) - 1)
    bent = tmp_path / "bent.dat"
    bent.write_bytes(data)
    done = replay(bent, "drops")
    assert done.returncode == 1
    end = table_of_cpus(data) + 16 * os.cpu_count()
    assert f"can be read up to offset {end}, but not the first page" in done.stderr, done.stderr


def test_without_privileges(closed_port, tmp_path):
    copy = pathlib.Path(tempfile.mkdtemp()) / "copy.dat"
    copy.write_bytes(closed_port.read_bytes())
    copy.parent.chmod(0o755)
    copy.chmod(0o644)
    try:
        done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                               "--clear-groups", paths.CLI, "replay", copy, "drops"],
                              capture_output=True, text=True, check=False,
                              timeout=patience.seconds(60))
        assert done.returncode == 0, done.stderr
        assert "4,217" in done.stdout
    finally:
        copy.unlink()
        copy.parent.rmdir()
    del tmp_path


def test_confined(closed_port, tmp_path):
    """What reads the file can execute nothing, and has no right of root's but to read."""
    with recordings.served(closed_port, tmp_path / "replay") as client:
        pid, _, _ = struct.unpack("3i", client.socket.getsockopt(socket.SOL_SOCKET,
                                                                 socket.SO_PEERCRED, 12))
        process = pathlib.Path(f"/proc/{pid}")
        lines = (process / "status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines)
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        assert int(status["CapPrm"], 16) == int(status["CapBnd"], 16) == 1 << DAC_READ_SEARCH
        assert (process / f"task/{pid}/children").read_text() == ""


def test_usage(closed_port):
    for words, why in (((), "replay needs a recording"),
                       ((closed_port, "dropps"), "unknown command dropps (did you mean drops?)"),
                       ((closed_port, "record"), "of no use on a recording"),
                       ((closed_port, "alerts"), "and replay none"),
                       ((closed_port, "--all"), "--all follows no command"),
                       ((closed_port, "drops", "--bz"), "unknown option --bz")):
        done = replay(*words)
        assert done.returncode == 2
        assert why in done.stderr, done.stderr


def test_two_at_once(closed_port):
    """Each replay has a daemon of its own."""
    replies = [None, None]

    def ask(i):
        replies[i] = replayed(closed_port, "drops")["rows"]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies[0] and replies[0] == replies[1]

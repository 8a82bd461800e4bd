# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowctl replay: what a recording shows is what happened while it was made."""

import json
import pathlib
import random
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from lab import kernel, paths, patience, recordings
from lab.daemon import netflowctl
from lab.recordings import record

COUNT = 4217
DELAY = 0.03
READS = 40
NOBODY = 65534
SEND = paths.TOOLS / "udp_send"


def replay(*arguments, **kwargs):
    return netflowctl("replay", *arguments, check=False, **kwargs)


def replayed(file, *command):
    """The JSON of a command on a recording."""
    done = netflowctl("--json", "replay", file, *command, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_namespace(namespace, *command):
    return ["ip", "netns", "exec", namespace.name, *map(str, command)]


@pytest.fixture(scope="module")
def tracefs():
    with recordings.mounted():
        yield


pytestmark = [pytest.mark.usefixtures("recording")]


@pytest.fixture
def recording(built, cli, tracefs):
    """Recordings can be made and replayed; nothing of a replay is left."""
    del built, cli, tracefs
    before = set(pathlib.Path(tempfile.gettempdir()).glob("netflowctl.*"))
    yield
    assert set(pathlib.Path(tempfile.gettempdir()).glob("netflowctl.*")) == before


@pytest.fixture
def closed_port(lab, tmp_path):
    """A recording of COUNT datagrams to a closed port of lo in a namespace."""
    namespace = lab.namespace()
    file = tmp_path / "drops.dat"
    done = record(file, "--", *in_namespace(namespace, SEND, "-n", COUNT, "-s", 100,
                                            "127.0.0.1", 9))
    assert done.returncode == 0, done.stderr
    assert recordings.summary(done.stdout)[1] == 0
    return file


def of_closed_port(reply):
    """The rows of __udp4_lib_rcv and udp_rcv, where such datagrams end."""
    return [row for row in reply["rows"] if row.get("function") in ("__udp4_lib_rcv", "udp_rcv")]


def segment(file, name):
    reply = replayed(file, "latency")
    return next(row for row in reply["segments"] if row["segment"] == name)


# ---- what it shows ----


def test_every_drop(closed_port):
    before = time.time()
    reply = replayed(closed_port, "drops")
    rows = of_closed_port(reply)
    assert sum(row["packets"] for row in rows) == COUNT
    assert {row["device"] for row in rows} == {"lo"}
    assert {row["protocol"] for row in rows} == {"ipv4"}
    if kernel.has_drop_reasons():
        assert {row["reason"] for row in rows} == {"NO_SOCKET"}
    assert all("bytes" not in row and "netns" not in row for row in rows)
    assert "bytes" not in reply
    made = time.mktime(time.strptime(rows[0]["last"][:19], "%Y-%m-%dT%H:%M:%S"))
    assert before - patience.seconds(300) < made <= before


def test_records_of_drops(closed_port):
    reply = replayed(closed_port, "drops", "--records", "--limit", 1000)
    records = of_closed_port({"rows": reply["records"]})
    assert records
    for one in records:
        assert one["device"] == "lo" and one["length_bytes"] == 128
        assert one["task"]["comm"] == "udp_send" and "pid" not in one["task"]
        assert "flow" not in one and "header" not in one


def test_a_reader_that_waits(lab, tmp_path):
    """A reader that sleeps between its reads finds each datagram DELAY old: it reads as much."""
    del lab
    file = tmp_path / "wait.dat"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as writer:
        reader.bind(("127.0.0.1", 0))
        recorder = recordings.recorder(file)
        for _ in range(READS):
            writer.sendto(bytes(777), reader.getsockname())
            time.sleep(DELAY)
            reader.recv(2000)
        recorder.terminate()
        assert recorder.wait(patience.seconds(30)) == 0
    slow = replayed(file, "slow", "--over", "29ms", "--limit", 1000)
    ours = [one for one in slow["records"] if one.get("length_bytes") == 777 + 28]
    assert len(ours) >= READS - 1
    for one in ours:
        assert one["outcome"] == "delivered"
        assert DELAY * 1e9 <= one["total_ns"] < (DELAY + patience.seconds(0.05)) * 1e9


def test_delivered_is_counted(tmp_path):
    """A reader on the same task reads each datagram that it has sent."""
    file = tmp_path / "read.dat"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.bind(("127.0.0.1", 0))
        recorder = recordings.recorder(file)
        for _ in range(COUNT):
            reader.sendto(b"x", reader.getsockname())
            reader.recv(10)
        recorder.terminate()
        assert recorder.wait(patience.seconds(30)) == 0
    row = segment(file, "receive_to_copy")
    # Other traffic of the host is in it, too.
    assert COUNT <= row["count"] < COUNT * 1.2


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
    done = record(file, "--buffer", 64, "--", *in_namespace(
        namespace, "sh", "-c", f"{SEND} -n 100000 -s 100 127.0.0.1 9"))
    assert done.returncode == 0, done.stderr
    lost = recordings.summary(done.stdout)[1]
    if not lost:
        pytest.skip("this host read the ring buffers fast enough")
    trace = replayed(file, "status")["trace"]
    assert trace["losses"] > 0
    assert trace["lost"] <= lost
    assert "gaps" in replay(file, "status").stdout


# ---- what it refuses ----


def test_selections_that_it_cannot_make(closed_port):
    for words in (("drops", "--records", "udp port 9"), ("drops", "--netns", "host")):
        done = replay(closed_port, *words)
        assert done.returncode == 2
        assert "cannot select by this: trace events" in done.stderr
    assert replayed(closed_port, "drops", "--dev", "lo")["packets"] >= COUNT
    assert replay(closed_port, "drops", "--since", "10m").returncode == 1


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


def test_truncated(closed_port, tmp_path):
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
        shown.append(sum(row["packets"] for row in of_closed_port(json.loads(done.stdout))))
    assert shown == sorted(shown) and 0 < len(shown)
    assert all(count <= COUNT for count in shown)


def test_damaged(closed_port, tmp_path):
    """Whatever a file has, the answer comes, and is an answer or an error."""
    whole = closed_port.read_bytes()
    bent = tmp_path / "bent.dat"
    chance = random.Random(20261126)
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 10, 200))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        bent.write_bytes(data)
        done = replay(bent, "drops", timeout=patience.seconds(60))
        assert done.returncode in (0, 1)
        assert done.returncode == 0 or done.stderr


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


def test_usage(closed_port):
    for words, why in (((), "replay needs a recording"),
                       ((closed_port, "dropps"), "unknown command dropps (did you mean drops?)"),
                       ((closed_port, "record"), "of no use on a recording"),
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

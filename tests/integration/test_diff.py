# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowctl diff: two recordings of packets whose numbers and delays the test knows."""

import json
import os
import signal
import subprocess
import time

import pytest

from lab import backends, kernel, patience, paths, recordings, sockets, waiting
from lab.daemon import netflowctl
from lab.net import run

pytestmark = pytest.mark.xdist_group("recordings")

PORT = 7777
FEWER, MORE = 500, 4217
# Datagrams wait together in the reader's socket, this often.
BURST, ROUNDS = 20, 10
DELAY_MS = 30
BOTH = ("a.dat", "b.dat")


@pytest.fixture(name="directory")
def mounted_directory(built, cli, tmp_path):
    """Recordings can be made here."""
    del built, cli
    with recordings.mounted():
        yield tmp_path


def diff(directory, *arguments, status=0):
    """Run in a directory, which must be as before then."""
    before = sorted(os.listdir(directory))
    done = netflowctl("diff", *arguments, cwd=directory, check=False,
                      env={**os.environ, "TMPDIR": str(directory), "XDG_RUNTIME_DIR": ""})
    assert done.returncode == status, done
    assert sorted(os.listdir(directory)) == before
    return done


def compared(directory, *files):
    done = diff(directory, *files, "--json")
    assert done.stderr == ""
    return json.loads(done.stdout)


def send(pair, file, count, seconds=2):
    """Record datagrams to a port without a socket, for a time."""
    program = f"{paths.TOOLS}/udp_send -n {count} {pair.RIGHT4} 9; " if count else ""
    done = recordings.record(file, "--buffer", backends.BUFFER_KIB, "--", "ip", "netns", "exec",
                             pair.left.name, "sh", "-c",
                             f"{program}sleep {patience.seconds(seconds)}")
    assert done.returncode == 0, done.stderr
    assert recordings.summary(done.stdout)[1] == 0


def end(process):
    """End a recorder; what it printed."""
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=patience.seconds(30))
    assert process.returncode == 0, errors
    return out


def read_late(pair, file, delay_ms):
    """Record datagrams that wait for their reader."""
    with recordings.recorder(file) as process, \
            sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
        for _ in range(ROUNDS):
            for _ in range(BURST):
                sender.send(b"x" * 100)
            time.sleep(delay_ms / 1000)
            for _ in range(BURST):
                assert len(reader.recv(1000)) == 100
        end(process)


def rows_of(result, device):
    return [row for row in result["drops"]["rows"] if row.get("device") == device.name]


def marks(result):
    """Everything that is marked, in drops and latency."""
    quantiles = [quantile for segment in result["latency"]["segments"]
                 for quantile in segment.get("quantiles", {}).values()]
    return [item for item in [*result["drops"]["rows"], *quantiles] if "mark" in item]


# ---- drops ----


@pytest.fixture(name="counted")
def counted_recordings(directory, silent_pair):
    if not kernel.has_drop_reasons():
        pytest.skip("this kernel's kfree_skb has no reason")
    send(silent_pair, directory / "a.dat", FEWER)
    send(silent_pair, directory / "b.dat", MORE)
    return directory, silent_pair.right_device


def test_drops(counted):
    directory, device = counted
    result = compared(directory, *BOTH)
    rows = [row for row in rows_of(result, device) if row["reason"] == "NO_SOCKET"]
    assert len(rows) == 1, rows
    row = rows[0]
    assert (row["a"]["packets"], row["b"]["packets"], row["mark"]) == (FEWER, MORE, "more")
    assert row["function"] == "udp_rcv" and row["class"] == "benign"
    assert row["p"] <= row["p_corrected"] <= result["level"] == 0.01
    for side, packets in (("a", FEWER), ("b", MORE)):
        seconds = result[side]["duration_ns"] / 1e9
        assert row[side]["per_second"] == pytest.approx(packets / seconds)
        assert result[side]["lost"] == 0
        assert result[side]["file"] == f"{side}.dat"

    # The other way round there are fewer, and without the device's drops they are gone.
    reverse = rows_of(compared(directory, *reversed(BOTH)), device)[0]
    assert (reverse["a"]["packets"], reverse["b"]["packets"], reverse["mark"]) == \
        (MORE, FEWER, "fewer")
    text = diff(directory, *BOTH).stdout
    line = next(line for line in text.splitlines() if device.name in line)
    assert line.split()[:3] == ["more", str(FEWER), f"{MORE:,}"]


def test_new_and_gone(directory, silent_pair):
    send(silent_pair, directory / "a.dat", 0, seconds=1)
    send(silent_pair, directory / "b.dat", 100, seconds=1)
    new = rows_of(compared(directory, *BOTH), silent_pair.right_device)
    assert [(row["a"]["packets"], row["b"]["packets"], row["mark"]) for row in new] == \
        [(0, 100, "new")]
    gone = rows_of(compared(directory, *reversed(BOTH)), silent_pair.right_device)
    assert [row["mark"] for row in gone] == ["gone"]


def test_itself(counted):
    directory, device = counted
    result = compared(directory, "b.dat", "b.dat")
    assert not marks(result)
    assert rows_of(result, device)[0]["p"] == 1
    assert result["coverage"] == []
    assert all(missing["lacking"] == ["a", "b"] for missing in result["missing"])


# ---- latency ----


@pytest.mark.alone
def test_a_late_reader(directory, silent_pair):
    """All devices are compared together, so most packets of the host that readers take must be of
    this test."""
    delay_ms = patience.milliseconds(DELAY_MS)
    read_late(silent_pair, directory / "a.dat", 0)
    read_late(silent_pair, directory / "b.dat", delay_ms)
    result = compared(directory, *BOTH)
    segments = {segment["segment"]: segment for segment in result["latency"]["segments"]}
    for name in ("receive_to_copy", "rx_total"):
        segment = segments[name]
        assert segment["compared"] and segment["missing"] == []
        # A kernel may hide some events of the reader.
        assert segment["b"]["count"] >= BURST * ROUNDS / 2
        # The middle of a bucket is at most 12.5 % off; the reader never comes early.
        assert segment["b"]["p50_ns"] == pytest.approx(delay_ms * 1e6, rel=0.25)
        assert segment["a"]["p50_ns"] < delay_ms * 1e6 / 4
        assert segment["quantiles"]["p50"]["mark"] == "slower"
    # 200 packets are too few for this one.
    assert segments["receive_to_copy"]["quantiles"]["p999"] == {"tested": False}
    reverse = compared(directory, *reversed(BOTH))
    assert next(segment["quantiles"]["p50"]["mark"] for segment in reverse["latency"]["segments"]
                if segment["segment"] == "rx_total") == "faster"
    assert "slower" in diff(directory, *BOTH).stdout
    assert not marks(compared(directory, "a.dat", "a.dat"))


# ---- what a recording lacks ----


def test_missing_events(directory, silent_pair):
    """One recording does not have the format of an event, as on a kernel that does not have it."""
    send(silent_pair, directory / "b.dat", 100, seconds=1)
    content = (directory / "b.dat").read_bytes()
    name = b"name: sk_data_ready\n"
    if content.count(name) != 1:
        pytest.skip("this kernel has no tracepoint sk_data_ready")
    (directory / "a.dat").write_bytes(content.replace(name, b"name: sk_data_other\n"))
    result = compared(directory, *BOTH)
    missing = {row["probe"]: row["lacking"] for row in result["missing"]}
    assert missing["sk_data_ready"] == ["a"]
    assert {row["question"]: (row["a"], row["b"]) for row in result["coverage"]}["wake"] == \
        ("unavailable", "full")
    for segment in result["latency"]["segments"]:
        if segment["segment"] in ("receive_to_sock_queue", "wakeup_to_run", "run_to_copy"):
            assert not segment["compared"] and "sk_data_ready" in segment["missing"]
            assert "quantiles" not in segment
    assert not marks(result)
    assert "\nnot in A: sk_data_ready: " in diff(directory, *BOTH).stdout


def test_lost_events(directory, silent_pair):
    """A recorder that gets no CPU loses events.  The trace shows that with the next event of the
    CPU, so some come after it."""
    send(silent_pair, directory / "a.dat", 10, seconds=1)
    with recordings.recorder(directory / "b.dat", "--buffer", 64) as process:
        process.send_signal(signal.SIGSTOP)
        silent_pair.left.send_udp(silent_pair.RIGHT4, 9, MORE)
        process.send_signal(signal.SIGCONT)
        for cpu in sorted(os.sched_getaffinity(0)):
            time.sleep(patience.seconds(0.3))
            run("taskset", "-c", cpu, "ip", "netns", "exec", silent_pair.left.name,
                paths.TOOLS / "udp_send", "-n", 50, silent_pair.RIGHT4, 9)
        time.sleep(patience.seconds(0.3))
        _, lost = recordings.summary(end(process))
    result = compared(directory, *BOTH)
    # The kernel does not always write how many were lost, and those after the last event of a CPU
    # are in no trace.
    shown = result["b"]["lost"]
    assert 0 <= shown <= lost and lost > 0 and result["b"]["losses"] > 0
    assert result["a"]["lost"] == result["a"]["losses"] == 0
    text = diff(directory, *BOTH).stdout
    number = f"at least {shown:,} " if shown else ""
    assert f"\nB lost {number}events in " in text and "\nA lost" not in text


# ---- the command line ----


@pytest.mark.portable
@pytest.mark.parametrize("files, message", [
    ((), "diff needs two recordings"),
    (("a.dat",), "diff needs two recordings"),
    (("a.dat", "b.dat", "c.dat"), "unexpected argument 'c.dat' of diff"),
])
def test_usage(cli, tmp_path, files, message):
    del cli
    done = diff(tmp_path, *files, status=2)
    assert done.stdout == "" and message in done.stderr


@pytest.mark.portable
def test_files_that_are_no_recordings(built, cli, tmp_path):
    del built, cli
    (tmp_path / "text.dat").write_text("not a recording\n")
    for files, message in ((("text.dat", "none.dat"), "text.dat is not a recording"),
                           (("none.dat", "text.dat"), "cannot open none.dat")):
        done = diff(tmp_path, *files, status=1)
        assert done.stdout == "" and message in done.stderr


@pytest.mark.portable
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(cli, tmp_path, number):
    """Also while netflowd still reads."""
    del cli
    program = tmp_path / "netflowd"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    before = sorted(os.listdir(tmp_path))
    with subprocess.Popen([paths.CLI, "diff", *BOTH], stdin=subprocess.DEVNULL,
                          env={**os.environ, "TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": "",
                               "NETFLOWD": str(program)}) as process:
        assert waiting.until(lambda: len(os.listdir(tmp_path)), lambda n: n == len(before) + 2)
        process.send_signal(number)
        assert process.wait(patience.seconds(10)) == 1
    assert sorted(os.listdir(tmp_path)) == before

# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters and alerts as JSON: from netflowctl and in the daemon's file, by one schema."""

import errno
import json
import os
import pathlib
import subprocess
import time

import jsonschema
import pytest

from lab import patience, waiting
from lab.varlink import INTERFACE

SENT = 1234
SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs" /
                     "export.schema.json").read_text())


def validator(name):
    return jsonschema.Draft7Validator({**SCHEMA, "anyOf": [{"$ref": f"#/definitions/{name}"}]})


LINE, DOCUMENT, DOCUMENT_PAST = map(validator, ("line", "document", "past"))


def lines_of(text):
    assert text.endswith("\n")
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        LINE.validate(line)
    return lines


def ndjson(daemon, *arguments):
    done = daemon.netflowctl("export", "--format", "ndjson", *arguments)
    assert done.returncode == 0, done.stderr
    return lines_of(done.stdout)


def dropped(rows, device):
    return sum(row["packets"] for row in rows if row.get("device") == device.name
               and row.get("netns") == device.namespace.inode)


@pytest.mark.shared
@pytest.mark.portable
@pytest.mark.smoke
def test_lines_and_document(daemon, silent_pair):
    """Both have exactly the packets that were sent, and rows that the interface describes."""
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), SENT)
    lines = ndjson(daemon)
    assert {"status", "coverage", "table", "drops", "latency", "cpu", "napi", "alert"} <= \
        {line["type"] for line in lines}
    assert len({line["host"] for line in lines}) == 1
    drops = [line for line in lines if line["type"] == "drops"]
    assert dropped(drops, pair.right_device) == SENT
    for line in drops:
        row = {name: value for name, value in line.items()
               if name not in ("schema", "type", "time", "host")}
        INTERFACE.check_type(INTERFACE.methods["GetDrops"][1]["rows"][1], row)

    done = daemon.netflowctl("export", "--format", "json")
    document = json.loads(done.stdout)
    DOCUMENT.validate(document)
    assert dropped(document["drops"], pair.right_device) == SENT
    assert document["status"]["drops"]["balanced"] is True


@pytest.mark.shared
def test_every_device(daemon, silent_pair):
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 200)
    few = [line for line in ndjson(daemon) if line["type"] == "latency"]
    many = [line for line in ndjson(daemon, "--all") if line["type"] == "latency"]
    assert len(many) > len(few)
    assert any(line.get("device") == silent_pair.right_device.name and
               line["segment"] == "softirq_to_receive" for line in many)


@pytest.mark.shared
def test_options(daemon, tmp_path):
    done = daemon.netflowctl("export", "--format", "json", "--dev", "eth0")
    assert done.returncode == 2 and "--dev selects latency records" in done.stderr
    done = daemon.netflowctl("export", "--format", "ndjson", "-o", tmp_path / "x")
    assert done.returncode == 0 and lines_of((tmp_path / "x").read_text())
    done = daemon.netflowctl("export", "--format", "ndjson", "-o", tmp_path / "no" / "x")
    assert done.returncode == 1 and "cannot write" in done.stderr
    # What it was before.
    done = daemon.netflowctl("export", "-o", tmp_path / "trace")
    assert done.returncode == 0 and "traceEvents" in json.loads((tmp_path / "trace").read_text())


@pytest.mark.portable
@pytest.mark.smoke
def test_file(start, bpf, silent_pair, tmp_path):
    pair, path = silent_pair, tmp_path / "export.ndjson"
    start(f"export.json_file={path}", "export.interval=1s")
    assert waiting.until(path.exists, bool, seconds=10)
    pair.left.send_udp(pair.RIGHT4, 9, SENT)

    def newest():
        # The last line may be half written.
        whole = path.read_text().rpartition("\n")[0]
        lines = lines_of(whole + "\n") if whole else []
        times = [i for i, line in enumerate(lines) if line["type"] == "status"]
        return times and dropped([line for line in lines[times[-1]:] if line["type"] == "drops"],
                                 pair.right_device)

    assert waiting.until(newest, lambda n: n == SENT, seconds=10) == SENT
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mask, given", [("0077", None), ("0000", None), ("0077", 0o644)])
def test_mode(start, bpf, tmp_path, mask, given):
    """0640 whatever the umask, such as that of the unit; a mode that the file has stays."""
    path = tmp_path / "export.ndjson"
    if given:
        path.touch()
        path.chmod(given)
    daemon = start.make(f"export.json_file={path}", "export.interval=1s",
                        command=("sh", "-c", f'umask {mask}; exec "$@"', "sh"))
    daemon.start()
    assert waiting.until(lambda: path.exists() and path.read_text(), bool, seconds=10)
    assert path.stat().st_mode & 0o777 == (given or 0o640)


def test_a_directory_that_is_not_there(start, bpf, tmp_path):
    daemon = start(f"export.json_file={tmp_path}/no/x.ndjson", "export.interval=1s")
    log = waiting.until(daemon.log, lambda text: "cannot write export.json_file" in text, 30)
    assert "No such file or directory; what was written stays; make its directory" in log


def test_rotation(start, bpf, tmp_path):
    """No file is longer than the limit, none is missing, and each has whole lines."""
    path = tmp_path / "export.ndjson"
    daemon = start(f"export.json_file={path}", "export.interval=1s", "export.bytes=40000")
    oldest = tmp_path / "export.ndjson.4"
    assert waiting.until(oldest.exists, bool, seconds=40)
    time.sleep(patience.seconds(3))
    assert daemon.stop() == 0
    found = sorted(entry.name for entry in tmp_path.glob("export*"))
    assert found == ["export.ndjson", *(f"export.ndjson.{i}" for i in range(1, 5))]
    for name in found:
        text = (tmp_path / name).read_text()
        lines = lines_of(text)
        assert lines[0]["type"] == "status"
        # One export that is longer, of a host with many drops, has a file of its own.
        exports = sum(line["type"] == "status" for line in lines)
        assert len(text.encode()) <= 40000 or exports == 1


def test_full_disk(start, bpf, tmp_path):
    """What was written stays, half a line never does, and writing goes on when there is room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False)
    if mount.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        path = disk / "export.ndjson"
        daemon = start(f"export.json_file={path}", "export.interval=1s", "metrics.listen=unix")
        log = waiting.until(daemon.log, lambda text: "cannot write export.json_file" in text, 60)
        assert f"cannot write export.json_file = {path}: {os.strerror(errno.ENOSPC)}" in log
        # The first export of a host with many devices is larger than this disk.
        written = path.read_text()
        assert not written or lines_of(written)
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        assert waiting.until(daemon.log, lambda text: "is written again" in text, seconds=10)
        assert lines_of(path.read_text())
        assert daemon.log().count("cannot write export.json_file") == 1
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_stops_while_it_asks(start, bpf, tmp_path):
    """The thread that waits for the daemon's answer does not keep the daemon from its end."""
    for _ in range(3):
        daemon = start(f"export.json_file={tmp_path}/export.ndjson", "export.interval=1s")
        time.sleep(1.0)
        begin = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - begin < patience.seconds(5)

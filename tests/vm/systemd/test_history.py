# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of the service: after kill -9, and on a disk that is full."""

import contextlib
import errno
import os
import pathlib
import time

from service import (
    SERVICE, ask, comes_back, journal_lines, main_pid, no_socket_drops, past_drops,
    run, seconds, send_to_closed_port, show, systemctl, until, written_after)

DIRECTORY = pathlib.Path("/var/lib/netflowd")
DATAGRAMS = 500
LATER = 300


def test_kill():
    """All that was written is there; the gap says what is not known."""
    pid, restarts = main_pid(), int(show("NRestarts"))
    begin = time.time()
    # Buckets are of 10 s, so an earlier test may have drops in the first one.
    before, _ = past_drops(begin)
    send_to_closed_port(DATAGRAMS)
    end = time.time()
    written_after(end)
    send_to_closed_port(LATER)
    killed = time.time()
    systemctl("kill", "-s", "KILL", SERVICE)
    comes_back(pid)
    assert int(show("NRestarts")) == restarts + 1
    written_after(time.time())
    found, reply = past_drops(begin)
    # comes_back() sends 100 more.  At most the last interval, of a second, is lost.
    assert DATAGRAMS + 100 <= found - before <= DATAGRAMS + LATER + 100
    gaps = [(seconds(gap["from"]), seconds(gap["to"])) for gap in reply["period"]["gaps"]]
    assert any(end - 1 <= start <= killed + 1 and stop >= killed for start, stop in gaps), gaps


@contextlib.contextmanager
def small_disk():
    """A file system of 8 MiB in place of the history's directory; root reserves nothing of it."""
    image = pathlib.Path("/var/tmp/disk.img")
    with image.open("wb") as file:
        file.truncate(8 << 20)
    run("mkfs.ext4", "-q", "-m", "0", image)
    # Its modules were not there yet when the guest booted.
    run("modprobe", "loop")
    systemctl("stop", "netflowd.socket", SERVICE)
    run("mount", "-o", "loop", image, DIRECTORY)
    try:
        systemctl("start", "netflowd.socket", SERVICE)
        yield
    finally:
        systemctl("stop", "netflowd.socket", SERVICE)
        run("umount", DIRECTORY)
        image.unlink()
        systemctl("start", "netflowd.socket", SERVICE)


def fill(path):
    """Write until the last byte of the disk is used."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC
        with contextlib.suppress(OSError):
            os.fsync(file.fileno())
    assert os.statvfs(path).f_bavail == 0


def test_full_disk():
    with small_disk():
        begin = time.time()
        send_to_closed_port(DATAGRAMS)
        written_after(time.time())
        fill(DIRECTORY / "filler")
        sent = DATAGRAMS
        while ask("status")["history"]["state"] == "writing":
            # Records, so that the file must grow.
            send_to_closed_port(DATAGRAMS)
            sent += DATAGRAMS
            assert sent < 400 * DATAGRAMS
            time.sleep(1)
        history = ask("status")["history"]
        assert history["state"] == "failing" and "full" in history["reason"], history
        # Tracing goes on, and the loss is counted.
        before, _ = no_socket_drops()
        assert before == sent
        send_to_closed_port(DATAGRAMS)
        assert no_socket_drops()[0] == before + DATAGRAMS
        lost = until(lambda: ask("status")["history"]["lost_intervals"],
                     lambda n: n > history["lost_intervals"])
        # What was written stays readable.
        assert past_drops(begin)[0] >= DATAGRAMS

        (DIRECTORY / "filler").unlink()
        written_after(time.time())
        history = ask("status")["history"]
        assert history["state"] == "writing" and "reason" not in history
        assert history["lost_intervals"] >= lost
        send_to_closed_port(7)
        written_after(time.time())
        found, reply = past_drops(begin)
        assert DATAGRAMS + 7 <= found <= sent + DATAGRAMS + 7
        assert reply["period"]["gap_count"] >= 1
        assert len(journal_lines("cannot write the history in")) == 1
        assert len(journal_lines("the history is written again")) == 1


def test_the_history_outside_that_disk_is_still_there():
    """The disk that was full is gone; the directory has its earlier file, and it is written."""
    written_after(time.time())
    assert ask("status")["history"]["state"] == "writing"

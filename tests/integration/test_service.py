# SPDX-License-Identifier: GPL-2.0-or-later
"""What a service manager sees and gives: notifications, watchdog pings, a listening socket."""

import contextlib
import os
import re
import signal
import socket
import threading
import time

import pytest

from lab import patience
from lab.daemon import Daemon, NotReady

pytestmark = pytest.mark.usefixtures("bpf")

WATCHDOG = 4  # seconds


class Manager:
    """Receives the notifications of one daemon, as a service manager does."""

    def __init__(self, path):
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        os.chmod(path, 0o777)

    def close(self):
        self._socket.close()

    def wait(self, prefix, seconds=20):
        """The next notification with a line that begins so, or None."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._socket.settimeout(left)
            with contextlib.suppress(TimeoutError):
                for line in self._socket.recv(65536).decode().splitlines():
                    if line.startswith(prefix):
                        return line
        return None

    def drain(self):
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._socket.recv(65536)


@pytest.fixture
def managed(tmp_path):
    """A daemon and its manager, which wants a ping every WATCHDOG seconds."""
    manager = Manager(tmp_path / "manager")
    daemon = Daemon(tmp_path, command=("env", f"NOTIFY_SOCKET={manager.path}"),
                    environment={"WATCHDOG_USEC": str(WATCHDOG * 1000000)})
    # Daemon.start() waits on a socket of its own, which this one replaces.
    daemon._wait_ready = lambda _: None  # pylint: disable=protected-access
    daemon.start()
    try:
        yield daemon, manager
    finally:
        daemon.process.send_signal(signal.SIGCONT)
        daemon.stop()
        manager.close()


def test_ready_with_a_status(managed):
    _, manager = managed
    assert manager.wait("READY=1", patience.seconds(60))
    # The next notification is of the same datagram or a later one.
    status = manager.wait("STATUS=", patience.seconds(30))
    assert re.fullmatch(r"STATUS=\d+ of \d+ probes attached; received .*/s, delivered .*/s, "
                        r"transmitted .*/s, dropped .*/s; coverage .*", status), status


def test_watchdog_pings(managed):
    daemon, manager = managed
    assert manager.wait("READY=1", patience.seconds(60))
    times = []
    for _ in range(4):
        assert manager.wait("WATCHDOG=1", patience.seconds(WATCHDOG))
        times.append(time.monotonic())
    # Four times within the limit.
    assert times[-1] - times[0] < patience.seconds(WATCHDOG)
    assert "does not deliver" not in daemon.log()


def test_a_daemon_that_hangs_sends_no_ping(managed):
    daemon, manager = managed
    assert manager.wait("WATCHDOG=1", patience.seconds(60))
    daemon.process.send_signal(signal.SIGSTOP)
    manager.drain()
    assert manager.wait("WATCHDOG=1", WATCHDOG) is None
    daemon.process.send_signal(signal.SIGCONT)
    assert manager.wait("WATCHDOG=1", patience.seconds(WATCHDOG))


def test_reloading(managed):
    daemon, manager = managed
    assert manager.wait("READY=1", patience.seconds(60))
    daemon.process.send_signal(signal.SIGHUP)
    assert manager.wait("RELOADING=1", patience.seconds(20))
    assert manager.wait("READY=1", patience.seconds(20))


# ---- socket activation ----


def listening(path):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen(16)
    return server


def activated(directory, *servers):
    """A daemon that gets these sockets as a service manager passes them."""
    fds = [server.fileno() for server in servers]
    moves = " ".join(f"{3 + i}<&{fd}" for i, fd in enumerate(fds))
    return Daemon(directory, pass_fds=fds, command=(
        "bash", "-c", f'exec {moves}; LISTEN_PID=$$ LISTEN_FDS={len(fds)} exec "$@"', "bash"))


def test_queries_wait_for_the_daemon(tmp_path):
    """A call before the start, and one between two daemons, are answered."""
    with listening(tmp_path / "io.netflowd") as server:
        inode = os.stat(tmp_path / "io.netflowd").st_ino
        daemon = activated(tmp_path, server)
        for _ in range(2):
            answers = []
            call = threading.Thread(target=lambda a=answers: a.append(
                daemon.netflowctl("status", "--json", timeout=60)))
            call.start()
            time.sleep(0.5)
            assert not answers
            daemon.start()
            call.join()
            assert answers[0].returncode == 0, answers[0].stderr
            assert daemon.stop() == 0
            # The socket is the manager's.
            assert os.stat(tmp_path / "io.netflowd").st_ino == inode


def test_a_call_that_the_old_daemon_did_not_answer(tmp_path):
    """netflowctl asks again when a daemon ends before the reply; this test is the old one."""
    with listening(tmp_path / "io.netflowd") as server:
        daemon = activated(tmp_path, server)
        answers = []
        call = threading.Thread(target=lambda: answers.append(
            daemon.netflowctl("status", "--json", timeout=60)))
        call.start()
        connection, _ = server.accept()
        assert connection.recv(65536)
        connection.close()
        daemon.start()
        call.join()
        assert answers[0].returncode == 0, answers[0].stderr
        daemon.stop()


def test_a_change_is_not_made_twice(tmp_path):
    """Only calls that read are made again."""
    with listening(tmp_path / "io.netflowd") as server:
        daemon = Daemon(tmp_path)
        answers = []
        call = threading.Thread(target=lambda: answers.append(daemon.netflowctl("reload")))
        call.start()
        connection, _ = server.accept()
        assert connection.recv(65536)
        connection.close()
        call.join()
        assert answers[0].returncode == 3
        assert "closed the connection before it replied" in answers[0].stderr
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_the_address_of_the_socket_counts(tmp_path):
    with listening(tmp_path / "elsewhere") as server:
        daemon = activated(tmp_path, server).start()
        try:
            assert f"serving on {tmp_path}/elsewhere" in daemon.log()
            assert not daemon.socket_path.exists()
            daemon.socket_path = tmp_path / "elsewhere"
            assert daemon.status()["backend"]
        finally:
            daemon.stop()


def test_sockets_that_are_refused(tmp_path):
    with listening(tmp_path / "one") as one, listening(tmp_path / "two") as two:
        with pytest.raises(NotReady, match="exit 1: .*passed 2 sockets"):
            activated(tmp_path, one, two).start()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(1)
        with pytest.raises(NotReady, match="exit 1: .*not a listening Unix stream socket"):
            activated(tmp_path, tcp).start()

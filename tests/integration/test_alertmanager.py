# SPDX-License-Identifier: GPL-2.0-or-later
"""Alerts reach a real Alertmanager: firing, repeated, resolved, and again after it was away."""

import contextlib
import datetime
import http.server
import json
import pathlib
import signal
import socket
import subprocess
import threading
import time

import pytest

from lab import paths, patience, waiting
from lab.alerts import SETTINGS, Rules, alert, drop_rule
from lab.prometheus import Alertmanager, free_port

NAME = "flood"
# Alerts that fire are posted again after 60 intervals; a post can take as long.
FASTEST = "alerts.interval=100ms"
REPEAT_SECONDS = 6


@pytest.fixture
def watch(start, tmp_path, bpf):
    """watch(url, device, …) starts a daemon with one rule, which posts to the URL."""
    def run(url, device, *settings):
        rules = Rules(tmp_path / "rules")
        rules.write("10-test.conf", drop_rule(NAME, device, "1s", "20/s"))
        return start(rules.setting, FASTEST, f"alertmanager.url={url}", *settings)
    return run


class Flood:
    """Drops of one device at a steady rate until the end of the `with`, by one process: the start
    of another one could take as long as the rule's window."""

    def __init__(self, pair):
        self.command = ["ip", "netns", "exec", pair.left.name, paths.TOOLS / "udp_send",
                        "-n", "1000000", "-r", "200", pair.RIGHT4, "9"]
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Receiver:
    """Stands for Alertmanager: keeps what it gets, and answers as told."""

    def __init__(self, status=200, delay=0.0, port=0):
        self.posts, self.status, self.delay = [], status, delay
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.posts.append((self.path, json.loads(body)))
                time.sleep(receiver.delay)
                self.send_response(receiver.status)
                self.end_headers()
                self.wfile.write(b"an answer\x1b[2J\n" * 100)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def test_a_real_alertmanager(watch, silent_pair, tmp_path):
    pair = silent_pair
    with Alertmanager(tmp_path / "alertmanager") as server:
        daemon = watch(server.url, pair.right_device)
        with Flood(pair):
            found = waiting.until(lambda: server.alerts(NAME), bool, seconds=20)
            assert len(found) == 1
            labels, notes = found[0]["labels"], found[0]["annotations"]
            assert labels["severity"] == "warning" and labels["condition"] == "drop_rate"
            assert labels["device"] == pair.right_device.name and labels["job"] == "netflowd"
            assert labels["instance"] == socket.gethostname()
            assert "dropped packets" in notes["summary"]
            explained = daemon.netflowctl("explain", "NO_SOCKET").stdout
            meaning = notes["explain"].partition(": ")[2].partition("\n\n")[0]
            assert meaning and meaning[:40] in " ".join(explained.split())
            assert notes["cause"] and notes["remedy"]
            # Alertmanager would resolve it 4 s after the last post.
            for _ in range(6):
                time.sleep(1)
                assert server.alerts(NAME)[0]["status"]["state"] == "active"
            begun = server.alerts(NAME)[0]["startsAt"]
            assert begun == found[0]["startsAt"]
        # The end is posted, so that it does not take those 4 s.
        assert waiting.until(lambda: alert(daemon, NAME)["state"],
                             lambda state: state == "resolved", seconds=20) == "resolved"
        begin = time.monotonic()
        assert waiting.until(lambda: server.alerts(NAME), lambda a: not a, seconds=20) == []
        assert time.monotonic() - begin < patience.seconds(3)


def test_a_test_reaches_it(watch, silent_pair, tmp_path):
    """`alerts test` is an alert of its own there, and the command says whether it arrived."""
    with Alertmanager(tmp_path / "alertmanager") as server:
        daemon = watch(server.url, silent_pair.right_device)
        done = daemon.netflowctl("alerts", "test", NAME)
        assert done.returncode == 0, done.stderr
        assert 'alertmanager accepted, with the label test="true"' in done.stdout
        found, = waiting.until(lambda: server.alerts(NAME), bool, seconds=20)
        assert found["labels"]["test"] == "true" and found["labels"]["severity"] == "warning"
        assert found["annotations"]["summary"].startswith("A test, nothing happened: ")
        assert found["annotations"]["explain"]
        assert found["status"]["state"] == "active"
        begun, ended = (datetime.datetime.fromisoformat(found[key].replace("Z", "+00:00"))
                        for key in ("startsAt", "endsAt"))
        assert ended - begun == datetime.timedelta(minutes=10)
        # A test is not an alert of the daemon's.
        assert alert(daemon, NAME)["state"] == "inactive"


@pytest.mark.parametrize("answer, says", [(500, "the server answered 500"),
                                          (None, "Failed to connect")])
def test_a_test_that_does_not_arrive(watch, silent_pair, answer, says):
    port = free_port()
    daemon = watch(f"http://127.0.0.1:{port}", silent_pair.right_device)
    with Receiver(status=answer, port=port) if answer else contextlib.nullcontext():
        done = daemon.netflowctl("alerts", "test", NAME)
    assert done.returncode == 1 and says in done.stdout, done.stdout
    assert "\x1b" not in done.stdout


def test_a_client_that_leaves_its_test(watch, silent_pair):
    """The program and the post of a test end after their client is gone."""
    with Receiver(delay=patience.seconds(1)) as receiver:
        daemon = watch(receiver.url, silent_pair.right_device)
        for _ in range(3):
            with daemon.client() as client:
                client.send("io.netflowd.TestAlert", {"rule": NAME})
                time.sleep(0.2)
        assert waiting.until(lambda: receiver.posts, lambda posts: len(posts) >= 3, seconds=20)
        results = daemon.call("TestAlert", rule=NAME)["results"]
        assert [r["fine"] for r in results if r["action"] == "alertmanager"] == [True]


def test_requests(watch, silent_pair):
    """Each post has the whole state; after the end was accepted, there are none."""
    with Receiver() as receiver:
        daemon = watch(receiver.url + "/prefix/", silent_pair.right_device)
        with Flood(silent_pair):
            assert len(waiting.until(lambda: receiver.posts, lambda p: len(p) >= 3, 20)) >= 3
        waiting.until(lambda: alert(daemon, NAME)["state"], lambda s: s == "resolved", 20)
        count = waiting.until(lambda: len(receiver.posts), lambda n: False, seconds=3)
        path, last = receiver.posts[-1]
        assert path == "/prefix/api/v2/alerts"
        assert len(last) == 1 and last[0]["endsAt"] > last[0]["startsAt"]
        assert last[0]["labels"] == receiver.posts[0][1][0]["labels"]
        time.sleep(patience.seconds(7))
        assert len(receiver.posts) == count


def test_it_was_away(watch, silent_pair):
    """Nothing listens at first, and then it answers with errors: the newest state comes later."""
    port = free_port()
    daemon = watch(f"http://127.0.0.1:{port}", silent_pair.right_device)
    with Flood(silent_pair):
        log = waiting.until(daemon.log, lambda text: "cannot post alerts" in text, seconds=20)
        assert "cannot post alerts to alertmanager.url" in log
        time.sleep(patience.seconds(3))
        assert daemon.log().count("alertmanager") == 1
        assert "Failed to connect" in daemon.log()
        with Receiver(status=500, port=port) as receiver:
            assert waiting.until(lambda: receiver.posts, bool, seconds=20)
            receiver.status = 200
            log = waiting.until(daemon.log, lambda text: "accepts alerts again" in text, seconds=20)
            assert "accepts alerts again" in log
    assert "\x1b" not in daemon.log()


def test_a_server_that_hangs(watch, silent_pair):
    """The daemon goes on: its alerts are evaluated, and clients get their answers."""
    with Receiver(delay=2 * REPEAT_SECONDS) as receiver:
        daemon = watch(receiver.url, silent_pair.right_device)
        with Flood(silent_pair):
            assert waiting.until(lambda: receiver.posts, bool, seconds=20)
            for _ in range(20):
                took, status = waiting.time_and_result(daemon.status, daemon.pid)
                assert status["drops"]["balanced"] is True and took < patience.seconds(0.5)
                time.sleep(0.1)
            log = waiting.until(daemon.log, lambda text: "cannot post alerts" in text, 20)
            assert "cannot post alerts" in log


def test_reload_to_another_server(silent_pair, tmp_path, start, bpf):
    """What fires already is posted to a server that is set later."""
    rules = Rules(tmp_path / "rules")
    rules.write("10-test.conf", drop_rule(NAME, silent_pair.right_device, "1s", "20/s"))
    config = tmp_path / "netflowd.conf"
    config.write_text("")
    daemon = start(rules.setting, *SETTINGS, options=("--config", config))
    with Receiver() as receiver, Flood(silent_pair):
        assert waiting.until(lambda: alert(daemon, NAME)["state"],
                             lambda state: state == "firing", seconds=20) == "firing"
        config.write_text(f"[alertmanager]\nurl = {receiver.url}\n")
        daemon.process.send_signal(signal.SIGHUP)
        posts = waiting.until(lambda: receiver.posts, bool, seconds=20)
        assert posts[0][1][0]["labels"]["alertname"] == NAME


@pytest.mark.parametrize("url", ["alerts:9093", "ftp://alerts", "http://a b", "file:///etc/passwd"])
def test_mistakes(start, bpf, url):
    daemon = start.make(f"alertmanager.url={url}")
    done = subprocess.run(daemon.arguments(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=patience.seconds(30))
    assert done.returncode == 2
    assert "must be an http:// or https:// URL" in done.stdout


@pytest.mark.parametrize("request_", [
    b"", b"[]", b"{}", b"\xff", b'{"url": 1}',
    b'{"url": "file:///etc/passwd", "timeout_ms": 9, "body": []}',
    b'{"url": "http://127.0.0.1:1", "timeout_ms": 9, "body": []}'])
def test_the_program_says_why(request_):
    program = pathlib.Path(paths.DAEMON).with_name("netflowd-post")
    done = subprocess.run([program], input=request_, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=patience.seconds(30))
    assert done.returncode == 1 and done.stdout.count(b"\n") == 1 and len(done.stdout) > 10


def test_the_program_names_what_the_sandbox_lacks():
    """As with RestrictAddressFamilies= of the unit."""
    program = pathlib.Path(paths.DAEMON).with_name("netflowd-post")
    request = b'{"url": "http://127.0.0.1:1", "timeout_ms": 9, "body": []}'
    command = [paths.TOOLS / "deny_syscall", "socket", "EAFNOSUPPORT", program]
    done = subprocess.run(command, input=request, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=patience.seconds(30))
    assert done.returncode == 1
    assert done.stdout == (b"cannot post: no TCP/IP: Address family not supported by protocol; a "
                           b"service needs the drop-in internet.conf: see netflowd(8)\n")

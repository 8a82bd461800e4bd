# SPDX-License-Identifier: GPL-2.0-or-later
"""Files for other programs, metrics and Alertmanager in the unit's sandbox: what works without a
drop-in, which error names which drop-in, and what works with it."""

import contextlib
import grp
import http.server
import json
import os
import pathlib
import pwd
import re
import shutil
import stat
import threading

import pytest

from service import (
    SERVICE, STRANGER, TREE, forget_failures, is_up, journal_lines, main_pid, netflowctl,
    no_socket_drops, run, send_to_closed_port, settings, show, systemctl, unit_with, until)

DATAGRAMS = 300
DROP_INS = TREE / "systemd/drop-ins"
INSTALLED = pathlib.Path("/usr/share/netflowd/systemd")
# That of Debian's node_exporter; its administrator lets netflowd write there.
COLLECTOR = pathlib.Path("/var/lib/prometheus/node-exporter")
TEXTFILE = COLLECTOR / "netflowd.prom"
JSON_FILE = pathlib.Path("/var/log/netflowd/export.ndjson")
RULES = pathlib.Path("/etc/netflowd/alerts.d")
FILES = (f"[metrics]\ntextfile = {TEXTFILE}\n"
         f"[export]\njson_file = {JSON_FILE}\ninterval = 1s\n")
RULE = "[alert post]\ncondition = drop_rate\nwindow = 2s\nover = 20/s\n"
# A system call that the unit's filter refuses then kills the daemon instead.
STRICT = "[Service]\nSystemCallErrorNumber=kill\n"


def scrape(*arguments, **kwargs):
    return run("curl", "-sS", "--max-time", "30", *arguments, **kwargs)


def counted(text):
    """Drops without a socket, in metrics."""
    return int(float(re.search(r'^netflowd_drops_by_reason_total\{.*reason="NO_SOCKET".*\} (\S+)$',
                               text, re.MULTILINE)[1]))


def test_the_drop_ins_are_installed():
    for file in DROP_INS.iterdir():
        assert (INSTALLED / file.name).read_text() == file.read_text()


@contextlib.contextmanager
def alertmanager():
    """A server that keeps what is posted: its URL, and the list of (path, alerts)."""
    posts = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # pylint: disable=invalid-name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.append((self.path, json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", posts
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def rule():
    RULES.mkdir(parents=True, exist_ok=True)
    (RULES / "post.conf").write_text(RULE)
    try:
        yield
    finally:
        (RULES / "post.conf").unlink()


@contextlib.contextmanager
def exports(listen):
    """Settings for metrics, files and posts, which the daemon reads when it starts again."""
    with alertmanager() as (url, posts):
        text = f"[alertmanager]\nurl = {url}\n"
        with rule(), settings(FILES + text), settings(f"[metrics]\nlisten = {listen}\n",
                                                      "98-listen.conf"):
            yield posts


def test_without_drop_ins():
    """The socket works.  Files and posts fail, each with one line that names the drop-in."""
    COLLECTOR.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(JSON_FILE.parent, ignore_errors=True)
    with exports("unix") as posts:
        systemctl("restart", SERVICE)
        send_to_closed_port(DATAGRAMS)
        total, _ = no_socket_drops()
        path = "/run/netflowd/metrics.sock"
        assert counted(scrape("--unix-socket", path, "http://x/metrics").stdout) == total
        found = os.stat(path)
        assert stat.S_IMODE(found.st_mode) == 0o660
        assert found.st_gid == grp.getgrnam("netflow").gr_gid
        denied = run("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups",
                     "curl", "-sS", "--unix-socket", path, "http://x/metrics", check=False)
        assert denied.returncode

        lines = [until(lambda text=text: journal_lines(text), bool) for text in (
            "cannot write metrics.textfile", "cannot write export.json_file",
            "cannot post alerts")]
        assert "Read-only file system" in lines[0][0] and "files.conf" in lines[0][0]
        # systemd makes that directory only with the drop-in.
        assert "No such file or directory" in lines[1][0] and "files.conf" in lines[1][0]
        assert "Address family not supported" in lines[2][0] and "internet.conf" in lines[2][0]
        assert not posts
        assert [len(found) for found in lines] == [1, 1, 1]
    systemctl("restart", SERVICE)


def test_tcp_without_the_drop_in():
    """A setting that cannot work: the daemon does not start, and says what to do."""
    with settings("[metrics]\nlisten = tcp\n"):
        systemctl("restart", SERVICE, check=False)
        line = until(lambda: journal_lines("metrics.listen = tcp: cannot listen"), bool)[0]
        assert "Address family not supported" in line and "internet.conf" in line
        systemctl("stop", "netflowd.socket", SERVICE)
    forget_failures()
    systemctl("start", "netflowd.socket", SERVICE)
    assert is_up()


@pytest.fixture
def collector():
    """node_exporter's directory; netflowd's user may write there."""
    COLLECTOR.mkdir(parents=True, exist_ok=True)
    os.chown(COLLECTOR, pwd.getpwnam("netflow").pw_uid, -1)


def test_with_drop_ins(collector):
    """Everything works, and with a filter that kills: no system call is refused."""
    text = STRICT + "".join((DROP_INS / name).read_text() for name in ("files.conf",
                                                                       "internet.conf"))
    with unit_with(text), exports("tcp") as posts:
        systemctl("restart", SERVICE)
        pid = main_pid()
        send_to_closed_port(DATAGRAMS)
        total, _ = no_socket_drops()
        assert counted(scrape("http://127.0.0.1:9477/metrics").stdout) == total
        # Other programs read the files, whatever the unit's UMask=.
        for path, mode in ((TEXTFILE, 0o644), (JSON_FILE, 0o640)):
            until(path.exists, bool)
            found = os.stat(path)
            assert stat.S_IMODE(found.st_mode) == mode, path
            assert (found.st_uid, found.st_gid) == (pwd.getpwnam("netflow").pw_uid,
                                                    grp.getgrnam("netflow").gr_gid)
        until(lambda: counted(TEXTFILE.read_text()), lambda number: number == total)
        assert run("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "cat",
                   TEXTFILE).stdout.startswith("# HELP")
        until(exported, lambda number: number == total)
        # netflowd-post, with libcurl, in the same sandbox and filter.
        path, alerts = until(lambda: posts, bool)[-1]
        assert path == "/api/v2/alerts"
        assert "post" in {alert["labels"]["alertname"] for alert in alerts}
        assert not journal_lines("cannot ")
        for words in (["status"], ["probes"], ["latency"], ["drops", "--by", "cgroup"], ["napi"],
                      ["alerts"], ["alerts", "test", "post"], ["reload"],
                      ["drops", "--since", "15m"], ["latency", "--since", "15m"]):
            netflowctl(*words)
        assert is_up() and main_pid() == pid and show("NRestarts") == "0"


def exported():
    """Drops without a socket in the newest lines of the file."""
    lines = [json.loads(line) for line in JSON_FILE.read_text().splitlines()]
    newest = max(i for i, line in enumerate(lines) if line["type"] == "status")
    return sum(line["packets"] for line in lines[newest:]
               if line["type"] == "drops" and line.get("reason") == "NO_SOCKET")

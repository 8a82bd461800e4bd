# SPDX-License-Identifier: GPL-2.0-or-later
"""A real Prometheus and a real Alertmanager, and what they need to scrape netflowd and to get its
alerts."""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from . import patience, waiting

READY_SECONDS = 60
# What Prometheus needs beside the test; the smallest guests of tests/vm have less.
MEMORY_KIB = 400000


def needed(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    available = re.search(r"MemAvailable: +(\d+)", pathlib.Path("/proc/meminfo").read_text())
    if int(available[1]) < MEMORY_KIB:
        pytest.skip(f"{available[1]} KiB of memory are too few for {programs[0]}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, timeout=10):
    """The JSON of a URL; a mistake in a query is an AssertionError with the server's words."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{url}: {error.read().decode()}") from None


class Server:
    """A server that runs until the end of the `with`."""

    def __init__(self, directory, *command, port):
        self.directory = pathlib.Path(directory)
        self.command = [str(word) for word in command]
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.process = None

    def __enter__(self):
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(self.command, cwd=self.directory, stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + patience.seconds(READY_SECONDS)
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as reply:
                    if reply.status == 200:
                        return self
            time.sleep(0.2)
        self.__exit__()
        raise AssertionError(f"not ready: {self.log()}")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=patience.seconds(20))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def log(self):
        return (self.directory / "log").read_text(errors="replace")


class Prometheus(Server):
    """Scrapes netflowd once per second, and evaluates the shipped rules if `rules` names files."""

    def __init__(self, directory, target, rules=(), interval="1s"):
        needed("prometheus")
        directory = pathlib.Path(directory)
        directory.mkdir()
        port = free_port()
        config = {"global": {"scrape_interval": interval, "evaluation_interval": interval},
                  "rule_files": [str(path) for path in rules],
                  "scrape_configs": [{"job_name": "netflowd",
                                      "static_configs": [{"targets": [target]}]}]}
        # JSON is YAML.
        (directory / "prometheus.yml").write_text(json.dumps(config))
        super().__init__(directory, "prometheus", "--config.file=prometheus.yml",
                         "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}",
                         "--log.level=warn", port=port)

    def query(self, expression):
        """[(labels, value)] of an instant query."""
        reply = get(f"{self.url}/api/v1/query?query={urllib.parse.quote(expression)}")
        result = reply["data"]["result"]
        if reply["data"]["resultType"] == "scalar":
            return [({}, float(result[1]))]
        return [(row["metric"], float(row["value"][1])) for row in result]

    def value(self, expression):
        """The value of a query with one result; None if it has none."""
        rows = self.query(expression)
        assert len(rows) <= 1, rows
        return rows[0][1] if rows else None

    def query_range(self, expression, seconds, step=1):
        now = time.time()
        reply = get(f"{self.url}/api/v1/query_range?query={urllib.parse.quote(expression)}"
                    f"&start={now - seconds}&end={now}&step={step}")
        return [(row["metric"], [float(value) for _, value in row["values"]])
                for row in reply["data"]["result"]]

    def rules(self):
        return [rule for group in get(f"{self.url}/api/v1/rules")["data"]["groups"]
                for rule in group["rules"]]

    def waits_for(self, expression, value):
        """The value of the query once it is `value`, or at the end of the patience."""
        return waiting.until(lambda: self.value(expression), lambda found: found == value,
                             seconds=30, pause=0.2)


class Alertmanager(Server):
    def __init__(self, directory):
        needed("prometheus-alertmanager")
        directory = pathlib.Path(directory)
        directory.mkdir()
        port = free_port()
        config = {"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}],
                  "global": {"resolve_timeout": "5s"}}
        (directory / "alertmanager.yml").write_text(json.dumps(config))
        super().__init__(directory, "prometheus-alertmanager", "--config.file=alertmanager.yml",
                         "--storage.path=data", f"--web.listen-address=127.0.0.1:{port}",
                         "--cluster.listen-address=", port=port)

    def alerts(self, name):
        """The alerts of that name, those that are resolved too if they are still known."""
        return [alert for alert in get(f"{self.url}/api/v2/alerts")
                if alert["labels"]["alertname"] == name]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=10):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # With a time limit, connect() would fail while others wait in the kernel.
        self.sock.connect(self.path)
        self.sock.settimeout(self.timeout)


def scrape(path, accept="", timeout=10):
    """(content type, text) of the metrics on a Unix socket."""
    connection = UnixConnection(path, timeout)
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
        reply = connection.getresponse()
        assert reply.status == 200, reply.status
        return reply.headers["Content-Type"], reply.read().decode()
    finally:
        connection.close()

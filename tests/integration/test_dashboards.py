# SPDX-License-Identifier: GPL-2.0-or-later
"""What config/ ships for others: Prometheus's rules, Grafana's dashboard, and the snippets."""

import json
import math
import pathlib
import re
import subprocess
import time

import pytest

from lab import patience, waiting
from lab.prometheus import Prometheus, free_port, needed

TOP = pathlib.Path(__file__).resolve().parents[2]
CONFIG = TOP / "config"
RULES = CONFIG / "prometheus" / "netflowd.rules.yml"
DASHBOARD = json.loads((CONFIG / "grafana" / "netflowd.json").read_text())
VARIABLES = {"$instance": ".*", "$__rate_interval": "10s", "$__range": "5m"}


def panels():
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries():
    """(panel's title, query) with the variables filled in as Grafana does."""
    for panel in panels():
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            assert "$" not in query, query
            yield panel["title"], query


def families():
    """The names of the samples that netflowd can export."""
    text = (TOP / "daemon" / "metrics" / "families.c").read_text()
    names = set()
    for kind, name in re.findall(r'ROW\(\w+, (\w+), "(\w+)"', text):
        ends = {"COUNTER": ["_total"], "INFO": ["_info"], "SUMMARY": ["_sum", "_count"],
                "HISTOGRAM": ["_bucket", "_sum", "_count"]}.get(kind, [""])
        names |= {f"netflowd_{name}{end}" for end in ends}
    return names


def test_rules():
    needed("promtool")
    for command in (["check", "rules", "--lint-fatal", RULES],
                    ["test", "rules", TOP / "tests/integration/netflowd.rules.test.yml"]):
        done = subprocess.run(["promtool", *command], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout


def test_each_name_exists():
    """Rules, dashboard and documentation name no metric that netflowd does not have."""
    known = families()
    assert len(known) > 90
    for path in (RULES, CONFIG / "grafana" / "netflowd.json", TOP / "docs" / "metrics.md"):
        for name in set(re.findall(r"(?<![\w:])netflowd_[a-z0-9_]+\b(?!\*|:)", path.read_text())):
            assert name in known or f"{name}_total" in known or f"{name}_bucket" in known, \
                (path.name, name)


def test_dashboard_is_well_made():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24
        taken |= cells
    for panel in panels():
        assert panel["title"] and panel["description"].endswith(".")
        assert panel["datasource"]["uid"] == "${datasource}" and panel["fieldConfig"]
        assert all('instance=~"$instance"' in target["expr"] for target in panel["targets"])


@pytest.fixture
def traffic(lab):
    """What every panel shows: drops, readers, and transmits whose slots are counted."""
    pair = lab.pair(ipv6=False)

    def make():
        pair.left.send_udp(pair.RIGHT4, 9, 200)
        with Reader(pair):
            pair.left.send_udp(pair.RIGHT4, 5001, 200)
    return make


class Reader:
    """A process that reads datagrams at port 5001 of the right side."""

    def __init__(self, pair):
        self.pair, self.process = pair, None

    def __enter__(self):
        code = ("import socket\ns=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                "s.bind(('', 5001))\nprint(flush=True)\nwhile True: s.recv(2048)\n")
        self.process = subprocess.Popen(["ip", "netns", "exec", self.pair.right.name,
                                         "/usr/bin/python3", "-c", code], stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def test_each_panel_has_data(start, bpf, traffic, tmp_path):
    """A real Prometheus runs every query of the dashboard, and every recording rule has samples."""
    port = free_port()
    daemon = start(f"metrics.listen=127.0.0.1:{port}", "slots.devices=*")
    with Prometheus(tmp_path / "prometheus", f"127.0.0.1:{port}", rules=[RULES]) as server:
        assert server.waits_for("up", 1) == 1
        missing, end = None, time.monotonic() + patience.seconds(60)
        while time.monotonic() < end:
            # A rate needs two scrapes of a series, with traffic in between.
            traffic()
            time.sleep(1)
            missing = [(title, query) for title, query in queries()
                       if not with_values(server, query)]
            if not missing:
                break
        assert not missing
        assert waiting.until(lambda: [r["name"] for r in server.rules()
                                      if r["type"] == "recording" and not server.query(r["name"])],
                             lambda names: not names, seconds=60, pause=1) == []
        assert all(rule["health"] == "ok" for rule in server.rules())
        # Nothing here is worth an alert.
        assert not [r["name"] for r in server.rules() if r["type"] == "alerting"
                    and r["state"] == "firing" and r["name"] != "NetflowdSlotOverflow"]
    assert daemon.running


def with_values(server, query):
    return [value for _, value in server.query(query) if not math.isnan(value)]


def test_snippets():
    """They name the port and the path at which netflowd serves."""
    for name in ("prometheus/scrape.yml", "pcp/netflowd.url", "opentelemetry/netflowd.yml"):
        assert "127.0.0.1:9477" in (CONFIG / name).read_text()
    url = [line for line in (CONFIG / "pcp/netflowd.url").read_text().splitlines()
           if not line.startswith("#")]
    assert url == ["http://127.0.0.1:9477/metrics"]


def test_prometheus_takes_the_snippet(tmp_path):
    needed("promtool")
    text = (CONFIG / "prometheus/scrape.yml").read_text()
    (tmp_path / "prometheus.yml").write_text(
        text.replace("/etc/prometheus/netflowd.rules.yml", str(RULES)))
    done = subprocess.run(["promtool", "check", "config", tmp_path / "prometheus.yml"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout

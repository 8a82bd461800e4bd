# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics: a real Prometheus scrapes them, promtool and another parser read them, counts are exact
and never go backwards, and hostile clients do no harm."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import time

import pytest

from lab import paths, patience, waiting
from lab.prometheus import Prometheus, UnixConnection, free_port, needed, scrape

SENT = 4217
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def parse(text):
    """{(name, labels): value} of a text in Prometheus's format."""
    parser = pytest.importorskip("prometheus_client.parser")
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples}


def counters(text):
    """The samples that may only grow."""
    parser = pytest.importorskip("prometheus_client.parser")
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in parser.text_string_to_metric_families(text)
            if family.type in ("counter", "histogram", "summary") for sample in family.samples}


def total(samples, name, **labels):
    return sum(value for (found, have), value in samples.items()
               if found == name and labels.items() <= dict(have).items())


def socket_of(daemon):
    return daemon.directory / "metrics.sock"


def samples_of(daemon):
    return parse(scrape(socket_of(daemon))[1])


# Tests beside these make causes of drops all the time, and each needs a series.
shared = pytest.mark.shared("metrics.listen=unix", "control.clients=800",
                            "metrics.series=100000")


@pytest.fixture(scope="module")
def kept_pair(kept_lab):
    return kept_lab.pair(ipv6=False)


@pytest.fixture
def daemon(kept_pair, daemon):
    """The namespaces of kept_pair are older than the daemon, and stay: it has seen no other with
    their numbers."""
    return daemon


@pytest.fixture
def exporter(start, bpf):
    """exporter(*settings) runs a daemon that serves metrics on the usual socket."""
    return lambda *settings, **kwargs: start("metrics.listen=unix", *settings, **kwargs)


# ---- formats ----


@pytest.mark.portable
@pytest.mark.smoke
@shared
def test_formats(daemon, pair):
    pair.left.send_udp(pair.RIGHT4, 9, 100)
    kind, text = scrape(socket_of(daemon))
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert parse(text)
    kind, text = scrape(socket_of(daemon), OPENMETRICS)
    assert kind == f"{OPENMETRICS}; charset=utf-8"
    openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")
    families = list(openmetrics.text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families) > 90
    assert {family.unit for family in families} == {"", "seconds", "bytes"}


@shared
def test_promtool_has_nothing_to_say(daemon, pair):
    needed("promtool")
    pair.left.send_udp(pair.RIGHT4, 9, 100)
    text = scrape(socket_of(daemon))[1]
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.returncode, done.stdout) == (0, "")


@shared
def test_names_of_devices_are_escaped(daemon, lab):
    """A device's name can have quotes, backslashes and bytes that are no UTF-8."""
    name = os.fsdecode(b'"a\\b\xff')
    inside = lab.namespace()
    inside.run("ip", "link", "add", "plain", "index", inside.new_index(), "type", "veth",
               "peer", "name", name, "index", inside.new_index(), "address", "02:00:00:00:00:01")
    inside.run("ip", "address", "add", "10.9.0.1/24", "dev", "plain")
    inside.run("ip", "link", "set", "plain", "up")
    inside.run("ip", "link", "set", name, "up")
    inside.run("ip", "neigh", "replace", "10.9.0.2", "lladdr", "02:00:00:00:00:01", "dev", "plain")
    inside.send_udp("10.9.0.2", 9, 3)
    found = waiting.until(lambda: {dict(labels).get("device") for _, labels in samples_of(daemon)},
                          lambda devices: '"a\\b\ufffd' in devices)
    assert '"a\\b\ufffd' in found
    openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")
    list(openmetrics.text_string_to_metric_families(scrape(socket_of(daemon), OPENMETRICS)[1]))


@shared
def test_names_of_namespaces(daemon, kept_pair):
    """Names are beside the numbers, in a metric of their own."""
    inside = kept_pair.right
    kept_pair.left.send_udp(kept_pair.RIGHT4, 9, 3)

    def names():
        return {dict(labels)["netns"]: dict(labels)["name"]
                for name, labels in samples_of(daemon) if name == "netflowd_netns_info"}

    found = waiting.until(names, lambda found: str(inside.inode) in found)
    assert found[str(inside.inode)] == inside.name
    assert found[str(os.stat("/proc/self/ns/net").st_ino)] == "host"
    assert any(dict(labels).get("netns") == str(inside.inode) for name, labels in
               samples_of(daemon) if name == "netflowd_drops_total")


# ---- a real Prometheus ----


def test_known_drops_in_a_query(start, bpf, silent_pair, tmp_path):
    """Prometheus counts exactly the packets that were sent to a closed port."""
    pair, port = silent_pair, free_port()
    daemon = start(f"metrics.listen=127.0.0.1:{port}")
    where = (f'{{reason="NO_SOCKET",device="{pair.right_device.name}",'
             f'netns="{pair.right.inode}",protocol="ipv4/udp"}}')
    with Prometheus(tmp_path / "prometheus", f"127.0.0.1:{port}") as server:
        assert server.waits_for("up", 1) == 1
        pair.left.send_udp(pair.RIGHT4, 9, SENT)
        assert server.waits_for(f"sum(netflowd_drops_total{where})", SENT) == SENT
        # The whole is the sum of its parts, for every reason.
        assert server.query("sum by (reason) (netflowd_drops_by_reason_total) != "
                            "sum by (reason) (netflowd_drops_total) + "
                            "sum by (reason) (netflowd_drops_unlisted)") == []
        before = server.value(f"sum(netflowd_drops_total{where})")
        pair.left.send_udp(pair.RIGHT4, 9, 1000)
        assert server.waits_for(f"sum(netflowd_drops_total{where})", SENT + 1000) == before + 1000
        # increase() reaches beyond the samples, the first of which can be in the middle of SENT.
        more = SENT + 1000 - server.value(f"sum(min_over_time(netflowd_drops_total{where}[1h]))")
        grown = server.value(f"sum(increase(netflowd_drops_total{where}[1h]))")
        assert more <= grown <= 4 * more
        quantile = server.value("histogram_quantile(0.5, sum by (le) (netflowd_latency_seconds_"
                                'bucket{kind="veth",segment="softirq_to_receive"}))')
        assert 0 < quantile < 1
        assert server.value("count(netflowd_coverage == 1)") >= 8
        assert daemon.running


@shared
def test_the_same_numbers_as_other_clients_get(daemon, silent_pair):
    pair = silent_pair
    before = total(samples_of(daemon), "netflowd_drops_counted_total")
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    time.sleep(patience.seconds(0.5))
    samples = samples_of(daemon)
    rows = [row for row in daemon.call("GetLatency", all=True)["latencies"]
            if row.get("device") == pair.right_device.name
            and row.get("netns") == pair.right.inode]
    assert rows
    for row in rows:
        labels = {"segment": row["segment"], "direction": row["direction"], "kind": "veth"}
        assert total(samples, "netflowd_latency_seconds_count", **labels) >= row["count"]
        mean = total(samples, "netflowd_latency_seconds_sum", **labels) / \
            total(samples, "netflowd_latency_seconds_count", **labels)
        assert 0 < mean < 10
    ledger = daemon.status()["drops"]
    assert total(samples, "netflowd_drops_hits_total") <= ledger["hits"]
    assert total(samples, "netflowd_drops_counted_total") >= before + SENT


# ---- bounded series ----


def test_bounded_series(exporter, lab):
    """Six causes, three series: what has none counts in "other", and no packet is lost."""
    pairs = [lab.pair(ipv6=False) for _ in range(6)]
    daemon = exporter("metrics.series=3")
    for number, pair in enumerate(pairs):
        pair.left.send_udp(pair.RIGHT4, 9, 100 * (number + 1))
    time.sleep(patience.seconds(0.5))
    samples = samples_of(daemon)
    series = [labels for (name, labels) in samples if name == "netflowd_drops_total"
              and dict(labels).get("location") != "other"]
    assert len(series) == 3 == samples[("netflowd_drops_series", ())]
    assert samples[("netflowd_drops_other_keys", ())] >= 3
    for number, pair in enumerate(pairs):
        shown = total(samples, "netflowd_drops_total", netns=str(pair.right.inode))
        assert shown in (0, 100 * (number + 1))
    for (name, labels), value in samples.items():
        if name == "netflowd_drops_by_reason_total":
            cause = {key: text for key, text in labels if key in ("reason", "inferred", "class")}
            assert value == total(samples, "netflowd_drops_total", **cause) + \
                total(samples, "netflowd_drops_unlisted", **cause)


def test_counters_never_go_backwards(exporter, lab):
    """Namespaces come and go, and keys fold.  How series change hands: test_series.c."""
    daemon = exporter("metrics.series=2", "drops.keys=4", "devices.idle=1")
    last, most = {}, 0
    for number in range(12):
        inside = lab.pair(ipv6=False)
        inside.left.send_udp(inside.RIGHT4, 9, 50 + number * 7)
        if number % 3 == 0:
            lab.delete()
        time.sleep(patience.seconds(0.3))
        now = counters(scrape(socket_of(daemon))[1])
        fell = {key: (last[key], now[key]) for key in last.keys() & now.keys()
                if now[key] < last[key]}
        assert not fell
        most = max(most, sum(name == "netflowd_drops_total" and dict(labels)["location"] != "other"
                             for name, labels in now))
        last = now
    assert most <= 2
    samples = samples_of(daemon)
    assert total(samples, "netflowd_drops_by_reason_total") == \
        total(samples, "netflowd_drops_total") + total(samples, "netflowd_drops_unlisted")
    sent = sum(50 + number * 7 for number in range(12))
    assert total(samples, "netflowd_drops_by_reason_total") >= sent


# ---- hostile clients ----


def connect(daemon):
    client = socket.socket(socket.AF_UNIX)
    # With a time limit, connect() would fail while others wait in the kernel.
    client.connect(str(socket_of(daemon)))
    client.settimeout(patience.seconds(10))
    return client


def talk(daemon, request):
    """Everything that the server answers to these bytes."""
    with connect(daemon) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionResetError, TimeoutError):
            while more := client.recv(65536):
                answer += more
        return answer


REQUESTS = {
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n": b"404",
    b"GET /metrics/ HTTP/1.1\r\nHost: x\r\n\r\n": b"404",
    b"GET /../metrics HTTP/1.1\r\nHost: x\r\n\r\n": b"404",
    b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc": b"405",
    b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n": b"405",
    b"DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n": b"405",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + 100000 * b"y" + b"\r\n\r\n": b"4",
    b"GET /" + 100000 * b"z" + b" HTTP/1.1\r\nHost: x\r\n\r\n": b"4",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + 20000 * b"A: b\r\n" + b"\r\n": b"4",
    b"\0\xff" * 5000 + b"\r\n\r\n": b"",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03": b"",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n":
        b"",
    b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n": b"200",
    b"GET /metrics HTTP/1.0\r\n\r\n": b"200",
}


@pytest.mark.portable
@pytest.mark.smoke
def test_requests_of_all_kinds(exporter, tmp_path):
    config = tmp_path / "netflowd.conf"
    config.write_text("")
    daemon = exporter(options=("--config", config))
    for request, status in REQUESTS.items():
        # Some need no answer: their connection may end only by the time limit.
        config.write_text("" if status else "[control]\nidle = 1s\n")
        # A client that stays would be idle.
        assert daemon.netflowctl("reload").returncode == 0
        answer = talk(daemon, request)
        found = answer.split(b" ")[1] if answer else b""
        assert found.startswith(status) if status else True, (request[:80], answer[:200])
    assert talk(daemon, b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n").endswith(b"\r\n\r\n")
    assert samples_of(daemon)
    assert daemon.running


def test_slow_clients_lose_their_place(exporter):
    """All places are taken by clients that send nothing, or one byte now and then."""
    daemon = exporter("control.clients=32", "control.idle=2s")
    clients = [connect(daemon) for _ in range(4)]
    try:
        for client in clients[:2]:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        begin = time.monotonic()
        other = connect(daemon)
        other.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        other.setblocking(False)
        answer = b""
        while b"netflowd_build_info" not in answer:
            assert time.monotonic() < begin + patience.seconds(8)
            for client in clients[:2]:
                with contextlib.suppress(OSError):
                    client.send(b"X")
            with contextlib.suppress(BlockingIOError):
                answer += other.recv(65536)
            time.sleep(0.05)
        other.close()
    finally:
        for client in clients:
            client.close()
    samples = samples_of(daemon)
    assert samples[("netflowd_http_timed_out_total", ())] >= 4


def test_a_client_that_does_not_read(exporter):
    """It has to be ended by the limit, and the text of the others comes."""
    daemon = exporter("control.idle=3s", "control.clients=24")
    with connect(daemon) as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        lazy.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        end = time.monotonic() + patience.seconds(4)
        while time.monotonic() < end:
            assert samples_of(daemon)
            time.sleep(0.3)
    assert daemon.running


def descriptors(daemon):
    """How many files it has open, without the root of the cgroups: it opens that once, with the
    first record whose cgroup it does not know."""
    directory, count = f"/proc/{daemon.pid}/fd", 0
    for name in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):
            count += not os.readlink(f"{directory}/{name}").startswith("/sys/fs/cgroup")
    return count


def test_clients_that_leave_while_they_wait(exporter):
    daemon = exporter()
    idle = descriptors(daemon)
    for _ in range(200):
        client = connect(daemon)
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        client.close()
    assert samples_of(daemon)
    left = waiting.until(lambda: descriptors(daemon), lambda n: n <= idle)
    assert left <= idle


@shared
def test_a_crowd(daemon):
    """A hundred clients at once: all get the text, made a few times only."""
    readings = ("netflowd_readings_total", (("part", "drops"),))
    before = samples_of(daemon)[readings]
    requests = [UnixConnection(socket_of(daemon)) for _ in range(100)]
    for request in requests:
        request.request("GET", "/metrics")
    for request in requests:
        reply = request.getresponse()
        assert reply.status == 200 and b"netflowd_build_info" in reply.read()
        request.close()
    assert samples_of(daemon)[readings] < before + 20


# ---- settings ----


@shared
def test_permissions(daemon):
    """Without the group netflow, only the daemon's own user connects."""
    mode = socket_of(daemon).stat().st_mode
    assert stat.S_ISSOCK(mode) and mode & 0o007 == 0


def test_off_by_default(start, bpf):
    daemon = start()
    assert not socket_of(daemon).exists()
    assert "metrics" not in daemon.log()


def test_mistakes(start, bpf):
    daemon = start.make("metrics.listen=somewhere:9477")
    done = subprocess.run(daemon.arguments(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=patience.seconds(30))
    assert done.returncode == 2
    assert "metrics.listen = somewhere:9477: must be empty, unix, tcp" in done.stdout
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        daemon = start.make(f"metrics.listen=127.0.0.1:{port}")
        done = subprocess.run(daemon.arguments(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=patience.seconds(30))
    assert done.returncode == 1
    assert f"metrics.listen = 127.0.0.1:{port}: cannot listen: Address already in use" in \
        done.stdout


def test_reload(start, bpf, tmp_path):
    config = tmp_path / "netflowd.conf"
    config.write_text("[metrics]\nlisten = unix\nseries = 5\n")
    daemon = start(options=("--config", config))
    assert samples_of(daemon)[("netflowd_drops_series_limit", ())] == 5
    config.write_text(f"[metrics]\nlisten = tcp\nseries = 7\ntextfile = {tmp_path}/n.prom\n")
    daemon.process.send_signal(signal.SIGHUP)
    assert waiting.until(daemon.log, lambda log: "need a restart" in log)
    assert "new values need a restart: metrics.listen\n" in daemon.log()
    waiting.until((tmp_path / "n.prom").exists, bool)
    assert "netflowd_drops_series_limit 7\n" in (tmp_path / "n.prom").read_text()


# ---- the file ----


@pytest.mark.portable
@pytest.mark.smoke
def test_textfile(start, bpf, tmp_path):
    """A reader sees a whole file at any time, with the mode that node_exporter needs."""
    path = tmp_path / "collector" / "netflowd.prom"
    path.parent.mkdir()
    daemon = start(f"metrics.textfile={path}", "export.interval=4s")
    assert waiting.until(path.exists, bool)
    inodes, end = set(), time.monotonic() + 3.5
    while time.monotonic() < end:
        with open(path, encoding="utf-8") as file:
            inodes.add(os.fstat(file.fileno()).st_ino)
            text = file.read()
        assert text.startswith("# HELP netflowd_build_info") and text.endswith("\n")
        assert "netflowd_alertmanager_pending" in text and parse(text)
    assert len(inodes) >= 2
    assert path.stat().st_mode & 0o777 == 0o644
    assert waiting.until(lambda: list(path.parent.iterdir()), lambda names: names == [path]) == \
        [path]
    assert daemon.running


def test_textfile_that_cannot_be_written(exporter, tmp_path):
    daemon = exporter(f"metrics.textfile={tmp_path}/no/netflowd.prom", "export.interval=4s")
    errors = ("netflowd_export_file_errors_total", (("file", "textfile"),))
    assert waiting.until(lambda: samples_of(daemon)[errors], lambda n: n >= 2) >= 2
    assert daemon.log().count("cannot write metrics.textfile") == 1
    assert "No such file or directory; make its directory" in daemon.log()
    (tmp_path / "no").mkdir()
    assert waiting.until(daemon.log, lambda log: "is written again" in log)
    assert (tmp_path / "no" / "netflowd.prom").exists()


def test_history(start, bpf, tmp_path):
    """An operator of many hosts sees from outside which of them store nothing."""
    def values(daemon):
        return {name.removeprefix("netflowd_history_"): value
                for (name, _), value in samples_of(daemon).items()
                if name.startswith("netflowd_history_")}

    assert values(start("metrics.listen=unix")) == {}
    directory, begun = tmp_path / "history", time.time()
    daemon = start("metrics.listen=unix", "history.interval=1s", history=directory)
    found = waiting.until(lambda: values(daemon), lambda v: v["intervals_total"] >= 2)
    assert found["writing"] == 1 and found["lost_intervals_total"] == 0
    assert begun < found["begin_time_seconds"] < found["written_time_seconds"] <= time.time()
    assert found["file_bytes"] >= (directory / "history.db").stat().st_size > 0
    (tmp_path / "file").write_text("")
    assert values(start("metrics.listen=unix", history=tmp_path / "file")) == {"writing": 0}


def test_a_probe_that_is_off(start, bpf):
    daemon = start("metrics.listen=unix", "probes.disable=kfree_skb")
    samples = samples_of(daemon)
    assert samples[("netflowd_probe_up", (("group", "drop"), ("probe", "kfree_skb")))] == 0
    assert samples[("netflowd_coverage", (("question", "drops"),))] == 0
    assert not total(samples, "netflowd_drops_total")


@pytest.mark.portable
@pytest.mark.smoke
def test_without_a_backend(start):
    """Only the daemon's own numbers are there: what is not known is absent, not 0."""
    daemon = start("metrics.listen=unix", "probes.backend=bpf",
                   command=[paths.TOOLS / "deny_syscall", "bpf", "EPERM"])
    samples = samples_of(daemon)
    assert samples[("netflowd_coverage", (("question", "drops"),))] == 0
    assert samples[("netflowd_build_info", (("backend", "none"), ("version", version(samples))))]
    names = {name for name, _ in samples}
    assert "netflowd_cost_resident_bytes" in names
    assert not names & {"netflowd_drops_hits_total", "netflowd_inflight_begun_total",
                        "netflowd_drops_series", "netflowd_ledger_balanced"}
    done = daemon.netflowctl("export", "--format", "ndjson")
    assert done.returncode == 0, done.stderr
    assert '"type":"drops"' not in done.stdout


def version(samples):
    return next(dict(labels)["version"] for name, labels in samples
                if name == "netflowd_build_info")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings: nothing is read twice, nothing keeps the daemon from its records, the ledger is
evaluated while packets move, and answers are limited."""

import contextlib
import socket
import subprocess
import threading
import time

import pytest

from lab import backends, patience, paths, waiting
from lab.varlink import Client

pytestmark = pytest.mark.shared

# CPU time of one turn of the daemon's loop, ns.  The sanitized build is slower.
TURN_NS = 10_000_000 if paths.VARIANT == "plain" else 200_000_000
DEVICES = 400
FAST = "records.rate=1000000"


def readings(daemon, part):
    """How many readings of the part there were; asking takes none of it."""
    return next(r for r in daemon.status()["readings"] if r["part"] == part)


@contextlib.contextmanager
def callers(daemon, count, method, pause=0.0, **parameters):
    """Clients that call in a loop; yields the list of their calls' durations in seconds."""
    stopping = threading.Event()
    durations, failures = [], []

    def run():
        try:
            with daemon.client() as client:
                while not stopping.is_set():
                    start = time.monotonic()
                    client.call(method, **parameters)
                    durations.append(time.monotonic() - start)
                    stopping.wait(pause)
        except Exception as failure:  # pylint: disable=broad-exception-caught
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield durations
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert not failures, failures


@contextlib.contextmanager
def flood(namespace, address, port=9):
    """UDP at full speed until the end."""
    with namespace.entered():
        sender = subprocess.Popen([str(paths.TOOLS / "udp_send"), "-n", "1000000000", address,
                                   str(port)], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        sender.terminate()
        sender.wait()


def many_devices(namespace, count):
    """Pairs of veths, each of which sends and receives a frame of an experimental EtherType."""
    lines = []
    for i in range(count // 2):
        lines += [f"link add v{i} type veth peer name w{i}", f"link set v{i} up",
                  f"link set w{i} up"]
    namespace.ip_batch(*lines)
    with namespace.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        for i in range(count // 2):
            for name in (f"v{i}", f"w{i}"):
                sender.sendto(b"\xff" * 6 + b"\x02" * 6 + b"\x88\xb5" + bytes(46), (name, 0))


# ---- shared -----------------------------------------------------------------

@pytest.mark.parametrize("method, part", [("GetDrops", "drops"), ("GetLatency", "devices"),
                                          ("GetNapi", "napi"), ("GetStatus", "ledger")])
def test_ten_viewers_cost_what_one_costs(daemon, method, part):
    before, begun = readings(daemon, part), time.monotonic()
    with callers(daemon, 10, method, pause=0.1, max_age_ms=250) as durations:
        time.sleep(1.5)
        # On a busy machine the viewers themselves may need longer for these calls.
        waiting.until(lambda: len(durations), lambda calls: calls > 50, seconds=30)
    after, seconds = readings(daemon, part), time.monotonic() - begun
    # The status that asks is a call, too.
    assert after["requests"] - before["requests"] >= len(durations)
    assert len(durations) > 50
    assert after["readings"] - before["readings"] <= seconds / 0.25 + 4


def test_ten_tops_share(daemon, cli):
    before, begun = readings(daemon, "devices"), time.monotonic()
    tops = [subprocess.Popen([str(paths.CLI), "--socket", str(daemon.socket_path), "top",
                              "--interval", "1", "--count", "4"], stdout=subprocess.PIPE)
            for _ in range(10)]
    for top in tops:
        assert top.communicate(timeout=patience.seconds(30))[0]
        assert top.returncode == 0
    after, seconds = readings(daemon, "devices"), time.monotonic() - begun
    assert after["requests"] - before["requests"] == 50
    # Five readings of each top, 1 s apart or, on a busy machine, more; a reading serves half an
    # interval.
    assert after["readings"] - before["readings"] <= seconds / 0.5 + 4


@pytest.mark.alone
def test_a_call_sees_what_was_sent_before_it(daemon, pair):
    """Also while others have just read: 4,217 sent are 4,217."""
    with callers(daemon, 3, "GetDrops"):
        for total in (1000, 3000, 4217):
            pair.left.send_udp(pair.RIGHT4, 9, {1000: 1000, 3000: 2000, 4217: 1217}[total])
            assert daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET") == total


@pytest.mark.alone
def test_old_readings_are_shown_as_old(daemon, pair):
    pair.left.send_udp(pair.RIGHT4, 9, 100)
    first = daemon.call("GetDrops")
    pair.left.send_udp(pair.RIGHT4, 9, 100)
    same = daemon.call("GetDrops", max_age_ms=3_600_000)
    assert (same["elapsed_ns"], same["packets"]) == (first["elapsed_ns"], first["packets"])
    fresh = daemon.call("GetDrops")
    assert fresh["elapsed_ns"] > first["elapsed_ns"]
    assert fresh["packets"] >= first["packets"] + 100


# ---- strangers ----------------------------------------------------------------

@pytest.mark.alone
def test_strangers_in_a_tight_loop(start, pair, bpf):
    """They get 10 % of the loop's time, and not one record is lost for them: the ring has room for
    the records of a few seconds, from which the records of other tests also come."""
    sent = 6000
    daemon = start("records.rate=3000", "records.recent=131072",
                   f"ring.bytes={1 << 23}")
    many_devices(pair.left, DEVICES)
    before = daemon.status()
    start_s = time.monotonic()
    with callers(daemon, 4, "GetLatency"), callers(daemon, 4, "GetDrops"), \
            callers(daemon, 4, "GetStatus"), callers(daemon, 2, "GetNapi"):
        pair.left.send_udp(pair.RIGHT4, 9, sent, "-r", 2000)
        time.sleep(1)
    seconds = time.monotonic() - start_s
    after = daemon.status()
    cpu_ns = sum(r["cpu_ns"] for r in after["readings"]) - \
        sum(r["cpu_ns"] for r in before["readings"])
    # Their share, the burst of 5 s that is saved at rest, and one reading that goes beyond it.
    assert cpu_ns <= (seconds + 5) * 0.1e9 + sum(r["longest_ns"] for r in after["readings"])
    held = waiting.settled(lambda: len(daemon.records(pair.right_device, "ipv4/udp",
                                                      netns=str(pair.right.inode))), sent)
    assert held == sent, after["drops"]


def loop_under_load(daemon, pair):
    for port in range(9, 15):
        pair.left.send_udp(pair.RIGHT4, port, 5000)
    with flood(pair.left, pair.RIGHT4), callers(daemon, 10, "GetLatency", pause=0.3, all=True), \
            callers(daemon, 4, "GetDrops", by="flow"), callers(daemon, 2, "GetDropRecords"), \
            callers(daemon, 4, "GetStatus"), callers(daemon, 2, "GetAlerts"):
        time.sleep(3)
    return daemon.status()["loop"]


@pytest.mark.alone
def test_the_longest_turn(start, pair, bpf):
    """Many devices, a full table of drop keys, ten viewers, records, pages and alerts: one turn of
    the loop takes less than 10 ms of CPU time."""
    many_devices(pair.left, DEVICES)
    # The kernel charges softirqs that interrupt the daemon to its CPU time: one run can be longer.
    for _ in range(3):
        turn = loop_under_load(start("drops.keys=4096", "alerts.interval=200ms", FAST), pair)
        if turn["longest_turn_ns"] < TURN_NS:
            break
    assert 0 < turn["longest_turn_ns"] < TURN_NS, turn
    assert turn["longest_turn_minute_ns"] <= turn["longest_turn_ns"]


# ---- the ledger -----------------------------------------------------------------

@pytest.mark.alone
def test_the_ledger_balances_under_a_flood(daemon, pair):
    """It is evaluated each time, and it holds each time, with what moved as the only tolerance."""
    moved = 0
    with flood(pair.left, pair.RIGHT4), flood(pair.right, pair.LEFT4):
        time.sleep(0.3)
        for _ in range(100):
            status = daemon.status()
            for name in ("drops", "inflight", "latency", "slots"):
                assert status[name]["balanced"] is True, status[name]
            inflight = status["inflight"]
            assert abs(inflight["unaccounted"]) <= inflight["moved"] + 8 * status["host"]["cpus"]
            moved += inflight["moved"] > 0
            records = daemon.call("GetLatencyRecords", limit=1)["ledger"]
            assert records["balanced"] is True
    backends.skip_without("cost", "no BPF programs")
    # The host was not still: most readings of a busy machine find that something moved.
    assert moved > 0


# ---- pages ----------------------------------------------------------------------

def pages_of(daemon, method, **parameters):
    with daemon.client() as client:
        return client.pages(f"io.netflowd.{method}", **parameters)


@pytest.mark.alone
def test_every_record_is_in_one_page(start, pair, bpf):
    """While more records come."""
    # Each key has at most 2,000 records at once, so that those of other tests push none out.
    daemon = start("records.recent=131072", "records.rate=400")
    netns = str(pair.right.inode)
    pair.left.send_udp(pair.RIGHT4, 9, 1500)
    waiting.until(lambda: daemon.call("GetDropRecords", limit=1, netns=netns)["matched"],
                  lambda n: n >= 1500)
    with flood(pair.left, pair.RIGHT4, 10):
        pages = pages_of(daemon, "GetDropRecords", netns=netns)
        waiting.until(lambda: daemon.call("GetDropRecords", limit=1, netns=netns)["matched"],
                      lambda n: n >= 2000)
    records = [record for page in pages for record in page["records"]]
    assert all(len(page["records"]) <= 64 for page in pages)
    times = [(record["time"], record["cpu"]) for record in records]
    assert len(times) == len(set(times)) and len(times) >= 1500
    quiet = pages_of(daemon, "GetDropRecords", netns=netns)
    assert sum(len(page["records"]) for page in quiet) == quiet[0]["matched"] >= 2000


@pytest.mark.alone
def test_every_row_is_in_one_page(start, pair, bpf):
    daemon = start("devices.slots=1024")
    netns = str(pair.left.inode)
    many_devices(pair.left, 100)
    waiting.until(lambda: daemon.call("GetLatency", netns=netns)["devices"], lambda n: n >= 50,
                  seconds=20)
    # Inode numbers of other namespaces, which come and go, are used again.
    pages = pages_of(daemon, "GetLatency", netns=netns)
    rows = [row for page in pages for row in page["latencies"]]
    assert len(pages) > 1 and all(len(page["latencies"]) <= 64 for page in pages)
    keys = [(r.get("netns"), r.get("ifindex"), r["direction"], r["segment"]) for r in rows]
    assert len(keys) == len(set(keys))
    assert pages[0]["segments"] and not any(page["segments"] for page in pages[1:])
    # All devices together are the sum of the rows.
    for segment in pages[0]["segments"]:
        parts = [r for r in rows if (r["direction"], r["segment"]) ==
                 (segment["direction"], segment["segment"])]
        assert segment["count"] == sum(r["count"] for r in parts)
        assert segment["max_ns"] == max(r["max_ns"] for r in parts)
    totals = [r["p99_ns"] for r in rows if "total" in r["segment"] and r["count"] >= 100]
    worst = [r["p99_ns"] for r in pages[0]["worst"] if r["count"] >= 100]
    assert worst == sorted(worst, reverse=True) and (not totals or worst[0] == max(totals))


@pytest.mark.alone
def test_limits(daemon, pair):
    many_devices(pair.left, 100)
    waiting.until(lambda: daemon.call("GetLatency")["devices"], lambda n: n >= 50, seconds=20)
    with Client(daemon.socket_path) as client:
        for limit, rows in ((None, 100), (7, 7), (1000, 256)):
            client.send("io.netflowd.GetLatency", {"all": True, "limit": limit})
            answer = client.reply("io.netflowd.GetLatency")
            assert len(answer["latencies"]) <= rows and (limit != 7 or
                                                         len(answer["latencies"]) == 7)
    assert len(daemon.call("GetDrops", limit=1)["rows"]) <= 1


# ---- what a person gets -----------------------------------------------------------

def lines_of(daemon, *arguments):
    done = daemon.netflowctl(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.alone
def test_default_output_fits(daemon, pair, cli):
    many_devices(pair.left, DEVICES)
    waiting.until(lambda: daemon.call("GetLatency")["devices"], lambda n: n >= 40, seconds=20)
    for command in ("latency", "napi", "drops"):
        assert len(lines_of(daemon, command)) <= 100, command
    text = "\n".join(lines_of(daemon, "latency"))
    assert "all devices" in text and "--all" in text and "highest p99" in text
    assert len(lines_of(daemon, "latency", "--all")) > 200

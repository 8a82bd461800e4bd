# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger: the events seen equal the events recorded plus the events lost in each way, under
flood, overflow, a stopped reader and a stopped daemon."""

import signal
import socket
import threading
import time

import pytest

from lab import backends, kernel, paths, patience, waiting

pytestmark = [pytest.mark.alone, pytest.mark.shared]

FLOOD = patience.fewer(300_000)
UNBOUNDED = "records.rate=1000000"
# Seconds within which the daemon answers while it streams 20,000 records per second, or fewer on a
# slow machine, to two clients.  The sanitized build is slower.
PROMPT = patience.seconds(1.0 if paths.VARIANT == "plain" else 10.0)


def drops_balance(daemon):
    """The ledger of drops at a moment without drops; checks both equations."""
    ledger = waiting.until(lambda: daemon.status()["drops"],
                           lambda d: not d["moved"], seconds=20)
    real = ledger["hits"] - ledger["completed"]
    assert real == ledger["counted"] + ledger["unkeyed"], ledger
    assert real == ledger["recorded"] + ledger["throttled"] + ledger["ring_full"], ledger
    assert ledger["balanced"] is True
    return ledger


def inflight_equation(ledger):
    return (ledger["delivered"] + ledger["transmitted"] + ledger["forwarded"] + ledger["dropped"] +
            ledger["overwritten"] + ledger["invalidated"] + ledger["in_flight"] + ledger["stale"] +
            ledger["unaccounted"])


def quiet_inflight(daemon):
    """The in-flight ledger at a moment when no packet of the host moved; checks its equation."""
    ledger = waiting.until(lambda: daemon.status()["inflight"],
                           lambda l: not l["moved"] and not l["unaccounted"], seconds=20)
    assert ledger["begun"] == inflight_equation(ledger)
    return ledger


def inflight_balances(daemon):
    ledger = quiet_inflight(daemon)
    if kernel.release() < (5, 12):
        pytest.skip("before 5.12 programs have no atomic exchange: two CPUs can lose a journey")
    assert ledger["balanced"] is True, ledger
    assert ledger["unaccounted"] == 0
    return ledger


def since(after, before):
    return {k: after[k] - before[k] for k in after
            if isinstance(after[k], int) and not isinstance(after[k], bool)}


def unseen(daemon, before, after):
    """The most drops that the daemon did not see between two ledgers."""
    return after["missed"] - before["missed"] + backends.lost(daemon)


def test_a_flood_of_drops(daemon, pair):
    before = daemon.status()["drops"]
    statistics = pair.right.nstat()
    pair.left.send_udp(pair.RIGHT4, 9, FLOOD, "-s", 18)
    assert pair.right.nstat().since(statistics, "UdpNoPorts") == {"UdpNoPorts": FLOOD}

    counted = waiting.settled(
        lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), FLOOD, seconds=10)
    after = drops_balance(daemon)
    # The kernel does not run a program on top of itself; it counts the misses.
    assert FLOOD - unseen(daemon, before, after) <= counted <= FLOOD
    change = since(after, before)
    assert change["hits"] >= counted
    assert change["throttled"] > 0.9 * FLOOD
    assert change["unkeyed"] == 0
    inflight_balances(daemon)


def test_equations_hold_while_it_floods(daemon, pair):
    """During a flood the numbers may differ by the packets in the running programs, one per CPU,
    and by those between two readings.  They never decrease."""
    sender = threading.Thread(target=pair.left.send_udp,
                              args=(pair.RIGHT4, 9, patience.fewer(300_000)))
    sender.start()
    last = daemon.status()["drops"]
    while sender.is_alive():
        now = daemon.status()["drops"]
        assert all(now[k] >= last[k] for k in now if k not in ("balanced", "moved"))
        last = now
    sender.join()
    drops_balance(daemon)


def test_key_table_that_is_full(start, pair, bpf):
    """With room for one key, others fold or are counted by reason, and no hit is lost."""
    daemon = start("drops.keys=1")
    for port_version in (4, 6):
        pair.left.send_udp(pair.right_address(port_version), 9, 1000)
    waiting.until(lambda: daemon.status()["drops"], lambda d: d["hits"] >= 2000)

    def sums():
        ledger = drops_balance(daemon)
        return ledger, daemon.call("GetDrops"), daemon.status()["drops"]

    ledger, reply, _ = waiting.until(sums, lambda s: s[0]["hits"] == s[2]["hits"], seconds=20)
    # The kernel also drops messages between processes, which are not packets.
    assert reply["packets"] + reply["messages"] == ledger["hits"] - ledger["completed"]
    assert sum(row["packets"] for row in reply["rows"] if row.get("unkeyed")) == ledger["unkeyed"]


@pytest.mark.smoke
def test_tiny_inflight_table(start, pair, bpf):
    """Sixty-four entries, and a thousand datagrams that wait to be read."""
    daemon = start("inflight.entries=64")
    with pair.right.entered():
        readers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(10)]
        for i, reader in enumerate(readers):
            reader.bind((pair.RIGHT4, 7000 + i))
    for _ in range(5):
        for i in range(len(readers)):
            pair.left.send_udp(pair.RIGHT4, 7000 + i, 100, "-s", 10)
        for reader in readers:
            _empty(reader)
    for reader in readers:
        reader.close()
    ledger = inflight_balances(daemon)
    assert ledger["overwritten"] > 1000
    assert ledger["in_flight"] <= 64
    drops_balance(daemon)


def _empty(reader):
    reader.setblocking(False)
    try:
        while True:
            reader.recv(1000)
    except BlockingIOError:
        pass


def test_traffic_of_all_kinds_balances(daemon, path):
    """Forwarded, delivered, dropped and shaped traffic at once, in both directions."""
    device = path.left_device
    path.left.run("tc", "qdisc", "add", "dev", device.name, "root", "tbf", "rate", "400mbit",
                  "burst", "5000", "limit", "10000")
    with path.right.entered():
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        reader.bind((path.RIGHT4, 7777))
    senders = [threading.Thread(target=namespace.send_udp, args=arguments) for
               namespace, *arguments in ((path.left, path.RIGHT4, 7777, 20000),
                                         (path.left, path.RIGHT6, 9, 20000),
                                         (path.right, path.LEFT4, 9, 20000, "-s", 1400))]
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders):
        _empty(reader)
    for sender in senders:
        sender.join()
    _empty(reader)
    reader.close()
    waiting.until(lambda: device.qdisc("tbf")["qlen"], lambda n: n == 0)
    ledger = inflight_balances(daemon)
    assert ledger["forwarded"] > 0 and ledger["dropped"] > 0 and ledger["delivered"] > 0
    drops_balance(daemon)


@pytest.mark.portable
@pytest.mark.smoke
def test_record_reader_that_stopped(start, silent_pair, bpf):
    """A reader that stops loses its own records, which are counted; other readers and the equations
    do not change."""
    pair = silent_pair
    daemon = start(UNBOUNDED, "ring.bytes=16777216")
    flood = patience.fewer(30_000)
    with daemon.client() as stopped, daemon.client() as reading:
        before = daemon.status()["drops"]
        for client in (stopped, reading):
            client.monitor(netns=str(pair.right.inode))
        collected = Collector(reading)
        collected.start()
        answers = _send_and_ask(daemon, pair, flood)
        assert max(answers) < PROMPT, f"an answer took {max(answers):.2f} s"
        # The stopped reader continues: the records that it gets and those that it lost are all.
        got, lost = _read_what_waits(stopped)
        pair.left.send_udp(pair.RIGHT4, 10, 1)
        collected.until_port(10)
        more, gap = _read_what_waits(stopped, until_port=10)
        got, lost = got + more, lost + gap
        after = drops_balance(daemon)
    ring_full = after["ring_full"] - before["ring_full"]
    assert lost > 0
    assert got + lost == flood + 1 - ring_full
    assert collected.records + collected.gaps == flood + 1 - ring_full


class Collector(threading.Thread):
    """Reads a stream as fast as the daemon sends it."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client = client
        self.records = self.gaps = 0
        self.ports = set()

    def run(self):
        while 10 not in self.ports:
            try:
                reply = self.client.receive()["parameters"]
            except (OSError, EOFError):
                return  # the test has given up
            self.gaps += reply.get("gap") or 0
            if reply.get("drop"):
                self.records += 1
                self.ports.add(reply["drop"]["transport"]["destination_port"])

    def until_port(self, port):
        self.join(timeout=patience.seconds(30))
        assert port in self.ports


def _send_and_ask(daemon, pair, flood):
    """The seconds that each answer took during the flood."""
    sender = threading.Thread(target=pair.left.send_udp, args=(
        pair.RIGHT4, 9, flood, "-r", patience.fewer(20_000)))
    sender.start()
    answers = []
    while sender.is_alive():
        answers.append(waiting.time_of(lambda: daemon.call("GetStatus"), daemon.pid))
        time.sleep(0.01)
    sender.join()
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), flood)
    return answers


def _read_what_waits(client, until_port=None):
    """(records, records lost) of a stream: all up to the first record of the port, however long
    that takes, and then until it sends nothing for a moment."""
    got = lost = 0
    client.socket.settimeout(patience.seconds(30 if until_port else 0.3))
    try:
        while True:
            reply = client.receive()["parameters"]
            lost += reply.get("gap") or 0
            drop = reply.get("drop")
            got += drop is not None
            if drop and drop["transport"]["destination_port"] == until_port:
                client.socket.settimeout(patience.seconds(0.3))
    except TimeoutError:
        return got, lost


@pytest.mark.needs("cost", "no BPF programs")
def test_daemon_that_is_stopped(start, pair, bpf):
    """The ring is not emptied, and netflowd counts the records without room in it."""
    daemon = start(UNBOUNDED, "ring.bytes=65536")
    flood = patience.fewer(50_000)
    before = daemon.status()["drops"]
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        pair.left.send_udp(pair.RIGHT4, 9, flood)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    counted = waiting.settled(
        lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), flood)
    after = drops_balance(daemon)
    assert flood - unseen(daemon, before, after) <= counted <= flood
    change = since(after, before)
    assert change["ring_full"] > flood / 2
    assert change["recorded"] > 0
    # The recorded drops reach the daemon when it runs again.
    held = waiting.until(lambda: daemon.call("GetDropRecords", limit=1)["held"],
                         lambda n: n >= min(100, change["recorded"]))
    assert held > 0


def test_counters_survive_a_full_ring(start, pair, bpf):
    """Counters are exact, also if records are lost."""
    daemon = start(UNBOUNDED, "ring.bytes=4096")
    pair.left.send_udp(pair.RIGHT6, 9, 20_000)
    counted = waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv6/udp", "NO_SOCKET"),
                              20_000)
    assert 20_000 - backends.lost(daemon) <= counted <= 20_000
    drops_balance(daemon)


def test_packets_at_the_stages(daemon, pair):
    before = daemon.status()["packets"]
    pair.left.send_udp(pair.RIGHT4, 9, 5000)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), 5000)
    change = since(daemon.status()["packets"], before)
    assert change["received"] >= 5000
    assert change["transmitted"] >= 5000
    assert change["dropped"] >= 5000

# SPDX-License-Identifier: GPL-2.0-or-later
"""The history: known numbers of drops are found again, exactly, after kill -9, restarts and faults
of the disk; and what could not be stored is reported."""

import contextlib
import datetime
import json
import os
import re
import signal
import sqlite3
import time

import pytest

from lab import paths, waiting
from lab.alerts import Rules
from lab.disk import small_disk
from lab.varlink import VarlinkError

SENT = 421
FAST = "history.interval=1s"


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


class Past:
    """Questions to a daemon about the time since the test began."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.begun = time.time() - 1

    def drops(self, device, **parameters):
        parameters.setdefault("since", moment(self.begun - 3600))
        reply = self.daemon.call("GetDrops", netns=str(device.namespace.inode), limit=10000,
                                 **parameters)
        rows = [row for row in reply["rows"] if row.get("protocol") == "ipv4/udp"]
        assert all(row["netns"] == device.namespace.inode for row in rows)
        return sum(row["packets"] for row in rows), reply

    def written(self, count=1):
        """Wait until this many more intervals are on disk."""
        before = self.daemon.status()["history"]["intervals"]
        assert waiting.until(lambda: self.daemon.status()["history"]["intervals"] >= before + count,
                             bool, 20)


# The history has a namespace's name, and times to the microsecond.
APART = ("netns_name", "last", "baseline")
GROUPINGS = (None, "reason", "location", "dev", "proto", "netns", "cgroup", "flow",
             "reason,location")


def rows_of(reply):
    return sorted(json.dumps({member: value for member, value in row.items()
                              if member not in APART}, sort_keys=True) for row in reply["rows"])


def database(directory):
    return sqlite3.connect(f"file:{directory}/history.db?mode=ro", uri=True)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "history"


@pytest.mark.smoke
@pytest.mark.parametrize("by", GROUPINGS)
def test_now_and_the_past_are_alike(start, pair, directory, by):
    """The same drops have the same rows and sums, whatever they are joined by."""
    daemon = start(FAST, "history.records=1024", history=directory)
    past = Past(daemon)
    netns = str(pair.right_device.namespace.inode)
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    pair.left.send_udp(pair.RIGHT6, 9, 17)
    assert waiting.settled(lambda: past.drops(pair.right_device)[0], SENT) == SENT
    past.written(2)
    for chosen in ({}, {"device": pair.right_device.name}, {"faults": True},
                   {"classes": ["policy", "benign"]}, {"reason": "NO_SOCKET"}):
        asked = {"netns": netns, "limit": 10000, **({"by": by} if by else {}), **chosen}
        now = daemon.call("GetDrops", **asked)
        then = daemon.call("GetDrops", since=moment(past.begun - 3600), **asked)
        assert rows_of(now) == rows_of(then), (chosen, now, then)
        for member in ("packets", "segments", "bytes", "classes", "messages", "hidden", "folded",
                       "matched"):
            assert now.get(member) == then.get(member), (chosen, member, now, then)
    assert now["packets"] >= (SENT if by != "flow" else 1)


@pytest.mark.portable
@pytest.mark.smoke
def test_drops_survive_kill_9(start, pair, directory):
    device = pair.right_device
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    # What is not written yet counts, too.
    assert waiting.settled(lambda: past.drops(device)[0], SENT) == SENT
    past.written(2)
    assert past.drops(device)[0] == SENT
    daemon.stop(signal.SIGKILL)
    time.sleep(1.5)

    daemon.start()
    assert past.drops(device)[0] == SENT
    assert daemon.dropped(device, "ipv4/udp") == 0
    pair.left.send_udp(pair.RIGHT4, 9, 17)
    assert waiting.settled(lambda: past.drops(device)[0], SENT + 17) == SENT + 17
    period = past.drops(device)[1]["period"]
    # Before the first run, and between both.
    assert period["gap_count"] == 2
    shown = daemon.netflowctl("drops", "--since", "1h", "--netns", device.namespace.inode,
                              "--by", "reason", "--json")
    rows = json.loads(shown.stdout)["rows"]
    # IPv6 has drops of its own here, with other reasons.
    assert max(row["packets"] for row in rows) == SENT + 17
    text = daemon.netflowctl("drops", "--since", "1h").stdout
    assert "not recorded from" in text and "history: covers" in text


@pytest.mark.portable
@pytest.mark.smoke
def test_an_orderly_stop_loses_nothing(start, silent_pair, directory):
    device = silent_pair.right_device
    daemon = start(history=directory)
    past = Past(daemon)
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)
    assert waiting.settled(lambda: daemon.dropped(device, "ipv4/udp"), SENT) == SENT
    assert daemon.stop() == 0
    daemon.start()
    assert past.drops(device)[0] == SENT


@pytest.mark.alone
def test_names_outlive_their_namespace(start, lab, directory):
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    pair = lab.pair()
    name, inode = pair.right.name, pair.right.inode
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), SENT) == SENT

    def rows():
        reply = daemon.call("GetDrops", netns=name, since=moment(past.begun - 60))
        return [row for row in reply["rows"] if row["protocol"] == "ipv4/udp"]

    # Beside tests that make many namespaces, a name is found some intervals later: too late here.
    assert waiting.until(rows, lambda found: found and found[0].get("netns_name") == name)
    past.written(2)
    lab.delete()
    row, = rows()
    assert row["packets"] == SENT
    assert row["netns_name"] == name and row["netns"] == inode
    assert row["reason"] and row["location"]


def test_until_leaves_out_what_came_later(start, pair, directory):
    device = pair.right_device
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    past.written(2)
    # Behind the end of the bucket of 10 s, with a margin for the interval that ends there.
    time.sleep(10 - time.time() % 10 + 2.5)
    middle = int(time.time()) // 10 * 10
    pair.left.send_udp(pair.RIGHT4, 9, 33)
    assert waiting.settled(lambda: past.drops(device, since=moment(middle))[0], 33) == 33
    assert past.drops(device, until=moment(middle))[0] == SENT
    assert past.drops(device)[0] == SENT + 33
    period = past.drops(device, until=moment(middle))[1]["period"]
    assert datetime.datetime.fromisoformat(period["to"]).timestamp() == middle


def test_latency_as_if_read_live(start, pair, directory):
    daemon = start(FAST, "latency.sample_one_in=1", history=directory)
    past = Past(daemon)
    for _ in range(3):
        pair.left.send_udp(pair.RIGHT4, 9, 100)
        past.written(1)
    netns = str(pair.right_device.namespace.inode)
    live = daemon.call("GetLatency", netns=netns)["latencies"]
    then = daemon.call("GetLatency", netns=netns, since=moment(past.begun - 60))["latencies"]

    def key(latency):
        return latency["device"], latency["segment"]

    assert {key(l) for l in live} == {key(l) for l in then}
    for latency in live:
        other, = [l for l in then if key(l) == key(latency)]
        for member in ("count", "mean_ns", "max_ns", "p50_ns", "p99_ns", "buckets"):
            assert other[member] == latency[member], (latency, other)


def test_records(start, pair, directory):
    daemon = start(FAST, "latency.sample_one_in=1", "history.records=1024", history=directory)
    past = Past(daemon)
    netns = str(pair.right_device.namespace.inode)

    def named():
        pair.left.send_udp(pair.RIGHT4, 9, 1)
        return any("netns_name" in record for record in
                   daemon.call("GetDropRecords", netns=netns)["records"])

    # An interval that ended before a new namespace's name is known would lack it.
    assert waiting.until(named, bool, seconds=20, pause=0.2)
    pair.left.send_udp(pair.RIGHT4, 4217, 20, "-p", 4999)
    since = moment(past.begun)

    def records(**parameters):
        found = daemon.call("GetDropRecords", **{"since": since, "netns": netns,
                                                 "filter": "udp dst port 4217", **parameters})
        return [r for r in found["records"] if r["protocol"] == "ipv4/udp"]

    assert waiting.settled(lambda: len(records()), 20) == 20
    live = daemon.call("GetDropRecords", netns=netns, filter="udp dst port 4217")["records"]
    past.written(2)

    def differences(found):
        return [(member, a.get(member), b.get(member)) for a, b in zip(found, live)
                for member in sorted(a.keys() | b.keys()) if a.get(member) != b.get(member)]

    assert len(records()) == 20 and not differences(records())
    daemon.stop(signal.SIGKILL)
    daemon.start()
    assert len(records()) == 20 and not differences(records())
    assert len(records(filter="udp src port 4999 and dst port 4217")) == 20
    assert not records(filter="udp dst port 4218")
    with pytest.raises(VarlinkError) as refused:
        records(until=moment(past.begun - 10), since=moment(past.begun - 20))
    assert refused.value.name == "NotCovered"
    shown = daemon.netflowctl("drops", "--since", "10m", "--records", "--netns", netns,
                              "udp port 4217")
    assert shown.stdout.count("10.") >= 20, shown.stdout
    flows = daemon.call("GetDrops", since=since, netns=netns, by="flow")
    assert not flows["exact"] and flows["packets"] >= 20
    assert all(row["last"] > "2026" for row in flows["rows"])
    slow = daemon.netflowctl("slow", "--since", "10m", "--all", "--json")
    assert json.loads(slow.stdout)["records"]
    assert daemon.netflowctl("napi", "--since", "10m").returncode == 0
    assert daemon.netflowctl("slots", "--since", "10m").returncode == 0


ALERT = """
[alert flood]
condition = drop_rate
over = 20/s
window = 2s
severity = warning
device = {device.name}
"""


@pytest.mark.alone
def test_incident(start, silent_pair, directory, tmp_path):
    rules = Rules(tmp_path / "rules")
    device = silent_pair.right_device
    rules.write("10-flood.conf", ALERT.format(device=device))
    daemon = start(FAST, "alerts.interval=200ms", rules.setting, history=directory)
    past = Past(daemon)
    past.written(1)
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)

    def incidents():
        return daemon.call("GetIncidents")["incidents"]

    assert waiting.until(lambda: incidents() and incidents()[0]["complete"], bool), \
        daemon.call("GetAlerts")
    incident, = incidents()
    assert incident["rule"] == "flood" and incident["event"]["change"] == "fired"
    daemon.stop(signal.SIGKILL)
    daemon.start()
    assert incidents() == [incident]
    one = daemon.call("GetIncident", id=incident["id"])
    assert one["damaged"] is False
    found = sum(row["packets"] for row in one["drops"] if row.get("netns") ==
                device.namespace.inode and row["protocol"] == "ipv4/udp")
    assert found == SENT
    assert [e["change"] for e in one["events"]] == ["fired"]
    assert any(r["netns"] == device.namespace.inode for r in one["drop_records"])
    events = daemon.call("GetAlerts", since=moment(past.begun))["events"]
    assert events[0]["alert"]["name"] == "flood"
    assert "flood" in daemon.netflowctl("incidents").stdout
    words = daemon.netflowctl("complete", "--", "--socket", daemon.socket_path, "incidents", "show",
                              "").stdout
    assert re.fullmatch(rf"{incident['id']}\t\d\d\d\d-.* flood\n", words), words
    shown = daemon.netflowctl("incidents", "show", incident["id"])
    assert "NO_SOCKET" in shown.stdout or "udp" in shown.stdout, shown
    wrong = daemon.netflowctl("incidents", "show", 4217)
    assert wrong.returncode == 2 and "no such incident" in wrong.stderr
    assert "flood" in daemon.netflowctl("alerts", "--since", "10m").stdout


# ---- faults ---------------------------------------------------------------------------------


def test_kill_9_again_and_again(start, silent_pair, directory):
    """Whatever was on disk before a kill is there after it, and the file is sound."""
    device = silent_pair.right_device
    daemon = start.make(FAST, history=directory)
    past = Past(daemon)
    total = 0
    for i in range(6):
        daemon.start()
        silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 100 + i)
        assert waiting.settled(lambda: daemon.dropped(device, "ipv4/udp"), 100 + i) == 100 + i
        past.written(2)
        total += 100 + i
        # In the middle of an interval, which is lost.
        silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 1)
        time.sleep(0.17 * i)
        before = past.drops(device)[0]
        assert total <= before <= total + 1 + i
        daemon.stop(signal.SIGKILL)
        with contextlib.closing(database(directory)) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        daemon.start()
        after = past.drops(device)[0]
        assert total <= after <= before
        total = after
        daemon.stop(signal.SIGKILL)


def test_corrupt_file(start, silent_pair, directory):
    directory.mkdir(mode=0o750)
    (directory / "history.db").write_bytes(os.urandom(100000))
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)
    past.written(2)
    assert past.drops(silent_pair.right_device)[0] == SENT
    history = daemon.status()["history"]
    assert history["state"] == "writing"
    assert history["set_aside"] == f"{directory}/history.db.corrupt"
    assert len((directory / "history.db.corrupt").read_bytes()) == 100000
    assert daemon.log().count("the history was corrupt") == 1


def test_newer_version(start, silent_pair, directory):
    daemon = start(FAST, history=directory)
    Past(daemon).written(1)
    daemon.stop()
    with contextlib.closing(sqlite3.connect(f"{directory}/history.db")) as file:
        file.execute("PRAGMA user_version = 99")
    content = (directory / "history.db").read_bytes()
    daemon.start()
    device = silent_pair.right_device
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)
    assert waiting.settled(lambda: daemon.dropped(device, "ipv4/udp"), SENT) == SENT
    history = waiting.until(lambda: daemon.status()["history"],
                            lambda status: status["state"] == "off")
    assert history["state"] == "off" and "version 99" in history["reason"]
    shown = daemon.netflowctl("drops", "--since", "1h")
    assert shown.returncode == 1 and "no history" in shown.stderr
    daemon.stop()
    assert (directory / "history.db").read_bytes() == content


def test_removed_file(start, silent_pair, directory):
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    past.written(2)
    # SQLite deletes its own, too, once the first one is gone.
    os.kill(daemon.pid, signal.SIGSTOP)
    for path in directory.iterdir():
        path.unlink()
    os.kill(daemon.pid, signal.SIGCONT)
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)
    past.written(2)
    assert past.drops(silent_pair.right_device)[0] == SENT


def test_full_disk(start, silent_pair, tmp_path):
    """Tracing goes on, the loss is counted and logged once, and writing resumes with the room."""
    device = silent_pair.right_device
    with small_disk(tmp_path / "disk", "8m") as disk:
        # The floods of tests beside this one must not fill the disk again.
        daemon = start(FAST, "history.records=64", history=disk / "history")
        past = Past(daemon)
        silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)
        past.written(2)
        filler = disk / "filler"
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as to:
            while True:
                to.write(bytes(4096))
        sent = SENT
        while (history := daemon.status()["history"])["state"] == "writing":
            # Records, so that the file must grow.
            silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 500)
            sent += 500
            time.sleep(0.5)
        assert history["state"] == "failing" and "full" in history["reason"]
        assert waiting.settled(lambda: daemon.dropped(device, "ipv4/udp"), sent) == sent
        assert daemon.status()["history"]["lost_intervals"] >= 1
        # What was written stays readable.
        assert past.drops(device)[0] >= SENT
        filler.unlink()
        assert waiting.until(lambda: daemon.status()["history"]["state"] == "writing", bool)
        silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 7)
        past.written(2)
        found, reply = past.drops(device)
        assert SENT + 7 <= found <= sent + 7
        # Before the daemon ran, and the lost intervals.
        assert reply["period"]["gap_count"] >= 2
        assert daemon.log().count("cannot write the history") == 1
        assert daemon.log().count("the history is written again") == 1
        assert daemon.stop() == 0


def test_off(start, tmp_path):
    daemon = start()
    assert daemon.status()["history"] == {
        "state": "off", "reason": "history.enabled is no; set it to yes, and restart netflowd"}
    shown = daemon.netflowctl("drops", "--since", "1h")
    assert shown.returncode == 1 and "history.enabled is no" in shown.stderr
    (tmp_path / "file").write_text("")
    daemon = start(history=tmp_path / "file")
    assert "is not a directory" in daemon.status()["history"]["reason"]
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    daemon = start(history=tmp_path / "open")
    assert "can be written by everyone" in daemon.status()["history"]["reason"]


def test_usage(start, directory):
    daemon = start(history=directory)
    assert daemon.netflowctl("incidents").stdout == "The history has no incident.\n"
    for words, error in (
            (("drops", "--since", "tomorrow"), "--since must be"),
            (("drops", "--since", "15m", "--until", "1h"), "--since must be before --until"),
            (("drops", "--since", "15m", "--follow"), "--follow shows what happens from now on"),
            (("slow", "--since", "15m", "--follow"), "--follow shows what happens from now on"),
            (("drops", "--compare", "24h"), "--compare needs --since")):
        done = daemon.netflowctl(*words)
        assert done.returncode == 2 and error in done.stderr, done
    assert daemon.netflowctl("drops", "--since", "-15m").returncode == 0
    assert daemon.netflowctl("drops", "--since", "03:00", "--by", "dev").returncode == 0


def test_compare(start, silent_pair, directory):
    """The first cause was there before, as often; the second has grown; the third is new."""
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    right = silent_pair.right
    right.nft_drop("input", "udp dport 5555")
    # Early in the bucket of 10 s that is compared with, of which there must be half.
    time.sleep((11 - time.time() % 10) % 10 if not 1 < time.time() % 10 < 4 else 0)
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 100)
    past.written(2)
    time.sleep(10 - time.time() % 10 + 2.5)
    middle = int(time.time()) // 10 * 10
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 1000)
    silent_pair.left.send_udp(silent_pair.RIGHT4, 5555, 60)
    past.written(2)
    done = daemon.netflowctl("drops", "--since", moment(middle), "--compare", "10s", "--netns",
                             right.inode, "--json")
    rows = {(row.get("reason"), row["protocol"]): row for row in json.loads(done.stdout)["rows"]}
    new = [row for row in rows.values() if row["new"]]
    grown = [row for row in rows.values() if not row["new"]]
    assert [row["packets"] for row in new] == [60]
    assert [row["packets"] for row in grown] == [1000]
    assert [row["before_packets"] for row in grown] == [100]
    assert "new" in daemon.netflowctl("drops", "--since", moment(middle), "--compare",
                                      "10s").stdout


def test_without_a_backend(start, silent_pair, directory):
    """The past can be asked for where no probe can run any more, and the reply says so."""
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)
    past.written(2)
    daemon.stop()
    blind = start(FAST, "probes.backend=bpf", history=directory,
                  command=(paths.TOOLS / "deny_syscall", "bpf", "EPERM"))
    past.daemon = blind
    found, reply = past.drops(silent_pair.right_device)
    assert found == SENT
    assert {c["question"]: c["state"] for c in reply["period"]["coverage"]}["drops"] == \
        "unavailable"


NOBODY = 65534


@pytest.mark.parametrize("owner, runs_as, says", [
    (0, NOBODY, "belongs to user 0, and netflowd runs as user 65534; `chown -R 65534 "),
    (NOBODY, 0, "belongs to user 65534, and a netflowd of root does not write there; start the "
     "service, or set history.directory")])
def test_directory_of_another_user(start, directory, owner, runs_as, says):
    """root started it by hand before the service, or after it: the log says what to do, and
    netflowd writes once that is done."""
    directory.mkdir(mode=0o750)
    os.chown(directory, owner, owner)
    command = () if runs_as == 0 else (
        "setpriv", f"--reuid={runs_as}", f"--regid={runs_as}", "--clear-groups", "--inh-caps",
        "+bpf,+perfmon", "--ambient-caps", "+bpf,+perfmon")
    daemon = start.make(FAST, history=directory, command=command)
    os.chown(daemon.directory, runs_as, runs_as)
    daemon.start()
    log = waiting.until(daemon.log, lambda text: "cannot write the history" in text)
    assert f"{directory} {says}" in log
    assert not list(directory.iterdir())
    assert says in daemon.netflowctl("status").stdout
    os.chown(directory, runs_as, runs_as)
    state = waiting.until(lambda: daemon.status()["history"]["state"], lambda s: s == "writing")
    assert state == "writing"
    assert daemon.log().count("cannot write the history") == 1


@pytest.mark.portable
@pytest.mark.smoke
def test_clients_that_leave(start, directory):
    """Questions whose client is gone, and more at once than run or wait, harm nobody."""
    daemon = start(FAST, history=directory)
    past = Past(daemon)
    past.written(1)
    parameters = {"since": moment(past.begun - 60), "until": moment(time.time() + 60)}
    for i in range(60):
        client = daemon.client()
        client.send(f"io.netflowd.{('GetDrops', 'GetLatency', 'GetDropRecords')[i % 3]}",
                    parameters)
        if i % 2:
            time.sleep(0.003 * (i % 7))
        client.close()
    clients = [daemon.client() for _ in range(30)]
    for client in clients:
        client.send("io.netflowd.GetLatency", parameters)
    assert daemon.call("GetDrops", **parameters)["period"]["covered_ns"]
    # It stops while they wait.
    assert daemon.stop() == 0
    for client in clients:
        client.close()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Alerts: real packets make rules fire and resolve; netflowd runs their actions, and reports rules
that are wrong."""

import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

from lab import paths, patience, rocket, sockets, waiting
from lab.alerts import (SETTINGS, SHIPPED, Changes, Journal, Program, Rules, alert, children,
                        drop_rule, loads, reaches, seconds)
from lab.softnet import squeezed, squeezing
from lab.varlink import INTERFACE, VarlinkError

MESSAGE_IDS = ("96a51bc4d28446abf3f1f556d38a9b0a", "134e662124490ad7e5cd8689a87e97d5")
INTERVAL = 0.2
SLACK = patience.seconds(0.5)  # the delay of a shared machine
NOBODY = 65534
RULES = "10-test.conf"  # what a test writes


@pytest.fixture
def rules(tmp_path):
    return Rules(tmp_path / "rules")


@pytest.fixture
def watch(start, rules, bpf):
    """watch(text, …) starts a daemon that evaluates these rules five times per second."""
    def run(text, *settings, **kwargs):
        rules.write(RULES, text)
        return start(rules.setting, *SETTINGS, *settings, **kwargs)
    return run


@pytest.fixture(scope="module")
def kept_rules(tmp_path_factory):
    """The rules of the daemon that tests share; between two tests there are none."""
    return Rules(tmp_path_factory.mktemp("rules") / "rules")


@pytest.fixture
def daemon(request, kept, kept_rules, bpf):
    """The daemon of the tests with the mark `shared`, without a rule: the states of earlier rules
    went with them."""
    del bpf
    kept_rules.write(RULES, "")
    last = kept.daemons[-1] if kept.daemons else None
    running = last if last and last.running else kept(kept_rules.setting, *SETTINGS)
    yield running
    if request.node.failed:
        kept.end(failed=True)
        return
    kept_rules.write(RULES, "")
    running.call("Reload")
    assert running.call("GetAlerts")["alerts"] == []
    assert not waiting.until(lambda: children(running.pid), lambda c: not c)
    assert not waiting.until(lambda: running.status()["clients"]["streams"], lambda n: not n)


@pytest.fixture
def evaluate(daemon, kept_rules, tmp_path):
    """evaluate(text) lets the shared daemon evaluate these rules, from now on."""
    tmp_path.chmod(0o711)  # programs of rules are here, and run as nobody

    def run(text):
        kept_rules.write(RULES, text)
        daemon.call("Reload")
        return daemon
    return run


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal")


def flood(pair, count, rate):
    pair.left.send_udp(pair.RIGHT4, 9, count, "-r", rate)


def reload(daemon):
    before = daemon.log().count("alert rules reloaded")
    daemon.process.send_signal(signal.SIGHUP)
    assert waiting.until(lambda: daemon.log().count("alert rules reloaded"), lambda n: n > before)


# ---- conditions ----


@pytest.mark.shared
@pytest.mark.portable
@pytest.mark.smoke
def test_drop_rate_fires_and_resolves(evaluate, silent_pair):
    """It fires within one window after the flood begins, and resolves within one after it ends;
    once each."""
    pair, window = silent_pair, 2
    daemon = evaluate(drop_rule("flood", pair.right_device, "2s", "50/s", "clear = 5/s"))
    assert alert(daemon, "flood")["state"] == "inactive"
    with Changes(daemon) as changes:
        begin, waited = time.time(), waiting.waited(daemon.pid)
        flood(pair, 1500, 500)
        end = time.time()
        fired, resolved = changes.next(), changes.next()
        slack = SLACK + waiting.waited(daemon.pid) - waited
        assert changes.none_for(1)
    assert fired["change"] == "fired" and resolved["change"] == "resolved"
    assert begin < seconds(fired["time"]) < begin + window + INTERVAL + slack
    assert end < seconds(resolved["time"]) < end + window + 2 * INTERVAL + slack

    found = fired["alert"]
    assert found["state"] == "firing" and found["value"] > 50 and found["unit"] == "per_second"
    assert found["cause"] and found["remedy"] and "dropped packets" in found["summary"]
    evidence = found["evidence"]
    assert evidence["count"] > 100
    assert len(evidence["drops"]) == 5
    for record in evidence["drops"]:
        assert record["device"] == pair.right_device.name
        assert record["transport"]["destination_port"] == 9
    after = alert(daemon, "flood")
    assert after["state"] == "resolved" and after["fired"] == 1


@pytest.mark.shared
def test_only_what_the_rule_names(evaluate, silent_pair, reasons):
    """Reason, protocol and device select: of five rules, only the two that match the flood fire."""
    pair = silent_pair
    device = f"device = {pair.right_device.name}\nnetns = {pair.right.inode}"
    names = {
        "its-reason": f"reason = NO_SOCKET\n{device}",
        "another-reason": f"reason = SOCKET_RCVBUFF, TCP_CSUM\n{device}",
        "all-but-it": f"reason = !NO_SOCKET\n{device}\nprotocol = ipv4/udp",
        "all-but-another": f"reason = ! TCP_CSUM\n{device}\nprotocol = ipv4",
        "another-protocol": f"{device}\nprotocol = ipv6",
    }
    daemon = evaluate("\n".join(
        f"[alert {name}]\ncondition = drop_rate\nwindow = 2s\nover = 20\n{text}"
        for name, text in names.items()))
    flood(pair, 400, 400)
    for name in ("its-reason", "all-but-another"):
        reaches(daemon, name, "firing", 4)
    for name in ("another-reason", "all-but-it", "another-protocol"):
        assert alert(daemon, name)["fired"] == 0


def test_netns_by_name(watch, silent_pair, lab):
    """A rule names its namespace, which may come and go: the name is looked up at each reading."""
    pair, later = silent_pair, lab.name()
    rule = "[alert {}]\ncondition = drop_rate\nnetns = {}\nwindow = {}\nover = 20\n"
    names = {"named": pair.right.name, "numbered": pair.right.inode, "other": pair.left.name,
             "later": later}
    # While it has its name, the last one fires.
    daemon = watch("".join(rule.format(*item, "10s" if item[0] == "later" else "2s")
                           for item in names.items()))
    missing = alert(daemon, "later")
    assert missing.get("value") is None
    assert missing["unknown"] == f"there is no network namespace named {later}"
    flood(pair, 400, 400)
    named = reaches(daemon, "named", "firing", 4)
    assert reaches(daemon, "numbered", "firing", 4)["evidence"]["count"] > 0
    assert f"netns {pair.right.name} over" in named["summary"]
    assert {record["netns"] for record in named["evidence"]["drops"]} == {pair.right.inode}
    assert alert(daemon, "other")["fired"] == alert(daemon, "later")["fired"] == 0
    reaches(daemon, "named", "resolved")

    with pair.right.called(later):
        # What was dropped there before it had the name is no growth.
        found = waiting.until(lambda: alert(daemon, "later"), lambda a: a.get("unknown") is None)
        assert found["value"] == 0
        flood(pair, 400, 400)
        assert reaches(daemon, "later", "firing", 4)["evidence"]["count"] <= 400
    gone = waiting.until(lambda: alert(daemon, "later"), lambda a: a.get("unknown") is not None)
    assert gone["state"] == "firing" and gone["unknown"] == missing["unknown"]


def test_drop_rate_names_the_reason_of_most(watch, silent_pair, reasons, journal):
    """A flood of one reason with a few drops of another: the alert shows the share of the first,
    and the knowledge about it."""
    pair = silent_pair
    pair.right.nft_drop("input", "udp dport 5555")
    rule = drop_rule("mixed", pair.right_device, "20s", "10/s")
    daemon = watch(rule + rule.replace("mixed", "own").replace("20s", "20s\ncause = mine"),
                   command=journal.command)
    pair.left.send_udp(pair.RIGHT4, 5555, 20)
    flood(pair, 380, 380)
    row, = daemon.drop_rows(pair.right_device, "ipv4/udp", "NO_SOCKET")
    found = waiting.until(lambda: reaches(daemon, "mixed", "firing"),
                         lambda a: a["evidence"]["count"] == 400)
    assert found["evidence"]["count"] == 400 and found["evidence"]["reason"] == "NO_SOCKET"
    origin = (f"NO_SOCKET 380 of 400 (95.0 %), 380 of these at {row['location']} on device "
              f"{pair.right_device.name}, netns {pair.right.inode}")
    assert found["evidence"]["detail"] == origin and origin in found["summary"]
    known, = daemon.call("Explain", name="NO_SOCKET")["explanations"]
    assert (found["cause"], found["remedy"]) == (known["cause"], known["remedy"])

    shown = daemon.netflowctl("alerts").stdout
    assert "netflowctl explain NO_SOCKET" in shown
    for line in known["remedy"].splitlines():
        if line.startswith("$ "):
            assert line in [text.strip() for text in shown.splitlines()]
    own = alert(daemon, "own")
    assert own["cause"] == "mine" and own["remedy"] == known["remedy"]
    entries = {entry["NETFLOWD_ALERT"]: entry for entry in (journal.next(), journal.next())}
    # It may have fired when only the few drops had happened.
    assert "NETFLOWD_REMEDY" in entries["mixed"] and entries["own"]["NETFLOWD_CAUSE"] == "mine"
    assert pair.right.nft_counter("input") == 20


@pytest.mark.shared
def test_for_is_waited(evaluate, silent_pair):
    """A condition that does not last does not fire."""
    pair = silent_pair
    daemon = evaluate(drop_rule("lasting", pair.right_device, "1s", "50/s", "for = 5s"))
    sender = threading.Thread(target=flood, args=(pair, 400, 400))
    sender.start()
    reaches(daemon, "lasting", "pending")
    sender.join()
    reaches(daemon, "lasting", "inactive")
    assert alert(daemon, "lasting")["fired"] == 0


def test_latency_quantile(watch, silent_pair):
    """A reader is 150 ms late."""
    pair = silent_pair
    # With enough room that other traffic of this host does not push out a waiting packet.
    daemon = watch(f"""
[alert slow-reader]
condition = latency
segment = receive→copy
device = {pair.right_device.name}
netns = {pair.right.inode}
quantile = p50
at_least = 5
window = 2s
over = 50ms
""", "latency.slow=10ms, receive_to_copy=50ms", "inflight.entries=1048576")
    with sockets.udp(pair.left, pair.right, pair.RIGHT4, 7777) as (sender, reader):
        begin = time.monotonic_ns()
        for _ in range(8):
            sender.send(b"x" * 100)
        time.sleep(0.15)
        for _ in range(8):
            reader.recv(1000)
        longest = time.monotonic_ns() - begin
        found = waiting.until(lambda: reaches(daemon, "slow-reader", "firing", 4),
                              lambda a: a["evidence"]["count"] >= 8)
    # A bucket is a quarter of its power of two wide.
    assert 120e6 < found["value"] < 1.25 * longest and found["unit"] == "ns"
    assert found["evidence"]["count"] == 8
    assert pair.right_device.name in found["evidence"]["detail"]
    assert found["evidence"]["latencies"]
    reaches(daemon, "slow-reader", "resolved")


def test_ledger_gap(watch, silent_pair):
    """A daemon that is stopped, with a ring for ten records: the alert reports the loss."""
    pair = silent_pair
    daemon = watch("[alert gap]\ncondition = ledger_gap\nwindow = 3s\n", "ring.bytes=4096",
                   "records.rate=1000000")
    before = daemon.status()["drops"]["ring_full"]
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        flood(pair, 500, 5000)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    lost = daemon.status()["drops"]["ring_full"] - before
    assert lost > 300
    # Drops of other tests fill the ring, too, before these and after them.
    found = waiting.until(lambda: reaches(daemon, "gap", "firing", 5),
                          lambda a: a["evidence"]["count"] >= lost)
    assert found["evidence"]["count"] >= lost
    assert "ring_full" in found["evidence"]["detail"]


def test_probe_lost(start, built, rules):
    """Without bpf() all probes are lost.  A rule that needs their counters reports that netflowd
    cannot evaluate it."""
    rules.write("a.conf", "[alert probes]\ncondition = probe_lost\n"
                          "[alert drops]\ncondition = drop_rate\nover = 1\n"
                          "[alert overflow]\ncondition = slot_overflow\n")
    daemon = start(rules.setting, *SETTINGS, "slots.kmsg=", "probes.backend=bpf",
                   command=[paths.TOOLS / "deny_syscall", "bpf", "EPERM"])
    found = reaches(daemon, "probes", "firing")
    assert found["value"] >= 10 and "bpf()" in found["evidence"]["detail"]
    for name in ("drops", "overflow"):
        blind = alert(daemon, name)
        assert blind.get("value") is None and blind["unknown"] and blind["state"] == "inactive"
        assert "cannot evaluate: " in blind["summary"]


def test_a_probe_that_is_not_wanted_is_not_lost(watch):
    daemon = watch("[alert probes]\ncondition = probe_lost\n"
                   "[alert drops]\ncondition = drop_rate\nover = 1\n",
                   "probes.disable=kfree_skb,napi_poll")
    lost = [p["name"] for p in daemon.call("ListProbes")["probes"] if p["state"] == "unavailable"
            and p["name"] not in ("kfree_skb", "napi_poll")]
    assert alert(daemon, "probes")["value"] == len(lost)
    assert "kfree_skb" in alert(daemon, "drops")["unknown"]


@pytest.mark.shared
def test_links_cannot_be_detached(daemon):
    """The kernel refuses BPF_LINK_DETACH for every way in which netflowd attaches probes, so
    netflowd does not check for detached links."""
    assert daemon.bpf["link"]
    for link in daemon.bpf["link"]:
        done = subprocess.run(["bpftool", "link", "detach", "id", str(link)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode and "Operation not supported" in done.stdout


@pytest.mark.shared
def test_probe_that_the_kernel_silences(evaluate, silent_pair):
    """The kernel does not call a program at a function while kernel.ftrace_enabled is 0, although
    the program's link remains."""
    daemon, pair = evaluate("[alert probes]\ncondition = probe_lost\n"), silent_pair
    switch = pathlib.Path("/proc/sys/kernel/ftrace_enabled")

    def sk_data_ready():
        return next(p for p in daemon.call("ListProbes")["probes"] if p["name"] == "sk_data_ready")

    def queued():
        found = daemon.latency(pair.right_device, "receive_to_sock_queue")
        return found["count"] if found else 0

    if sk_data_ready()["how"] == "tp_btf":
        pytest.skip("sk_data_ready is a tracepoint here, which ftrace_enabled does not silence")
    at_functions = [p["name"] for p in daemon.call("ListProbes")["probes"]
                    if p.get("how") in ("fentry", "kprobe")]
    assert alert(daemon, "probes")["value"] == 0
    with sockets.udp(pair.left, pair.right, pair.RIGHT4, 7777) as (sender, reader):
        def deliver():
            sender.send(b"x")
            reader.recv(10)

        deliver()
        assert waiting.settled(queued, 1) == 1
        try:
            _switch_off(switch)
            found = reaches(daemon, "probes", "firing")
            assert found["value"] == len(at_functions)
            assert "sk_data_ready: kernel.ftrace_enabled is 0" in found["evidence"]["detail"]
            assert sk_data_ready()["state"] == "unavailable"
            assert daemon.coverage("wake")["state"] == "unavailable"
            deliver()
            assert waiting.settled(queued, 1) == 1
        finally:
            switch.write_text("1")
        reaches(daemon, "probes", "resolved")
        assert sk_data_ready()["state"] == "attached"
        assert daemon.coverage("wake")["state"] == "full"
        deliver()
        assert waiting.settled(queued, 2) == 2


def _switch_off(switch):
    try:
        switch.write_text("0")
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        pytest.skip("this kernel refuses the switch while a program is at a function")


@pytest.mark.alone
def test_time_squeeze(watch, rules, silent_pair):
    """With a budget of one packet, each poll squeezes: GetNapi, netflowctl napi and the alert show
    exactly the kernel's count.  The window is long, so that all of them are in it at one reading;
    a shorter one then ends."""
    pair, count, window = silent_pair, 600, round(patience.seconds(6))
    before = squeezed()
    rule = ("[alert squeezed]\ncondition = time_squeeze\nclear = 0\n"
            f"over = {count / 20 / window}/s\nwindow = ")
    daemon = watch(f"{rule}{window}s\n")
    assert waiting.until(lambda: alert(daemon, "squeezed"), lambda a: a.get("value") is not None)
    if squeezed() != before:
        pytest.skip("this host squeezes by itself: the test cannot distinguish its own squeezes")
    polls = sum(row["polls"] for row in daemon.call("GetNapi")["napi"])
    with Changes(daemon) as changes:
        with squeezing():
            flood(pair, count, patience.fewer(600))
        after = squeezed()
        fired = changes.next()
        found = waiting.until(lambda: alert(daemon, "squeezed"),
                             lambda a: a["evidence"]["count"] >= after - before, 3)
        answer = daemon.call("GetNapi")
        shown = json.loads(daemon.netflowctl("napi", "--json").stdout)
        assert squeezed() == after, "other traffic squeezed too"
        rules.write("10-test.conf", f"{rule}1s\n")
        reload(daemon)
        resolved = changes.next(timeout=4 * window)
    assert 0 < after - before <= sum(row["polls"] for row in answer["napi"]) - polls
    assert after - before > count / 2
    for said in (answer, shown):
        assert sum(row["time_squeeze"] for row in said["cpus"]) == after
    assert fired["change"] == "fired" and found["state"] == "firing"
    assert found["evidence"]["count"] == after - before
    assert found["value"] == pytest.approx((after - before) / window, rel=0.1)
    assert resolved["change"] == "resolved" and resolved["alert"]["value"] == 0


def test_slot_overflow(watch, silent_pair):
    """Datagrams of 9, 17, 18 and 19 slots on a measured device: one alert of that device."""
    pair = silent_pair
    device = f"device = {pair.left_device.name}\nnetns = {pair.left.inode}"
    daemon = watch(f"[alert overflow]\ncondition = slot_overflow\nwindow = 2s\n{device}\n"
                   "[alert near]\ncondition = near_miss_rate\nwindow = 2s\nover = 3/s\n" + device +
                   "\n[alert rings]\ncondition = slot_overflow\n",
                   f"slots.devices={pair.left_device.name}")
    rocket.rocket(pair.left, pair.RIGHT4, 9, 9, 17, 18, count=5)
    near = waiting.until(lambda: reaches(daemon, "near", "firing", 4),
                         lambda a: a["evidence"]["count"] >= 10)
    assert near["evidence"]["count"] == 10
    assert alert(daemon, "overflow")["fired"] == 0
    with Changes(daemon) as changes:
        rocket.rocket(pair.left, pair.RIGHT4, 9, 19, count=5)
        fired = next(e for e in iter(changes.next, None) if e["alert"]["name"] == "overflow")
        assert fired["change"] == "fired" and fired["alert"]["evidence"]["count"] >= 1
        overflow = reaches(daemon, "overflow", "firing")["evidence"]
        resolved = next(e for e in iter(changes.next, None) if e["alert"]["name"] == "overflow")
    assert resolved["change"] == "resolved" and alert(daemon, "overflow")["fired"] == 1
    assert overflow["slots"] and {record["slots"] for record in overflow["slots"]} == {19}
    # A device without a ring does not fire the rule, unless the rule names the device.
    assert alert(daemon, "rings")["fired"] == 0


# ---- actions ----

REPORT = """n=$(ls "$here" | grep -c '^json'); cat >"$here/json.$n"
{ grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs)' /proc/self/status; ls -l /proc/self/fd; \\
} >"$here/status.$n"
echo "$0 $1 $NETFLOWD_ALERT $PWD" >"$here/arguments.$n"
: >"$here/done.$n"
"""


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path / "program", REPORT)


def ran(daemon, name, program, times):
    """Wait until the program of that alert has run so often; returns what it was given."""
    waiting.until(lambda: len(program.files("done")), lambda n: n >= times, 10)
    assert len(program.files("done")) == times, (alert(daemon, name), daemon.log())
    return [loads(path) for path in program.files("json")]


@pytest.mark.shared
def test_program_gets_the_alert_once(evaluate, silent_pair, program):
    """One run when it fires and one when it ends, each with the whole alert and without rights."""
    pair = silent_pair
    daemon = evaluate(drop_rule("paged", pair.right_device, "1s", "50/s",
                                f"exec = {program.path} network\nrepeat = 0"))
    with Changes(daemon) as changes:
        flood(pair, 400, 400)
        streamed = [changes.next(), changes.next()]
    ran(daemon, "paged", program, 2)
    time.sleep(0.5)
    given = ran(daemon, "paged", program, 2)
    assert [event["change"] for event in given] == ["fired", "resolved"]
    for event, same in zip(given, streamed):
        INTERFACE.check_type("AlertEvent", event)
        assert event["alert"]["name"] == "paged" and not event["test"]
        assert event["time"] == same["time"] and event["alert"]["evidence"]["count"] > 50
    for path in program.files("arguments"):
        assert path.read_text().split() == [str(program.path), "network", "paged", "/"]
    for path in program.files("status"):
        check_harmless(path.read_text())
    last = alert(daemon, "paged")["last_program"]
    assert last["fine"] and last["result"] == "exit status 0"


def check_harmless(status, bounded=True):
    """Check the report of a program about itself: user nobody, no capabilities, no way to gain
    any, no open files of the daemon."""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == [str(NOBODY)] * 4
    assert "0" not in fields["Gid"].split()
    assert fields["Groups"].split() == []
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb") + ("CapBnd",) * bounded:
        assert int(fields[capabilities], 16) == 0, capabilities
    assert fields["NoNewPrivs"].strip() == "1"
    files = {line.split(" -> ")[0].split()[-1]: line.split(" -> ")[1]
             for line in status.splitlines() if " -> " in line}
    # ls itself opened 3.
    assert set(files) <= {"0", "1", "2", "3"} and "memfd" in files["0"]


def test_program_of_a_daemon_that_is_not_root(start, built, rules, tmp_path):
    """The program runs as the daemon's user, and gets none of its capabilities."""
    binary = tmp_path / "netflowd"
    shutil.copy(paths.DAEMON, binary)
    binary.chmod(0o755)
    program = Program(tmp_path / "rights", REPORT)
    rules.write("a.conf", "[alert rights]\ncondition = probe_lost\nover = 1000\n"
                          f"exec = {program.path}\n")
    needed = "+bpf,+perfmon,+syslog"
    daemon = start.make(rules.setting, *SETTINGS, binary=binary, command=[
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps", needed,
        "--ambient-caps", needed])
    os.chown(daemon.directory, NOBODY, NOBODY)
    daemon.start()
    results = {r["action"]: r for r in daemon.call("TestAlert", rule="rights")["results"]}
    assert results["exec"]["fine"], results
    check_harmless(program.files("status")[0].read_text(), bounded=False)


@pytest.mark.shared
def test_program_that_hangs(evaluate, tmp_path):
    """netflowd kills it and its children at its limit, and answers all calls until then."""
    sleep = f"sleep {1000000 + os.getpid()}"
    program = Program(tmp_path / "hangs", f"{sleep} &\n{sleep}")
    daemon = evaluate(f"[alert hangs]\ncondition = probe_lost\nover = 1000\n"
                      f"exec = {program.path}\nexec_limit = 1s\n")
    logged, results = len(daemon.log()), []
    with daemon.client() as client:
        tester = threading.Thread(
            target=lambda: results.append(client.call("TestAlert", rule="hangs")))
        begin = time.monotonic()
        tester.start()
        assert waiting.until(lambda: children(daemon.pid), bool)
        slowest = 0
        while tester.is_alive():
            slowest = max(slowest, waiting.time_of(daemon.status, daemon.pid))
            time.sleep(0.02)
        took = time.monotonic() - begin
    assert slowest < patience.seconds(0.5)
    assert took > 0.9
    result = {r["action"]: r for r in results[0]["results"]}["exec"]
    assert not result["fine"] and "killed at its limit of 1" in result["result"]
    assert not children(daemon.pid)
    left = subprocess.run(["pgrep", "-u", "nobody", "-f", sleep], stdout=subprocess.PIPE)
    assert left.stdout == b""
    assert "killed at its limit" in daemon.log()[logged:]


@pytest.mark.shared
def test_what_a_program_prints_and_how_it_ends(evaluate, tmp_path):
    talks = Program(tmp_path / "talks", "echo first\necho second >&2\n"
                                        "printf '\\033[31mred\\n'\nyes | head -c 100000\nexit 3")
    deaf = Program(tmp_path / "deaf", "exec true")
    daemon = evaluate("".join(
        f"[alert {name}]\ncondition = probe_lost\nover = 1000\nactions = exec\nexec = {path}\n"
        for name, path in (("talks", talks.path), ("deaf", deaf.path),
                           ("missing", tmp_path / "nothing"), ("no-program", "/etc/passwd"))))
    logged = len(daemon.log())
    said = {name: daemon.call("TestAlert", rule=name)["results"]
            for name in ("talks", "deaf", "missing", "no-program")}
    assert said["talks"] == [{"action": "exec", "fine": False, "result": "exit status 3"}]
    assert said["deaf"] == [{"action": "exec", "fine": True, "result": "exit status 0"}]
    assert "execve: No such file" in said["missing"][0]["result"]
    assert "execve: Permission denied" in said["no-program"][0]["result"]
    log = daemon.log()[logged:]
    assert "alert talks: program output: first" in log
    assert "alert talks: program output: second" in log
    assert "\033" not in log and "?[31mred" in log
    assert " more bytes, not logged" in log
    assert len(log) < 60000
    assert alert(daemon, "talks")["last_program"]["result"] == "exit status 3"


def test_programs_end_with_the_daemon(watch, tmp_path):
    program = Program(tmp_path / "stays", "sleep 1000")
    daemon = watch(f"[alert stays]\ncondition = probe_lost\nover = 1000\nexec = {program.path}\n")
    with daemon.client() as client:
        client.send("io.netflowd.TestAlert", {"rule": "stays"})
        running = waiting.until(lambda: children(daemon.pid), bool)
        assert running
        assert daemon.stop() == 0
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running)


@pytest.mark.shared
def test_client_that_leaves_a_test(evaluate, tmp_path):
    """The program continues; no client gets its result."""
    program = Program(tmp_path / "slow", 'sleep 0.5; : >"$here/done.0"')
    daemon = evaluate(f"[alert slow]\ncondition = probe_lost\nover = 1000\nexec = {program.path}\n")
    for _ in range(3):
        with daemon.client() as client:
            client.send("io.netflowd.TestAlert", {"rule": "slow"})
            waiting.until(lambda: children(daemon.pid), bool)
    assert waiting.until(lambda: program.files("done"), bool)
    waiting.until(lambda: children(daemon.pid), lambda c: not c)
    assert alert(daemon, "slow")["last_program"]["fine"]


def test_journal(watch, silent_pair, journal):
    """Structured entries, one when it fires and one when it ends."""
    pair = silent_pair
    daemon = watch(drop_rule("logged", pair.right_device, "1s", "50/s", "severity = critical"),
                   command=journal.command)
    flood(pair, 400, 400)
    fired, resolved = journal.next(), journal.next()
    assert (fired["MESSAGE_ID"], resolved["MESSAGE_ID"]) == MESSAGE_IDS
    assert fired["NETFLOWD_ALERT"] == resolved["NETFLOWD_ALERT"] == "logged"
    assert (fired["PRIORITY"], resolved["PRIORITY"]) == ("2", "5")
    assert fired["NETFLOWD_CHANGE"] == "fired" and resolved["NETFLOWD_CHANGE"] == "resolved"
    assert fired["NETFLOWD_SEVERITY"] == "critical"
    assert fired["NETFLOWD_CONDITION"] == "drop_rate"
    assert float(fired["NETFLOWD_VALUE"]) > 50 == float(fired["NETFLOWD_BOUND"])
    assert fired["NETFLOWD_CAUSE"] and fired["NETFLOWD_REMEDY"]
    assert fired["MESSAGE"].startswith("alert logged fired (critical): ")
    event = json.loads(fired["NETFLOWD_EVENT"])
    INTERFACE.check_type("AlertEvent", event)
    assert event["alert"]["evidence"]["drops"]
    assert "NETFLOWD_TEST" not in fired
    daemon.call("TestAlert", rule="logged")
    tested = journal.next()
    assert tested["NETFLOWD_TEST"] == "1" and tested["MESSAGE"].startswith("test of alert logged")
    assert journal.none_for(0.5)


def test_silence(watch, silent_pair, journal, program):
    """An alert that fires in a silence is only streamed; if it fires still after the silence,
    netflowd reports it."""
    pair = silent_pair
    daemon = watch(drop_rule("hushed", pair.right_device, "3s", "50/s",
                             f"exec = {program.path}\nclear = 1/s"), command=journal.command)
    until = daemon.call("SilenceAlert", rule="hushed", for_ns=3600 * 10**9)["until"]
    assert abs(seconds(until) - time.time() - 3600) < 2
    assert alert(daemon, "hushed")["silenced_until"] == until
    with Changes(daemon) as changes:
        flood(pair, 400, 400)
        fired = changes.next()
        assert fired["silenced"] and fired["change"] == "fired"
        assert not program.files("json") and journal.none_for(0.3)
        daemon.call("UnsilenceAlert", rule="hushed")
        late = changes.next()
        assert late["change"] == "fired" and not late["silenced"]
        assert changes.next()["change"] == "resolved"
    assert journal.next()["NETFLOWD_CHANGE"] == "fired"
    assert journal.next()["NETFLOWD_CHANGE"] == "resolved"
    assert [given["change"] for given in ran(daemon, "hushed", program, 2)] == ["fired", "resolved"]
    assert alert(daemon, "hushed")["fired"] == 1


# ---- rules ----


BROKEN = """# a file with mistakes
[alert good]
condition = probe_lost
over = 1000

[alert typo]
condition = drop_rte
over = 1

[alert unit]
condition = latency
segment = receive_to_copy
over = 5

[alert reasonless]
condition = drop_rate
over = 1
windw = 5s

[alert no-threshold]
condition = drop_rate

what is this
[alert other]
condition = drop_rate
reason = NO_SOCKT
over = 1
"""
MISTAKES = ("7: [alert typo] condition: there is no condition drop_rte (did you mean drop_rate?)",
            "13: [alert unit] over:",
            "18: [alert reasonless] windw:",
            "23: [alert no-threshold]",
            "26: [alert other] reason: this kernel has no drop reason NO_SOCKT "
            "(did you mean NO_SOCKET?)")


def expect_mistakes(text, path):
    for mistake in MISTAKES:
        assert f"{path}:{mistake}" in text


def test_broken_rules_are_an_error(start, bpf, rules):
    """Of --check-config, of a start and of a reload, which changes nothing.  All name file, line
    and key."""
    path = rules.write("20-broken.conf", BROKEN)
    done = subprocess.run([paths.DAEMON, "--set", rules.setting, "--check-config"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and not done.stdout
    expect_mistakes(done.stderr, path)

    daemon = start.make(rules.setting)
    with pytest.raises(Exception):
        daemon.start()
    expect_mistakes(daemon.log(), path)

    rules.write("20-broken.conf", "[alert kept]\ncondition = probe_lost\nover = 1000\n")
    daemon = start(rules.setting)
    before = daemon.call("GetAlerts")["alerts"]
    rules.write("20-broken.conf", BROKEN)
    done = daemon.netflowctl("reload", check=False)
    assert done.returncode == 1 and not done.stdout
    for said in done.stderr, daemon.log():
        assert f"{path}:{MISTAKES[0]}" in said
        assert "5 mistakes in the alert rules: netflowd --check-config lists them" in said
    assert [(a["name"], a["over"]) for a in daemon.call("GetAlerts")["alerts"]] == \
        [(a["name"], a["over"]) for a in before]


@pytest.mark.shared
def test_reload_keeps_what_it_must(evaluate, kept_rules, silent_pair, program):
    pair = silent_pair
    silent = "[alert silent]\ncondition = probe_lost\nover = 1000\n"
    rule = drop_rule("kept", pair.right_device, "4s", "50/s", f"exec = {program.path}")
    daemon = evaluate(rule + silent)
    daemon.call("SilenceAlert", rule="silent", for_ns=3600 * 10**9)
    flood(pair, 400, 400)
    before = reaches(daemon, "kept", "firing", 5)

    # Another text, another threshold, a new rule: a firing rule stays firing, a silenced rule
    # stays silenced.
    kept_rules.write(RULES, rule.replace("50/s", "40/s").replace("4s", "5s") + silent +
                     "[alert new]\ncondition = probe_lost\nover = 1000\n")
    reload(daemon)
    after = alert(daemon, "kept")
    assert after["state"] == "firing" and after["since"] == before["since"] and after["over"] == 40
    assert after["fired"] == 1
    assert alert(daemon, "silent")["silenced_until"]
    assert alert(daemon, "new")["state"] == "inactive"

    # A mistake changes nothing.
    kept_rules.write(RULES, rule.replace("50/s", "lots") + silent)
    assert daemon.netflowctl("reload", check=False).returncode == 1
    assert alert(daemon, "kept")["over"] == 40
    assert {a["name"] for a in daemon.call("GetAlerts")["alerts"]} == {"kept", "silent", "new"}

    # And it still resolves, once.
    reaches(daemon, "kept", "resolved", 10)
    assert [given["change"] for given in ran(daemon, "kept", program, 2)] == ["fired", "resolved"]


@pytest.mark.shared
def test_a_rule_that_is_removed_is_resolved(evaluate, kept_rules, silent_pair):
    pair = silent_pair
    daemon = evaluate(drop_rule("gone", pair.right_device, "60s", "1/s"))
    with Changes(daemon) as changes:
        flood(pair, 200, 400)
        assert changes.next()["change"] == "fired"
        kept_rules.write(RULES, "")
        reload(daemon)
        last = changes.next()
    assert last["change"] == "resolved" and "its rule was removed" in last["summary"]
    assert daemon.call("GetAlerts")["alerts"] == []


def test_shipped_rules(start, bpf, tmp_path):
    """Without a directory of rules, netflowd runs the rules of the tree, without a fault.  The rule
    for slot overflow is enabled, and says whether it can see overflows."""
    daemon = start(f"alerts.rules={tmp_path}/nowhere")
    answer = daemon.call("GetAlerts")
    assert sorted({a["file"] for a in answer["alerts"]}) == [f"shipped/{name}" for name in SHIPPED]
    for rule in answer["alerts"]:
        source = paths.TREE / "config" / "alerts.d" / rule["file"].partition("/")[2]
        assert source.read_text().splitlines()[rule["line"] - 1] == f"[alert {rule['name']}]"
    enabled = {a["name"] for a in answer["alerts"] if a["enabled"]}
    assert enabled == {"slot-overflow", "probe-lost", "ledger-gap", "paused"}
    overflow = alert(daemon, "slot-overflow")
    assert overflow["state"] == "inactive"
    assert (overflow.get("value") is None) == bool(overflow.get("unknown"))
    assert str(tmp_path / "nowhere") not in daemon.log()


def test_shipped_files_are_replaced_by_their_name(start, bpf, tmp_path):
    """One file is changed, one removed, one unchanged and one new; without the directory the
    shipped ones return."""
    directory = tmp_path / "rules"
    directory.mkdir()
    (directory / "10-slots.conf").write_text("[alert slot-overflow]\ncondition = slot_overflow\n"
                                             "over = 7\n")
    (directory / "20-netflowd.conf").symlink_to("/dev/null")
    (directory / "25-mine.conf").write_text("[alert mine]\ncondition = ledger_gap\nover = 5\n")
    daemon = start(f"alerts.rules={directory}")
    answer = daemon.call("GetAlerts")
    names = [a["name"] for a in answer["alerts"]]
    assert names[:2] == ["slot-overflow", "mine"] and "drops" in names
    assert not {"slot-near-miss", "probe-lost", "ledger-gap"} & set(names)
    changed = alert(daemon, "slot-overflow")
    assert changed["over"] == 7 and changed["file"] == f"{directory}/10-slots.conf"

    shutil.rmtree(directory)
    reload(daemon)
    assert "mine" not in {a["name"] for a in daemon.call("GetAlerts")["alerts"]}
    assert alert(daemon, "slot-overflow")["file"] == "shipped/10-slots.conf"
    assert alert(daemon, "probe-lost")["enabled"]


def test_a_rules_directory_that_cannot_be_read(start, bpf, tmp_path):
    """No start and no reload without the rules that the administrator wants."""
    path = tmp_path / "rules"
    path.write_text("")
    daemon = start.make(f"alerts.rules={path}")
    with pytest.raises(Exception):
        daemon.start()
    assert f"{path}: cannot read the directory: Not a directory" in daemon.log()

    path.unlink()
    daemon = start(f"alerts.rules={path}")
    path.write_text("")
    done = daemon.netflowctl("reload", check=False)
    assert done.returncode == 1 and "cannot read the directory" in done.stderr


@pytest.mark.shared
def test_no_rules_are_said_to_be_none(daemon):
    assert "There are no alert rules: netflowd evaluates no conditions." \
        in daemon.netflowctl("alerts").stdout


def test_unknown_user(start, tmp_path):
    daemon = start.make("alerts.exec_user=nobdy")
    with pytest.raises(Exception, match="alerts.exec_user = nobdy: there is no such user"):
        daemon.start()


# ---- asking ----


@pytest.mark.shared
@pytest.mark.parametrize("method, more", [("TestAlert", {}), ("SilenceAlert", {"for_ns": 10}),
                                          ("UnsilenceAlert", {})])
def test_unknown_rule(evaluate, method, more):
    daemon = evaluate("[alert probes]\ncondition = probe_lost\n")
    with pytest.raises(VarlinkError) as caught:
        daemon.call(method, rule="probs", **more)
    assert caught.value.name == "UnknownAlert"
    assert caught.value.parameters == {"rule": "probs", "nearest": "probes"}


@pytest.mark.shared
def test_only_root_changes(evaluate):
    daemon = evaluate("[alert probes]\ncondition = probe_lost\n")
    mode = daemon.socket_path.stat().st_mode & 0o777
    daemon.socket_path.chmod(0o666)
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", paths.CLI,
               "--socket", daemon.socket_path, "alerts"]
    if subprocess.run(["setpriv", f"--reuid={NOBODY}", "test", "-x", paths.CLI]).returncode:
        copy = daemon.socket_path.parent / "netflowctl"
        shutil.copy(paths.CLI, copy)
        command[4] = copy
    try:
        for words in (["test", "probes"], ["silence", "probes", "--for", "1h"],
                      ["unsilence", "probes"]):
            done = subprocess.run([*command, *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=patience.seconds(20))
            assert done.returncode == 1 and "only root may call" in done.stderr
        assert subprocess.run(command, stdout=subprocess.PIPE,
                              timeout=patience.seconds(20)).returncode == 0
    finally:
        (daemon.socket_path.parent / "netflowctl").unlink(missing_ok=True)
        daemon.socket_path.chmod(mode)


@pytest.mark.shared
def test_netflowctl(evaluate, silent_pair, cli):
    pair = silent_pair
    daemon = evaluate(drop_rule("shown", pair.right_device, "3s", "50/s", "remedy = Read faster:\n"
                                "    start another one.") +
                      "[alert idle]\ncondition = probe_lost\n")
    follower = subprocess.Popen(
        [paths.CLI, "--socket", daemon.socket_path, "alerts", "--follow", "--json", "--limit", "1"],
        stdout=subprocess.PIPE, text=True)
    assert waiting.until(lambda: daemon.status()["clients"]["streams"], bool, 20)
    flood(pair, 400, 400)
    event = json.loads(follower.communicate(timeout=patience.seconds(20))[0])
    assert event["change"] == "fired" and event["alert"]["name"] == "shown"
    text = daemon.netflowctl("alerts").stdout
    assert "shown firing since" in text and "Read faster: start another one." in text
    assert f"{pair.RIGHT4}:9" in text and "idle" in text
    subject = alert(daemon, "shown")["evidence"].get("reason") or "drop_rate"
    assert f"netflowctl explain {subject}" in text and "10-test.conf:2" in text
    assert daemon.netflowctl("explain", "drop_rate").returncode == 0
    assert {a["name"] for a in json.loads(daemon.netflowctl("alerts", "--json").stdout)["alerts"]} \
        == {"shown", "idle"}
    done = daemon.netflowctl("alerts", "silence", "shown", "--for", "2h")
    assert done.returncode == 0 and "shown is silenced until" in done.stdout
    assert "silenced until" in daemon.netflowctl("alerts").stdout
    assert daemon.netflowctl("alerts", "unsilence", "shown").returncode == 0
    assert "stream" in daemon.netflowctl("alerts", "test", "shown").stdout
    reaches(daemon, "shown", "resolved")
    assert "shown resolved since" in daemon.netflowctl("alerts").stdout


@pytest.mark.shared
@pytest.mark.parametrize("words, says", [
    (["silence", "probes"], "--for 2h"),
    (["silence", "prob", "--for", "2h"], "did you mean probes?"),
    (["tets", "probes"], "did you mean test?"), (["test"], "requires the name of one rule"),
    (["test", "probes", "--for", "1h"], "--for is only for"),
    (["--limit", "3"], "--limit is only for --follow"),
    (["silence", "probes", "--for", "soon"], "duration"),
])
def test_wrong_usage(evaluate, cli, words, says):
    daemon = evaluate("[alert probes]\ncondition = probe_lost\n")
    done = daemon.netflowctl("alerts", *words)
    assert done.returncode == 2 and says in done.stderr

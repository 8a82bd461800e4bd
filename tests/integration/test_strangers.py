# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of other users that do what they should not, and the privileges that the daemon keeps."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import time

import pytest

from conftest import needs_bpf
from lab import hostile, paths, patience, waiting
from lab.alerts import SETTINGS, Program, alert, children
from lab.daemon import netflowctl
from lab.hostile import Hostile
from lab.varlink import VarlinkError

NOBODY = 65534
# A user without a name, who does nothing wrong.
OTHER = 65533
# An answer to one client, while another one does its worst.
PROMPT_SECONDS = patience.seconds(0.05)
ROUNDS = 6
# Time-outs, so that a test need not wait for the default ones.
SHORT = ("control.idle=1s",)


@contextlib.contextmanager
def user(uid):
    """The connections that this process makes are those of `uid`."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def connect_as(uid, daemon):
    with user(uid):
        return daemon.client()


@pytest.fixture
def serve(start):
    """A daemon to which every user may connect, as if all were in group netflow."""
    def make(*settings, **kwargs):
        daemon = start(*settings, **kwargs)
        daemon.socket_path.chmod(0o666)
        return daemon
    return make


def status_of(daemon):
    """On a new connection, because these daemons disconnect an idle one."""
    with daemon.client() as client:
        return client.call("GetStatus")


# ---- hostile clients ----


def answer_time(daemon, uid):
    """Seconds that GetStatus took on a new connection."""
    def ask():
        with connect_as(uid, daemon) as client:
            client.call("GetStatus")

    return waiting.time_of(ask, daemon.pid)


def slowest(daemon, uid, calls=40):
    """(median, longest) time of GetStatus."""
    times = []
    for _ in range(calls):
        times.append(answer_time(daemon, uid))
        time.sleep(0.005)
    return statistics.median(times), max(times)


def prompt(daemon, uid):
    """Check that the answers are in time, in one of several rounds."""
    rounds = []
    for _ in range(ROUNDS):
        rounds.append(slowest(daemon, uid))
        if rounds[-1][1] < PROMPT_SECONDS:
            return
    pytest.fail(f"median and longest time in s, by round: {rounds}")


RESIDENT = {}  # of each daemon, the memory that it had before all hostile clients
# What the daemon counts of these; of the others it has nothing to count.
COUNTED = {"idle": "timed_out", "slow_loris": "timed_out", "never_reads": "timed_out",
           "reads_bytes": "timed_out", "floods": "refused", "huge": "refused", "streams": "refused"}


@pytest.mark.alone
@pytest.mark.shared(*SHORT)
@pytest.mark.parametrize("kind", [kind.__name__ for kind in hostile.KINDS])
def test_hostile_client(daemon, kind):
    """Another user's calls are answered in time, root's always, and memory stays small, whoever
    came before."""
    daemon.socket_path.chmod(0o666)
    before = status_of(daemon)
    resident = RESIDENT.setdefault(daemon, before["cost"]["resident_bytes"])
    with Hostile(kind, daemon.socket_path, NOBODY):
        for uid in (OTHER, 0):
            prompt(daemon, uid)
        assert netflowctl("--socket", daemon.socket_path, "status").returncode == 0
        what = COUNTED.get(kind)
        waiting.until(lambda: status_of(daemon)["clients"], lambda clients:
                      what and clients[what] > before["clients"][what],
                      seconds=1.5 if what else 0.5, pause=0.1)
        status = status_of(daemon)
        prompt(daemon, OTHER)
    clients = status["clients"]
    # The hostile user has no more than its share, beside this client.
    assert clients["connected"] <= 32 + 2
    assert clients["unsent_bytes"] <= 16 << 20
    if paths.VARIANT == "plain":
        assert status["cost"]["resident_bytes"] - resident < 48 << 20
    assert waiting.until(lambda: status_of(daemon)["clients"],
                         lambda c: c["connected"] == 1)["unsent_bytes"] == 0
    assert not what or clients[what] > before["clients"][what], clients


def test_crowd_of_root(serve):
    """128 idle connections of root itself: root still gets in, once they are a second old."""
    daemon = serve()
    with contextlib.ExitStack() as crowd:
        for _ in range(128):
            last = crowd.enter_context(daemon.client())
        # The daemon takes connections in their order: after this answer it has taken all of them.
        last.call("GetStatus")
        time.sleep(1.2)
        for _ in range(10):
            assert netflowctl("--socket", daemon.socket_path, "status").returncode == 0
        clients = status_of(daemon)["clients"]
        assert 100 < clients["connected"] <= 128 and clients["displaced"] >= 1


def test_refused_client_learns_why(serve):
    daemon = serve("control.clients=8")
    with connect_as(NOBODY, daemon) as one, connect_as(NOBODY, daemon) as two:
        one.call("GetStatus")
        two.call("GetStatus")
        with pytest.raises(VarlinkError) as caught, connect_as(NOBODY, daemon) as third:
            third.call("GetStatus")
        assert caught.value.name == "TooMany"
        assert caught.value.parameters == {"what": "clients of one user", "limit": 2}
        done = subprocess.run([paths.CLI, "--socket", daemon.socket_path, "status"], user=NOBODY,
                              group=NOBODY, extra_groups=[], check=False, text=True,
                              stderr=subprocess.PIPE) if readable(paths.CLI) else None
        if done:
            assert done.returncode == 1
            assert "limit of clients of one user; close other connections" in done.stderr
        one.call("GetStatus")
        assert status_of(daemon)["clients"]["refused"] >= 1


def readable(path):
    return subprocess.run(["setpriv", f"--reuid={NOBODY}", "--clear-groups", "test", "-x", path],
                          check=False).returncode == 0


def test_reader_that_stops(serve):
    """A client that stops reading is disconnected after control.idle; a stream in which nothing
    happens is not."""
    daemon = serve("control.idle=1s")
    with connect_as(NOBODY, daemon) as stopped, daemon.client() as reading:
        stopped.send_bytes(hostile.DESCRIBE * 20)
        reading.monitor(filter="host 192.0.2.77")
        waiting.until(lambda: status_of(daemon)["clients"]["timed_out"], lambda n: n == 1)
        clients = status_of(daemon)["clients"]
        assert clients["timed_out"] == 1 and clients["streams"] == 1
        assert clients["unsent_bytes"] == 0


def test_top_with_a_long_interval(serve):
    """A client whose interval is longer than control.idle connects again."""
    daemon = serve("control.idle=1s")
    done = netflowctl("--socket", daemon.socket_path, "top", "--interval", 2, "--count", 2)
    assert done.returncode == 0, done.stderr
    assert status_of(daemon)["clients"]["timed_out"] >= 2


# ---- measuring ----


def test_measuring_is_rationed(serve):
    """Users other than root share one measurement at a time, at most a tenth of the time."""
    needs_bpf()
    daemon = serve()
    if "unmeasurable" in status_of(daemon)["cost"]:
        pytest.skip("this kernel cannot measure programs")
    begin = time.monotonic()
    fresh, earlier = [], 0
    # If others have the CPUs, a measurement takes longer, and so does the wait for the next one.
    while time.monotonic() - begin < 4 or \
            (len(fresh) < 2 and time.monotonic() - begin < patience.seconds(60)):
        with connect_as(NOBODY, daemon) as one, connect_as(OTHER, daemon) as two:
            for client in (one, two):
                client.send("io.netflowd.GetStatus", {"measure_ms": 200})
            costs = [client.reply("io.netflowd.GetStatus")["cost"] for client in (one, two)]
        aged = ["measured_age_ns" in cost for cost in costs]
        if aged[0] != aged[1]:
            # The time for the next measurement came between the two calls, of which the daemon may
            # take either one first.
            fresh.append(costs[aged.index(False)]["measured_ns"])
            continue
        assert costs[0]["measured_ns"] == costs[1]["measured_ns"]
        if "measured_age_ns" in costs[0]:
            earlier += 1
            assert costs[0]["measured_ns"] == fresh[-1]
            time.sleep(0.02)
        else:
            fresh.append(costs[0]["measured_ns"])
    elapsed = (time.monotonic() - begin) * 1e9
    assert earlier > 0 and len(fresh) >= 2
    assert sum(fresh[:-1]) <= elapsed / 10
    # A long one is shortened, and then root measures at once for as long as it asks.
    probes = daemon.call("ListProbes", measure_ms=300)
    assert probes["measured_ns"] >= 300e6 and "measured_age_ns" not in probes


@pytest.mark.alone
def test_measuring_of_others_is_short(serve):
    needs_bpf()
    daemon = serve()
    with connect_as(NOBODY, daemon) as client:
        cost = client.call("GetStatus", measure_ms=10000)["cost"]
        assert "unmeasurable" in cost or 1e9 <= cost["measured_ns"] < 1e9 + patience.seconds(1e9)


# ---- privileges ----


CAPABILITIES = {"CAP_KILL": 5, "CAP_DAC_READ_SEARCH": 2, "CAP_SYS_PTRACE": 19,
                "CAP_SYS_ADMIN": 21, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39}


def kept():
    """The capabilities of the daemon's own table."""
    text = subprocess.run([paths.DAEMON, "--help-capabilities"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return re.findall(r"^  (CAP_\w+) +\S.* \(without it: .+\)$", text, re.MULTILINE)


def state(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def check_confined(daemon, capabilities):
    mask = sum(1 << CAPABILITIES[name] for name in capabilities)
    for thread in os.listdir(f"/proc/{daemon.pid}/task"):
        try:
            found = state(thread)
        except (FileNotFoundError, ProcessLookupError):
            assert thread != str(daemon.pid)  # one that looked up a namespace has ended
            continue
        assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
        assert int(found["CapPrm"], 16) == int(found["CapEff"], 16) == mask
        assert int(found["CapInh"], 16) == int(found["CapAmb"], 16) == 0
    return int(state(daemon.pid)["CapBnd"], 16), mask


@pytest.mark.smoke
def test_capabilities_are_those_of_the_table(start, bpf):
    """The running daemon has what `netflowd --help-capabilities` and docs/security.md list."""
    assert sorted(kept()) == sorted(CAPABILITIES)
    page = (paths.TREE / "docs/security.md").read_text()
    assert sorted(re.findall(r"^\| `(CAP_\w+)` \|", page, re.MULTILINE)) == sorted(CAPABILITIES)
    bounding, mask = check_confined(start(), kept())
    assert bounding == mask


def without(*names):
    listed = ",".join("-" + name.removeprefix("CAP_").lower() for name in names)
    return ["setpriv", "--bounding-set", listed, "--inh-caps", listed]


def as_user(uid, capabilities):
    listed = ",".join("+" + name.removeprefix("CAP_").lower() for name in capabilities)
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps", listed,
            "--ambient-caps", listed]


@pytest.fixture
def for_all(tmp_path, built):
    """A copy of the daemon that every user can execute."""
    copy = tmp_path / "netflowd"
    shutil.copy(paths.DAEMON, copy)
    copy.chmod(0o755)
    return copy


def names_namespace(daemon, namespace):
    """Whether the daemon finds a namespace by a name that is a link to /proc/PID/ns/net."""
    sleeper = subprocess.Popen(["ip", "netns", "exec", namespace.name, "sleep", "1000"])
    link = pathlib.Path(f"/run/netns/link-{sleeper.pid}")
    try:
        def there():
            return os.readlink(f"/proc/{sleeper.pid}/ns/net") == f"net:[{namespace.inode}]"

        assert waiting.until(there, bool)
        link.symlink_to(f"/proc/{sleeper.pid}/ns/net")
        try:
            daemon.call("GetDrops", netns=link.name)
            return True
        except VarlinkError:
            return False
    finally:
        link.unlink(missing_ok=True)
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize("missing", [(), ("CAP_SYS_PTRACE",)], ids=["with", "without"])
def test_ptrace_is_for_links_to_namespaces(start, pair, missing):
    needs_bpf()
    daemon = start(command=without(*missing) if missing else ())
    check_confined(daemon, set(CAPABILITIES) - set(missing))
    assert names_namespace(daemon, pair.left) == (not missing)


@pytest.mark.parametrize("missing", [(), ("CAP_DAC_READ_SEARCH", "CAP_DAC_OVERRIDE")],
                         ids=["with", "without"])
def test_dac_read_search_is_for_private_rules(start, tmp_path, missing):
    """Rules in a directory that only their owner may read are read again on SIGHUP."""
    needs_bpf()
    directory = tmp_path / "rules"
    directory.mkdir()
    daemon = start(f"alerts.rules={directory}", command=without(*missing) if missing else ())
    check_confined(daemon, set(CAPABILITIES) - set(missing))
    (directory / "a.conf").write_text("[alert private]\ncondition = probe_lost\nover = 1000\n")
    directory.chmod(0o700)
    os.chown(directory, NOBODY, NOBODY)
    os.kill(daemon.pid, signal.SIGHUP)

    def names():
        return [a["name"] for a in daemon.call("GetAlerts")["alerts"]]

    waiting.until(lambda: "reloaded" in daemon.log() or "cannot" in daemon.log(), bool)
    assert ("private" in names()) == (not missing)


@pytest.mark.parametrize("missing", [(), ("CAP_KILL",)], ids=["with", "without"])
def test_kill_is_for_programs_that_hang(start, tmp_path, missing):
    needs_bpf()
    program = Program(tmp_path / "hangs", 'echo $$ >"$here/pid.0"; sleep 3; echo >"$here/ended.0"')
    directory = tmp_path / "rules"
    directory.mkdir()
    (directory / "a.conf").write_text("[alert hangs]\ncondition = probe_lost\nover = 1000\n"
                                      f"exec = {program.path}\nexec_limit = 1s\n")
    daemon = start(f"alerts.rules={directory}", *SETTINGS,
                   command=without(*missing) if missing else ())
    daemon.call("TestAlert", rule="hangs")
    assert program.files("pid") and bool(program.files("ended")) == bool(missing)


def test_sys_admin_is_for_measuring(start):
    needs_bpf()
    daemon = start(command=without("CAP_SYS_ADMIN"))
    check_confined(daemon, set(CAPABILITIES) - {"CAP_SYS_ADMIN"})
    assert "CAP_SYS_ADMIN" in daemon.status()["cost"]["unmeasurable"]
    assert "unmeasurable" not in start().status()["cost"]


GROUP = """
grep -v ^netflow: /etc/group >{file}
echo netflow:x:{gid}: >>{file}
mount --bind {file} /etc/group
exec "$@"
"""


def test_user_netflow(start, silent_pair, for_all, tmp_path):
    """As a user of its own with the capabilities of the table, the daemon does all that it does as
    root, and root and the group netflow can connect."""
    needs_bpf()
    pair = silent_pair
    group = tmp_path / "group"
    daemon = start.make("elsewhere.interval=1s", binary=for_all, command=[
        "unshare", "-m", "sh", "-c", GROUP.format(file=group, gid=OTHER), "sh",
        *as_user(OTHER, CAPABILITIES)])
    os.chown(daemon.directory, OTHER, OTHER)
    daemon.start()
    check_confined(daemon, CAPABILITIES)
    assert state(daemon.pid)["Uid"].split() == [str(OTHER)] * 4
    found = daemon.socket_path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (OTHER, OTHER, 0o660)
    pair.left.send_udp(pair.RIGHT4, 9, 50)
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), 50) == 50
    root = start("elsewhere.interval=1s")

    def states():
        return [{c["question"]: c["state"] for c in one.status()["coverage"]}
                for one in (daemon, root)]

    # What other tests do to a scan of the one, the scans of both see a second later, or neither.
    of_user, of_root = waiting.until(states, lambda both: both[0] == both[1], 20, 0.2)
    assert of_user == of_root
    assert daemon.call("GetStatus", measure_ms=20)["cost"]["measured_ns"] >= 20e6
    assert names_namespace(daemon, pair.left)
    with connect_as(OTHER, daemon) as client:
        client.call("GetDrops")


def test_programs_have_a_helper(start, tmp_path):
    """The helper that starts programs has few rights and dies with the daemon; without it the
    daemon goes on, and says why it starts no program."""
    needs_bpf()
    program = Program(tmp_path / "program", 'grep -E "^(Seccomp|NoNewPrivs):" /proc/self/status '
                                            '>"$here/status.0"')
    directory = tmp_path / "rules"
    directory.mkdir()
    (directory / "a.conf").write_text("[alert runs]\ncondition = probe_lost\nover = 1000\n"
                                      f"exec = {program.path}\n")
    daemon = start(f"alerts.rules={directory}", *SETTINGS)
    helper = helper_of(daemon)
    assert not children(daemon.pid)
    assert set(os.listdir(f"/proc/{helper}/fd")) == {"0", "1", "2", "3"}
    assert state(helper)["NoNewPrivs"] == "1"
    # CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP
    assert int(state(helper)["CapPrm"], 16) == 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8
    assert daemon.call("TestAlert", rule="runs")["results"][-1]["fine"]
    assert "Seccomp:\t0" in program.files("status")[0].read_text()
    os.kill(helper, signal.SIGKILL)
    failed = daemon.call("TestAlert", rule="runs")["results"][-1]
    assert not failed["fine"] and "could not be started" in failed["result"]
    assert alert(daemon, "runs")["state"] == "inactive"
    assert daemon.stop(signal.SIGKILL) == -signal.SIGKILL
    daemon.start()
    helper = helper_of(daemon)
    daemon.stop(signal.SIGKILL)
    assert not waiting.until(lambda: os.path.exists(f"/proc/{helper}"), lambda there: not there)


def helper_of(daemon):
    found = subprocess.run(["pgrep", "-P", str(daemon.pid), "-x", "netflowd-exec"],
                           stdout=subprocess.PIPE, text=True, check=True)
    return int(found.stdout)


CLONE3 = 435  # on all architectures


def test_nothing_is_denied(start, silent_pair):
    """The kernel logs what the filter denies: nothing, while the daemon does its usual work.  Only
    clone3(), for which the C library uses clone() instead, is refused each time a thread starts."""
    needs_bpf()
    daemon = start()
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 50)
    for arguments in (("status",), ("drops",), ("latency",), ("slow",), ("slots",), ("napi",),
                      ("probes",), ("alerts",), ("explain", "NO_SOCKET")):
        assert daemon.netflowctl(*arguments).returncode == 0
    log = subprocess.run(["dmesg"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="replace", check=False).stdout
    denied = [line for line in log.splitlines()
              if "type=1326" in line and f" pid={daemon.pid} " in line
              and f" syscall={CLONE3} " not in line]
    assert not denied, denied

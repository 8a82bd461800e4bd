# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowctl record and netflowd --record: trace-cmd finds every packet in the file, and nothing of
the recording is left on the host."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from lab import attempts, backends, kernel, paths, patience, recordings, waiting
from lab.daemon import netflowctl
from lab.recordings import record

NOBODY = 65534
COUNT = 4217
# No other packet of the host has this length.
PAYLOAD = 937
LENGTH = PAYLOAD + 8 + 20
FLOOD = 100000
SEND = paths.TOOLS / "udp_send"
TABLE = paths.TREE / "daemon/probe/events/tracepoints.c"
# netflowctl was not asked to end, and takes this long at most.
PROMPT = 20


@pytest.fixture
def recording(built, cli):
    """Recordings can be made; after the test, no instance of one is left."""
    del built, cli
    with recordings.mounted():
        yield
        left = waiting.until(recordings.instances, lambda names: not names)
        assert not left


@pytest.fixture
def namespace(lab):
    return lab.namespace()


# They mount tracefs, and look for what others leave there.
pytestmark = [pytest.mark.xdist_group("recordings"),
              pytest.mark.usefixtures("recording")]


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace.name, *map(str, command)]


def send(namespace, count, size=PAYLOAD):
    """The command that sends datagrams to a port that no socket has."""
    return inside(namespace, SEND, "-n", count, "-s", size, "127.0.0.1", 9)


def is_received(event):
    """The kernel received one of the test's skbs."""
    return event.name == "netif_receive_skb" and re.search(rf"\blen={LENGTH}\b", event.text)


def received(events):
    """When the kernel received the test's skbs."""
    return [event.time for event in events if is_received(event)]


def without_socket(events):
    """How many of the test's skbs the kernel freed with the reason NO_SOCKET: the address of an skb
    is used again after that."""
    alive, freed = set(), 0
    for event in events:
        skb = re.search(r"skbaddr=(?:0x)?([0-9a-f]+)", event.text)
        if is_received(event):
            alive.add(skb[1])
        elif event.name == "kfree_skb" and skb[1] in alive:
            alive.remove(skb[1])
            freed += "reason: NO_SOCKET" in event.text
    return freed


def known_events():
    """The events that netflowd may enable."""
    rows = re.findall(r'\{NF_PROBE_\w+,\s+(?:"\w+"|TRACEPOINTS_KPROBES),\s+"(\w+)"',
                      TABLE.read_text())
    assert len(rows) > 15
    return set(rows) | {"print"}


# ---- what is in the file ----


def clock_offset():
    """CLOCK_REALTIME - CLOCK_MONOTONIC in ns, read without an interruption."""
    while True:
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if after - before < patience.CLOCK_NS / 10:
            return real - (before + after) // 2


def test_every_datagram(namespace, tmp_path):
    file = tmp_path / "trouble.dat"
    before, offset = time.monotonic_ns(), clock_offset()
    done = record(file, "--buffer", backends.BUFFER_KIB, "--", *send(namespace, COUNT))
    after = time.monotonic_ns()
    assert done.returncode == 0, done.stderr
    assert f"{COUNT} {COUNT}\n" in done.stdout
    assert done.stdout.startswith(f"recording into {file}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]

    events = recordings.events(file)
    assert recordings.summary(done.stdout) == (len(events), 0)
    assert len(received(events)) == COUNT
    if kernel.has_drop_reasons():
        assert without_socket(events) == COUNT
    assert {event.name for event in events} <= known_events()
    # The clock is CLOCK_MONOTONIC, and the marks lead to the time of day.
    assert "[mono]" in recordings.trace_cmd("dump", "--clock", "-i", file)
    assert before < events[0].time <= events[-1].time < after
    marks = [event for event in events if recordings.MARK.search(event.text)]
    for mark in marks:
        assert abs(int(recordings.MARK.search(mark.text)[1]) - offset) < patience.CLOCK_NS
    seen = received(events)
    assert len(marks) == 2 and marks[0].time < seen[0] < seen[-1] < marks[1].time
    assert sum("netflowd: version " in event.text for event in events) == 1


def test_filters_hold(namespace, tmp_path):
    file = tmp_path / "trouble.dat"
    assert record(file, "--", *send(namespace, 100)).returncode == 0
    vectors, switched = {}, []
    for event in recordings.events(file):
        if event.name.startswith("softirq_"):
            vectors.setdefault(event.name, set()).add(re.search(r"vec=(\d+)", event.text)[1])
        elif event.name == "sched_switch":
            switched.append(event.text)
    assert vectors["softirq_raise"] == {"3"}
    assert vectors["softirq_entry"] <= {"2", "3"} and vectors["softirq_exit"] <= {"2", "3"}
    assert switched and not [text for text in switched if "==> swapper/" in text]


def test_the_file_is_complete(namespace, tmp_path):
    """It names functions, processes and the host, and trace-cmd finds no mistake in it."""
    file = tmp_path / "trouble.dat"
    assert record(file, "--", *send(namespace, 10)).returncode == 0
    assert "is a valid trace-cmd file" in recordings.trace_cmd("dump", "-v", "-i", file)
    options = recordings.trace_cmd("dump", "--options", "-i", file)
    assert os.uname().release in options and "netflowd " in options
    names = recordings.trace_cmd("dump", "--cmd-lines", "-i", file)
    me = pathlib.Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    assert re.search(rf"^{os.getpid()} {re.escape(me)}$", names, re.MULTILINE), names
    # Not in every kernel's format of kfree_skb is the location a symbol (%pS).
    symbols = recordings.trace_cmd("dump", "--kallsyms", "-i", file)
    assert re.search(r"^[0-9a-f]+ [tT] __udp4_lib_rcv$", symbols, re.MULTILINE)
    assert not re.search(r"^[0-9a-f]+ [^tTwW] ", symbols, re.MULTILINE)
    formats = recordings.trace_cmd("dump", "--events", "-i", file)
    assert set(re.findall(r"^name: (\w+)$", formats, re.MULTILINE)) <= known_events()


def test_lost_events(namespace, tmp_path):
    """A recorder that gets no CPU loses events, and says how many and where."""
    file = tmp_path / "trouble.dat"
    with recordings.recorder(file, "--buffer", 64) as process:
        process.send_signal(signal.SIGSTOP)
        subprocess.run(send(namespace, COUNT), check=True, stdout=subprocess.DEVNULL)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=patience.seconds(PROMPT))
    assert process.returncode == 0, err
    recorded, lost = recordings.summary(out)
    assert lost > COUNT and re.search(r"were lost, because the ring buffers of 64 KiB per CPU were "
                                      r"full; record again with a larger one: --buffer KIB", err)
    assert len(recordings.events(file)) == recorded
    status = json.loads(netflowctl("replay", file, "status", "--json").stdout)
    assert (status["trace"]["events"], status["trace"]["lost"]) == (recorded, lost)
    statistics = recordings.trace_cmd("report", "--stat", "-i", file)
    counters = re.findall(r"^(?:overrun|commit overrun|dropped events): (\d+)$", statistics,
                          re.MULTILINE)
    assert sum(map(int, counters)) == lost


# ---- when it ends ----


def test_the_time_ends_it(tmp_path):
    file = tmp_path / "trouble.dat"
    done = record(file, "--for", "500ms")
    assert done.returncode == 0, done.stderr
    events = recordings.events(file)
    assert 0.5e9 <= events[-1].time - events[0].time < patience.seconds(5) * 1e9


def test_the_program_is_reported(tmp_path):
    file = tmp_path / "trouble.dat"
    done = record(file, "--", "sh", "-c", "exit 3")
    assert done.returncode == 0 and "netflowctl: sh exited with status 3\n" in done.stderr
    done = record(file, "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 0 and "sh was killed by signal 9 (Killed)\n" in done.stderr
    done = record(file, "--", "true", "--for", "3")
    assert done.returncode == 0 and "netflowctl:" not in done.stderr
    done = record(file, "--", tmp_path / "none")
    assert done.returncode == 1
    assert f"cannot start {tmp_path}/none: No such file or directory; the recording ends" \
        in done.stderr


def test_the_time_ends_the_program(tmp_path):
    file, mark, ready = tmp_path / "trouble.dat", tmp_path / "mark", tmp_path / "ready"

    def attempt():
        made = record("--for", "300ms", file, "--", "sh", "-c",
                      f"trap 'kill $!; echo ended > {mark}; exit 5' TERM; touch {ready}; "
                      "sleep 1000 & wait")
        attempts.need(ready.exists(), "the program began after the recording's end")
        return made

    done = attempts.valid(attempt)
    assert done.returncode == 0 and "exited" not in done.stderr, done.stderr
    assert mark.read_text(encoding="utf-8") == "ended\n" and recordings.events(file)


@contextlib.contextmanager
def started(file, *arguments):
    """netflowctl record in a process group of its own, as a shell starts it."""
    process = subprocess.Popen([str(paths.CLI), "record", str(file), *arguments],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == f"recording into {file}\n"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_ctrl_c(tmp_path):
    """The terminal sends SIGINT to every process of the group, and a program may take its time."""
    file, mark = tmp_path / "trouble.dat", tmp_path / "mark"
    with started(file, "--", "sh", "-c",
                 f"trap 'sleep 0.5; echo $? > {mark}; exit 1' INT; touch {mark}; "
                 "while :; do sleep 0.1; done") as process:
        waiting.until(mark.exists, bool)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=patience.seconds(PROMPT))
    assert process.returncode == 0 and "exited" not in err, err
    assert mark.read_text(encoding="utf-8")
    assert recordings.summary(out)[0] == len(recordings.events(file))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it(tmp_path, number):
    file = tmp_path / "trouble.dat"
    with started(file) as process:
        assert process.stdout.readline() == "Ctrl-C ends the recording\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=patience.seconds(PROMPT))
    assert process.returncode == 0, err
    assert recordings.summary(out)[0] == len(recordings.events(file))


def test_netflowctl_is_killed(tmp_path):
    """netflowd then ends the recording by itself."""
    file = tmp_path / "trouble.dat"
    with started(file) as process:
        process.kill()
        process.wait()
        waiting.until(file.exists, bool, seconds=PROMPT)
        # Before this block ends, which kills netflowd, too.
        assert not waiting.until(recordings.instances, lambda names: not names, seconds=PROMPT)
    assert recordings.events(file)


# ---- other instances ----


@contextlib.contextmanager
def instance(name):
    """An instance of another tracer, which records kfree_skb."""
    path = recordings.INSTANCES / name
    path.mkdir()
    try:
        (path / "events/skb/kfree_skb/enable").write_text("1", encoding="ascii")
        yield path
    finally:
        kernel.remove_instance(path)


def test_what_a_killed_recorder_left(tmp_path):
    file = tmp_path / "trouble.dat"
    with recordings.recorder(file) as process:
        process.kill()
    assert recordings.instances() == {f"netflowd-record-{process.pid}"}
    assert not list(tmp_path.iterdir())
    assert record(file, "--", "true").returncode == 0
    assert not recordings.instances()


def test_other_instances_stay(namespace, tmp_path):
    """Those of other programs, of a running process, and those that only look like ours."""
    names = ("nftrecord", "netflowd", f"netflowd-record-{os.getpid()}", "netflowd-record-0",
             "netflowd-record-99999999x", "netflowd-Record-99999999", "netflowd--99999999")
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(instance(name)) for name in names]
        before = recordings.instances()
        assert record(tmp_path / "trouble.dat", "--", *send(namespace, COUNT)).returncode == 0
        assert recordings.instances() == before
        for other in others:
            enabled = (other / "events/skb/kfree_skb/enable").read_text(encoding="ascii")
            assert enabled.strip() == "1" and (other / "tracing_on").read_text().strip() == "1"
            found = sum(int(number) for stats in other.glob("per_cpu/cpu*/stats")
                        for number in re.findall(r"^(?:entries|overrun): (\d+)$",
                                                 stats.read_text(), re.MULTILINE))
            assert found >= COUNT * (1 - kernel.untraced())


def test_two_at_once(namespace, tmp_path):
    first, second = tmp_path / "first.dat", tmp_path / "second.dat"
    with recordings.recorder(first, "--buffer", backends.BUFFER_KIB) as process:
        assert record(second, "--buffer", backends.BUFFER_KIB, "--",
                      *send(namespace, COUNT)).returncode == 0
        process.terminate()
        _, err = process.communicate(timeout=patience.seconds(PROMPT))
    assert process.returncode == 0, err
    for file in (first, second):
        assert len(received(recordings.events(file))) == COUNT


# ---- errors ----


def test_not_root(tmp_path):
    file = tmp_path / "trouble.dat"
    tmp_path.chmod(0o777)
    if subprocess.run(["setpriv", f"--reuid={NOBODY}", "test", "-x", paths.DAEMON],
                      check=False).returncode:
        pytest.skip("another user cannot reach the build")
    done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                           paths.DAEMON, "--record", file], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"netflowd: cannot use /sys/kernel/tracing(/instances)?: permission "
                        r"denied: only root may use the kernel's trace events; run this as root\n",
                        done.stderr)
    assert not file.exists()


@pytest.mark.parametrize("directory", ["/proc", "none", "file"])
def test_a_directory_that_cannot_be_written(tmp_path, directory):
    (tmp_path / "file").touch()
    where = tmp_path / directory  # an absolute name stays as it is
    done = record(where / "trouble.dat", "--", "touch", tmp_path / "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"netflowd: cannot write in {where}: " in done.stderr
    assert "; name a file in another directory\n" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_only_a_regular_file_is_replaced(tmp_path):
    link, directory, pipe = (tmp_path / name for name in ("link", "directory", "pipe"))
    link.symlink_to("none")
    directory.mkdir()
    os.mkfifo(pipe)
    for file, what in ((link, "a symbolic link"), (directory, "a directory"),
                       (pipe, "a device, a socket or a pipe")):
        done = record(file, "--", "true")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{file} is {what}, not a regular file; name another file\n" in done.stderr
    assert not (tmp_path / "none").exists()


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path):
    file = tmp_path / "trouble.dat"
    file.write_text("older", encoding="ascii")
    file.chmod(0o644)
    with started(file) as process:
        assert file.read_text(encoding="ascii") == "older"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patience.seconds(PROMPT))
    assert file.stat().st_mode & 0o777 == 0o600 and recordings.events(file)


@pytest.fixture
def small_disk(tmp_path):
    """disk(size) is a directory on a disk of that size."""
    with contextlib.ExitStack() as stack:
        def disk(size):
            path = tmp_path / size
            path.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "nodev", path],
                           check=True)
            stack.callback(subprocess.run, ["umount", path], check=True)
            return path
        yield disk


def test_a_full_disk(namespace, small_disk):
    """The recording ends, and its file has everything until then."""
    directory = small_disk("28M")
    file = directory / "trouble.dat"
    done = record(file, "--", *send(namespace, FLOOD), timeout=120)
    assert done.returncode == 1
    assert f"netflowd: the disk of {directory} is full; free space, or record for a shorter time " \
        "or to another disk\n" in done.stderr
    assert f"the recording ended early; {file} has everything until then\n" in done.stderr
    events = recordings.events(file)
    assert len(received(events)) > COUNT and list(directory.iterdir()) == [file]


def test_a_disk_that_is_too_small(small_disk):
    directory = small_disk("4M")
    done = record(directory / "trouble.dat", "--", "true")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the disk of {directory} is full; " in done.stderr and not list(directory.iterdir())


@pytest.mark.parametrize("arguments, error", [
    ((), "record needs a file: netflowctl record FILE"),
    (("--", "true"), "record needs a file: netflowctl record FILE"),
    (("a", "b"), "unexpected argument 'b' of record"),
    (("a", "--json"), "record has no --json"),
    (("a", "--buffer", "63"), "--buffer must be a number from 64 to 1048576, not '63'"),
    (("a", "--for", "3"), "--for must be a duration from 1ns to 365d"),
])
def test_wrong_usage(tmp_path, arguments, error):
    done = record(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and error in done.stderr


@pytest.mark.parametrize("arguments, error", [
    (("--record",), "--record requires a value"),
    (("--record", ""), "--record requires the name of a file"),
    (("--buffer", "64"), "--buffer requires --record FILE"),
    (("--record", "a", "--buffer", "63"), "--buffer must be a number of KiB from 64 to 1048576"),
    (("--record", "a", "--buffer", "1M"), "--buffer must be a number of KiB from 64 to 1048576"),
    (("--record", "a", "--check-config"), "--record cannot be used with options for settings"),
])
def test_wrong_usage_of_netflowd(tmp_path, arguments, error):
    done = subprocess.run([paths.DAEMON, *arguments], cwd=tmp_path, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and error in done.stderr


def test_where_netflowd_is(tmp_path):
    """$NETFLOWD names it, and another program is not taken for it."""
    file = tmp_path / "trouble.dat"
    done = record(file, env={**os.environ, "NETFLOWD": "/nonexistent"})
    assert done.returncode == 1
    assert "cannot start /nonexistent: No such file or directory; set NETFLOWD to the path of " \
        "netflowd\n" in done.stderr
    done = record(file, env={**os.environ, "NETFLOWD": "/bin/false"})
    assert (done.returncode, done.stdout) == (1, "")
    alone = tmp_path / "netflowctl"
    alone.write_bytes(paths.CLI.read_bytes())
    alone.chmod(0o755)
    done = subprocess.run([alone, "record", file, "--", "true"], stdin=subprocess.DEVNULL,
                          env={**os.environ, "PATH": f"{paths.BUILD}:{os.environ['PATH']}"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and file.exists(), done.stderr

# SPDX-License-Identifier: GPL-2.0-or-later
"""The service netflowd, seen from inside the guest: systemctl, the journal, queries of any user."""

import contextlib
import datetime
import json
import os
import pathlib
import re
import socket
import subprocess
import time

TREE = pathlib.Path(__file__).resolve().parents[3]
PATIENCE = float(os.environ.get("NETFLOWD_PATIENCE", "1"))
# A directory of the host.
RESULT = pathlib.Path("/run/result")
SERVICE = "netflowd.service"
SOCKET = pathlib.Path("/run/netflowd/io.netflowd")
SETTINGS = pathlib.Path("/etc/netflowd/netflowd.conf.d")
DROP_INS = pathlib.Path("/etc/systemd/system/netflowd.service.d")
# The journal's messages, from daemon/messages.h.
MESSAGES = dict(re.findall(r'MESSAGE_(\w+) "(\w+)"', (TREE / "daemon/messages.h").read_text()))
# A user who is nobody in particular.
STRANGER = 4711


def run(*command, check=True, timeout=60):
    """A finished command; if it fails, its output is the message."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=timeout * PATIENCE)
    assert not check or done.returncode == 0, (
        f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def systemctl(*arguments, **kwargs):
    return run("systemctl", *arguments, **kwargs)


def show(*properties, unit=SERVICE):
    """Properties of a unit; a single one by itself."""
    words = [word for name in properties for word in ("-p", name)]
    pairs = dict(line.split("=", 1)
                 for line in systemctl("show", *words, unit).stdout.splitlines())
    return pairs[properties[0]] if len(properties) == 1 else pairs


def main_pid():
    return int(show("MainPID"))


def until(question, good, seconds=30):
    """The first answer that is good, within that time."""
    end = time.monotonic() + seconds * PATIENCE
    while not good(answer := question()):
        assert time.monotonic() < end, f"still {answer!r}"
        time.sleep(0.3)
    return answer


def is_up():
    """Whether the service is ready, and not on its way down or up."""
    state = show("ActiveState", "SubState")
    return state == {"ActiveState": "active", "SubState": "running"}


def journal(message, **fields):
    """Entries of a message of daemon/messages.h since the boot, the oldest first."""
    words = [f"{name}={value}" for name, value in fields.items()]
    out = run("journalctl", "-b", "-o", "json", "--no-pager", f"MESSAGE_ID={MESSAGES[message]}",
              "_SYSTEMD_UNIT=netflowd.service", *words).stdout
    return [json.loads(line) for line in out.splitlines()]


def lines(invocation=None):
    """What the service logged, in this run or in another one."""
    invocation = invocation or show("InvocationID")
    return run("journalctl", "-o", "cat", "--no-pager",
               f"_SYSTEMD_INVOCATION_ID={invocation}").stdout


def journal_lines(text):
    """The lines of this run of the service that contain the text."""
    return [line for line in lines().splitlines() if text in line]


def netflowctl(*arguments, user=None, groups="", check=True):
    """netflowctl as root, or as another user in these groups."""
    become = () if user is None else ("setpriv", f"--reuid={user}", f"--regid={user}",
                                      f"--groups={groups}" if groups else "--clear-groups", "--")
    return run(*become, "netflowctl", "--timeout", int(30 * PATIENCE), *arguments, check=check)


def ask(*arguments):
    return json.loads(netflowctl(*arguments, "--json").stdout)


def comes_back(pid):
    """Wait until another process than `pid` is the daemon, and traces."""
    until(lambda: is_up() and main_pid() != pid, bool, 60)
    before, _ = no_socket_drops()
    send_to_closed_port(100)
    assert no_socket_drops()[0] - before == 100


# ---- times, and the past ----


def iso(moment):
    """Seconds since 1970 as RFC 3339."""
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).isoformat()


def seconds(text):
    """A time of a reply, in seconds since 1970."""
    # Python 3.11 reads at most six digits of a fraction.
    whole = re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00"))
    return datetime.datetime.fromisoformat(whole).timestamp()


def written_after(moment):
    """Wait until the history has everything up to that time."""
    until(lambda: ask("status")["history"].get("written"),
          lambda text: text and seconds(text) > moment)


def past_drops(since, until_=None):
    """Drops without a socket in that time, from the history, and the whole reply."""
    words = ["--since", iso(since), *(["--until", iso(until_)] if until_ else [])]
    reply = ask("drops", "--reason", "NO_SOCKET", "--all", *words)
    return reply["packets"], reply


def coverage():
    """{question: state} and {question: reason}"""
    rows = ask("status")["coverage"]
    return ({row["question"]: row["state"] for row in rows},
            {row["question"]: row.get("reason") for row in rows})


def lacking():
    """{question: reason} of what netflowd cannot see.

    On an emulated machine the budget can be too small: what is shed for it is left out.
    """
    states, reasons = coverage()
    return {question: reasons[question] for question in states
            if states[question] != "full" and "keep the budget" not in reasons[question]}


def forget_failures():
    """So that systemd does not count the restarts of one test with those of the next one."""
    systemctl("reset-failed", SERVICE, "netflowd.socket", check=False)


@contextlib.contextmanager
def settings(text, name="99-test.conf"):
    """A drop-in with settings of netflowd, which the caller makes it read."""
    SETTINGS.mkdir(parents=True, exist_ok=True)
    file = SETTINGS / name
    file.write_text(text)
    try:
        yield file
    finally:
        file.unlink()


@contextlib.contextmanager
def unit_with(text):
    """The service restarted with a drop-in for its unit, and afterwards without it.

    A service that cannot start is no error here.
    """
    DROP_INS.mkdir(exist_ok=True)
    file = DROP_INS / "99-test.conf"
    file.write_text(text)
    try:
        systemctl("daemon-reload")
        systemctl("restart", SERVICE, check=False)
        yield
    finally:
        file.unlink()
        systemctl("daemon-reload")
        forget_failures()
        systemctl("start", "netflowd.socket")
        systemctl("restart", SERVICE)


def no_socket_drops():
    """Datagrams to a closed port of this host that netflowd counted, and where."""
    rows = [row for row in ask("drops", "--all")["rows"]
            if row.get("reason") == "NO_SOCKET" and row.get("protocol") == "ipv4/udp"]
    return sum(row["packets"] for row in rows), {row.get("location") for row in rows}


def send_to_closed_port(count):
    """Datagrams to a port of this host that no socket has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(count):
            sender.sendto(b"netflowd", ("127.0.0.1", port))
            if number % 50 == 49:
                time.sleep(0.01)  # the backlog of a CPU holds 1000


def send_and_read(count):
    """Datagrams that a socket of this host reads."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(count):
                sender.sendto(b"netflowd", reader.getsockname())
                reader.recv(64)

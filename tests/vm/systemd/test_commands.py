# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command of netflowctl, as root, as a member of the group netflow, and as another user."""

import grp
import json
import pathlib
import re

import pytest

from service import (
    STRANGER, ask, netflowctl, no_socket_drops, send_and_read, send_to_closed_port, settings,
    systemctl, until)

DATAGRAMS = 700
RULES = pathlib.Path("/etc/netflowd/alerts.d")
RECORDING, NEW = pathlib.Path("/tmp/recording.dat"), pathlib.Path("/tmp/new.dat")
FLOOD = """[alert flood]
condition = drop_rate
reason = NO_SOCKET
window = 2s
over = 20/s
"""
REFUSED = 1
USAGE = 2
UNREACHABLE = 3

# The history may have begun just now.
COMPARED = ["--since", "10s", "--compare", "10s"]
# By command: words that must work.  {id} is an incident, {file} a recording, {new} one to be made.
COMMANDS = {
    "status": [[]],
    "drops": [["--all"], ["--records"], ["--since", "15m"], ["--by", "cgroup"],
              COMPARED],
    "latency": [[], ["--since", "15m"]],
    "slow": [["--samples"]],
    "slots": [[]],
    "napi": [[], ["--since", "15m"]],
    "alerts": [[], ["--since", "15m"]],
    "incidents": [[], ["show", "{id}"]],
    "report": [["--html", "-"]],
    "top": [["--count", "1", "--interval", "0.2"]],
    "probes": [[]],
    "explain": [["NO_SOCKET"]],
    "export": [["--format", "trace"], ["--format", "json"], ["--format", "ndjson"]],
    "record": [["{new}", "--for", "0.5s"]],
    "replay": [["{file}"], ["{file}", "drops", "--all"]],
    "diff": [["{file}", "{file}"]],
    "pause": [["--for", "10s"]],
    "resume": [[]],
    "reload": [[]],
    "complete": [["--", "drops", "--reason", "NO_SO"]],
    "help": [[]],
    "version": [[]],
}
# These change something, so only root may use them.
FOR_ROOT = [["record", str(NEW), "--for", "0.5s"],
            ["pause", "--for", "10s"], ["resume"], ["reload"],
            ["alerts", "silence", "flood", "--for", "1min"], ["alerts", "unsilence", "flood"],
            ["alerts", "test", "flood"]]
# These are for people, and say so: "top has no --json; use ...".
WITHOUT_JSON = {"top", "report", "record"}
# These need no daemon.
ALONE = {"explain", "complete", "replay", "diff", "help", "version"}
WITH_JSON = {"explain", "replay", "diff"}
NDJSON = ["export", "--format", "ndjson"]
# These print several objects: a line each, or one of each command.
SEVERAL = (NDJSON, ["replay", str(RECORDING)])


@pytest.fixture(scope="module")
def flood():
    """An incident with a known number of drops: its ID, and the number since the daemon started."""
    RULES.mkdir(parents=True, exist_ok=True)
    (RULES / "flood.conf").write_text(FLOOD)
    try:
        # Records of latency, too: of each journey.
        with settings("[latency]\nsample_one_in = 1\n"):
            netflowctl("reload")
            send_and_read(50)
        until(lambda: ask("slow", "--samples")["records"], bool)
        before, _ = no_socket_drops()
        send_to_closed_port(DATAGRAMS)
        after, _ = no_socket_drops()
        assert after - before == DATAGRAMS
        found = until(lambda: ask("incidents")["incidents"],
                      lambda rows: rows and rows[0]["complete"])
        netflowctl("record", RECORDING, "--for", "1s")
        RECORDING.chmod(0o644)
        until(lambda: netflowctl("drops", *COMPARED, check=False).returncode, lambda code: not code)
        yield found[0]["id"], after
    finally:
        (RULES / "flood.conf").unlink()
        systemctl("reload", "netflowd.service")


def words_of(incident):
    return [[command, *(word.format(id=incident, file=RECORDING, new=NEW) for word in words)]
            for command, variants in COMMANDS.items() for words in variants]


def objects(text):
    """The JSON objects of a text, one after the other."""
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        found, end = decoder.raw_decode(text)
        text = text[end:]
        yield found


def group():
    return grp.getgrnam("netflow").gr_gid


def test_the_list_is_complete():
    text = netflowctl("help").stdout
    listed = re.search(r"^Commands\n((?:  .*\n)+)", text, re.MULTILINE)[1]
    assert {line.split()[0] for line in listed.splitlines()} == set(COMMANDS)


def test_text(flood):
    """Each prints something, and says nothing on standard error."""
    for words in words_of(flood[0]):
        done = netflowctl(*words)
        assert done.stdout.strip(), words
        # record names the events that this kernel has not.
        assert not done.stderr or words[0] == "record", (words, done.stderr)


def test_json(flood):
    for words in words_of(flood[0]):
        done = netflowctl(*words, "--json", check=False)
        if words[0] in WITHOUT_JSON:
            assert done.returncode == USAGE and "; " in done.stderr, words
        elif words[0] not in ALONE - WITH_JSON:
            assert done.returncode == 0, (words, done.stderr)
            assert (json.loads(done.stdout) if words not in SEVERAL else
                    list(objects(done.stdout))), words


def test_the_numbers_agree(flood):
    """The same known number in each output."""
    incident, total = flood
    assert ask("drops", "--reason", "NO_SOCKET", "--all")["packets"] == total
    document = json.loads(netflowctl("export", "--format", "json").stdout)
    lines = [json.loads(line) for line in netflowctl(*NDJSON).stdout.splitlines()]
    for rows in (document["drops"], [line for line in lines if line["type"] == "drops"]):
        assert sum(row["packets"] for row in rows if row.get("reason") == "NO_SOCKET") == total
    # The incident is a copy of these minutes, which may have been before this start of the daemon.
    shown = ask("incidents", "show", incident)
    minutes = (shown["incident"]["from"], shown["incident"]["time"])
    stored = ask("drops", "--since", minutes[0], "--until", minutes[1])["packets"]
    assert DATAGRAMS <= shown["packets"] <= stored
    page = netflowctl("report", "--html", "-", "--since", "15m").stdout
    assert page.startswith("<!DOCTYPE html>") and "NO_SOCKET" in page and "flood" in page
    assert "NO_SOCKET" in netflowctl("complete", "--", "drops", "--reason", "NO_SO").stdout


def test_root_may_change(flood):
    for words in FOR_ROOT:
        assert netflowctl(*words).returncode == 0


def test_a_member_of_the_group_reads(flood):
    for words in words_of(flood[0]):
        done = netflowctl(*words, user=STRANGER, groups=group(), check=False)
        assert done.returncode == (REFUSED if words in FOR_ROOT else 0), (words, done.stderr)


def test_a_member_of_the_group_changes_nothing(flood):
    for words in FOR_ROOT:
        done = netflowctl(*words, user=STRANGER, groups=group(), check=False)
        assert done.returncode == REFUSED and "permission denied" in done.stderr, words


def test_another_user_does_not_read(flood):
    seen = set()
    for words in words_of(flood[0]):
        if words[0] in seen:
            continue
        seen.add(words[0])
        done = netflowctl(*words, user=STRANGER, check=False)
        if words in FOR_ROOT[:1]:
            assert done.returncode == REFUSED and "permission denied" in done.stderr, words
        elif words[0] in ALONE:
            assert done.returncode == 0 and done.stdout.strip(), words
        else:
            assert done.returncode == UNREACHABLE and "group netflow" in done.stderr, (
                words, done.stderr)

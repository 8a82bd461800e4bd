# SPDX-License-Identifier: GPL-2.0-or-later
"""The knowledge is complete: it has an entry for every drop reason of every supported kernel, and
for every segment, alert and metric of netflowd, and no others.  Its advice works: its commands
exist."""

import json
import os
import pathlib
import re
import shlex
import socket
import subprocess

import pytest

from lab import btf, kernel, knowledge, paths, schema, waiting
from lab.daemon import netflowctl
from lab.varlink import VarlinkError

FINE, FAILED, USAGE, UNREACHABLE = range(4)
LISTS = sorted((paths.TREE / "tests" / "integration" / "reasons").iterdir(),
               key=lambda path: [int(n) for n in path.name.split(".")])


def reasons_of(path):
    """{(subsystem, reason), …} of a list."""
    lines = path.read_text().splitlines()
    return {tuple(line.split()) for line in lines if not line.startswith("#")}


def known_reasons():
    return {(entry.subject, entry.name) for entry in knowledge.of_kind("reason")}


# ---- complete ----

@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_reason_of_a_supported_kernel_is_known(path):
    assert reasons_of(path) - known_reasons() == set()


def test_no_reason_is_known_that_no_kernel_has():
    assert known_reasons() - set().union(*map(reasons_of, LISTS)) == set()


def test_every_reason_of_the_running_kernel_is_known():
    if not kernel.has_btf():
        pytest.skip("this kernel has no BTF")
    assert btf.running() - known_reasons() == set()


@btf.FETCHED
def test_every_reason_of_a_fetched_kernel_is_known(release):
    if os.uname().release in btf.fetched_kernels():
        pytest.skip("this is a fetched kernel in a virtual machine; its host checks all of them")
    found = btf.of_release(release)
    assert found or release.startswith("5.")
    assert found - known_reasons() == set()
    version = ".".join(release.split(".")[:2])
    known = reasons_of(LISTS[0].parent / version)
    assert found - known == set(), f"reasons/{version} is not complete"


def segments():
    source = (paths.TREE / "daemon" / "core" / "segment.c").read_text()
    return set(re.findall(r'\] = \{"([a-z_]+)", "(?:rx|fwd|tx)",', source))


def test_every_segment_is_known():
    """One more segment has an entry, which only latency records contain."""
    assert len(segments()) == 15
    assert {e.name for e in knowledge.of_kind("segment")} == segments() | {"sock_queue_to_wakeup"}


def test_every_kind_of_alert_is_known():
    rules = paths.TREE / "daemon" / "alert" / "rule.c"
    if not rules.exists():
        pytest.skip("there are no alerts")
    kinds = re.findall(r'^\t+\.name = "(\w+)"', rules.read_text(), re.MULTILINE)
    assert kinds and {entry.name for entry in knowledge.of_kind("alert")} == set(kinds)


# Group of metrics → the type of the interface that has these numbers.
GROUPS = {"packets": "Packets", "counted": "CountedPackets", "drops": "DropLedger",
          "inflight": "InflightLedger", "tcp_bytes": "TcpBytes", "latency": "LatencyLedger",
          "latencies": "Latency",
          "cost": "Cost", "tables": "Table", "napi": "Napi", "cpus": "Softnet", "slots": "Slots"}
NO_METRIC = {"ifindex", "netns", "cpu", "sent_elapsed_ns"}


def numbers_of(interface, name):
    """The members of a type that are numbers, also optional ones."""
    for member, kind in interface.types.get(name, {}).items():
        kind = kind[1] if isinstance(kind, tuple) and kind[0] == "?" else kind
        if kind in ("int", "float") and member not in NO_METRIC:
            yield member


def test_every_metric_is_known():
    interface = schema.Interface(paths.INTERFACE.read_text())
    there = {group: name for group, name in GROUPS.items() if name in interface.types}
    wanted = {f"{group}.{member}" for group, name in there.items()
              for member in numbers_of(interface, name)}
    known = {entry.name for entry in knowledge.of_kind("metric")}
    assert {name for name in known if name.partition(".")[0] in there} == wanted
    assert {name.partition(".")[0] for name in known} <= GROUPS.keys()


# ---- whole sentences, real commands ----

@pytest.mark.parametrize("key", ["meaning", "cause", "tell", "remedy"])
def test_every_text_is_made_of_sentences(key):
    wrong = []
    for entry in knowledge.entries():
        prose = knowledge.prose(entry, key)
        if not re.fullmatch(r"[^\s].*[.:)]", prose) or "  " in prose:
            wrong.append(f"{entry.where} {entry.name}.{key}: {prose}")
        if len(re.findall(r"[.:] [A-Z]", prose)) > 5:
            wrong.append(f"{entry.where} {entry.name}.{key} is longer than six sentences")
    assert not wrong, "\n".join(wrong)


def test_every_entry_says_what_to_type():
    without = [entry.name for entry in knowledge.entries() if not knowledge.commands(entry)]
    assert not without


def test_a_reason_that_is_not_benign_has_a_command_as_its_remedy():
    without = [entry.name for entry in knowledge.of_kind("reason")
               if entry.values["class"] != "benign" and "$ " not in entry.values["remedy"]]
    assert not without


# The programs that commands begin with.
PROGRAMS = set("""
    netflowctl netflowd ss nstat ip tc bridge nft iptables-save sysctl ethtool bpftool dmesg
    journalctl systemctl cat echo grep modprobe modinfo strace perf top taskset vmstat free uname
    apt-cache arping tracepath tcpdump iw hostapd_cli swanctl ausearch audit2allow cpupower
    ovs-vsctl ovs-ofctl ovs-dpctl ovs-appctl ovn-nbctl vtysh
""".split())


def test_every_word_of_evidence_is_explained():
    """With the word without which it says nothing, if there is one."""
    rows = re.findall(r"^\| (`.*?`) \| .* \| (?:`(\w+)` )?\|$",
                      (paths.TREE / "docs" / "verdicts.md").read_text(), re.MULTILINE)
    explained = {(word, needs) for words, needs in rows for word in re.findall(r"`(\w+)`", words)}
    listed = re.findall(r"^\tX\(\w+, +(\w+), +(\w+),",
                        (paths.TREE / "bpf" / "records.h").read_text(), re.MULTILINE)
    assert explained >= {(word, "" if needs == "KNOWN" else needs.lower())
                         for word, needs in listed if word != "known"}


def all_commands():
    return [(entry, command) for entry in knowledge.entries()
            for command in knowledge.commands(entry)]


def test_commands_are_of_known_programs():
    unknown = {command.split()[0] for _, command in all_commands()} - PROGRAMS
    assert not unknown


def test_commands_can_be_parsed_by_a_shell():
    for _, command in all_commands():
        assert shlex.split(command), command


def options_of(command):
    done = netflowctl(command, "--help")
    assert done.returncode == FINE, f"netflowctl {command} does not exist"
    return set(re.findall(r"--[a-z-]+", done.stdout))


# Entries may name a part that is not in this tree yet.
PARTS = {"alerts": "cli/command/alerts.c", "slots": "cli/command/slots.c"}


@pytest.mark.usefixtures("cli")
def test_options_of_netflowctl_exist():
    cache, wrong = {}, []
    for entry, command in all_commands():
        words = shlex.split(command)
        if words[0] != "netflowctl" or not (paths.TREE / PARTS.get(words[1], "cli")).exists():
            continue
        options = cache.setdefault(words[1], options_of(words[1]))
        wrong += [f"{entry.where} {command}: {word}" for word in words
                  if word.startswith("--") and word not in options]
    assert not wrong, "\n".join(wrong)


@pytest.mark.usefixtures("cli")
def test_names_that_entries_refer_to_are_known():
    for entry, command in all_commands():
        words = shlex.split(command)
        if words[:2] == ["netflowctl", "explain"] and not words[2].isupper():
            assert netflowctl(*words[1:]).returncode == FINE, f"{entry.where} {command}"
        if "--reason" in words and words[0] == "netflowctl":
            reason = words[words.index("--reason") + 1]
            assert reason in {name for _, name in known_reasons()}, f"{entry.where} {command}"


def test_settings_of_netflowd_exist(built):
    known = {line.split()[0] for line in _help_of_daemon().splitlines() if "." in line}
    for entry, command in all_commands():
        for setting in re.findall(r"--set ([a-z_.]+)=", command):
            assert setting in known, f"{entry.where} {command}"


def _help_of_daemon():
    return subprocess.run([paths.DAEMON, "--help"], stdout=subprocess.PIPE, text=True).stdout


# Counters that only newer kernels have.
NEW_COUNTERS = {"UdpMemErrors": (5, 11), "TcpExtBeyondWindow": (6, 17),
                "TcpExtTSEcrRejected": (6, 15),
                "TcpExtPAWSOldAck": (6, 14), "TcpExtPAWSTimewait": (6, 16),
                "TcpExtTCPAORequired": (6, 7), "TcpExtTCPAOBad": (6, 7),
                "TcpExtTCPAOGood": (6, 7), "TcpExtTCPAOKeyNotFound": (6, 7)}


def counters():
    """The names of all counters that nstat shows here."""
    found = set()
    for file in ("snmp", "netstat"):
        lines = pathlib.Path("/proc/net", file).read_text().splitlines()
        for line in lines[::2]:
            group, _, names = line.partition(":")
            found |= {group + name for name in names.split()}
    snmp6 = pathlib.Path("/proc/net/snmp6")
    return found | ({line.split()[0] for line in snmp6.read_text().splitlines()}
                    if snmp6.exists() else set())


def test_counters_exist():
    here, wrong = counters(), []
    for entry, command in all_commands():
        words = command.split()
        wrong += [f"{entry.where} {name}" for name in words[1:] if words[0] == "nstat"
                  and not name.startswith("-") and name not in here
                  and kernel.release() >= NEW_COUNTERS.get(name, (0, 0))]
    assert not wrong, "\n".join(wrong)


# These need a module, or do not exist in all supported kernels.
OPTIONAL_SYSCTLS = {"net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_count",
                    "net.ipv4.tcp_shrink_window", "net.ipv4.tcp_challenge_ack_limit",
                    "net.core.qdisc_max_burst", "net.mpls.platform_labels",
                    "net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"}


def test_sysctls_exist():
    wrong = []
    for entry, command in all_commands():
        for name in re.findall(r"\b((?:net|vm|kernel)\.[a-zA-Z0-9_.-]+)", command):
            path = pathlib.Path("/proc/sys", name.replace("DEV", "lo").replace(".", "/"))
            if command.startswith("sysctl") and name not in OPTIONAL_SYSCTLS and not path.exists():
                wrong.append(f"{entry.where} {name}")
    assert not wrong, "\n".join(wrong)


# The words in capitals that this test can fill in.
FILL_IN = {"DEV": "lo", "ADDRESS": "127.0.0.1", "PORT": "80"}


def shows_only(words):
    if words[0] in ("ss", "nstat"):
        return "-K" not in words
    if words[:2] == ["bridge", "vni"]:
        return False  # needs 5.18, and a vxlan device that existed before
    return words[0] in ("ip", "bridge", "tc") and "show" in words


def test_commands_that_only_show_something_run():
    wrong, ran = [], 0
    for command in sorted({command for _, command in all_commands()}):
        words = [FILL_IN.get(word, word) for word in shlex.split(command)]
        if shows_only(words) and not any(word.isupper() for word in words):
            ran += 1
            done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True, timeout=20)
            wrong += [f"{command}: {done.stderr}"] if done.returncode else []
    assert ran > 50 and not wrong, "\n".join(wrong)


# ---- the generator ----

HEAD = "kind = reason\nsubject = core\n"
TELL = "tell = T.\n\t$ a {name}\n\tAfter.\n"
ENTRY = f"[NO_SOCKET]\nclass = benign\nmeaning = One.\n\tTwo.\ncause = C.\n{TELL}remedy = R.\n"


def read(tmp_path, text):
    file = tmp_path / "some.ini"
    file.write_text(text)
    return knowledge.generator().read(file)


def test_generator_joins_lines_but_commands(tmp_path):
    entry, = read(tmp_path, HEAD + ENTRY)
    assert entry.values["meaning"] == "One. Two."
    assert entry.values["tell"] == "T.\n$ a NO_SOCKET\nAfter."
    assert (entry.name, entry.kind, entry.subject) == ("NO_SOCKET", "reason", "core")


def test_generator_fills_in_what_the_head_has(tmp_path):
    entry, = read(tmp_path, HEAD + "tell = Of {name}.\n" + ENTRY.replace(TELL, ""))
    assert entry.values["tell"] == "Of NO_SOCKET."


def test_generator_escapes(tmp_path):
    entry, = read(tmp_path, HEAD + ENTRY.replace("One.", 'Say "\\;".'))
    assert r'.meaning = "Say \"\\;\". Two."' in knowledge.generator().table([entry])


@pytest.mark.parametrize("change,message", [
    (("class = benign", "class = bad"), "class = bad: must be one of"),
    (("class = benign\n", ""), "has no class"),
    (("cause = C.", "cause ="), "has no cause"),
    (("cause = C.", "causes = C."), "unknown key 'causes'"),
    (("cause = C.", "cause = C.\ncause = D."), "cause is given twice"),
    (("cause = C.", "kind = metric"), "unknown key 'kind'"),
    (("[NO_SOCKET]", "[NO_SOCKET"), "invalid section"),
    (("[NO_SOCKET]\n", "[NO_SOCKET]\n\tx\n"), "must continue a key"),
    (("kind = reason\n", ""), "no kind before the first section"),
    (("kind = reason", "kind = raisin"), "kind = raisin: must be one of"),
])
def test_generator_names_what_is_wrong(tmp_path, change, message):
    with pytest.raises(knowledge.generator().Wrong, match=message) as raised:
        read(tmp_path, (HEAD + ENTRY).replace(*change))
    assert str(tmp_path / "some.ini") in str(raised.value)


def test_generator_refuses_an_entry_that_is_there_twice(tmp_path):
    for name in ("a.ini", "b.ini"):
        (tmp_path / name).write_text(HEAD + ENTRY)
    with pytest.raises(knowledge.generator().Wrong, match="b.ini:3.*a.ini:3"):
        knowledge.generator().read_all([tmp_path / "a.ini", tmp_path / "b.ini"])


PLACE_HEAD = HEAD.replace("reason", "place")
PLACE = ENTRY.replace("NO_SOCKET", "udp_rcv")
CASES = """drops = >=5.17 <6.2: listen, !full -> TCP_LISTEN_OVERFLOW fault: How.
\tNO_SOCKET old no_bytes -> - benign
\t-> QUEUE_PURGE unknown
"""


def test_generator_reads_cases(tmp_path):
    entry, = read(tmp_path, PLACE_HEAD + PLACE + CASES)
    bits = knowledge.generator().evidence()
    one, two, three = entry.cases
    assert (one.since, one.until, one.need, one.refuse, one.kernel_reason) == (
        5 << 16 | 17, 6 << 16 | 2, bits["listen"], bits["full"], "")
    assert (one.words, one.reason, one.verdict, one.tell) == (
        [">=5.17", "<6.2", "listen", "!full"], "TCP_LISTEN_OVERFLOW", "fault", "How.")
    assert (two.need, two.refuse, two.kernel_reason, two.reason, two.verdict, two.tell) == (
        bits["old"] | bits["no_bytes"], 0, "NO_SOCKET", "", "benign", "")
    assert (three.words, three.need, three.reason) == ([], 0, "QUEUE_PURGE")
    assert [case.where.rpartition(":")[2] for case in entry.cases] == ["12", "13", "14"]


def test_every_bit_of_evidence_has_one_word():
    bits = knowledge.generator().evidence().values()
    assert len(bits) == len(set(bits)) and all(bit & (bit - 1) == 0 for bit in bits)


@pytest.mark.parametrize("case,message", [
    ("listen", "invalid case 'listen'; write CONDITIONS -> REASON CLASS"),
    ("listen -> TCP_CSUM", "invalid case"),
    ("listen -> tcp_csum fault", "invalid case"),
    ("listen -> TCP_CSUM bad", "class bad: must be one of fault, policy, benign, unknown"),
    ("listening -> - fault", "unknown condition 'listening'; it is a kernel such as >=6.2"),
    ("!!listen -> - fault", "unknown condition '!!listen'"),
    (">6.2 -> - fault", "unknown condition '>6.2'"),
    (">=6.2 >=6.3 -> - fault", ">= is given twice"),
    ("listen !listen -> - fault", "a condition and its contrary"),
    ("NO_SOCKET TCP_CSUM -> - fault", "TCP_CSUM is a second reason"),
])
def test_generator_names_what_is_wrong_with_a_case(tmp_path, case, message):
    with pytest.raises(knowledge.generator().Wrong) as raised:
        read(tmp_path, PLACE_HEAD + PLACE + f"drops = -> - benign\n\t{case}\n")
    assert f"some.ini:13: {message}" in str(raised.value)


@pytest.mark.parametrize("text,message", [
    (HEAD + ENTRY + "drops = -> - benign\n", "some.ini:3: [NO_SOCKET] is no place"),
    (PLACE_HEAD + PLACE + "drops =\n", "some.ini:3: [udp_rcv] drops is empty"),
    (PLACE_HEAD + ENTRY.replace("NO_SOCKET", "udp_rcv()"), "some.ini:3: [udp_rcv()] is no name"),
    (PLACE_HEAD + PLACE + "drops = " + "\t-> - benign\n" * 33, "has 33 cases"),
])
def test_generator_names_what_is_wrong_with_a_place(tmp_path, text, message):
    with pytest.raises(knowledge.generator().Wrong) as raised:
        read(tmp_path, text)
    assert message in str(raised.value)


@pytest.mark.parametrize("also,case,message", [
    ("ip_rcv, udp_rcv", "-> - benign", "udp_rcv is already defined at"),
    ("ip_rcv udp6_rcv", "-> - benign", "also 'ip_rcv udp6_rcv': no name of a function"),
    ("ip_rcv", "-> NO_SUCH_REASON benign", "NO_SUCH_REASON is no reason of any kernel"),
    ("ip_rcv", "NO_SUCH_REASON -> - benign", "NO_SUCH_REASON is no reason of any kernel"),
])
def test_generator_checks_places_against_all_files(tmp_path, also, case, message):
    file = tmp_path / "places.ini"
    file.write_text(f"{PLACE_HEAD}{PLACE}also = {also}\ndrops = {case}\n")
    reasons = tmp_path / "reasons.ini"
    reasons.write_text(HEAD + ENTRY)
    with pytest.raises(knowledge.generator().Wrong) as raised:
        knowledge.generator().read_all([file, reasons])
    assert f"{file}:" in str(raised.value) and message in str(raised.value)


# ---- the answers ----


def printed_case(case):
    """The case as `explain --json` shows it."""
    shown = {"conditions": ", ".join(case.words), "class": case.verdict,
             "kernel_reason": case.kernel_reason, "reason": case.reason, "tell": case.tell}
    return {key: text for key, text in shown.items() if text or key == "conditions"}


def fine(done):
    assert done.returncode == FINE, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.usefixtures("cli")
def test_explain_needs_no_daemon():
    text = fine(netflowctl("--socket", "/nonexistent", "explain", "skb_drop_reason_no_socket"))
    entry, = [e for e in knowledge.of_kind("reason") if e.name == "NO_SOCKET"]
    assert text.startswith("NO_SOCKET: reason, benign\n")
    for command in knowledge.commands(entry):
        assert f"            $ {command}\n" in text
    assert knowledge.prose(entry, "cause") in text


@pytest.mark.usefixtures("cli")
def test_explain_prints_every_entry():
    names = fine(netflowctl("explain")).splitlines()[1:]
    assert len(names) == len(knowledge.entries())
    found = json.loads(fine(netflowctl("explain", "--json")))["explanations"]
    printed = {(e.pop("kind"), e.pop("name"), e.pop("subject")): e for e in found}
    assert {key: entry.pop("drops", []) for key, entry in printed.items()} == {
        (e.kind, e.name, e.subject): [printed_case(case) for case in e.cases]
        for e in knowledge.entries()}
    assert printed == {(e.kind, e.name, e.subject): {key: text for key, text in e.values.items()
                                                     if key != "also"}
                       for e in knowledge.entries()}


@pytest.mark.usefixtures("cli")
@pytest.mark.parametrize("typed,names", [
    ("total", {"rx_total", "forward_total", "tx_total"}),
    ("raise_to_softirq", {"raise_to_softirq"}),
    ("raise->softirq", {"raise_to_softirq"}),
    ("rx raise→softirq", {"raise_to_softirq"}),
    ("softirq_raise→softirq_entry", {"raise_to_softirq"}),
    ("time_squeeze", {"time_squeeze", "cpus.time_squeeze"}),
    ("inflight.overwritten", {"inflight.overwritten"}),
    ("squeezed", {"cpus.time_squeeze"}),
    ("ring_full", {"drops.ring_full", "latency.ring_full"}),
    ("SKB_CONSUMED", {"CONSUMED"}),
])
def test_explain_takes_names_as_people_write_them(typed, names):
    found = json.loads(fine(netflowctl("explain", typed, "--json")))["explanations"]
    assert {entry["name"] for entry in found} == names


@pytest.mark.usefixtures("cli")
def test_explain_names_the_nearest():
    done = netflowctl("explain", "NO_SOKET")
    assert done.returncode == USAGE and done.stdout == ""
    assert "NO_SOKET (did you mean NO_SOCKET?)" in done.stderr
    assert netflowctl("explain", "xyzzy").returncode == USAGE


@pytest.mark.shared
def test_the_daemon_explains_the_same(daemon):
    mine = json.loads(fine(daemon.netflowctl("explain", "--json")))
    assert daemon.call("Explain") == mine
    answer = daemon.call("Explain", name="no_socket")["explanations"]
    assert [e["name"] for e in answer] == ["NO_SOCKET"]
    with pytest.raises(VarlinkError) as error:
        daemon.call("Explain", name="NO_SOKET")
    assert error.value.name == "UnknownName"
    assert error.value.parameters == {"name": "NO_SOKET", "nearest": "NO_SOCKET"}


# ---- classes of drops ----

SENT = 400


@pytest.fixture
def dropped(reasons, daemon, silent_pair):
    """(daemon, device, {class: packets}): no socket is benign, a firewall is policy, a full buffer
    is a fault."""
    pair = silent_pair
    pair.right.nft_drop("input", "udp dport 5555")
    pair.left.send_udp(pair.RIGHT4, 9, 30)
    pair.left.send_udp(pair.RIGHT4, 5555, 10)
    with pair.right.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
        reader.bind((pair.RIGHT4, 7777))
        pair.left.send_udp(pair.RIGHT4, 7777, SENT, "-s", 200)
        kept = count_readable(reader)
    expected = {"benign": 30, "policy": 10, "fault": SENT - kept}
    total = sum(expected.values())
    assert 0 < kept < SENT
    assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), total) == total
    return daemon, pair.right_device, expected


def count_readable(reader):
    reader.setblocking(False)
    for count in range(SENT + 1):
        try:
            reader.recv(65536)
        except BlockingIOError:
            return count
    raise AssertionError("more was read than sent")


def by_class(rows):
    counted = {}
    for row in rows:
        counted[row["class"]] = counted.get(row["class"], 0) + row.get("packets", 1)
    return counted


def of_device(device, **more):
    return {"device": device.name, "netns": str(device.namespace.inode), **more}


@pytest.mark.shared
def test_drops_have_a_class(dropped):
    daemon, device, expected = dropped
    answer = daemon.call("GetDrops", **of_device(device))
    assert by_class(answer["rows"]) == expected
    assert "hidden" not in answer
    rows = daemon.call("GetDrops", **of_device(device, by="reason"))["rows"]
    assert by_class(rows) == expected
    assert {row["reason"] for row in rows if row["class"] == "fault"} == {"SOCKET_RCVBUFF"}
    joined = daemon.call("GetDrops", **of_device(device, by="dev"))["rows"]
    assert by_class(joined) == expected and len(joined) == len(expected)


@pytest.mark.shared
@pytest.mark.parametrize("by", [None, "reason", "dev", "location"])
def test_faults_hide_the_others_and_say_how_many(dropped, by):
    daemon, device, expected = dropped
    answer = daemon.call("GetDrops", **of_device(device, by=by, faults=True))
    assert answer["packets"] == expected["fault"]
    assert answer["hidden"] == 40
    assert sum(row["packets"] for row in answer["rows"]) == expected["fault"]


@pytest.mark.shared
def test_faults_of_flows_and_records(dropped):
    """Records are limited for each cause (100 at once), and flows with them, because netflowd makes
    flows from records."""
    daemon, device, _ = dropped
    held = by_class(daemon.records(device, "ipv4/udp"))
    assert held["benign"] == 30 and held["policy"] == 10
    answer = daemon.call("GetDropRecords", limit=1 << 20, **of_device(device, faults=True))
    assert by_class(answer["records"]) == {"fault": held["fault"]}
    assert (answer["matched"], answer["hidden"]) == (held["fault"], 40)
    flows = daemon.call("GetDrops", **of_device(device, by="flow", faults=True))
    assert (flows["packets"], flows["hidden"]) == (held["fault"], 40)


@pytest.mark.shared
@pytest.mark.usefixtures("cli")
def test_drops_for_people_show_class_and_hidden(dropped):
    daemon, device, expected = dropped
    only = ("--dev", device.name, "--netns", device.namespace.inode)
    text = fine(daemon.netflowctl("drops", *only))
    assert re.search(r"^ +30 .* NO_SOCKET +benign ", text, re.MULTILINE)
    assert re.search(r"^ +10 .* NETFILTER_DROP +policy ", text, re.MULTILINE)
    text = fine(daemon.netflowctl("drops", *only, "--faults", "--by", "reason"))
    assert re.search(rf"^ +{expected['fault']} .* SOCKET_RCVBUFF +fault ", text, re.MULTILINE)
    assert "NO_SOCKET" not in text
    assert "; hidden: policy 10, benign 30" in text.splitlines()[0]
    text = fine(daemon.netflowctl("drops", *only, "--faults", "--records"))
    assert "SOCKET_RCVBUFF" in text and "NETFILTER_DROP" not in text
    assert "; 40 records of other classes hidden" in text.splitlines()[0]
    text = fine(daemon.netflowctl("drops", *only, "--faults", "--reason", "NO_SOCKET"))
    assert text.startswith("No packet was dropped") and "; hidden: benign 30" in text


@pytest.mark.shared
@pytest.mark.usefixtures("cli")
def test_following_faults_hides_the_others(reasons, daemon, silent_pair):
    """The stream ends with the first fault, and hides the benign drops before it."""
    pair = silent_pair
    pair.left.send_udp(pair.RIGHT4, 9, 1)  # so that the daemon knows the device
    assert waiting.until(lambda: daemon.dropped(pair.right_device), bool)
    command = [paths.CLI, "--socket", daemon.socket_path, "drops", "--follow", "--faults", "--json",
               "--limit", "1", "--dev", pair.right_device.name,
               "--netns", str(pair.right_device.namespace.inode)]
    lines = _followed(daemon, command, pair)
    assert [line.get("class") for line in lines] == ["fault", None]
    assert lines[1]["hidden"] >= 5


def _followed(daemon, command, pair):
    """The lines that it prints while the test makes drops: in each round benign ones, then a
    fault."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert waiting.until(lambda: daemon.status()["clients"]["streams"], bool, 20)
        for _ in range(200):
            pair.left.send_udp(pair.RIGHT4, 9, 5)
            if waiting.until(lambda: following.poll() is not None, bool, seconds=0.1):
                break
            _overflow(pair)
        return [json.loads(line) for line in following.stdout.read().splitlines()]


def _overflow(pair):
    """Make at least one drop at a full buffer."""
    with pair.right.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        reader.bind((pair.RIGHT4, 7777))
        pair.left.send_udp(pair.RIGHT4, 7777, 50, "-s", 1000)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's verifier refuses a program for which it must process 1,000,000 instructions.  Each
program stays far below; and if a kernel refuses one all the same, its probe alone is affected, or
runs a simpler program.

With NETFLOWD_PROBES=FILE, how each probe is attached goes to that file as JSON, for tests/vm/table.
"""

import json
import os
import pathlib
import re

import pytest

from lab import alerts, journeys, kernel, ledgers, paths, probes, sockets, waiting

LIMIT = 100_000
SOURCE = (paths.TREE / "bpf" / "netflowd.bpf.c").read_text()
# Probes that have a simpler program.
SIMPLE = re.findall(r"^NF_PROGRAM\(.*, nf_(\w+)_simple,", SOURCE, re.MULTILINE)
PORT, COUNT = 7777, 200
UP_TO_RECEIVE = ("raise_to_softirq", "softirq_to_receive")

pytestmark = pytest.mark.usefixtures("bpf")
# Their ledger must be quiet, or each packet must raise its softirq.
alone = pytest.mark.alone
plain = pytest.mark.skipif(paths.VARIANT != "plain",
                           reason="the sanitizer's library must be the first to be loaded")


def refusing(*programs):
    """The prefix of a command whose kernel finds these programs too complex."""
    library = paths.TOOLS / "preload" / "refuse_program.so"
    assert library.exists(), f"{library} is not built: make tools"
    return ["env", f"LD_PRELOAD={library}", f"REFUSE_PROGRAM={','.join(programs)}"]


def probes_of(daemon):
    return {probe["name"]: probe for probe in daemon.call("ListProbes")["probes"]}


# ---- the verifier's work -----------------------------------------------------


def check_figures(daemon, capsys):
    """The figures of netflowd are the kernel's own, and none is beyond the limit."""
    found = probes_of(daemon)
    figures = {name: probe["verified_insns"] for name, probe in found.items()
               if probe["state"] in ("attached", "degraded")}
    assert len(figures) > 15
    seen = kernel.verified_insns(daemon.pid)
    with capsys.disabled():
        print(f"\ninstructions that the verifier of {os.uname().release} processed:")
        for name, insns in sorted((seen or figures).items(), key=lambda pair: -pair[1]):
            print(f"{insns:10} {name}")
    if seen:
        assert set(figures.values()) <= set(seen.values())
        for name in figures.keys() & {program.removeprefix("nf_") for program in seen}:
            if found[name]["how"] == "tp_btf" and found[name]["state"] == "attached":
                assert figures[name] == seen[f"nf_{name}"]
    assert max([*figures.values(), *seen.values()]) <= LIMIT


@pytest.mark.smoke
def test_each_program_is_far_from_the_limit_of_the_verifier(start, capsys):
    daemon = start(probes.ALL)
    if file := os.environ.get("NETFLOWD_PROBES"):
        pathlib.Path(file).write_text(json.dumps(probes.facts(daemon), indent=1))
    check_figures(daemon, capsys)


@pytest.mark.parametrize("probe", SIMPLE)
@plain
def test_a_simpler_program_is_simpler(start, capsys, probe):
    full = probes_of(start())[probe]
    daemon = start(command=refusing(f"nf_{probe}"))
    check_figures(daemon, capsys)
    simple = probes_of(daemon)[probe]
    assert simple["state"] == "degraded" and simple["how"] == full["how"]
    assert simple["verified_insns"] < full["verified_insns"]


# ---- a program that the kernel refuses ----------------------------------------


@pytest.fixture
def delivered(silent_pair):
    """delivered(): send COUNT datagrams that are read."""
    def send():
        pair = silent_pair
        with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
            for _ in range(COUNT):
                sender.send(b"x" * 100)
                reader.recv(1000)
    return send


@alone
@plain
def test_a_refused_program_is_replaced_by_a_simpler_one(start, silent_pair, delivered):
    """Journeys, their stages and the ledger stay exact; some histograms are missing."""
    device = silent_pair.right_device
    daemon = start(*journeys.EVERY, command=refusing("nf_netif_receive_skb"))
    probe = probes_of(daemon)["netif_receive_skb"]
    assert probe["state"] == "degraded" and probe["hits"] is not None
    assert "too large" in probe["reason"] and "softirq_to_receive" in probe["lost_if_degraded"]
    assert {p["state"] for name, p in probes_of(daemon).items() if name != "netif_receive_skb"} <= \
        {"attached", "unneeded"}

    delivered()
    records = journeys.to_port(journeys.wait_for(daemon, COUNT, device, "delivered"), PORT)
    assert len(records) == COUNT
    for record in records:
        journeys.check(record)
        assert {"softirq_raise", "softirq_entry", "receive", "copy"} <= set(journeys.names(record))
    ledgers.check_balanced(daemon)
    assert daemon.latency(device, "receive_to_copy", "rx")["count"] == COUNT
    for segment in UP_TO_RECEIVE:
        assert daemon.latency(device, segment) is None


@plain
def test_coverage_names_what_is_lost_with_a_simpler_program(start):
    daemon = start(command=refusing("nf_netif_receive_skb"))
    probe = probes_of(daemon)["netif_receive_skb"]
    for question, state in (("rx_latency", "degraded"), ("tx_latency", "full")):
        assert daemon.coverage(question)["state"] == state
    assert daemon.coverage("rx_latency")["reason"] == (
        f"netif_receive_skb: {probe['reason']}; a simpler program runs "
        f"(lost with it: {probe['lost_if_degraded']})")
    text = daemon.netflowctl("probes").stdout
    assert re.search(r"^netif_receive_skb +rx +tp_btf, simple ", text, re.MULTILINE), text
    assert f"simple program: netif_receive_skb: {probe['reason']}; lost with it: " in \
        " ".join(text.split())


@alone
@plain
def test_the_full_program_has_these_histograms(start, silent_pair, delivered):
    """The test above would see them."""
    daemon = start()
    delivered()
    device = silent_pair.right_device
    for segment in UP_TO_RECEIVE:
        latency = waiting.until(lambda name=segment: daemon.latency(device, name), bool)
        assert latency["count"] >= COUNT


@plain
@pytest.mark.parametrize("refused", [
    ["napi_poll"], ["irq_handler_entry", "napi_poll", "kfree_skb", "sched_switch"]],
    ids=["one", "four"])
def test_the_others_run_without_a_refused_program(start, refused):
    daemon = start(command=refusing(*(f"nf_{name}" for name in refused)))
    for name, probe in probes_of(daemon).items():
        if name in refused:
            assert probe["state"] == "unavailable" and "too large" in probe["reason"]
        else:
            assert probe["state"] in ("attached", "unneeded")
    # The verifier's work on such a program is the longest possible, and is not repeated.
    assert daemon.log().count("refuse_program: ") == len(refused)


WITHOUT_KPROBE = {"refused": lambda: refusing("nf_skb_attempt_defer_free_kprobe"),
                  "not attached": lambda: [paths.TOOLS / "deny_syscall", "perf_event_open",
                                           "EPERM"]}


@alone
@plain
@pytest.mark.parametrize("why", WITHOUT_KPROBE)
def test_the_reads_of_datagrams_without_kprobe(start, silent_pair, delivered, why):
    """Where readers can be preempted in a program of fentry, a kprobe is better, not necessary."""
    probe = probes_of(start())["skb_attempt_defer_free"]
    if probe.get("how") != "kprobe":
        pytest.skip(f"no kprobe is needed: {probe['state']}")
    daemon = start(*journeys.EVERY, command=WITHOUT_KPROBE[why]())
    probe = probes_of(daemon)["skb_attempt_defer_free"]
    assert (probe["state"], probe["how"]) == ("attached", "fentry"), probe
    delivered()
    records = journeys.wait_for(daemon, COUNT, silent_pair.right_device, "delivered")
    assert len(journeys.to_port(records, PORT)) == COUNT
    ledgers.check_balanced(daemon)


@plain
def test_a_refused_simpler_program(start):
    """With neither program the probe is missing, as any other."""
    programs = ["nf_netif_receive_skb", "nf_netif_receive_skb_simple"]
    daemon = start(command=refusing(*programs))
    assert probes_of(daemon)["netif_receive_skb"]["state"] == "unavailable"
    assert daemon.coverage("rx_latency")["state"] == "unavailable"
    assert daemon.log().count("refuse_program: ") == len(programs)


@plain
def test_alerts_know_what_a_simpler_program_lacks(start, tmp_path):
    rules = alerts.Rules(tmp_path / "rules")
    rules.write("a.conf", "".join(
        f"[alert {segment}]\ncondition = latency\nsegment = {segment}\nover = 1s\n"
        for segment in ("raise_to_softirq", "receive_to_copy")))
    daemon = start(rules.setting, *alerts.SETTINGS, command=refusing("nf_netif_receive_skb"))

    def unknown():
        return {a["name"]: a.get("unknown") for a in daemon.call("GetAlerts")["alerts"]}

    found = waiting.until(unknown, lambda found: found["raise_to_softirq"])
    assert "netif_receive_skb runs its simple program" in found["raise_to_softirq"]
    assert "netif_receive_skb" not in (found["receive_to_copy"] or "")

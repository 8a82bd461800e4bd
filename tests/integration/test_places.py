# SPDX-License-Identifier: GPL-2.0-or-later
"""The places are functions of real kernels, and `explain` knows each of them by every name."""

import json
import os
import re
import subprocess

import pytest

from lab import btf, functions, knowledge, paths, symbols

LEAST_PLACES, LEAST_NAMES = 220, 1000

PLACES = knowledge.of_kind("place")


def names(entry):
    return knowledge.generator().functions(entry)


def test_there_are_places():
    assert len(PLACES) >= LEAST_PLACES
    assert sum(len(names(entry)) for entry in PLACES) >= LEAST_NAMES


def test_every_name_is_a_function_of_a_supported_kernel():
    """Each name is in the list with a kernel whose symbols have it, or with the source file of a
    function that every compiler inlined."""
    listed = functions.listed()
    assert listed.keys() == functions.named(), "tests/vm/functions --write writes the list"
    wrong = [name for name, function in listed.items()
             if not function.kernels or set(function.kernels) - set(functions.KERNELS) or
             function.source and not re.fullmatch(r"(net|include|drivers)/[\w/-]+\.[ch]",
                                                  function.source)]
    assert not wrong
    # Only a place that a kernel shows can be one that netflowd meets.
    assert not [entry.name for entry in PLACES if listed[entry.name].source]


def test_the_list_of_functions_is_true():
    """`make check-vm` and continuous integration ask this of the same kernels, too, once they have
    fetched them."""
    if os.uname().release in btf.fetched_kernels():
        pytest.skip("this is a fetched kernel in a virtual machine; its host checks all of them")
    missing = set(functions.KERNELS) - set(functions.fetched())
    if missing:
        pytest.skip(f"build/vm lacks the kernels {', '.join(sorted(missing))}; tests/vm/run "
                    "fetches them")
    done = subprocess.run([paths.TREE / "tests/vm/functions"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


@btf.FETCHED
def test_symbols_of_a_fetched_kernel_are_read(release):
    """The reader of the table finds what each kernel has."""
    found = symbols.of_image(release)
    assert len(found) > 50_000
    assert {"ip_rcv", "tcp_v4_rcv", "unix_stream_connect", "start_kernel", "_text"} <= found
    if release == os.uname().release:
        assert found >= {name for name in symbols.running() if name.startswith("ip_rcv")}


@pytest.mark.usefixtures("cli")
@pytest.mark.parametrize("subject", sorted({entry.subject for entry in PLACES}))
def test_explain_knows_every_name(subject):
    wrong = []
    for entry in (entry for entry in PLACES if entry.subject == subject):
        for name in names(entry):
            done = subprocess.run([paths.CLI, "explain", "--json", name], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            answers = json.loads(done.stdout)["explanations"] if not done.returncode else []
            if entry.name not in {a["name"] for a in answers if a["kind"] == "place"}:
                wrong.append(f"{name}: {done.stderr or answers}")
    assert not wrong, "\n".join(wrong)


# Functions that call kfree_skb() on every host that has TCP, and how `drops` classes them.
WELL_KNOWN = {
    "ip6_mc_input": "benign", "neigh_invalidate": "fault", "sk_stream_kill_queues": "benign",
    "unix_stream_connect": "benign", "do_xdp_generic": "policy", "nf_hook_slow": "policy",
    "packet_release": "benign", "ip_expire": "fault", "xfrm_input": "fault",
}


@pytest.mark.parametrize("name", WELL_KNOWN)
def test_a_well_known_place_has_its_class(name):
    entry, = (entry for entry in PLACES if entry.name == name)
    assert {case.verdict for case in entry.cases if not case.kernel_reason} == {WELL_KNOWN[name]}


def test_a_class_agrees_with_its_cases():
    """The entry's own class is that of its cases, or unknown, or that of its worst case."""
    wrong = []
    for entry in PLACES:
        verdicts = {case.verdict for case in entry.cases if not case.kernel_reason}
        worst = next((c for c in ("fault", "unknown", "policy", "benign") if c in verdicts), None)
        if verdicts and entry.values["class"] not in verdicts | {"unknown", worst}:
            wrong.append(f"{entry.where} {entry.name}: {entry.values['class']}, {verdicts}")
    assert not wrong, "\n".join(wrong)


def test_no_case_repeats_another():
    wrong = []
    for entry in PLACES:
        seen = set()
        for case in entry.cases:
            key = (case.kernel_reason, case.reason, case.verdict, tuple(sorted(case.words)))
            if key in seen:
                wrong.append(f"{case.where} {entry.name}: {' '.join(case.words)}")
            seen.add(key)
    assert not wrong, "\n".join(wrong)

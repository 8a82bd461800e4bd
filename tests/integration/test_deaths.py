# SPDX-License-Identifier: GPL-2.0-or-later
"""Each way to die in lab/deaths: netflowd counts exactly the packets that died there, and gives the
same reason, its own or the kernel's, and the same class on every kernel.

With NETFLOWD_DEATHS=FILE, the results go to that file as JSON, for tests/vm/deaths.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

from conftest import Starter, needs_bpf
from lab import deaths, kernel, waiting

pytestmark = pytest.mark.xdist_group("deaths")

# What labs do besides: reports of multicast groups when a device comes up.
NOISE = (("ip6_mc_input", "ipv6/hopopt"),)
RESULTS = os.environ.get("NETFLOWD_DEATHS")
# Kernels differ most in these: a reason of their own, or one that netflowd infers.
SMOKE = ("neighbour6-failed", "tcp-accept-queue", "ipv6-hop-by-hop-length")

# Where the kernel gives no reason, and none can be inferred.
NO_NAME = ("NOT_SPECIFIED", "NO_REASON")

Cause = collections.namedtuple("Cause", "function reason inferred kind candidates evidence")


@pytest.fixture(scope="module", name="daemon")
def _daemon(built, tmp_path_factory):
    """One daemon for all deaths."""
    needs_bpf()
    starter = Starter(tmp_path_factory.mktemp("deaths"))
    try:
        yield starter()
    finally:
        starter.end()


@pytest.fixture(scope="module", name="results")
def _results():
    """{death: its cause, or why it was skipped}"""
    seen = {}
    yield seen
    if RESULTS:
        pathlib.Path(RESULTS).write_text(json.dumps(
            {"release": os.uname().release, "deaths": seen}, indent=1))


def function(row):
    """The function of a row's location, without the suffixes that compilers add."""
    return re.split(r"[.+]", row.get("location", ""))[0]


def cause(row):
    candidates = tuple(sorted((c.get("reason") or "", c.get("class"))
                              for c in row.get("candidates") or ()))
    reason = None if row.get("reason") in NO_NAME else row.get("reason")
    return Cause(function(row), reason, bool(row.get("inferred")), row.get("class"),
                 candidates, tuple(row.get("evidence") or ()))


def counted(daemon):
    """{(namespace, cause without evidence, protocol): packets}, and {the same: evidence}

    A namespace can have the number of one that is gone.  Rows that mean the same are one row with
    the evidence that they have in common, so the evidence of a row can change.
    """
    sums, evidence = collections.Counter(), {}
    for row in daemon.call("GetDrops")["rows"]:
        found = cause(row)
        key = row.get("netns"), found._replace(evidence=()), row.get("protocol")
        sums[key] += row["packets"]
        evidence[key] = found.evidence
    return sums, evidence


class Watch:
    """The drops in the namespaces of a scene since they were made."""

    def __init__(self, daemon, death):
        self.daemon, self.death = daemon, death
        self.inodes = set()
        self.before = {}

    def begin(self, *namespaces):
        """From now on, these are the scene's.  Packets of a namespace that had such a number before
        die until that is gone, so they are counted by now."""
        inodes = {namespace.inode for namespace in namespaces}
        packets, _ = counted(self.daemon)
        self.before.update({key: packets[key] for key in packets if key[0] in inodes})
        self.inodes |= inodes

    def causes(self):
        """{cause: packets}, without noise"""
        sums = collections.Counter()
        packets, evidence = counted(self.daemon)
        for key in packets:
            inode, found, protocol = key
            new = packets[key] - self.before.get(key, 0)
            if inode in self.inodes and (found.function, protocol) not in NOISE and \
                    found.function not in self.death.beside and new > 0:
                sums[found._replace(evidence=evidence[key])] += new
        return sums


def settled(watch, death):
    """The causes, when the packets are counted.  A module's functions have names a moment later."""
    traced = kernel.release() >= death.untraced_before
    waiting.until(watch.causes, lambda causes: sum(causes.values()) >= death.count,
                  seconds=5 if traced else 0.3)
    waiting.until(watch.causes, lambda causes: {c.function for c in causes} <= set(death.places),
                  seconds=10)
    time.sleep(0.1)
    return watch.causes()


def parameter(death):
    return pytest.param(death, id=death.name,
                        marks=[pytest.mark.smoke] if death.name in SMOKE else [])


@pytest.mark.parametrize("death", map(parameter, deaths.DEATHS))
def test_death(daemon, results, lab, death):
    if kernel.release() < death.since:
        pytest.skip(f"needs Linux {death.since[0]}.{death.since[1]}")
    for module in death.modules:
        subprocess.run(["modprobe", "-q", module], check=False)
    watch = Watch(daemon, death)
    scene = deaths.Scene(lab, death.count, watch.begin)
    try:
        death.make(scene)
        causes = settled(watch, death)
        results[death.name] = {"causes": [[*found, n] for found, n in causes.items()]}
        check(death, causes)
        if death.counters:
            moved = scene.here.nstat()
            assert {name: moved[name] for name in death.counters} == \
                dict.fromkeys(death.counters, death.count)
    except deaths.Lacking as lacking:
        results[death.name] = {"skipped": str(lacking)}
        pytest.skip(str(lacking))
    finally:
        scene.close()


def check(death, causes):
    """The packets that were sent and no others, and what is known of each of their causes."""
    if kernel.release() < death.untraced_before:
        assert not causes
        return
    assert sum(causes.values()) == death.count, causes
    assert {found.function for found in causes} <= set(death.places), causes
    undecided = death.undecided(kernel.release())
    if not undecided:
        assert len(causes) == 1, causes
    for found in causes:
        check_cause(found, *death.expected(kernel.release()), undecided)


def check_cause(found, reason, kind, undecided):
    """The reason and the class.  Undecided, both can be missing, but then the true ones are among
    the candidates, and a reason is the kernel's own: there is never a wrong name, and a fault is
    never called benign."""
    if undecided and found.candidates:
        assert (reason or "", kind) in found.candidates, found
        assert found.kind in ("unknown", kind), found
        assert not found.reason or found.reason in dict(found.candidates), found
        assert not found.inferred, found
    else:
        assert (found.reason, found.kind, found.candidates) == (reason, kind, ()), found

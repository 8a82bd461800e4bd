# SPDX-License-Identifier: GPL-2.0-or-later
"""Two daemons for all cells, one without and one with the governor, and what is judged over all of
them: the share of estimates that miss their margin.  Bursts have a daemon of their own."""

import contextlib
import json
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "integration"),
                str(pathlib.Path(__file__).resolve().parent)]

import pytest

import matrix
import topologies
from judge import Judge
from lab import hidden, kernel, paths
from lab.daemon import Daemon
from lab.net import Lab

GOVERNORS = ("off", "on")
SEEN = paths.TREE / "build" / "seen.json"


def pytest_addoption(parser):
    parser.addoption("--sample", default="", metavar="COMMIT",
                     help="run only the cells that this text draws, such as a commit's hash")
    parser.addoption("--part", type=part, default=(1, 1), metavar="N/PARTS",
                     help="run only this part of the cells and bursts")
    parser.addoption("--skipped", type=part, metavar="N/PARTS",
                     help="run also this part of those that an earlier run of tests/run skipped")


def part(text):
    """(N, PARTS)"""
    number, parts = map(int, text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError
    return number, parts


def chosen(config, test, everything):
    """Those of [(the test's parameter, its id)] that the options choose."""
    (number, parts), skipped = config.getoption("--part"), config.getoption("--skipped")
    cells = everything[number - 1::parts]
    if skipped:
        seen = json.loads(SEEN.read_text())["seen"]
        lacking = [cell for cell in everything if seen.get(f"{test}[{cell[1]}]") is not None]
        cells += [cell for cell in lacking[skipped[0] - 1::skipped[1]] if cell not in cells]
    return cells


def pytest_generate_tests(metafunc):
    sample = metafunc.config.getoption("--sample")
    everything = {
        "cell": [(cell, str(cell)) for cell in
                 (matrix.sample(sample) if sample else matrix.alternating())],
        "burst": [(burst, f"{i}-{burst}") for i, burst in enumerate(matrix.bursts(sample))]}
    for fixture in set(everything) & set(metafunc.fixturenames):
        test = f"{metafunc.module.__name__}::{metafunc.function.__name__}"
        drawn = chosen(metafunc.config, f"tests.shapes.{test}", everything[fixture])
        metafunc.parametrize(fixture, [cell for cell, _ in drawn], ids=[name for _, name in drawn])


def pytest_collection_modifyitems(items):
    """The sum of all cells comes last."""
    items.sort(key=lambda item: "judge" in item.fixturenames and "cell" not in item.fixturenames)
    if os.geteuid() or not kernel.has_btf():
        reason = pytest.mark.skip(reason="only root can make namespaces, and BPF needs BTF")
        for item in items:
            item.add_marker(reason)


@pytest.fixture(scope="session")
def daemons(tmp_path_factory):
    """{governor: daemon}, both with default settings otherwise."""
    running = {}
    topologies.prepared()
    try:
        for governor in GOVERNORS:
            directory = tmp_path_factory.mktemp(f"governor-{governor}")
            running[governor] = Daemon(directory, f"cost.governor={governor}").start()
        yield running
    finally:
        for daemon in running.values():
            daemon.stop()


@pytest.fixture(scope="session")
def exempted():
    """The trace of the tasks for which the kernel runs no program, or None."""
    with contextlib.ExitStack() as stack:
        yield hidden.Trace(stack) if kernel.untraced() else None


VERDICTS = Judge()


@pytest.fixture(scope="session")
def judge():
    return VERDICTS


def pytest_terminal_summary(terminalreporter):
    """All that is not right; with -v the whole table."""
    everything = terminalreporter.config.option.verbose > 0
    terminalreporter.write_line(VERDICTS.table(everything))


@pytest.fixture
def lab():
    made = Lab()
    try:
        yield made
    finally:
        made.delete()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Two daemons for all cells, one without and one with the governor, and what is judged over all of
them: the share of estimates that miss their margin.  Bursts have a daemon of their own."""

import contextlib
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "integration"),
                str(pathlib.Path(__file__).resolve().parent)]

import pytest

import matrix
import topologies
from judge import Judge
from lab import hidden, kernel
from lab.daemon import Daemon
from lab.net import Lab

GOVERNORS = ("off", "on")


def pytest_addoption(parser):
    parser.addoption("--sample", default="", metavar="COMMIT",
                     help="run only the cells that this text draws, such as a commit's hash")
    parser.addoption("--emulated", action="store_true",
                     help="run half of all cells and bursts, as an emulated machine does; kernels "
                     "whose versions have an odd sum run the other half")


def chosen(config):
    sample = config.getoption("--sample")
    if sample:
        return matrix.sample(sample)
    return matrix.emulated(turn()) if config.getoption("--emulated") else matrix.CELLS


def turn():
    return sum(kernel.release()) % 2


def pytest_generate_tests(metafunc):
    if "cell" in metafunc.fixturenames:
        metafunc.parametrize("cell", chosen(metafunc.config), ids=str)
    if "burst" in metafunc.fixturenames:
        bursts = list(enumerate(matrix.bursts(metafunc.config.getoption("--sample"))))
        if metafunc.config.getoption("--emulated"):
            bursts = bursts[turn()::2]
        metafunc.parametrize("burst", [burst for _, burst in bursts],
                             ids=[f"{i}-{burst}" for i, burst in bursts])


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

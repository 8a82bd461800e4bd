# SPDX-License-Identifier: GPL-2.0-or-later
"""The short version of `make soak`; NETFLOWD_SOAK_SECONDS sets its length (default 5)."""

import os
import subprocess

import pytest

from lab import paths, patience

pytestmark = pytest.mark.alone

# Held records use memory too: with this few, the warm-up fills them on any machine.
FEW = ("--set", "records.recent=512")
# So does the history, of which these seconds have one interval or none.
WITHOUT_HISTORY = ("--set", "history.enabled=no")
SECONDS = int(os.environ.get("NETFLOWD_SOAK_SECONDS", "5"))


def test_mixed_load(built, bpf):
    done = subprocess.run([paths.TREE / "tests" / "soak" / "run", *FEW, *WITHOUT_HISTORY,
                           "--fill", "0", str(SECONDS)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False,
                          timeout=patience.seconds(SECONDS + 180))
    print(done.stdout)
    assert done.returncode == 0, done.stdout


def test_months_go_by(built, bpf):
    """The short version of tests/soak/months: old counters, and thousands of namespaces."""
    done = subprocess.run([paths.TREE / "tests" / "soak" / "months", "2000",
                           *WITHOUT_HISTORY],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=patience.seconds(180))
    print(done.stdout)
    assert done.returncode == 0, done.stdout

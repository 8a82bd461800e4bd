# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make run` starts shows live data, and leaves nothing; it touches no file of a service."""

import os
import pathlib
import subprocess

import pytest

from lab import paths, patience

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("cli", "bpf")]

STATE = pathlib.Path("/var/lib/netflowd")


def entries():
    """The files of a service that may be installed here, as a change of any would show."""
    return {path: (path.stat().st_mtime_ns, path.stat().st_uid)
            for path in [STATE, *STATE.glob("*")] if path.exists()}


def test_make_run_leaves_nothing(built, tmp_path):
    before = entries()
    environment = {**os.environ, "NETFLOWD_RUNTIME_DIR": str(tmp_path / "run")}
    done = subprocess.run([paths.TREE / "tests" / "demo" / "live", "--count", "2", "--interval",
                           "0.1"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=patience.seconds(60))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("ledger ") == 2
    assert not (tmp_path / "run").exists() and entries() == before

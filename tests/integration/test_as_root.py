# SPDX-License-Identifier: GPL-2.0-or-later
"""`make run` and `make check` for root without sudo, and for another user with sudo or without."""

import pathlib
import shutil
import subprocess
import tempfile

import pytest

from lab import paths

NOBODY = 65534


@pytest.fixture
def tools():
    """A directory that everyone can read, with as-root and the commands that it may find."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        shutil.copy(paths.TREE / "tests" / "as-root", directory)
        for command in ("env", "id"):
            (directory / command).symlink_to(shutil.which(command))
        yield directory


def as_root(tools, *command, user=None, **variables):
    return subprocess.run(["/bin/bash", tools / "as-root", *command], user=user, group=user,
                          extra_groups=[] if user else None, cwd="/", check=False,
                          env={"PATH": str(tools), **variables}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def add(tools, name, *lines):
    program = tools / name
    program.write_text("\n".join(("#!/bin/bash", *lines, "")))
    program.chmod(0o755)


def test_root_needs_no_sudo(tools):
    add(tools, "sudo", "exit 3")
    done = as_root(tools, "id", "-u")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_another_user_and_sudo(tools):
    add(tools, "sudo", 'printf "%s\\n" "$@"')
    done = as_root(tools, "tests/run", "a b", user=NOBODY, FUZZ_SECONDS="7", OTHER="9")
    assert done.returncode == 0 and done.stderr == "tests/run needs root: asking sudo\n"
    words = done.stdout.splitlines()
    assert words[0] == "env" and words[-2:] == ["tests/run", "a b"]
    assert "FUZZ_SECONDS=7" in words and not any("OTHER" in word for word in words)


def test_su_where_there_is_no_sudo(tools):
    add(tools, "su", 'printf "%s\\n" "${@: -1}"')
    done = as_root(tools, "tests/run", "a b", user=NOBODY)
    assert done.returncode == 0 and "asking su for root's password" in done.stderr
    assert done.stdout.startswith("cd / && exec env PATH=")
    assert done.stdout.rstrip().endswith("tests/run a\\ b")


def test_neither_sudo_nor_su(tools):
    done = as_root(tools, "tests/run", user=NOBODY)
    assert done.returncode == 1 and "run make as root" in done.stderr

# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds netflowd's last release, so that its cost can be measured beside today's.

The last release is the newest tag in the history of HEAD.  While there is no tag, it is the commit
in the file last_release.  RELEASE=COMMIT selects another one.
"""

import os
import pathlib
import subprocess

from daemon import Failed

FILE = pathlib.Path(__file__).with_name("last_release")


def git(top, *words):
    done = subprocess.run(["git", "-c", f"safe.directory={top}", "-C", str(top), *words],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def find(top):
    """(what the report calls it, its commit)"""
    wanted = os.environ.get("RELEASE")
    if not wanted:
        try:
            wanted = git(top, "describe", "--tags", "--abbrev=0", "HEAD")
        except Failed:
            wanted = FILE.read_text(encoding="ascii").split()[-1]
    commit = git(top, "rev-parse", "--verify", f"{wanted}^{{commit}}")
    name = commit[:10] if commit.startswith(wanted) else wanted
    return f"release {name}", commit


def build(top, commit):
    """Build the release below build/release, once, and return the path of its daemon."""
    tree = top / "build" / "release" / commit
    program = tree / "build" / "plain" / "netflowd"
    if not program.exists():
        tree.mkdir(parents=True, exist_ok=True)
        archive = tree / "source.tar"
        git(top, "archive", "--output", str(archive), commit)
        subprocess.run(["tar", "-xf", str(archive), "-C", str(tree)], check=True)
        done = subprocess.run(["make", "-C", str(tree), f"-j{os.cpu_count()}",
                               "build/plain/netflowd"], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise Failed(f"the last release, {commit}, cannot be built: {done.stderr[-2000:]}")
    return program

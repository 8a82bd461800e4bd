# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of the tree, as git knows them."""

import functools
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]


@functools.cache
def files():
    """Every file that is, or is about to be, in git."""
    out = subprocess.run(["git", "-c", f"safe.directory={TOP}", "-C", str(TOP), "ls-files", "-z",
                          "--cached", "--others", "--exclude-standard"],
                         stdout=subprocess.PIPE, check=True)
    return [name for name in out.stdout.decode().split("\0") if name and (TOP / name).is_file()]


@functools.cache
def read(name):
    return (TOP / name).read_text(errors="replace")

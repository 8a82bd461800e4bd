# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels have the functions that are places of drops: by the list in
tests/integration/functions, and by the kernels that tests/vm has fetched.

A line has a name and the kernels whose symbols have it.  A function that each compiler inlined has
the word `inlined` and its source file first, and then the kernels whose source has it.
"""

import collections

from . import btf, knowledge, paths, symbols

LIST = paths.TREE / "tests" / "integration" / "functions"
KERNELS = ("5.10", "6.1", "6.12", "7.3")
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of config/knowledge, and the kernels that have them.  `tests/vm/functions --write` writes
# the lines with kernels only.  Those of functions that are inlined everywhere come from the sources.
"""

# `source`: the file of a function that is inlined everywhere, otherwise None.
Function = collections.namedtuple("Function", "kernels source")


def named():
    """The names of all places."""
    return {name for entry in knowledge.of_kind("place")
            for name in knowledge.generator().functions(entry)}


def listed():
    """{name: Function}."""
    found = {}
    for line in LIST.read_text().splitlines():
        name, *words = line.split()
        if name != "#":
            source = words[1] if words[0] == "inlined" else None
            found[name] = Function(tuple(words[2:] if source else words), source)
    return found


def fetched():
    """{kernel: its release in build/vm} of those that are there."""
    found = {}
    for release in sorted(btf.fetched_kernels()):
        kernel = ".".join(release.split(".")[:2])
        if kernel in KERNELS and "-rt-" not in release:
            found[kernel] = release
    return found


def of_kernels(names):
    """{name: kernels of `names` that have it}, from the images and modules of fetched kernels."""
    releases = fetched()
    have = {kernel: symbols.of_image(release) | symbols.of_modules(release)
            for kernel, release in releases.items()}
    return {name: tuple(kernel for kernel in KERNELS if name in have.get(kernel, ()))
            for name in names}


def text(functions):
    """The contents of the file."""
    lines = []
    for name, function in sorted(functions.items()):
        source = ["inlined", function.source] if function.source else []
        lines.append(" ".join([name, *source, *function.kernels]) + "\n")
    return HEAD + "".join(lines)

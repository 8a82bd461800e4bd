# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run leaves out, because all of it takes too long: `.ci/run` draws by the commit's hash.

NETFLOWD_DRAW is the text that draws: the same text draws the same.  If it is empty or `all`,
nothing is left out.  Each thing is divided into a few parts once and for all, and the text chooses
one of them.  So the parts of one thing take the same time, and ten commits nearly always choose all
of them.

What the commits of the last day changed is pulled forward: the file `touched` says which long tests
that brings, and so much of them runs as there is time for.
"""

import collections
import functools
import hashlib
import os
import pathlib
import subprocess

TEXT = os.environ.get("NETFLOWD_DRAW", "")
EVERYTHING = TEXT in ("", "all")
# Integration tests that take 4 s or more, each with its seconds on an idle machine of two CPUs, and
# `alone` if it has the mark.
LONG = pathlib.Path(__file__).resolve().parents[1] / "long"
LONG_PARTS = 3
# Which of them a change of a path pulls forward, and for how many seconds of each kind in a run.
TOUCHED = LONG.with_name("touched")
PULLED_SECONDS = 40
DAY_SECONDS = 86400

Long = collections.namedtuple("Long", "seconds alone")


def part(of, parts, text=TEXT):
    """The number of the part of `of` that the text chooses, below `parts`."""
    return number(f"{text} {of}") % parts


def number(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def listed():
    """{test without its parameters: Long}"""
    lines = (line.split() for line in LONG.read_text().splitlines())
    return {words[1]: Long(float(words[0]), words[2:] == ["alone"])
            for words in lines if words and words[0] != "#"}


def parts_of(seconds, parts):
    """Divide {name: seconds} into that many lists of names that take nearly the same time."""
    divided, sums = [[] for _ in range(parts)], [0] * parts
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        least = sums.index(min(sums))
        divided[least].append(name)
        sums[least] += seconds[name]
    return divided


def long_parts():
    """The long tests in parts that take the same time: tests that are alone, and those that run
    beside each other."""
    kinds = ({name: long.seconds for name, long in listed().items() if long.alone == alone}
             for alone in (True, False))
    return [sum(lists, []) for lists in zip(*(parts_of(kind, LONG_PARTS) for kind in kinds))]


def long_left_out(text=TEXT):
    """The long integration tests, without their parameters, that this run leaves out."""
    if text in ("", "all"):
        return set()
    left = set(listed()) - set(long_parts()[part("long tests", LONG_PARTS, text)])
    return left - pulled(left, changed(), text)


@functools.cache
def changed():
    """The paths that the commits of the day before HEAD changed; none without git."""
    git = ["git", "-c", "safe.directory=*", "-C", LONG.parent]
    try:
        head = _output(*git, "log", "-1", "--format=%ct").strip()
        return frozenset(_output(*git, "log", f"--since=@{int(head) - DAY_SECONDS}",
                                 "--name-only", "--format=").splitlines())
    except (OSError, ValueError, subprocess.CalledProcessError):
        return frozenset()


def _output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def touches():
    """{beginning of a path: files of long tests that its change pulls forward}"""
    lines = (line.split() for line in TOUCHED.read_text().splitlines())
    return {words[0]: words[1:] for words in lines if words and words[0] != "#"}


def pulled(names, paths, text=TEXT):
    """Those of the long tests `names` that a change of these paths pulls forward, as far as there
    is time for them.  The text chooses their order."""
    files = {path.rpartition("/")[2] for path in paths if path.startswith("tests/integration/")}
    for beginning, brought in touches().items():
        if any(path.startswith(beginning) for path in paths):
            files.update(brought)
    long, taken, spent = listed(), set(), {True: 0, False: 0}
    for name in sorted(names, key=lambda name: number(f"{text} {name}")):
        kind, seconds = long[name].alone, long[name].seconds
        if name.partition("::")[0] in files and spent[kind] + seconds <= PULLED_SECONDS:
            taken.add(name)
            spent[kind] += seconds
    return taken


def half_left_out(names, of, text=TEXT):
    """The names of the half of `of` that this run leaves out."""
    if text in ("", "all"):
        return set()
    return {name for name in names if number(name) % 2 != part(of, 2, text)}


def function_of(nodeid):
    """FILE::TEST of a test's name: without directories and parameters."""
    return nodeid.partition("[")[0].rpartition("/")[2]


def name_in_results(nodeid):
    """The name that a test has in pytest's results, and so in what tests/run keeps of them."""
    file, _, test = nodeid.partition("::")
    return f"{file.removesuffix('.py').replace('/', '.')}::{test}"

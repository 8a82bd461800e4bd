# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run leaves out, because all of it takes too long: `.ci/run` draws by the commit's hash.

NETFLOWD_DRAW is the text that draws: the same text draws the same.  If it is empty or `all`,
nothing is left out.  Each thing is divided into a few parts once and for all, and the text chooses
one of them.  So the parts of one thing take the same time, and ten commits nearly always choose all
of them.
"""

import collections
import hashlib
import os
import pathlib

TEXT = os.environ.get("NETFLOWD_DRAW", "")
EVERYTHING = TEXT in ("", "all")
# Integration tests that take 4 s or more, each with its seconds on an idle machine of two CPUs, and
# `alone` if it has the mark.
LONG = pathlib.Path(__file__).resolve().parents[1] / "long"
LONG_PARTS = 3

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
    return set(listed()) - set(long_parts()[part("long tests", LONG_PARTS, text)])


def half_left_out(names, of, text=TEXT):
    """The names of the half of `of` that this run leaves out."""
    if text in ("", "all"):
        return set()
    return {name for name in names if number(name) % 2 != part(of, 2, text)}


def function_of(nodeid):
    """FILE::TEST of a test's name: without directories and parameters."""
    return nodeid.partition("[")[0].rpartition("/")[2]

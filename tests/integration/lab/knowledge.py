# SPDX-License-Identifier: GPL-2.0-or-later
"""The knowledge as its files contain it, read by the program that compiles it into netflowd."""

import functools
import importlib.machinery
import importlib.util
import re
import sys

from . import paths

DIRECTORY = paths.TREE / "config" / "knowledge"


@functools.cache
def generator():
    """config/knowledge/generate as a module."""
    loader = importlib.machinery.SourceFileLoader("generate", str(DIRECTORY / "generate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("generate", loader))
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.modules["generate"] = module  # dataclasses look up their module
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = keep
    return module


@functools.cache
def entries():
    return generator().read_all(sorted(DIRECTORY.glob("*.ini")))


def of_kind(kind):
    return [entry for entry in entries() if entry.kind == kind]


def commands(entry):
    """The lines of the entry that are commands, without their mark."""
    return [line[2:] for key in ("tell", "remedy") for line in entry.values[key].split("\n")
            if line.startswith("$ ")]


def prose(entry, key):
    """The text without its commands."""
    return re.sub(r"^\$ .*\n?", "", entry.values[key], flags=re.MULTILINE).strip()

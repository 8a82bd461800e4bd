# SPDX-License-Identifier: GPL-2.0-or-later
"""Each fault of tests/unit/mutations applies.

The suite itself tries only a part of them in .ci/run: a change to the programs that makes a row
void shall show in the next `make check`.
"""

import importlib.machinery
import importlib.util
import sys

import tree


def mutations():
    path = tree.TOP / "tests/unit/mutations"
    sys.path.insert(0, str(path.parent))
    loader = importlib.machinery.SourceFileLoader("mutations", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutations", loader))
    no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = no_bytecode
    sys.path.remove(str(path.parent))
    return module


def test_each_fault_applies():
    suite = mutations()
    void = [fault.what for kind, fault in suite.all_faults() if suite.places(kind, fault) != 1]
    assert not void, "change the texts that these replace: tests/unit/{bpf,daemon}_faults.py"


def test_each_fault_has_its_own_name():
    names = [fault.what for _, fault in mutations().all_faults()]
    assert len(names) == len(set(names))

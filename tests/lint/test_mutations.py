# SPDX-License-Identifier: GPL-2.0-or-later
"""Each fault of tests/unit/bpf/mutations applies.

The suite itself tries only a part of them in .ci/run: a change to the programs that makes a row
void shall show in the next `make check`.
"""

import importlib.machinery
import importlib.util
import sys

import tree


def mutations():
    loader = importlib.machinery.SourceFileLoader("mutations",
                                                  str(tree.TOP / "tests/unit/bpf/mutations"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutations", loader))
    no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = no_bytecode
    return module


def test_each_fault_applies():
    suite = mutations()
    void = [fault.what for fault in suite.FAULTS if suite.places(fault) != 1]
    assert not void, "change the text that these faults replace in tests/unit/bpf/mutations"


def test_each_fault_has_its_own_name():
    names = [fault.what for fault in mutations().FAULTS]
    assert len(names) == len(set(names))

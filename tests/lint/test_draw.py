# SPDX-License-Identifier: GPL-2.0-or-later
"""What .ci/run leaves out is drawn so that nothing is left out for long."""

import pathlib
import sys

import tree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from lab import draw


def test_the_long_tests_are_those_that_exist():
    """.ci/run leaves out a part of the tests in this list: a name that no test has is a mistake."""
    gone = []
    for name in draw.listed():
        file, _, function = name.partition("::")
        if f"def {function}(" not in tree.read(f"tests/integration/{file}"):
            gone.append(name)
    assert not gone


def test_tests_that_pass_nowhere_exist_and_have_a_reason():
    for line in tree.read("tests/never").splitlines():
        name, blanks, reason = line.partition("  ")
        if not line.startswith("#"):
            module, _, function = name.partition("::")
            assert blanks and reason.endswith("."), line
            assert f"def {function.partition('[')[0]}(" in tree.read(
                f"{module.replace('.', '/')}.py"), line


def test_what_is_touched_is_pulled_forward():
    files = {name.partition("::")[0] for name in draw.listed()}
    for beginning, brought in draw.touches().items():
        assert any(path.startswith(beginning) for path in tree.files()), beginning
        assert brought and set(brought) <= files, beginning
    names = set(draw.listed())
    assert "test_deaths.py::test_death" in draw.pulled(names, ["config/knowledge/place-tcp.ini"])
    assert draw.pulled(names, ["tests/integration/test_soak.py"]) == {
        name for name in names if name.startswith("test_soak.py")}
    assert not draw.pulled(names, ["README.md"])
    everything = draw.pulled(names, draw.touches())
    for alone in (True, False):
        seconds = sum(draw.listed()[name].seconds for name in everything
                      if draw.listed()[name].alone == alone)
        assert draw.PULLED_SECONDS - 4 <= seconds <= draw.PULLED_SECONDS


def test_ten_commits_draw_all_long_tests():
    listed, parts = draw.listed(), draw.long_parts()
    assert sorted(sum(parts, [])) == sorted(listed)
    for alone in (True, False):
        sums = [sum(listed[name].seconds for name in part if listed[name].alone == alone)
                for part in parts]
        assert max(sums) - min(sums) <= 5
    assert set.intersection(*(draw.long_left_out(str(n)) for n in range(10))) == set()
    names = {f"test {n}" for n in range(100)}
    assert {len(draw.half_left_out(names, "x", str(n))) for n in range(10)} == {
        len(draw.half_left_out(names, "x", "0")), 100 - len(draw.half_left_out(names, "x", "0"))}
    assert not draw.long_left_out("all") and not draw.half_left_out(names, "x", "all")

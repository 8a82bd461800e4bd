# SPDX-License-Identifier: GPL-2.0-or-later
"""How the tree is written: the formatter, the linters of scripts, lines, words.

`make format` formats the C sources.  For everything else the message names file and line.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

import tree

CLANG_FORMAT = "clang-format-14"
PROSE_COLUMNS = 120
COMMENT_COLUMNS = 120


def run(*command):
    """(exit status, what it printed)"""
    done = subprocess.run(command, cwd=tree.TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def need(tool):
    if not shutil.which(tool):
        pytest.fail(f"{tool} is missing: tests/install-packages installs it")


def scripts(interpreter):
    """The scripts whose first line names an interpreter that matches."""
    for name in tree.files():
        lines = tree.read(name).splitlines()
        if lines and re.match(rf"#!.*\b{interpreter}\b", lines[0]):
            yield name


# ---- formatter and linters ----


def test_c_is_formatted():
    need(CLANG_FORMAT)
    sources = [name for name in tree.files() if name.endswith((".c", ".h"))]
    status, output = run(CLANG_FORMAT, "--dry-run", "-Werror", *sources)
    assert status == 0, f"run `make format`\n{output}"


def test_shell_scripts():
    need("shellcheck")
    # Sourced files have no first line of their own; shellcheck follows them.
    names = sorted({*scripts("(ba|da|)sh"),
                    *(n for n in tree.files() if n.endswith((".sh", ".bash")))})
    status, output = run("shellcheck", "-x", "-P", "SCRIPTDIR", *names)
    assert names and status == 0, output


def test_python():
    need("pylint")
    names = sorted({*scripts("python3"), *(n for n in tree.files() if n.endswith(".py"))})
    status, output = run("pylint", "-j", str(os.cpu_count()), "--score=n", *names)
    assert names and status == 0, output


# ---- lines ----


def texts():
    """Every file of text, with its lines; recorded bytes and other people's texts are left out."""
    for name in tree.files():
        if not name.startswith("tests/fuzz/corpus/") and name != "LICENSE":
            yield name, tree.read(name).splitlines(keepends=True)


def test_lines_end_well():
    wrong = []
    for name, lines in texts():
        wrong += [f"{name}:{number}: blanks at the end of the line, or no newline"
                  for number, line in enumerate(lines, 1) if line != line.rstrip() + "\n"]
        if lines and not lines[-1].strip():
            wrong.append(f"{name}:{len(lines)}: an empty line at the end of the file")
    assert not wrong, "\n".join(wrong)


def prose(name):
    """(line number, line) of Markdown outside tables and examples."""
    fenced = False
    for number, line in enumerate(tree.read(name).splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith("|"):
            yield number, line


def test_prose_fits():
    """At most 120 columns, except tables, examples, commands and a link that cannot be broken."""
    wrong = [f"{name}:{number}: {len(line)} columns"
             for name in tree.files() if name.endswith(".md")
             for number, line in prose(name)
             if len(line) > PROSE_COLUMNS and " " in line.strip()[:PROSE_COLUMNS]]
    wrong += [f"{name}:{number}: {len(line)} columns"
              for name in tree.files() if name.endswith((".varlink", ".ini", ".conf"))
              for number, line in enumerate(tree.read(name).splitlines(), 1)
              if len(line) > COMMENT_COLUMNS and not line.lstrip().startswith("$ ")]
    wrong += [f"{name}:{number}: {len(line)} columns"
              for name in tree.files() if name.endswith((".c", ".h"))
              for number, line in enumerate(tree.read(name).expandtabs().splitlines(), 1)
              if len(line) > COMMENT_COLUMNS and re.match(r"\s*(/\*| \*) ", line)]
    assert not wrong, "\n".join(wrong)


# ---- words ----

# A pattern that reads badly, and what to write.  CONTRIBUTING.md says why.  "nobody" in quotes, or
# as a default, is the user of that name.
WORDS = {
    r"(is|are|was|were|be|been) told\b": "is reported, is shown; better: \"netflowd reports …\"",
    r"told apart": "distinguished, counted separately",
    r"tells?( of)?(?= (the|a|an|its|how|what|whether|which|where|why|that|of|us|it)\b)":
        "shows, reports, says, names",
    r"likewise": "repeat the sentence",
    r"so (many|long|often)": "N, at most N, for this time, at this interval",
    r"(?<!same )as for": "the same as for; or a sentence of its own",
    r"else": "otherwise; all others; NULL if there is none",
    r"anew": "again",
    r"folders?": "directory",
    r"mend(s|ed|ing)?": "fix, replace",
    r"meanwhile": "while …, during …",
    r"for want of": "for lack of",
    r"(?<!\")(?<!= )(?<!Default: )(somebody|whoever|nobody)(?!\")":
        "you, the administrator, a process",
    r"hand(s|ed|ing)? (over|on)": "pass, pass on",
    r"leaves? a record": "is recorded",
    r"in(to)? one piece": "contiguous, linear",
    r"judg(e|es|ed|ing)": "evaluate",
}
BAD = re.compile("|".join(rf"(?P<w{i}>\b{pattern}\b)" for i, pattern in enumerate(WORDS)),
                 re.IGNORECASE)
C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
READ_BY_USERS = re.compile(
    r"(README|CONTRIBUTING|NEWS)\.md|docs/.*\.(md|[1-8])|config/.*\.(md|ini|conf)|.*\.varlink|"
    r"(bpf|common|daemon|cli)/.*\.[ch]|Makefile")


def words_of(name):
    """(line number, text) of what people read: everything, of C its comments and strings."""
    text = tree.read(name)
    if not name.endswith((".c", ".h")):
        # Examples and keys are not prose.
        text = re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), text)
        yield from enumerate(text.splitlines(), 1)
        return
    for match in C_TEXT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        if not text[text.rfind("\n", 0, match.start()) + 1:].startswith("#include"):
            for number, line in enumerate(match[0].splitlines(), first):
                yield number, line


def test_words():
    wrong = []
    for name in filter(READ_BY_USERS.fullmatch, tree.files()):
        for number, line in words_of(name):
            for match in BAD.finditer(line):
                instead = list(WORDS.values())[int(match.lastgroup[1:])]
                wrong.append(f"{name}:{number}: \"{match[0]}\": write {instead}")
    assert not wrong, "\n".join(wrong)


# ---- what the checks themselves rest on ----


def test_checks_see_the_tree():
    """None of the above may pass because it looked at nothing."""
    names = tree.files()
    assert sum(name.endswith(".c") for name in names) > 100
    assert len(list(scripts("(ba|da|)sh"))) > 5 and len(list(scripts("python3"))) > 3
    assert BAD.search("It is told elsewhere.") and not BAD.search("elsewhere")
    assert pathlib.Path(tree.TOP / ".editorconfig").exists()

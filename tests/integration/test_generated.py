# SPDX-License-Identifier: GPL-2.0-or-later
"""Files in the tree that are made from the programs' tables: the shipped configuration and the
manual pages.  `make generated` rewrites them."""

import os
import re
import shutil
import subprocess

import pytest

from lab import paths

pytestmark = pytest.mark.usefixtures("built")

CONFIG = paths.TREE / "config/netflowd.conf"
MAN = paths.TREE / "docs/man"
INTERFACE = paths.TREE / "daemon/control/io.netflowd.varlink"
PAGES = sorted(MAN.glob("*.[1-8]"))


def printed(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# ---- the configuration ----


def test_the_shipped_config_is_the_tables():
    assert CONFIG.read_text() == printed(paths.DAEMON, "--print-default-config"), \
        "run `make generated`"


def test_the_shipped_config_sets_nothing():
    """All of it is comments and sections, so the defaults stay."""
    lines = printed(paths.DAEMON, "--config", CONFIG, "--print-config").splitlines()
    assert {line for line in lines if line.startswith("#")} == {"# default"}


def uncommented(text):
    """The file as an administrator makes it who removes the # before every setting."""
    return re.sub(r"^#(\w+ =)", r"\1", text, flags=re.MULTILINE)


def test_every_default_of_the_shipped_config_is_accepted(tmp_path):
    own = tmp_path / "netflowd.conf"
    own.write_text(uncommented(CONFIG.read_text()))
    settings = re.findall(r"^  (\w+\.\w+)  ", printed(paths.DAEMON, "--help"), re.MULTILINE)
    lines = printed(paths.DAEMON, "--config", own, "--print-config").splitlines()
    sources = [line for line in lines if line.startswith("#")]
    assert len(settings) > 30 and len(sources) == len(settings)
    assert all(line.startswith(f"# {own}:") for line in sources)

    def values(text):
        return [line for line in text.splitlines() if not line.startswith("#")]

    assert values("\n".join(lines)) == values(printed(paths.DAEMON, "--config", CONFIG,
                                                      "--print-config"))


# ---- the manual pages ----


def test_the_lists_in_the_pages_are_the_tables():
    done = subprocess.run([MAN / "generate", "--check", paths.BUILD], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, f"run `make generated`\n{done.stdout}{done.stderr}"


def test_the_page_has_the_tables_of_the_interface_file():
    """A row of a table in a comment is an item of a list, not part of a sentence."""
    page = (MAN / "io.netflowd.7").read_text()
    assert ".It Cm recurring\nit came before, but not all the time" in page
    assert ".It Cm drop_keys\nwhether every drop is counted" in page
    rows = re.findall(r"^  # ([a-z][a-z0-9_]*)  +\S", INTERFACE.read_text(),
                      re.MULTILINE)
    assert len(rows) > 20 and all(f".It Cm {name}\n" in page for name in rows)


def test_the_pages_have_every_name():
    """Independent of the generator: what the help and the interface name is in the pages."""
    settings = re.findall(r"^  \w+\.(\w+)  ", printed(paths.DAEMON, "--help"), re.MULTILINE)
    assert re.findall(r"^\.It Cm (\w+)$", (MAN / "netflowd.conf.5").read_text(),
                      re.MULTILINE)[:len(settings)] == settings
    commands = printed(paths.CLI, "help").split("Commands\n")[1].split("\n\n")[0]
    commands = re.findall(r"^  (\w+)", commands, re.MULTILINE)
    assert len(commands) > 10
    assert re.findall(r"^\.Ss (\w+)$", (MAN / "netflowctl.1").read_text(),
                      re.MULTILINE) == commands
    page = (MAN / "io.netflowd.7").read_text()
    text = INTERFACE.read_text()
    for kind, form in (("method", r"^\.Ss (\w+)\(\)$"), ("error", r"^\.It Er (\w+)$")):
        names = re.findall(rf"^{kind} (\w+)", text, re.MULTILINE)
        assert len(names) > 10 and re.findall(form, page, re.MULTILINE) == names


# What mandoc says about pages of others that this machine lacks.
OF_OTHERS = re.compile(r"referenced manual not found|outdated mandoc\.db")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_clean(page):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    done = subprocess.run(["mandoc", "-T", "lint", page], capture_output=True, text=True,
                          timeout=60, check=False)
    complaints = [line for line in (done.stdout + done.stderr).splitlines()
                  if not OF_OTHERS.search(line)]
    assert not complaints
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l", page],
                          capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
    assert (done.returncode, done.stderr) == (0, "")


def test_there_are_four_pages():
    assert [page.name for page in PAGES] == ["io.netflowd.7", "netflowctl.1", "netflowd.8",
                                             "netflowd.conf.5"]


# ---- the build ID ----


@pytest.mark.parametrize("program", [paths.DAEMON, paths.CLI], ids=["netflowd", "netflowctl"])
def test_version_has_the_build_id(program):
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)[1]
    assert re.fullmatch(rf"{program.name} \S+ \(build {build_id}\)\n",
                        printed(program, "--version"))

# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages, built once from the tree; fixtures of all tests here."""

import os
import pathlib
import re
import shutil
import subprocess

import chroot
import pytest

NEEDED = ("dpkg-buildpackage", "dh", "lintian", "mmdebstrap")


class Packages:
    """What debian/build made in a directory."""

    def __init__(self, directory):
        self.directory = directory
        self.changes, = directory.glob("*.changes")
        self.daemon, = directory.glob("netflowd_*.deb")
        self.cli, = directory.glob("netflowctl_*.deb")

    @property
    def both(self):
        return self.daemon, self.cli

    @property
    def version(self):
        return field(self.daemon, "Version")

    def dependencies(self):
        """The packages that ours depend on, without versions and alternatives."""
        names = set()
        for package in self.both:
            for dependency in field(package, "Depends").split(","):
                names.add(re.match(r"\s*([a-z0-9.+-]+)", dependency)[1])
        return names - {"netflowd", "netflowctl"}


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def _missing():
    """Why no test here can run; None if they can."""
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if os.geteuid():
        return "only root can make a Debian system in a directory"
    return f"not installed: {', '.join(missing)}" if missing else None


# Each module of tests has it as its pytestmark.
NEEDS = pytest.mark.skipif(_missing() is not None, reason=str(_missing()))


def build(directory, *options, **environment):
    log = subprocess.run([chroot.TOP / "debian/build", directory, *options],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False,
                         env={**os.environ, **environment})
    assert log.returncode == 0, log.stdout[-3000:]
    return Packages(directory)


@pytest.fixture(scope="session")
def build_into():
    """Builds the packages into a directory, with options and environment for dpkg-buildpackage."""
    return build


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    return build(tmp_path_factory.mktemp("packages") / "deb")


@pytest.fixture(scope="session")
def bookworm(packages):
    """Debian 12 with what the packages depend on, and systemd's programs."""
    return chroot.base("bookworm", {*packages.dependencies(), "systemd", "systemd-sysv"})


@pytest.fixture
def root(bookworm, tmp_path):
    """A copy of it for one test."""
    copy = bookworm.copy(tmp_path / "root")
    yield copy
    shutil.rmtree(pathlib.Path(copy.path))

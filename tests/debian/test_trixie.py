# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages on Debian 13: newer compilers, a newer libbpf, newer headers of the kernel."""

import re

import builds
import chroot
import fixtures
import pytest

pytestmark = fixtures.NEEDS


@pytest.fixture(scope="module")
def trixie(tmp_path_factory):
    target, builder = builds.build_depends()
    # The package with the service depends on systemd-sysusers, as debhelper of Debian 13 has it.
    root = chroot.base("trixie", {*builds.BUILDER, *target, *builder, "systemd"})
    copy = root.copy(tmp_path_factory.mktemp("trixie") / "root")
    builds.copy_source(copy)
    return copy


@pytest.fixture(scope="module")
def built(trixie):
    """What the build and the unit tests printed."""
    return trixie.run("dpkg-buildpackage", "--no-sign", "-b", check=False, timeout=1400,
                      directory=builds.SOURCE,
                      environment={"DEB_BUILD_OPTIONS": "parallel=2"})


def test_the_packages_build(built):
    assert built.returncode == 0, built.stdout[-3000:]


def test_without_warnings(built):
    assert not re.findall(r"^.*(?:warning|error): .*$", built.stdout, re.MULTILINE)


def test_unit_tests_pass(built):
    passed, failed = re.findall(r"^(\d+) passed, (\d+) failed", built.stdout, re.MULTILINE)[-1]
    assert int(passed) > 300 and failed == "0"


def test_clang_has_no_warnings(trixie, built):
    done = trixie.run("make", "-j2", "VARIANT=clang", "all", check=False, timeout=900,
                      directory=builds.SOURCE)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_packages_install(trixie, built):
    assert built.returncode == 0
    debs = [f"/build/{path.name}" for path in (trixie.path / "build").glob("*.deb")
            if "dbgsym" not in path.name]
    assert len(debs) == 2
    trixie.run("dpkg", "--install", *debs)
    assert trixie.output("netflowd", "--version").startswith("netflowd 0~")
    assert "GLIBC" not in trixie.run("netflowctl", "status", check=False).stdout

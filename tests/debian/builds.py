# SPDX-License-Identifier: GPL-2.0-or-later
"""Systems that build the packages: another release of Debian, and a cross build for arm64."""

import re
import shutil
import subprocess

import chroot

# What a Debian system without them lacks; Build-Depends of debian/control adds the rest.
BUILDER = {"build-essential", "dpkg-dev", "fakeroot", "git", "python3"}
SOURCE = "/build/source"


def build_depends():
    """(names for the architecture of the packages, names for that of the builder)"""
    control = (chroot.TOP / "debian/control").read_text()
    field = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.MULTILINE)[1]
    names = [re.sub(r"\s*[(<].*", "", line.strip(" ,")) for line in field.splitlines()]
    target = {name for name in names if ":" not in name and not name.startswith("debhelper")}
    builder = {name.split(":")[0] for name in names if ":" in name} | {"debhelper"}
    return target, builder


def copy_source(root):
    """The files that git knows, as debian/build takes them, in the system's /build/source."""
    place = root.path / SOURCE.lstrip("/")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    names = subprocess.run(["git", "-c", f"safe.directory={chroot.TOP}", "-C", chroot.TOP,
                            "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, stdout=subprocess.PIPE).stdout.split(b"\0")
    present = b"\0".join(name for name in names if name and (chroot.TOP / name.decode()).exists())
    tar = subprocess.run(["tar", "-C", chroot.TOP, "--null", "--no-recursion", "-T", "-", "-c"],
                         input=present, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-C", place, "-x"], input=tar, check=True)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages of the tree, and the same packages as a newer version.

debian/build builds them once for each state of the sources, because that takes minutes.
"""

import hashlib
import os
import re
import shutil

from .trouble import Trouble, command

CONFIG = "etc/netflowd/netflowd.conf"
UNIT = "lib/systemd/system/netflowd.service"
NEWER_CONFIG = "# of the newer version\n"
NEWER_UNIT = "netflowd, the newer version"


def get(tree, build):
    """Return the directory with the packages; its directory `newer` has them as a newer version."""
    directory = build / "packages"
    state = _state(tree)
    if not (directory / "state").exists() or (directory / "state").read_text() != state:
        try:
            _build(tree, directory)
        except Trouble as trouble:
            raise Trouble(f"cannot build the packages: {trouble}") from trouble
        (directory / "state").write_text(state)
    return directory


def _state(tree):
    """A hash of the files that the packages are built from."""
    names = command("git", "-c", f"safe.directory={tree}", "-C", tree, "ls-files", "-z", "--cached",
                    "--others", "--exclude-standard", "--", ".", ":!tests", ":!.ci")
    digest = hashlib.sha256(__file__.encode())
    for name in sorted(set(names.split("\0"))):
        if name and (tree / name).exists():
            digest.update(name.encode() + b"\0" + (tree / name).read_bytes())
    return digest.hexdigest()


def _build(tree, directory):
    options = f"nocheck noautodbgsym parallel={os.cpu_count()}"
    command(tree / "debian/build", directory, "-b",
            env={**os.environ, "DEB_BUILD_OPTIONS": options})
    # Only the packages are wanted.
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    newer(directory.glob("*.deb"), directory / "newer")


def newer(packages, directory):
    """The same packages with a higher version, another shipped configuration and another unit."""
    directory.mkdir(exist_ok=True)
    made = []
    for package in packages:
        tree = directory / package.stem
        command("dpkg-deb", "-R", package, tree)
        _edit(tree / "DEBIAN/control", r"^(Version: .*)$", r"\1+newer")
        if (tree / CONFIG).exists():
            (tree / CONFIG).write_text(NEWER_CONFIG + (tree / CONFIG).read_text())
        if (tree / UNIT).exists():
            _edit(tree / UNIT, r"^Description=.*$", f"Description={NEWER_UNIT}")
        made.append(directory / f"newer-{package.name}")
        command("dpkg-deb", "--root-owner-group", "-b", tree, made[-1])
        shutil.rmtree(tree)
    return made


def _edit(path, pattern, text):
    path.write_text(re.sub(pattern, text, path.read_text(), count=1, flags=re.MULTILINE))

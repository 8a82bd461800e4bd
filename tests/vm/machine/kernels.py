# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernel packages: fetched with apt, unpacked, never installed."""

import contextlib
import dataclasses
import pathlib
import re
import shutil

from .apt import ARCHITECTURE, Apt
from .trouble import Trouble, command

# Where each kernel is, best place first.
SUITES = {
    "5.10": ("bullseye",),
    "6.1": ("bookworm",),
    "6.12": ("bookworm-backports", "trixie"),
}


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str              # 6.1
    directory: pathlib.Path

    @property
    def root(self):
        """The unpacked package."""
        return self.directory / "root"

    @property
    def image(self):
        return next((self.root / "boot").glob("vmlinuz-*"))

    @property
    def release(self):
        """What uname -r will say."""
        return self.image.name.removeprefix("vmlinuz-")

    @property
    def modules(self):
        return self.root / "lib" / "modules" / self.release


def get(build, name):
    """The kernel of that name, from the cache in `build` or from the mirror."""
    kernel = Kernel(name, build / name)
    if not kernel.root.exists():
        kernel.directory.mkdir(parents=True, exist_ok=True)
        _unpack(kernel, _fetch(kernel, build / "apt"))
    return kernel


def _fetch(kernel, state):
    failures = []
    for suite in SUITES[kernel.name]:
        try:
            return _download(kernel, Apt(state / suite, suite))
        except Trouble as trouble:
            failures.append(f"{suite}: {trouble}")
    raise Trouble(f"no kernel {kernel.name}: it is fetched with apt, once, into {kernel.directory}; "
                  "run this where apt reaches a Debian mirror, or copy the folder from there\n"
                  + "\n".join(failures))


def _download(kernel, apt):
    # The meta package names the release's current kernel.
    meta = apt.depends(f"linux-image-{ARCHITECTURE}")
    package = re.search(rf"Depends: (linux-image-{re.escape(kernel.name)}\.\S+)", meta)
    if not package:
        raise Trouble(f"it has another kernel now: {' '.join(meta.split())}")
    # In a folder of its own, where an earlier, broken attempt has left nothing.
    folder = kernel.directory / "package"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return apt.download(folder, package[1])[0]


def _unpack(kernel, package):
    """All or nothing, so that what is cached is whole."""
    fresh = Kernel(kernel.name, kernel.directory / "package")
    command("dpkg-deb", "-x", package, fresh.root)
    if not (fresh.root / "lib").exists():  # since Debian 13 it is usr/lib
        (fresh.root / "lib").symlink_to("usr/lib")
    command("depmod", "-b", fresh.root, fresh.release)
    with contextlib.suppress(FileNotFoundError):
        kernel.root.rmdir()
    fresh.root.rename(kernel.root)
    shutil.rmtree(fresh.directory)

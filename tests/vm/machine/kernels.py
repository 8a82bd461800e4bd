# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernel packages, downloaded with apt and unpacked, never installed."""

import contextlib
import dataclasses
import pathlib
import re
import shutil

from .apt import ARCHITECTURE, Apt
from .trouble import Trouble, command

# The suites of Debian that have each kernel, in order of preference.
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
        """What `uname -r` prints on this kernel."""
        return self.image.name.removeprefix("vmlinuz-")

    @property
    def modules(self):
        return self.root / "lib" / "modules" / self.release


def get(build, name):
    """Return the kernel with that name, from the cache in `build` or from the mirror."""
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
    raise Trouble("\n".join((
        f"cannot download kernel {kernel.name}:", *failures,
        "apt must reach a Debian mirror, once; or copy the directory "
        f"{kernel.directory} from a machine that has it")))


def _download(kernel, apt):
    # The meta package names the release's current kernel.
    meta = apt.depends(f"linux-image-{ARCHITECTURE}")
    package = re.search(rf"Depends: (linux-image-{re.escape(kernel.name)}\.\S+)", meta)
    if not package:
        raise Trouble(f"the suite has another kernel now: {' '.join(meta.split())}")
    # An earlier attempt may have left a partial file, so start with an empty directory.
    directory = kernel.directory / "package"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return apt.download(directory, package[1])[0]


def _unpack(kernel, package):
    """Unpack the package; the last step is a rename, so the cache never has a partial kernel."""
    fresh = Kernel(kernel.name, kernel.directory / "package")
    command("dpkg-deb", "-x", package, fresh.root)
    if not (fresh.root / "lib").exists():  # Debian 13 and later: usr/lib
        (fresh.root / "lib").symlink_to("usr/lib")
    command("depmod", "-b", fresh.root, fresh.release)
    with contextlib.suppress(FileNotFoundError):
        kernel.root.rmdir()
    fresh.root.rename(kernel.root)
    shutil.rmtree(fresh.directory)

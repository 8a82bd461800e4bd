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
    "7.3": ("trixie-backports",),
    "7.3-rt": ("trixie-backports",),
}
# tests/vm/table compares the times of starts on two kernels: the median of so many.
STARTS = 5


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str              # 6.1, or 7.3-rt: PREEMPT_RT
    directory: pathlib.Path

    @property
    def version(self):
        return self.name.partition("-")[0]

    @property
    def flavour(self):
        """What the names of Debian's packages end with."""
        return "-".join((*self.name.split("-")[1:], ARCHITECTURE))

    @property
    def root(self):
        """The unpacked package."""
        return self.directory / "root"

    @property
    def image(self):
        """The kernel, which Debian keeps beside its modules since 7.2."""
        boot = self.root / "boot" / f"vmlinuz-{self.release}"
        return boot if boot.exists() else self.modules / "vmlinuz"

    @property
    def release(self):
        """What `uname -r` prints on this kernel."""
        return self.modules.name

    @property
    def modules(self):
        return next((self.root / "lib" / "modules").iterdir())


def get(build, name):
    """Return the kernel with that name, from the cache in `build` or from the mirror."""
    kernel = Kernel(name, build / name)
    if not kernel.root.exists():
        kernel.directory.mkdir(parents=True, exist_ok=True)
        _unpack(kernel, *_fetch(kernel, build / "apt"))
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
    """Download the packages of the kernel into an empty directory; return the files."""
    # The meta package names the release's current kernel.
    meta = apt.depends(f"linux-image-{kernel.flavour}")
    package = re.search(rf"Depends: (linux-image-{re.escape(kernel.version)}\.\S+)", meta)
    if not package:
        raise Trouble(f"the suite has another kernel now: {' '.join(meta.split())}")
    # An earlier attempt may have left a partial file, so start with an empty directory.
    directory = kernel.directory / "package"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return apt.download(directory, package[1], *_parts(package[1], apt))


def _parts(package, apt):
    """The packages of the same kernel that it depends on: since 7.2, its files are in these."""
    release = re.escape(package.removeprefix("linux-image-"))
    return re.findall(rf"Depends: (linux-\w+-{release})$", apt.depends(package), re.MULTILINE)


def _unpack(kernel, *packages):
    """Unpack the packages; the last step is a rename, so the cache never has a partial kernel."""
    fresh = Kernel(kernel.name, kernel.directory / "package")
    for package in packages:
        command("dpkg-deb", "-x", package, fresh.root)
    if not (fresh.root / "lib").exists():  # Debian 13 and later: usr/lib
        (fresh.root / "lib").symlink_to("usr/lib")
    command("depmod", "-b", fresh.root, fresh.release)
    with contextlib.suppress(FileNotFoundError):
        kernel.root.rmdir()
    fresh.root.rename(kernel.root)
    shutil.rmtree(fresh.directory)

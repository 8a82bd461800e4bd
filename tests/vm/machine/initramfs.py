# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's first file system: busybox and what it takes to mount the host's."""

import gzip
import lzma
import pathlib
import shutil
import subprocess
import tempfile

from .trouble import Trouble, command

BUSYBOX = pathlib.Path("/bin/busybox")
INIT = pathlib.Path(__file__).resolve().parents[1] / "guest" / "init"
# They bring what they depend on.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")

_UNPACK = {".ko": open, ".xz": lzma.open, ".gz": gzip.open}


def build(kernel, archive):
    """Make it, as the file `archive`."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        folder = pathlib.Path(folder)
        _busybox(folder)
        _modules(folder, kernel)
        shutil.copy(INIT, folder / "init")
        names = command("find", ".", "-mindepth", "1", cwd=folder)
        with open(archive, "wb") as out:
            _cpio(folder, names, out)


def _busybox(folder):
    for name in ("bin", "dev", "proc", "sys", "host", "over", "tree", "root"):
        (folder / name).mkdir()
    if not BUSYBOX.exists():
        raise Trouble(f"{BUSYBOX} is missing: make packages")
    shutil.copy(BUSYBOX, folder / "bin" / "busybox")
    (folder / "bin" / "sh").symlink_to("busybox")


def _modules(folder, kernel):
    """Unpacked, under numbers in the order in which they are to be loaded."""
    (folder / "modules").mkdir()
    for number, module in enumerate(_in_order(kernel)):
        unpack = _UNPACK[module.suffix]
        with unpack(module, "rb") as packed, \
                open(folder / "modules" / f"{number:02}.ko", "wb") as plain:
            shutil.copyfileobj(packed, plain)


def _in_order(kernel):
    modules = []
    for name in MODULES:
        lines = command("modprobe", "-d", kernel.root, "-S", kernel.release, "--show-depends", name)
        for line in lines.splitlines():
            verb, *path = line.split()
            if verb == "insmod" and pathlib.Path(path[0]) not in modules:
                modules.append(pathlib.Path(path[0]))
    return modules


def _cpio(folder, names, out):
    try:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=folder, input=names.encode(),
                       stdout=out, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise Trouble(f"cannot make the initramfs: {error}") from error

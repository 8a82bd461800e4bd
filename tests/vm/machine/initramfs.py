# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's first file system: busybox and the modules that mount the host's file system."""

import gzip
import lzma
import pathlib
import shutil
import subprocess
import tempfile

from .trouble import Trouble, command

BUSYBOX = pathlib.Path("/bin/busybox")
GUEST = pathlib.Path(__file__).resolve().parents[1] / "guest"
# _in_order() adds the modules that these depend on.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")

_UNPACK = {".ko": open, ".xz": lzma.open, ".gz": gzip.open}


def build(kernel, archive, init="init", modules=MODULES):
    """Write the initramfs of a kernel to the file `archive`.

    `init` is the first process, a file of tests/vm/guest.
    """
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        directory = pathlib.Path(directory)
        _busybox(directory)
        _modules(directory, kernel, modules)
        shutil.copy(GUEST / init, directory / "init")
        names = command("find", ".", "-mindepth", "1", cwd=directory)
        with open(archive, "wb") as out:
            _cpio(directory, names, out)


def _busybox(directory):
    for name in ("bin", "dev", "proc", "sys", "host", "over", "tree", "root"):
        (directory / name).mkdir()
    if not BUSYBOX.exists():
        raise Trouble(f"{BUSYBOX} is missing: run `make packages`")
    shutil.copy(BUSYBOX, directory / "bin" / "busybox")
    (directory / "bin" / "sh").symlink_to("busybox")


def _modules(directory, kernel, names):
    """Add the modules, uncompressed, under numbers that give the order in which init loads them."""
    (directory / "modules").mkdir()
    for number, module in enumerate(_in_order(kernel, names)):
        unpack = _UNPACK[module.suffix]
        with unpack(module, "rb") as packed, \
                open(directory / "modules" / f"{number:02}.ko", "wb") as plain:
            shutil.copyfileobj(packed, plain)


def _in_order(kernel, names):
    modules = []
    for name in names:
        lines = command("modprobe", "-d", kernel.root, "-S", kernel.release, "--show-depends", name)
        for line in lines.splitlines():
            verb, *path = line.split()
            if verb == "insmod" and pathlib.Path(path[0]) not in modules:
                modules.append(pathlib.Path(path[0]))
    return modules


def _cpio(directory, names, out):
    try:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=directory, input=names.encode(),
                       stdout=out, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise Trouble(f"cannot create the initramfs: {error}") from error

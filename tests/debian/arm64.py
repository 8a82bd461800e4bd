# SPDX-License-Identifier: GPL-2.0-or-later
"""An emulated arm64 machine: Debian's kernel, busybox, and programs with their libraries."""

import pathlib
import re
import shutil
import subprocess
import tempfile

import chroot
from machine import apt, trouble

ARCHITECTURE = "arm64"
SUITES = {"6.1": "bookworm", "6.12": "trixie"}
LIBRARIES = ("usr/lib/aarch64-linux-gnu", "usr/aarch64-linux-gnu/lib")
LOADER = "lib/ld-linux-aarch64.so.1"
# Each command of a test prints its output between two such lines on the console.
BEGIN, END = "@@ begin", "@@ end"
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /proc /sys /dev /run /tmp /etc
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 'root:x:0:0:root:/:/bin/sh' > /etc/passwd
echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >> /etc/passwd
echo 'root:x:0:' > /etc/group
mkdir -p /run/netflowd /dev/shm
mount -t tmpfs tmpfs /dev/shm
ip link set lo up
{commands}
poweroff -f
"""
STEP = """echo '{begin} {name}'
({command}) 2>&1
echo; echo "{end} $?"
"""


def kernel(name):
    """Debian's kernel for arm64, from the cache or the mirror."""
    directory = chroot.CACHE / f"arm64-{name}"
    with apt.alone(chroot.CACHE):
        if not directory.exists():
            _fetch(SUITES[name], name, directory)
    return next(directory.glob("boot/vmlinuz-*"))


def busybox():
    directory = chroot.CACHE / "arm64-busybox"
    with apt.alone(chroot.CACHE):
        if not directory.exists():
            source = apt.Apt(chroot.CACHE / "apt-arm64-bookworm", "bookworm", ARCHITECTURE)
            _unpack(source, "busybox-static", directory)
    return next(path for path in (directory / "bin/busybox", directory / "usr/bin/busybox")
                if path.exists())


def _fetch(suite, name, directory):
    source = apt.Apt(chroot.CACHE / f"apt-arm64-{suite}", suite, ARCHITECTURE)
    meta = source.depends("linux-image-arm64")
    package = re.search(rf"Depends: (linux-image-{re.escape(name)}\.\S+)", meta)
    if not package:
        raise trouble.Trouble(f"the suite {suite} has another kernel now: {meta}")
    _unpack(source, package[1], directory)


def _unpack(source, package, directory):
    with tempfile.TemporaryDirectory(dir=chroot.CACHE) as place:
        place = pathlib.Path(place)
        files = source.download(place, package)
        trouble.command("dpkg-deb", "-x", files[0], place / "root")
        (place / "root").rename(directory)


def needed(root, program):
    """The libraries that a program needs, by the names in its dynamic section, and theirs."""
    found, todo = {}, [program]
    while todo:
        out = subprocess.run(["readelf", "-d", todo.pop()], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", out):
            if name not in found:
                found[name] = next(root.path / place / name for place in LIBRARIES
                                   if (root.path / place / name).exists())
                todo.append(found[name])
    return found


def initramfs(root, programs, commands, archive):
    """Write an initramfs that runs `commands`, {name: shell command}, and powers off.

    `programs` are arm64 programs; they are in /bin, without their debug symbols.  Their libraries
    come from the system `root`, in which they were built.
    """
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        directory = pathlib.Path(directory)
        (directory / "bin").mkdir()
        (directory / "lib").mkdir()
        shutil.copy(busybox(), directory / "bin/busybox")
        for program in programs:
            target = directory / "bin" / program.name
            shutil.copy(program, target)
            for name, path in needed(root, program).items():
                if not (directory / "lib" / name).exists():
                    shutil.copy(path.resolve(), directory / "lib" / name)
        for place in LIBRARIES:
            loader = root.path / place / pathlib.Path(LOADER).name
            if loader.exists() and not (directory / LOADER).exists():
                shutil.copy(loader.resolve(), directory / LOADER)
        # Tests of terminals need the locale C.UTF-8.
        (directory / "usr/lib/locale").mkdir(parents=True)
        shutil.copytree(root.path / "usr/lib/locale/C.utf8", directory / "usr/lib/locale/C.utf8")
        steps = "".join(STEP.format(begin=BEGIN, end=END, name=name, command=command)
                        for name, command in commands.items())
        (directory / "init").write_text(INIT.format(commands=steps))
        (directory / "init").chmod(0o755)
        names = trouble.command("find", ".", "-mindepth", "1", cwd=directory)
        with open(archive, "wb") as out:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=directory, check=True,
                           input=names.encode(), stdout=out)


def run(image, archive, time_limit=900):
    """Boot and return {name: (exit status, output)} of what the commands printed."""
    done = subprocess.run(
        ["setpriv", "--pdeathsig", "KILL", "qemu-system-aarch64", "-machine", "virt",
         "-cpu", "max,pauth-impdef=on",
         "-accel", "tcg,thread=single", "-smp", "2", "-m", "1024", "-nic", "none", "-nographic",
         "-no-reboot", "-kernel", image, "-initrd", archive,
         "-append", "console=ttyAMA0 quiet loglevel=1 panic=-1"],
        check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=time_limit)
    console = done.stdout.decode(errors="replace").replace("\r\n", "\n")
    results = {name: (int(status), output.strip()) for name, output, status in
               re.findall(rf"{BEGIN} (\S+)\n(.*?)\n{END} (\d+)", console, re.DOTALL)}
    assert results, console[-4000:]
    return results

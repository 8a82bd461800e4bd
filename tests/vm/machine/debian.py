# SPDX-License-Identifier: GPL-2.0-or-later
"""A Debian system with systemd on a disk of its own, for tests of netflowd as a service.

mmdebstrap builds it from the mirror of this machine's own apt.  The image holds nothing of
netflowd: the tests install that in the guest, whose changes to the disk are dropped when it ends.
"""

import re
import shutil

from .apt import ARCHITECTURE, KEYRING, mirror
from .trouble import Trouble, command

SUITE = "bookworm"
SIZE = "1500M"  # sparse
# What netflowd depends on, what its unit calls (procps: kill), and what the tests call.
PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "procps", "kmod", "iproute2", "util-linux", "e2fsprogs",
    "libbpf1", "libjansson4", "libinih1", "libtraceevent1", "libtracefs1", "libtracecmd1",
    "libcap2",
    "libseccomp2", "libpcap0.8", "libncursesw6", "libsystemd0", "libmicrohttpd12", "libsqlite3-0",
    "libcurl4",
    "python3", "python3-pytest", "gdb", "curl",
)
# The modules that mount the disk and the host's directories.
MODULES = ("virtio_pci", "virtio_blk", "ext4", "9pnet_virtio", "9p")
UNIT = """[Unit]
Description=the test that this guest runs
After=multi-user.target
[Service]
Type=oneshot
StandardOutput=journal+console
ExecStart=/guest
"""
# ttyS0 is the console.  The path of the source tree is on the kernel's command line.
START = """#!/bin/bash
tree=$(sed -n 's/.*netflowd\\.tree=\\([^ ]*\\).*/\\1/p' /proc/cmdline)
mkdir -p "$tree"
mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 tree "$tree"
exec "$tree/tests/vm/guest/systemd" "$tree"
"""


def get(build):
    """Return the image, from the cache in `build` or built from the mirror."""
    directory = build / "debian"
    image = directory / f"{SUITE}.ext4"
    # A change of the lists above makes a new image.
    recipe = "\n".join((SUITE, SIZE, *PACKAGES, UNIT, START))
    if not image.exists() or _read(directory / "recipe") != recipe:
        try:
            _build(directory, image)
        except Trouble as trouble:
            raise Trouble(f"cannot build the Debian image: {trouble}\n"
                          "apt must reach a Debian mirror, once; or copy the directory "
                          f"{directory} from a machine that has it") from trouble
        (directory / "recipe").write_text(recipe)
    return image


def _read(path):
    return path.read_text() if path.exists() else None


def _build(directory, image):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    # Not `root`: that is the name for an unpacked kernel, and a guest that lists the kernels at
    # this moment would find files that come and go.
    root = directory / "system"
    # The machine's own apt may use a proxy.
    settings = directory / "apt.conf"
    settings.write_text(command("apt-config", "dump", "--format", '%F "%v";%n', "Acquire"))
    sources = directory / "sources.list"
    sources.write_text(f"deb [arch={ARCHITECTURE} signed-by={KEYRING}] {mirror()} {SUITE} main\n")
    command("mmdebstrap", "--mode=root", "--variant=minbase", f"--aptopt={settings}",
            f"--include={','.join(PACKAGES)}", SUITE, root, sources)
    _configure(root)
    fresh = directory / "image.new"
    command("mkfs.ext4", "-q", "-F", "-d", root, fresh, SIZE)
    fresh.rename(image)
    shutil.rmtree(root)


def _configure(root):
    (root / "etc/hostname").write_text("guest\n")
    (root / "etc/fstab").write_text("")
    start = root / "guest"
    start.write_text(START)
    start.chmod(0o755)
    (root / "etc/systemd/system/guest.service").write_text(UNIT)
    wants = root / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "guest.service").symlink_to("/etc/systemd/system/guest.service")
    # The guest has no network, and nobody logs in.
    for unit in ("systemd-networkd-wait-online", "getty@tty1", "serial-getty@ttyS0"):
        (root / f"etc/systemd/system/{unit}.service").symlink_to("/dev/null")
    release = re.search(r"^VERSION_CODENAME=(\w+)", (root / "etc/os-release").read_text(),
                        re.MULTILINE)
    if not release or release[1] != SUITE:
        raise Trouble(f"the image is not Debian's {SUITE}")

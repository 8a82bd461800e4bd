# SPDX-License-Identifier: GPL-2.0-or-later
"""The Xen hypervisor and the tools that its domain 0 needs, unpacked and never installed.

Installing the hypervisor would change what the machine boots.  The guest's kernel runs as Xen's
domain 0.  There is no other domain: domain 0 has both the frontend and the backend of a network
device.
"""

import gzip
import shutil

from .apt import Apt
from .trouble import Trouble, command

SUITE = "bookworm"
# The kernels that run as domain 0 in QEMU.
KERNELS = ("6.1", "6.12")
PACKAGES = (
    "xen-hypervisor-4.17-amd64", "xen-utils-4.17", "xenstore-utils",
    # The libraries of xenstored and xenstore-write, without libc.
    "libxenmisc4.17", "libxencall1", "libxendevicemodel1", "libxenevtchn1", "libxenforeignmemory1",
    "libxengnttab1", "libxenstore4", "libxentoolcore1", "libxentoollog1",
)
# Xen's own memory, in addition to that of domain 0.
OWN_MEMORY = 256  # MiB


class Hypervisor:
    """Xen, and the arguments with which QEMU starts a kernel on it."""

    def __init__(self, directory):
        self.root = directory / "root"
        self.image = directory / "xen"

    def environment(self):
        """Variables for the guest, which finds Xen's tools with them."""
        return {"NETFLOWD_VM_XEN": str(self.root)}

    def boot(self, kernel, initramfs, command_line, options, cpu):
        """QEMU's arguments; Xen gets the kernel and its initramfs as modules, after a comma."""
        memory = options.memory
        # Domain 0 crashes at boot if the emulated processor has SMAP.
        yield from ("-cpu", f"{cpu},smap=off", "-m", str(memory + OWN_MEMORY),
                    "-kernel", str(self.image),
                    "-append", f"dom0_mem={memory}M,max:{memory}M console=com1 com1=115200,8n1 "
                    "noreboot",
                    "-initrd", f"{kernel.image} console=hvc0 {command_line},{initramfs}")


def get(build):
    """Return Xen, from the cache in `build` or from the mirror."""
    xen = Hypervisor(build / "xen")
    if not xen.image.exists():
        try:
            _unpack(build / "xen", Apt(build / "apt" / SUITE, SUITE))
        except Trouble as trouble:
            raise Trouble(f"cannot download Xen: {trouble}\n"
                          "apt must reach a Debian mirror, once; or copy the directory "
                          f"{build / 'xen'} from a machine that has it") from trouble
    return xen


def _unpack(directory, apt):
    """Unpack Xen's packages.  The image comes last, so its presence shows that all is there."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "packages").mkdir(parents=True)
    for package in apt.download(directory / "packages", *PACKAGES):
        command("dpkg-deb", "-x", package, directory / "root")
    packed = next((directory / "root" / "boot").glob("xen-*-amd64.gz"))
    # QEMU's loader accepts only an uncompressed image.
    fresh = directory / "xen.new"
    with gzip.open(packed) as source, open(fresh, "wb") as out:
        shutil.copyfileobj(source, out)
    fresh.rename(directory / "xen")

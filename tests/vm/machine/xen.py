# SPDX-License-Identifier: GPL-2.0-or-later
"""The Xen hypervisor and the tools that its first domain needs; nothing is installed.

Installing the hypervisor would change what the machine boots.  The guest's kernel runs as Xen's
domain 0, and there are no other domains: frontend and backend of a network device are both in it.
"""

import gzip
import shutil

from .apt import Apt
from .trouble import Trouble, command

SUITE = "bookworm"
# Those that can be domain 0 here.
KERNELS = ("6.1", "6.12")
PACKAGES = (
    "xen-hypervisor-4.17-amd64", "xen-utils-4.17", "xenstore-utils",
    # What xenstored and xenstore-write are linked with, libc apart.
    "libxenmisc4.17", "libxencall1", "libxendevicemodel1", "libxenevtchn1", "libxenforeignmemory1",
    "libxengnttab1", "libxenstore4", "libxentoolcore1", "libxentoollog1",
)
# For Xen itself, beside the memory of its first domain.
OWN_MEMORY = 256  # MiB


class Hypervisor:
    """Xen, and how QEMU is to start a kernel on it."""

    def __init__(self, directory):
        self.root = directory / "root"
        self.image = directory / "xen"

    def environment(self):
        """For the guest, which finds its tools there."""
        return {"NETFLOWD_VM_XEN": str(self.root)}

    def boot(self, kernel, initramfs, command_line, options):
        """QEMU's words.  Xen takes the kernel and its initramfs as modules, comma between them."""
        memory = options.memory
        # Domain 0 dies at once where the emulated processor has SMAP.
        yield from ("-cpu", "max,smap=off", "-m", str(memory + OWN_MEMORY),
                    "-kernel", str(self.image),
                    "-append", f"dom0_mem={memory}M,max:{memory}M console=com1 com1=115200,8n1 "
                    "noreboot",
                    "-initrd", f"{kernel.image} console=hvc0 {command_line},{initramfs}")


def get(build):
    """Xen, from the cache in `build` or from the mirror."""
    xen = Hypervisor(build / "xen")
    if not xen.image.exists():
        try:
            _unpack(build / "xen", Apt(build / "apt" / SUITE, SUITE))
        except Trouble as trouble:
            raise Trouble(f"no Xen: it is fetched with apt, once, into {build / 'xen'}; run this "
                          "where apt reaches a Debian mirror, or copy the folder from there\n"
                          f"{trouble}") from trouble
    return xen


def _unpack(directory, apt):
    """All or nothing: the image, which tells that it is all there, comes last."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "packages").mkdir(parents=True)
    for package in apt.download(directory / "packages", *PACKAGES):
        command("dpkg-deb", "-x", package, directory / "root")
    packed = next((directory / "root" / "boot").glob("xen-*-amd64.gz"))
    # QEMU's loader takes no compressed one.
    fresh = directory / "xen.new"
    with gzip.open(packed) as source, open(fresh, "wb") as out:
        shutil.copyfileobj(source, out)
    fresh.rename(directory / "xen")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Two network cards joined by a wire, each in a namespace; tests/vm gives its guest such a pair."""

import errno
import functools
import json
import os
import pathlib

from . import offload, waiting
from .net import Device, Pair, run

VARIABLES = ("NETFLOWD_NIC_A", "NETFLOWD_NIC_B")
INTERRUPT_CPU = 0


def why_not():
    """Why there are no such cards; None if there are."""
    missing = [variable for variable in VARIABLES if not os.environ.get(variable)]
    if missing:
        return (f"{' and '.join(missing)} not set: needs two network cards joined by a wire, as "
                "from tests/vm/run --nics")
    return None


def pair(lab, ipv6=False):
    """left ── wire ── right; INTERRUPT_CPU gets the interrupts of both cards.  When the lab deletes
    their namespaces, the kernel moves the cards back."""
    return Pair(_Wire(lab), ipv6)


class _Wire:
    """A lab in which the cards join two namespaces."""

    def __init__(self, lab):
        self.namespace = lab.namespace

    @staticmethod
    def veth(*namespaces):
        names = [os.environ[variable] for variable in VARIABLES]
        hardware = [pathlib.Path("/sys/class/net", name, "device").resolve() for name in names]
        ends = [_move(name, namespace) for name, namespace in zip(names, namespaces)]
        for end in ends:
            # A card needs seconds to find its link partner.
            if not waiting.until(functools.partial(_has_carrier, end), bool, seconds=30):
                raise RuntimeError(f"{end.name} has no carrier")
            _segment_in_software(end)
        for device in hardware:
            _interrupt_on(device, INTERRUPT_CPU)
        return tuple(ends)


def _move(name, namespace):
    run("ip", "link", "set", name, "netns", namespace.name)
    namespace.ip("link", "set", name, "up")
    return Device(namespace, name)


def _has_carrier(device):
    link = json.loads(device.namespace.ip("-j", "link", "show", "dev", device.name))[0]
    return "LOWER_UP" in link["flags"]


def _segment_in_software(card):
    """QEMU's e1000e cuts the segments of TSO into IP fragments, as no hardware does."""
    try:
        offload.switch(card, offload.STSO, False)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:  # a card without TSO
            raise


def _interrupt_on(device, cpu):
    # A virtio device is a child of the PCI device whose interrupts it uses.
    pci = device if (device / "msi_irqs").is_dir() else device.parent
    for line in (pci / "msi_irqs").iterdir():
        affinity = pathlib.Path("/proc/irq", line.name, "smp_affinity_list")
        if affinity.exists():  # missing for an interrupt that the driver did not request
            affinity.write_text(str(cpu))

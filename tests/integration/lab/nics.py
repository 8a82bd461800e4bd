# SPDX-License-Identifier: GPL-2.0-or-later
"""Two network cards joined by a wire, as tests/vm gives them to its guest; each in a namespace."""

import os

from .net import Device, Pair, run, wait_for_carrier

NAMES = os.environ.get("NETFLOWD_NIC_A"), os.environ.get("NETFLOWD_NIC_B")


def why_not():
    """Why there are none, or None when there are."""
    missing = [name for name, value in zip("AB", NAMES) if not value]
    if missing:
        return (f"NETFLOWD_NIC_{missing[0]} is not set: needs two joined network cards, "
                "as in tests/vm/run --nics virtio")
    return None


class Nics(Pair):
    """left ── wire ── right.  Deleting the namespaces gives the cards back."""

    def _join(self, lab):
        return tuple(self._move(name, namespace)
                     for name, namespace in zip(NAMES, (self.left, self.right)))

    @staticmethod
    def _move(name, namespace):
        run("ip", "link", "set", name, "netns", namespace.name)
        namespace.ip("link", "set", name, "up")
        device = Device(namespace, name)
        wait_for_carrier(device)
        return device

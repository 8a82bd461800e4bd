# SPDX-License-Identifier: GPL-2.0-or-later
"""Two network cards joined by a wire, as tests/vm gives them to its guest; each in a namespace."""

import json
import os

from . import waiting
from .net import Device, Pair, run

VARIABLES = ("NETFLOWD_NIC_A", "NETFLOWD_NIC_B")


def why_not():
    """Why there are none; None when there are."""
    missing = [variable for variable in VARIABLES if not os.environ.get(variable)]
    if missing:
        return (f"{' and '.join(missing)} not set: needs two network cards joined by a wire, as "
                "from tests/vm/run --nics")
    return None


def pair(lab, ipv6=False):
    """left ── wire ── right.  When the lab deletes their namespaces, the kernel takes the cards back."""
    return Pair(_Wire(lab), ipv6)


class _Wire:
    """A lab in which two namespaces are joined by the cards."""

    def __init__(self, lab):
        self.namespace = lab.namespace

    @staticmethod
    def veth(*namespaces):
        ends = []
        for variable, namespace in zip(VARIABLES, namespaces):
            name = os.environ[variable]
            run("ip", "link", "set", name, "netns", namespace.name)
            namespace.ip("link", "set", name, "up")
            ends.append(Device(namespace, name))
        for end in ends:
            # A card needs seconds to find out what it is joined to.
            if not waiting.until(lambda: _has_carrier(end), bool, seconds=30):
                raise RuntimeError(f"{end.name} has no carrier")
        return tuple(ends)


def _has_carrier(device):
    link = json.loads(device.namespace.ip("-j", "link", "show", "dev", device.name))[0]
    return "LOWER_UP" in link["flags"]

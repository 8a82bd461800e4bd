# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways for packets to die, each of a known number at one place of the kernel."""

from . import filters, ipv4, ipv6, link, tcp, tunnel, udp
from .scene import REGISTERED, Death, Lacking, Scene, has_module

DEATHS = tuple(REGISTERED.values())

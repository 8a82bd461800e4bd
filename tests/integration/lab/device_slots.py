# SPDX-License-Identifier: GPL-2.0-or-later
"""Which slots devices have, from the table by which the programs take them.  The daemon's status
does not count a slot from when it takes it from an idle device, but another device can take it
only when nothing names it any more."""

import functools
import json

from .net import run

SET = 8  # NF_DEVICE_SET of bpf/records.h: a device's slot is in one of two sets
RESERVED = 2  # NF_SLOT_RESERVED: the first slots are not devices
# Of a set with fewer free slots than this, the daemon takes those of idle devices (retire.c).
FREE_MIN = 2


@functools.cache
def _table(maps):
    for number in sorted(maps):
        shown = run("bpftool", "-j", "map", "show", "id", number, check=False)
        # The kernel cuts names to 15 bytes.
        if '"nf_device_claim"' in shown:
            return number
    raise LookupError("no table of the daemon has the slots of devices")


def taken(daemon, slots):
    """The numbers of the slots, of so many, that no other device can take."""
    rows = json.loads(run("bpftool", "-j", "map", "dump", "id",
                          _table(frozenset(daemon.bpf["map"]))))
    numbers = {int.from_bytes(bytes(int(byte, 16) for byte in row["key"]), "little")
               for row in rows}
    return {number for number in numbers if number < slots}


def free(daemon, slots):
    """How many slots of each set are free."""
    found = [SET] * (slots // SET)
    for number in taken(daemon, slots) | set(range(RESERVED)):
        found[number // SET] -= 1
    return found

# SPDX-License-Identifier: GPL-2.0-or-later
"""The matrix: topology × load × family, as a table; each cell asks both governors."""

import collections
import itertools
import random

from topologies import BUILDERS
from shape_loads import LOADS

# Cells of a sample, and the longest time of their load in s: continuous integration waits for it.
SAMPLE, SAMPLE_SECONDS = 8, 2


class Cell(collections.namedtuple("Cell", "topology load family")):
    __slots__ = ()

    def __str__(self):
        return f"{self.topology}-{self.load.name}-{self.family}"


def makes_sense(topology, load, family):
    """The relay's networks have IPv4 only.  One that loses packets needs a protocol that repeats
    them, and time for it."""
    if topology in ("tun", "lossy") and family == 6:
        return False
    return topology != "lossy" or (load.kind == "tcp" and load.name != "tcp_io_uring")


CELLS = [Cell(topology, load, family) for topology in BUILDERS for load in LOADS.values()
         for family in (4, 6) if makes_sense(topology, load, family)]


def alternating():
    """All cells, in an order of which every other one has each load in each topology, with IPv4
    and IPv6 by turns."""
    pairs = itertools.groupby(CELLS, lambda cell: (cell.topology, cell.load.name))
    return list(itertools.chain(*(list(cells)[::-1 if turn % 2 else 1]
                                  for turn, (_, cells) in enumerate(pairs))))


def sample(text):
    """The same cells for the same text: of as many topologies and loads as possible."""
    draw = random.Random(text)
    quick = [load for load in LOADS.values() if load.seconds <= SAMPLE_SECONDS]
    topologies = draw.sample(sorted(BUILDERS), SAMPLE)
    loads = draw.sample(quick, SAMPLE)
    cells = [Cell(*words, draw.choice((4, 6))) for words in zip(topologies, loads)]
    return [cell for cell in cells if makes_sense(*cell)]


# ---- bursts ----

BURST_TOPOLOGIES = ("direct", "routed", "sniffed", "gro", "bridge", "translated", "rps", "vxlan",
                    "threaded", "pods", "macvlan", "vrf")
BURST_LOADS = ("burst_2", "burst_0.2", "tcp_merged", "burst_2", "on_off", "tcp_burst", "stalled")
BURSTS, LONG_BURSTS, SAMPLED_BURSTS = 120, 6, 3


def bursts(text=""):
    """Each topology has each load, some of them with IPv6, and a few are long; or a sample, the
    same for the same text."""
    drawn = [Cell(BURST_TOPOLOGIES[i % len(BURST_TOPOLOGIES)],
                  LOADS[BURST_LOADS[(i + i // len(BURST_TOPOLOGIES)) % len(BURST_LOADS)]],
                  (4, 6)[i // len(BURST_TOPOLOGIES) % 2]) for i in range(BURSTS)]
    if text:
        return random.Random(text).sample(drawn, SAMPLED_BURSTS)
    return drawn + [Cell(topology, LOADS["burst_10"], 4)
                    for topology in BURST_TOPOLOGIES[:LONG_BURSTS]]

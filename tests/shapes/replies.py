# SPDX-License-Identifier: GPL-2.0-or-later
"""What two answers of GetLatency say of the time between them: docs/exactness.md, "Estimates"."""

import collections

Estimate = collections.namedtuple("Estimate", "count margin journeys")


class Answer:
    """The rows of some devices for one segment, and what was not followed until then."""

    def __init__(self, reply, devices, direction, segment):
        wanted = {(device.namespace.inode, device.ifindex) for device in devices}
        self.rows = [row for row in reply["latencies"]
                     if (row.get("netns"), row.get("ifindex")) in wanted
                     and (row["direction"], row["segment"]) == (direction, segment)]
        self.unseen = reply.get("followed", {}).get("unseen_packets", 0)
        self._counted = reply.get("counted", {}).get("time", "") >= reply["time"]

    def count(self):
        return sum(row["count"] for row in self.rows)

    def journeys(self):
        return sum(row.get("followed", row["count"]) for row in self.rows)

    def drawn(self):
        """The sum of the squares of the margins, without what was not followed."""
        return sum(row["count_margin"] ** 2 - self._unseen(row) ** 2
                   for row in self.rows if "count_margin" in row)

    def _unseen(self, row):
        """How much of a row's margin: no more than the kernel counted."""
        if "packets" not in row or not self._counted:
            return self.unseen
        return min(self.unseen, abs(row["packets"] - row["count"]))


def between(before, after):
    """The margin of what came between two answers; None: the count is exact."""
    drawn, unseen = max(0, after.drawn() - before.drawn()), after.unseen - before.unseen
    exact = not unseen and not any("count_margin" in row for row in after.rows)
    return Estimate(after.count() - before.count(),
                    None if exact else round((drawn + unseen ** 2) ** 0.5),
                    after.journeys() - before.journeys())

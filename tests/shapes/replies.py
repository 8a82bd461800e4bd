# SPDX-License-Identifier: GPL-2.0-or-later
"""What two answers of GetLatency say of the time between them: docs/exactness.md, "Estimates"."""

import collections

Estimate = collections.namedtuple("Estimate", "count margin journeys")


class Answer:
    """The rows of some devices for one segment, and what was not followed until then, or not to
    its end."""

    def __init__(self, reply, devices, direction, segment):
        wanted = {(device.namespace.inode, device.ifindex) for device in devices}
        self.rows = [row for row in reply["latencies"]
                     if (row.get("netns"), row.get("ifindex")) in wanted
                     and (row["direction"], row["segment"]) == (direction, segment)]
        followed = reply.get("followed", {})
        self.unfollowed = sum(followed.get(f"{why}_packets", 0)
                          for why in ("unseen", "detached", "overwritten", "missed"))
        ledger = reply.get("ledger", {})
        self.passed, self.most_drawn = ledger.get("passed", 0), ledger.get("most_drawn", 1)

    def count(self):
        return sum(row["count"] for row in self.rows)

    def journeys(self):
        return sum(row.get("followed", row["count"]) for row in self.rows)

    def drawn(self):
        """The sum of the squares of the margins, without what was not followed."""
        return sum(row.get("drawn_margin", 0) ** 2 for row in self.rows)


def between(before, after):
    """The margin of what came between two answers; None: the count is exact."""
    drawn, unfollowed = max(0, after.drawn() - before.drawn()), after.unfollowed - before.unfollowed
    missable = min(after.passed - before.passed, 3 * after.most_drawn)
    exact = not unfollowed and not missable and not any("count_margin" in row for row in after.rows)
    return Estimate(after.count() - before.count(),
                    None if exact else round((drawn + unfollowed ** 2 + missable ** 2) ** 0.5),
                    after.journeys() - before.journeys())

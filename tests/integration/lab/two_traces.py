# SPDX-License-Identifier: GPL-2.0-or-later
"""The same events in two traces: in that of perf, and in a recording of netflowd."""

import bisect
import collections
import itertools
import re

from . import journeys, kernel, recordings

# The two readings of the clock at one event are never further apart, whatever interrupts the CPU.
APART_NS = 20_000_000
NET_RX = "3"
# perf records softirqs of all kinds.
SOFTIRQS = ("softirq_raise", "softirq_entry", "softirq_exit")
# The kernel gives the memory of an skb to a new one.
ALLOCATED = "allocated"
COPY = "skb_copy_datagram_iovec"
FREE = ("consume_skb", "kfree_skb")
# The events of our stages.
STAGES = {
    "irq": ("irq_handler_entry",),
    # The entry of the softirq, or what began the wait in it: the packet joined it by lo or veth, or
    # an interrupt came after the entry.
    "softirq_entry": ("softirq_entry", "net_dev_start_xmit", "softirq_raise"),
    "receive": ("netif_receive_skb",),
    "copy": (COPY, "consume_skb", "sock_recv_length", "skb_attempt_defer_free"),
    "queue": ("net_dev_queue",),
    "start_xmit": ("net_dev_start_xmit",),
    "xmit": ("net_dev_xmit",),
    "free": FREE,
}


def allocations():
    """The words for perf record that add the allocations of skbs."""
    where = " || ".join(f"(call_site >= {begin:#x} && call_site < {end:#x})" for begin, end in
                        kernel.code_of("__alloc_skb", "skb_clone", "__build_skb"))
    words = []
    for event in ("kmem:kmem_cache_alloc", "kmem:kmem_cache_alloc_node"):
        if kernel.has_event(event):
            words += ["-e", event, "--filter", where]
    return words


class Event:
    """An event: `theirs` is perf's time in ns and `ours` that of the recording.  None: it is not in
    that trace."""

    def __init__(self, name, cpu, tid, skb, members):
        self.name = name
        self.cpu = cpu
        self.tid = tid
        self.skb = skb
        self.members = members
        self.theirs = self.ours = None

    def __repr__(self):
        return (f"{self.name} cpu={self.cpu} tid={self.tid} skb={self.skb:#x} {self.members} "
                f"theirs={self.theirs} ours={self.ours}")

    @property
    def length(self):
        return int(self.members["len"])

    @property
    def device(self):
        """Its name; of a receive or a queue event."""
        return self.members.get("name") or self.members.get("dev")

    def key(self):
        """Two events with this key cannot be at the same moment."""
        which = self.members.get("vec", self.members.get("irq", ""))
        return self.name, self.cpu, self.skb, str(which)


def of_perf(events):
    """The events of netdev_times.Found, in the order of perf's clock."""
    found = []
    for at, cpu, tid, name, members in events:
        event = Event(name, cpu, tid, members.get("skbaddr", 0), members)
        event.theirs = at
        found.append(event)
    return found


def of_recording(path):
    """The same of a recording, and ns from its clock to the time of day, which a replay takes from
    its last mark."""
    found, offset = [], None
    for at in recordings.events(path):
        mark = recordings.MARK.search(at.text)
        offset = int(mark[1]) if mark else offset
        members = dict(re.findall(r"\b(\w+)=(\S+)", at.text), task=at.task)
        event = Event(at.name, at.cpu, at.pid, int(members.get("skbaddr", "0"), 16), members)
        event.ours = at.time
        found.append(event)
    return found, offset


class Traces:
    """Both traces; `missing` are the events from `begin` to `end` (CLOCK_MONOTONIC, ns) that only
    one of them has."""

    def __init__(self, theirs, ours, begin, end):
        self.begin, self.end = begin, end
        self.missing = []
        self.events = self._join(theirs, ours)
        self._by_time = {}
        for event in self.events:
            if event.theirs is not None:
                self._by_time.setdefault(("theirs", event.name, event.theirs), []).append(event)
            if event.ours is not None:
                self._by_time.setdefault(("ours", event.name, event.ours), []).append(event)
        self._of_skb = self._lives(theirs)
        self._exits = collections.defaultdict(list)
        for event in theirs:
            if event.name == "softirq_exit" and str(event.members["vec"]) == NET_RX:
                self._exits[event.cpu].append(event)

    def _join(self, theirs, ours):
        waiting = collections.defaultdict(collections.deque)
        for event in theirs:
            waiting[event.key()].append(event)
        both = {event.name for event in theirs} & {event.name for event in ours}
        joined = list(theirs)
        for event in ours:
            queue = waiting[event.key()]
            # perf was there first, so that it reads the clock first.
            while queue and (queue[0].theirs < event.ours - APART_NS
                             or len(queue) > 1 and queue[1].theirs <= event.ours):
                self._misses(queue.popleft(), both)
            if queue and queue[0].theirs < event.ours + APART_NS:
                same = queue.popleft()
                same.ours = event.ours
                same.members = {**event.members, **same.members}
            else:
                joined.append(event)
                self._misses(event, both)
        for queue in waiting.values():
            for event in queue:
                self._misses(event, both)
        return joined

    def _misses(self, event, both):
        """An event that only one of the traces has, although both record those of its name."""
        at = event.theirs if event.ours is None else event.ours
        other = event.name in SOFTIRQS and str(event.members["vec"]) != NET_RX
        other |= event.name.startswith("irq_handler")
        if event.name in both and not other and self.begin <= at <= self.end:
            self.missing.append(event)

    def _lives(self, theirs):
        """The events of each address in perf's trace.  A clone of TCP lies behind its skb, in one
        object of the allocator."""
        size = min((event.members["bytes_req"] for event in theirs
                    if event.name.startswith("kmem_cache_alloc")), default=0)
        of_skb = collections.defaultdict(list)
        for event in theirs:
            if event.name.startswith("kmem_cache_alloc"):
                event.name = ALLOCATED
                event.skb = event.members["ptr"]
                if size and event.members["bytes_req"] > 2 * size:
                    of_skb[event.skb + size].append(event)
            if event.skb:
                of_skb[event.skb].append(event)
        return of_skb

    def theirs(self, names, at, skb=None):
        """The event with one of these names at this time of perf's clock."""
        return self._at("theirs", names, at, skb)

    def ours(self, names, at, skb=None):
        """The event with one of these names at this time of the recording."""
        return self._at("ours", names, at, skb)

    def _at(self, clock, names, at, skb):
        found = [event for name in names for event in self._by_time.get((clock, name, at), [])
                 if skb is None or event.skb in (0, skb)]
        assert found, f"no event {names} at {at} of {clock}"
        return found[0]

    def packets(self, name):
        """The events of that name in the time of the traffic."""
        return [event for event in self.events
                if event.name == name and event.theirs and self.begin <= event.theirs <= self.end]

    def life(self, event):
        """perf's events of the same address after that one, until its memory is another skb's."""
        events = self._of_skb[event.skb]
        first = bisect.bisect_right(events, event.theirs, key=lambda e: e.theirs)
        return list(itertools.takewhile(lambda e: e.name != ALLOCATED, events[first:]))

    def exit_after(self, event):
        """perf's next exit of NET_RX on the CPU of that event."""
        exits = self._exits[event.cpu]
        return exits[bisect.bisect(exits, event.theirs, key=lambda e: e.theirs)]

    def before(self, event, name):
        """perf's latest event of that name and address before that one; None if there is none."""
        life = self._of_skb[event.skb]
        first = bisect.bisect_left(life, event.theirs, key=lambda e: e.theirs)
        return next((e for e in reversed(life[:first]) if e.name == name), None)

    def interrupted(self):
        """The entries of NET_RX that an interrupt's handler raised before the softirq's exit."""
        found, running, handlers, raised = set(), {}, collections.Counter(), set()
        for event in self.events:
            cpu = event.cpu
            if event.name == "irq_handler_entry":
                handlers[cpu] += 1
            elif event.name == "irq_handler_exit":
                handlers[cpu] = 0
            elif event.name in SOFTIRQS and str(event.members["vec"]) == NET_RX:
                if event.name == "softirq_raise" and handlers[cpu]:
                    raised.add(cpu)
                elif event.name == "softirq_entry":
                    running[cpu] = event
                elif event.name == "softirq_exit":
                    if cpu in raised and cpu in running:
                        found.add(running.pop(cpu))
                    raised.discard(cpu)
        return found


# ---- what each tool found: {receive or queue event: {stage: event}} ------------------------------


def their_sent(found, traces):
    sent = {}
    for row in found.sent:
        skb = row["skbaddr"]
        queue = traces.theirs(STAGES["queue"], row["queue_t"], skb)
        sent[queue] = {"queue": queue, "xmit": traces.theirs(STAGES["xmit"], row["xmit_t"], skb),
                       "free": traces.theirs(FREE, row["free_t"], skb)}
    return sent


def their_received(found, traces):
    """`irqs` is not empty if netdev-times prints the packet."""
    received = {}
    for run in found.runs:
        entry = traces.theirs(STAGES["softirq_entry"], run["run"]["sirq_ent_t"])
        irqs = [traces.theirs(STAGES["irq"], irq["irq_ent_t"]) for irq in run["irqs"]]
        for row in run["run"]["event_list"]:
            if row["event_name"] != "netif_receive_skb":
                continue
            skb = row["skbaddr"]
            event = traces.theirs(STAGES["receive"], row["event_t"], skb)
            received[event] = {"receive": event, "softirq_entry": entry}
            if irqs:
                received[event]["irq"] = irqs[0]
            if "handle" in row:
                received[event]["end"] = traces.theirs((row["handle"],), row["comm_t"], skb)
    return received


def _stages(record, offset, traces):
    """{stage: event} of a latency record."""
    begin = journeys.nanoseconds_of(record["stages"][0]["time"]) - offset
    at = {stage["stage"]: begin + stage["at_ns"] for stage in record["stages"]}
    skb = None
    for stage in ("queue", "receive", "start_xmit"):
        if skb is None and stage in at:
            skb = traces.ours(STAGES[stage], at[stage]).skb
    return {stage: traces.ours(STAGES[stage], at[stage], skb) for stage in at if stage in STAGES}


def ours(records, drops, offset, traces):
    """(sent, received, drops of which the device is not known); `offset` is from CLOCK_MONOTONIC to
    the time of day.  `passed` is the event that ended a journey without `free`."""
    sent, received, unplaced = {}, {}, set()
    for record in records:
        stages = _stages(record, offset, traces)
        if "copy" in stages:
            stages["end"] = stages.pop("copy")
        elif "free" not in stages:
            stages["passed"] = traces.ours(STAGES["receive"],
                                           journeys.nanoseconds_of(record["time"]) - offset)
        # Without the reader if that is not known.
        stages["task"] = record.get("task")
        if "receive" in stages:
            received[stages["receive"]] = stages
        if "queue" in stages:
            sent[stages["queue"]] = stages
    for drop in drops:
        event = traces.ours(("kfree_skb",), journeys.nanoseconds_of(drop["time"]) - offset)
        receive = traces.before(event, "netif_receive_skb")
        if "device" not in drop:
            unplaced.add(event)
        elif receive and receive.device == drop["device"]:
            received[receive] = {"receive": receive, "end": event, "dropped": event}
    return sent, received, unplaced

# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own trace of each skb on its way to a reader: an independent view, by address.

The functions are traced by kprobe events, because no tracepoint of UDP names the skb.  All times
are CLOCK_MONOTONIC in ns; the trace prints whole µs.
"""

import bisect
import collections
import contextlib
import functools
import pathlib
import re
import secrets
import time

from . import kernel

# One datagram or segment: the skb's address and its times.  `queued` is the entry of the function
# that puts a datagram into its socket's queue, None for TCP; `read` is when its reader was done
# with it, or copied it.
Seen = collections.namedtuple("Seen", "skb receive queued read")

_LINE = re.compile(r"\s\[(\d+)\].*?\s(\d+)\.(\d{6}): (\w+): (.*)")
# The name of the device is missing where addresses are printed without hashing them (6.1).
_RECEIVE = re.compile(r"skbaddr=(?:0x)?([0-9a-f]+) len=(\d+)")
_START_XMIT = re.compile(r"queue_mapping=(\d+) .* len=(\d+)")
_ADDRESS = re.compile(r"skb(?:addr)?=(?:0x)?([0-9a-f]+)")
# Functions whose argument is the skb: (name of the event, function, argument)
_PROBES = (("queued", "__udp_enqueue_schedule_skb", 2), ("freed", "skb_attempt_defer_free", 1))


def why_not():
    """Why it cannot run here; None if it can."""
    with kernel.tracefs() as where:
        try:
            with _probes(where):
                return None
        except OSError as error:
            return f"this kernel has no kprobe events: {error}"


def shows_addresses():
    """Whether the trace of netif_receive_skb prints addresses, not only their hashes (5.12)."""
    with kernel.tracefs() as where:
        return (where / "options/hash-ptr").exists()


@contextlib.contextmanager
def _probes(where):
    """Make the kprobe events; their group."""
    group = "nft" + secrets.token_hex(4)
    control, made = where / "kprobe_events", []
    try:
        for name, function, argument in _PROBES:
            if name == "queued" or _exists(function):
                kernel.append(control, f"p:{group}/{name} {function} skb=$arg{argument}:x64")
                made.append(name)
        yield group
    finally:
        for name in made:
            kernel.append(control, f"-:{group}/{name}")


def _exists(function):
    return re.search(rf" [tT] {function}$", pathlib.Path("/proc/kallsyms").read_text(), re.M)


Event = collections.namedtuple("Event", "ns cpu name text")


class Trace:
    """Events in the order of their times."""

    def __init__(self):
        self.events = []

    def _of(self, *names):
        return [(event.ns, int(_ADDRESS.search(event.text)[1], 16))
                for event in self.events if event.name in names]

    def receives(self, length=None):
        """[(ns, address)] of the packets that a device received, all or those of this length."""
        found = []
        for event in self.events:
            match = _RECEIVE.search(event.text) if event.name == "netif_receive_skb" else None
            if match and length in (None, int(match[2])):
                found.append((event.ns, int(match[1], 16)))
        return found

    def queues(self, length):
        """The numbers of the transmit queues that got packets of this length (with all headers)."""
        found = (_START_XMIT.search(event.text) for event in self.events
                 if event.name == "net_dev_start_xmit")
        return {int(match[1]) for match in found if match and int(match[2]) == length}

    def datagrams(self, length):
        """A Seen for each datagram of this length (from the network header on), in the order in
        which they were received."""
        after = _After(self._of("queued")), _After(self._of("consume_skb", "freed"))
        return [self._datagram(receive, *after) for receive in self.receives(length)]

    @staticmethod
    def _datagram(receive, queued, freed):
        ns, address = receive
        queue_ns, address = queued.first(ns, address)
        return Seen(address, ns, queue_ns, freed.first(queue_ns, address)[0])

    def near(self, name, ns, error_ns):
        """{address: ns} of the skbs whose event `name` can have been at the time `ns`, as another
        program read the clock at the same event, just before or just after the trace.  A CPU can
        stop between the two for any time, but it has no other such event in between."""
        found = {}
        for events in self._by_cpu[name].values():
            first = bisect.bisect_left(events, ns - error_ns, key=lambda event: event.ns)
            last = bisect.bisect_right(events, ns + error_ns, key=lambda event: event.ns)
            for event in events[max(first - 1, 0):last + 1]:
                found[int(_ADDRESS.search(event.text)[1], 16)] = event.ns
        return found

    @functools.cached_property
    def _by_cpu(self):
        found = collections.defaultdict(lambda: collections.defaultdict(list))
        for event in self.events:
            found[event.name][event.cpu].append(event)
        return found


class _After:
    """Finds the first event of an skb after a moment."""

    def __init__(self, events):
        self.of = collections.defaultdict(list)
        for ns, address in events:
            self.of[address].append(ns)

    def first(self, ns, address):
        """(ns, address).  Kernels before 5.12 print only a hash of the address at
        netif_receive_skb; there the next event of all belongs to the next datagram."""
        if address >> 32 == 0:
            found, address = min((times[0], a) for a, times in self.of.items() if times)
            self.of[address].pop(0)
            return found, address
        found = next((t for t in self.of[address] if t >= ns), None)
        assert found is not None, f"skb {address:x} has no such event after its receive"
        return found, address


@contextlib.contextmanager
def tracing(kib_per_cpu=16384):
    """Trace all skbs of the host; the Trace is filled at the end."""
    trace = Trace()
    with kernel.tracefs() as where, _probes(where) as group:
        instance = where / "instances" / group
        instance.mkdir()
        events = [instance / "events" / name for name in
                  ("net/net_dev_start_xmit", "net/netif_receive_skb", "skb/consume_skb",
                   "skb/skb_copy_datagram_iovec")]
        events.append(instance / "events" / group)
        try:
            (instance / "buffer_size_kb").write_text(str(kib_per_cpu))
            (instance / "trace_clock").write_text("mono")
            for event in events:
                (event / "enable").write_text("1")
            yield trace
            time.sleep(0.05)
            for event in events:
                (event / "enable").write_text("0")
            _check_whole(instance)
            trace.events = sorted(_read(instance), key=lambda event: event.ns)
        finally:
            for event in events:
                (event / "enable").write_text("0")
            kernel.remove_instance(instance)


def _check_whole(instance):
    for stats in instance.glob("per_cpu/cpu*/stats"):
        lost = re.search(r"overrun: (\d+)", stats.read_text())[1]
        assert lost == "0", f"the trace lost {lost} events"


def _read(instance):
    hashing = instance / "options/hash-ptr"
    if hashing.exists():
        hashing.write_text("0")
    with open(instance / "trace", errors="replace") as lines:
        for line in lines:
            match = _LINE.search(line)
            if match:
                yield Event(int(match[2]) * 10**9 + int(match[3]) * 1000, int(match[1]), match[4],
                            match[5])

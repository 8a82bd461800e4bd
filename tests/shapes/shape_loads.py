# SPDX-License-Identifier: GPL-2.0-or-later
"""The shapes of loads, for tests/tools/shape, and what is known of each before it runs."""

import dataclasses
import subprocess

from lab import paths, patience

from topologies import Lacking

LACKING = 77  # the tool's exit status
FIELDS = ("sent", "sent_bytes", "calls", "read", "read_bytes", "planned_ns", "elapsed_ns", "p50_ns",
          "p99_ns", "max_ns")
PORTS = iter(range(20000, 60000))


@dataclasses.dataclass(frozen=True)
class Load:
    """`whole`: each message is one skb at every hook, so that its number is the truth."""

    name: str
    kind: str  # udp, tcp
    rate: int  # messages per second
    seconds: float
    on_off_ms: tuple = ()
    slow_one_in: int = 0
    slow_ms: int = 15
    size: int = 100
    send: str = "plain"
    read: str = "plain"
    whole: bool = True

    @property
    def count(self):
        return max(8, int(self.rate * self.seconds) // 8 * 8)


# Messages per second that an emulated machine sends in time.
EMULATED_RATE = 2000


def here(load):
    """The load as this machine can send it: where the CPU is slower, so is a flood, of which the
    daemon's budget then is as large a part."""
    slower = max(EMULATED_RATE, patience.fewer(load.rate))
    return dataclasses.replace(load, rate=min(load.rate, slower))


LOADS = {load.name: here(load) for load in (
    Load("slow", "udp", 250, 2),
    Load("fast", "udp", 20000, 2),
    Load("burst_0.2", "udp", 20000, 0.2),
    Load("burst_2", "udp", 15000, 2),
    Load("burst_10", "udp", 15000, 10),
    Load("on_off", "udp", 20000, 1, on_off_ms=(100, 100)),
    Load("one_in_100_slow", "udp", 200, 3, slow_one_in=100),
    Load("stalled", "udp", 20000, 1, slow_one_in=4000, slow_ms=200),
    Load("tcp_slow", "tcp", 250, 2),
    Load("tcp_merged", "tcp", 10000, 2, whole=False),
    Load("tcp_burst", "tcp", 10000, 0.2, whole=False),
    Load("tcp_stalled", "tcp", 10000, 1, slow_one_in=1000, slow_ms=50, whole=False),
    Load("tcp_gso", "tcp", 2000, 1, size=8000, whole=False),
    Load("zerocopy", "tcp", 2000, 1, size=8000, send="zerocopy", whole=False),
    Load("sendfile", "tcp", 2000, 1, size=8000, send="sendfile", whole=False),
    Load("udp_gso", "udp", 16000, 1, send="gso", read="gro", whole=False),
    Load("udp_gso_only", "udp", 16000, 1, send="gso", whole=False),
    Load("recvmmsg", "udp", 10000, 1, read="mmsg"),
    Load("peek", "udp", 1000, 1, read="peek"),
    Load("reuseport", "udp", 10000, 1, read="reuseport"),
    Load("io_uring", "udp", 2000, 1, send="uring", read="uring"),
    Load("tcp_io_uring", "tcp", 250, 1, send="uring", read="uring"),
)}


@dataclasses.dataclass
class Sent:
    """What the tool knows when all is over."""

    sent: int
    sent_bytes: int
    calls: int
    read: int
    read_bytes: int
    planned_ns: int
    elapsed_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int

    def took_place(self):
        """Whether the machine let the load have its shape: it lasted as long as planned, and
        whatever was sent was read."""
        late = self.elapsed_ns - self.planned_ns
        return late < 0.1 * self.planned_ns + 100e6 and self.read == self.sent


def run(load, shape, version):
    """Send it through a Shape."""
    words = ["-n", load.count, "-r", load.rate, "-s", load.size,
             "-W", f"/run/netns/{shape.left.name}", "-R", f"/run/netns/{shape.right.name}"]
    if load.on_off_ms:
        words += ["-o", load.on_off_ms[0], "-O", load.on_off_ms[1]]
    if load.slow_one_in:
        words += ["-k", load.slow_one_in, "-K", load.slow_ms]
    words += [load.kind, load.send, load.read, shape.addresses[version], next(PORTS)]
    done = subprocess.run([str(word) for word in (paths.TOOLS / "shape", *words)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=patience.seconds(60), check=False)
    if done.returncode == LACKING:
        raise Lacking(f"this kernel lacks {load.send} or {load.read}: {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr
    return Sent(*map(int, done.stdout.split()))

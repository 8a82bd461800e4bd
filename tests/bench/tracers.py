# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracers that the benchmark compares.

Each tracer starts before a load, proves after it that it saw the packets, and stops.  It leaves
nothing attached.
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import loads
from expectations import BPFTRACE, DEFAULT, EMPTY, OFF, PERF, RELEASE, TRACEFS, UNTRACED
from daemon import Daemon, Failed, last_line, private_process, stop_process

# Every packet of the flood passes these hooks, so a tracer that works counts as many hits.
EVERY_PACKET = ("net_dev_queue", "net_dev_start_xmit", "net_dev_xmit", "netif_receive_skb")

START_TIMEOUT_S = 20
ENOUGH_RUNS = 1000  # of a program, for a mean of its ns per hit
BEHIND_S = 0.4  # more than the time by which the backend on trace events is behind
SETTLE_S = 0.3  # from attaching to the flood: helper processes exit, an RCU grace period ends


class Bench:
    """The paths, the hooks and the flood, which all tracers share."""

    def __init__(self, top, work):
        self.source = top / "tests/bench"
        self.build = top / "build/bpf"
        self.tools = top / "build/plain/tests/bench"
        self.program = top / "build/plain/netflowd"
        self.release = None  # the daemon of the last release, if it could be built
        self.work = work
        self.netns = os.stat("/proc/self/ns/net").st_ino
        self.events = []

    def flood(self, *seconds, payload=64):
        """Flood for pieces of time that follow each other without a pause; return the pieces."""
        command = [self.tools / "udp_flood", ",".join(map(str, seconds)), str(payload)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"udp_flood: {done.stderr.strip()}")
        return [Piece(int(sent), int(received), float(took), float(share))
                for sent, received, took, share in map(str.split, done.stdout.splitlines())]


# One piece of a flood, see udp_flood.c.
Piece = collections.namedtuple("Piece", "sent received seconds sender_cpu")


def require(seen, sent, events, who):
    """Raise Failed unless the tracer saw every sent packet at each hook of EVERY_PACKET."""
    for event in EVERY_PACKET:
        if event in events and seen.get(event, 0) < sent:
            raise Failed(f"{who} saw {seen.get(event, 0)} of {sent} packets at {event}")


class Nothing:
    label = UNTRACED
    every = 1  # takes part in one of this number of rounds
    stretch = loads.STEADY

    def __init__(self, bench):
        self.bench = bench

    def start(self):
        pass

    def reader(self):
        """The process that reads what the probes found; None if there is none to measure."""
        return None

    def prove(self, outcome):
        """Raise Failed if the tracer did not see the packets of a load."""

    def stop(self):
        pass


class Empty(Nothing):
    """An empty BPF program on each hook.

    They count nothing, and the kernel's statistics would cost time during the flood.  So a second,
    short flood proves that they run.
    """
    label = EMPTY

    def __init__(self, bench):
        super().__init__(bench)
        self.process = None
        self.log = bench.work / "attach_empty.log"
        self.runs = {}  # {event: (runs, ns)}, the sum of all proofs

    def start(self):
        with open(self.log, "wb") as log:
            self.process = private_process(
                [str(self.bench.tools / "attach_empty"), str(self.bench.build / "empty.bpf.o"),
                 *self.bench.events],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self._expect("ready")

    def _expect(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            raise Failed(f"attach_empty: {line or last_line(self.log)}")

    def _say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def prove(self, outcome):
        self._say("measure")
        self._expect("measuring")
        sent = self.bench.flood(0.2)[0].sent
        self._say("report")
        seen = {}
        for line in iter(self.process.stdout.readline, ""):
            if line == "end\n":
                break
            event, runs, ns = line.split()
            seen[event] = int(runs)
            before = self.runs.get(event, (0, 0))
            self.runs[event] = (before[0] + int(runs), before[1] + int(ns))
        require(seen, sent, self.bench.events, self.label)

    def ns_per_hit(self):
        return {event: ns / runs for event, (runs, ns) in self.runs.items() if runs >= ENOUGH_RUNS}

    def stop(self):
        if self.process:
            process, self.process = self.process, None
            process.stdin.close()
            process.stdout.close()
            stop_process(process, signal.SIGTERM)


class Netflowd(Nothing):
    """netflowd with its defaults: under load, the governor follows fewer packets."""
    label = DEFAULT
    stretch = loads.GOVERNED
    settings = ()

    def __init__(self, bench):
        super().__init__(bench)
        self.daemon = Daemon(self.program(), bench.work, *self.settings)
        self.resident = []  # bytes of memory, after each stretch
        self.hits = None

    def program(self):
        return self.bench.program

    def start(self):
        self.daemon.start()
        self.hits = self.daemon.hits()
        time.sleep(SETTLE_S)

    def reader(self):
        return self.daemon.process

    def prove(self, outcome):
        # Read the memory before the first call, because replies would add to it.
        self.resident.append(self.daemon.resident_bytes())
        seen = {event: hits - self.hits.get(event, 0) for event, hits in self.daemon.hits().items()}
        self.check(seen, outcome)

    def check(self, seen, outcome):
        """The governor can detach stages for a time, so no number of hits is certain."""
        if not any(seen.values()):
            raise Failed(f"{self.label} saw nothing of the load")

    def stop(self):
        self.daemon.stop()


class NetflowdOff(Netflowd):
    """netflowd that follows every packet."""
    label = OFF
    stretch = loads.STEADY
    settings = ("cost.governor=off",)

    def check(self, seen, outcome):
        require(seen, outcome.packets, self.bench.events, self.label)


class NetflowdTracefs(NetflowdOff):
    """netflowd on trace events.  What the ring buffers lose it counts, and does not see."""
    label = TRACEFS
    every = 3
    settings = ("probes.backend=tracefs",)

    def prove(self, outcome):
        time.sleep(BEHIND_S)
        super().prove(outcome)

    def check(self, seen, outcome):
        trace = self.daemon.call("GetStatus")["trace"]
        lost = trace["lost"] if trace["losses"] else 0
        if not any(seen.values()) or not lost and \
                min(seen.get(event, 0) for event in EVERY_PACKET) < outcome.packets:
            raise Failed(f"{self.label} saw {seen} of {outcome.packets} packets and lost {lost}")


class Release(NetflowdOff):
    """The last release of netflowd, on the hooks that it attaches itself."""
    label = RELEASE
    every = 3
    settings = ()

    def program(self):
        return self.bench.release


class Bpftrace(Nothing):
    label = BPFTRACE
    every = 3
    histograms = {  # {hook: the histogram that counts its hits}
        "netif_receive_skb": "@softirq_to_receive",
        "net_dev_queue": "@queue_to_start",
        "net_dev_start_xmit": "@queue_to_start",
        "net_dev_xmit": "@start_to_xmit",
    }

    def __init__(self, bench):
        super().__init__(bench)
        self.process = None
        self.script = bench.work / "stages.bt"
        self.out = bench.work / "bpftrace.out"
        self.log = bench.work / "bpftrace.log"

    def _write_script(self):
        """Copy stages.bt without the paragraphs of events that netflowd has not attached."""
        left = set(self.bench.events)
        paragraphs = []
        for text in (self.bench.source / "stages.bt").read_text().split("\n\n"):
            event = re.search(r"^tracepoint:\w+:(\w+)$", text, re.MULTILINE)
            if event and event[1] not in self.bench.events:
                continue
            if event:
                left.discard(event[1])
            paragraphs.append(text)
        if left:
            raise Failed(f"stages.bt has no paragraph for {', '.join(sorted(left))}")
        self.script.write_text("\n\n".join(paragraphs) + "\n")

    def start(self):
        self._write_script()
        with open(self.out, "wb") as out, open(self.log, "wb") as log:
            self.process = private_process(["bpftrace", "-f", "json", str(self.script)],
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while self._attached() < len(self.bench.events):
            if self.process.poll() is not None:
                raise Failed(f"bpftrace: {last_line(self.log)}")
            if time.monotonic() > deadline:
                raise Failed(f"bpftrace did not attach within {START_TIMEOUT_S} s")
            time.sleep(0.05)
        time.sleep(SETTLE_S)

    def _attached(self):
        """Attached tracepoints: one perf event each, apart from one per CPU for the output."""
        fds = pathlib.Path(f"/proc/{self.process.pid}/fd")
        links = []
        for fd in fds.iterdir() if fds.exists() else ():
            try:
                links.append(os.readlink(fd))
            except OSError:
                pass
        return links.count("anon_inode:[perf_event]") - (os.cpu_count() or 1)

    def prove(self, outcome):
        self.stop()  # bpftrace prints its maps when it ends
        counts = {}
        for line in self.out.read_text().splitlines():
            record = json.loads(line) if line.startswith("{") else {}
            if record.get("type") == "hist":
                for name, rows in record["data"].items():
                    counts[name] = sum(bucket["count"] for row in rows.values()
                                       for bucket in row)
        seen = {event: counts.get(name, 0) for event, name in self.histograms.items()}
        require(seen, outcome.packets, self.bench.events, self.label)

    def stop(self):
        if self.process:
            process, self.process = self.process, None
            if stop_process(process, signal.SIGINT):
                raise Failed(f"bpftrace: {last_line(self.log)}")


# Per CPU.  perf's default, 512 KiB, loses events while two CPUs are busy.
BUFFER = "4M"


class Perf(Nothing):
    """perf record of every event, into a file in memory; the proof counts the events in it."""
    label = PERF
    every = 3

    def __init__(self, bench):
        super().__init__(bench)
        self.process = None
        self.control = -1
        self.data = bench.work / "perf.data"
        self.log = bench.work / "perf.log"

    def _event_names(self):
        """The events as perf requires them: subsystem:event, joined by commas."""
        events = pathlib.Path("/sys/kernel/tracing/events")
        names = []
        for event in self.bench.events:
            found = sorted(events.glob(f"*/{event}"))
            if not found:
                raise Failed(f"perf record: {events} has no event {event}")
            names.append(f"{found[0].parent.name}:{event}")
        return ",".join(names)

    def start(self):
        # perf attaches the events disabled (-D -1), and acknowledges "enable" when all are enabled.
        # perf stops when the other end of its control pipe is closed, so that end stays open.
        perf_reads, self.control = os.pipe()
        answer, perf_writes = os.pipe()
        try:
            with open(self.log, "wb") as log:
                self.process = private_process(
                    ["perf", "record", "-a", "-m", BUFFER, "-D", "-1",
                     f"--control=fd:{perf_reads},{perf_writes}",
                     "-o", str(self.data), "-e", self._event_names()],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    pass_fds=(perf_reads, perf_writes))
            os.close(perf_writes)
            perf_writes = -1
            os.write(self.control, b"enable\n")
            if not os.read(answer, 64).startswith(b"ack"):
                raise Failed(f"perf record: {last_line(self.log)}")
        finally:
            for fd in (perf_reads, answer, perf_writes):
                if fd >= 0:
                    os.close(fd)
        time.sleep(SETTLE_S)

    def reader(self):
        return self.process

    def prove(self, outcome):
        self.stop()
        done = subprocess.run(["perf", "report", "--stats", "-i", str(self.data)],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"perf report: {done.stderr.strip()}")
        self.data.unlink()
        seen, event = {}, None
        for line in done.stdout.splitlines():
            heading = re.match(r"\s*\w+:(\w+) stats:", line)
            number = re.match(r"\s*SAMPLE events:\s+(\d+)", line)
            if heading:
                event = heading[1]
            elif number and event:
                seen[event] = int(number[1])
        require(seen, outcome.packets, self.bench.events, self.label)

    def stop(self):
        process, self.process = self.process, None
        control, self.control = self.control, -1
        try:
            # perf ends itself with the signal that stopped it, so this status is not an error.
            if process and stop_process(process, signal.SIGINT) not in (0, -signal.SIGINT, 130):
                raise Failed(f"perf record: {last_line(self.log)}")
        finally:
            if control >= 0:
                os.close(control)


ALL = (Nothing, Empty, Netflowd, NetflowdOff, NetflowdTracefs, Release, Bpftrace, Perf)

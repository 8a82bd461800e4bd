# SPDX-License-Identifier: GPL-2.0-or-later
"""The loads under which the benchmark measures: packets, streams, round trips, servers, a pipe.

Clients and servers share two CPUs and saturate them, except with `trips`, which waits for each
reply.  A server runs for all rounds of its load, and clients run for one stretch.
"""

import collections
import contextlib
import json
import re
import signal
import socket
import subprocess
import time

from expectations import CPU, HOST_CPU, P50, P99, RATE
from daemon import Failed, last_line, private_process, stop_process

READY_TIMEOUT_S = 10
CLIENTS = 20  # connections of each client program
# Each client is on the other CPU than its server, so that both CPUs have both kinds of work.
PAIRS = ((0, 1), (1, 0))

# A stretch of load, and the windows (from, to) of it that give figures, in seconds.
Stretch = collections.namedtuple("Stretch", "seconds windows")
FIRST, SETTLED = "first", "settled"
# A contestant that does the same work all the time needs one second until caches and TCP's windows
# are warm.
STEADY = Stretch(3, {FIRST: (0, 2), SETTLED: (1, 3)})
# The governor has followed a step of load after 2 s.
GOVERNED = Stretch(5, {FIRST: (0, 2), SETTLED: (2, 5)})

# `figures`: {window: {figure: value}}.  `packets`: at least this number passed each hook of
# tracers.EVERY_PACKET.  `sender_cpu`: the flood's, see udp_flood.c.
Outcome = collections.namedtuple("Outcome", "figures packets received sender_cpu",
                                 defaults=(0, 0, None))


def rates(stretch, counts):
    """Figures of a rate; `counts`: (seconds, count) at the beginning, and after each second."""
    figures = {}
    for window, (first, last) in stretch.windows.items():
        (begin, before), (end, after) = counts[first], counts[last]
        figures[window] = {RATE: (after - before) / (end - begin)}
    return figures


class Load:
    """`units`: {figure: its unit}; `served()`: a context in which the servers run."""
    name = title = ""
    units = {RATE: "per second"}

    def __init__(self, bench):
        self.bench = bench

    @contextlib.contextmanager
    def served(self):
        yield

    def run(self, stretch):
        raise NotImplementedError


class Udp(Load):
    name, title = "udp", "UDP flood"
    units = {RATE: "packets/s", HOST_CPU: "ns/packet", CPU: "ns/packet"}

    def run(self, stretch):
        pieces = self.bench.flood(*[1] * stretch.seconds)
        counts = [(0, 0)]
        for piece in pieces:
            counts.append((counts[-1][0] + piece.seconds, counts[-1][1] + piece.received))
        return Outcome(rates(stretch, counts), sum(piece.sent for piece in pieces),
                       counts[-1][1], min(piece.sender_cpu for piece in pieces))


class Bulk(Load):
    name, title = "bulk", "TCP bulk"
    units = {RATE: "Gbit/s"}
    port = 5201

    @contextlib.contextmanager
    def served(self):
        with server(self.bench, 1, "iperf3", "--server", "--port", str(self.port), "--bind",
                    "127.0.0.1", port=self.port):
            yield

    def run(self, stretch):
        done = subprocess.run(["taskset", "-c", "0", "iperf3", "--client", "127.0.0.1", "--port",
                               str(self.port), "--time", str(stretch.seconds), "--interval", "1",
                               "--json"], capture_output=True, text=True, check=False)
        report = json.loads(done.stdout or "{}")
        if done.returncode or "error" in report:
            raise Failed(f"iperf3: {report.get('error', done.stderr)}")
        counts = [(0, 0)]
        for interval in report["intervals"]:
            one = interval["sum"]
            counts.append((counts[-1][0] + one["seconds"], counts[-1][1] + one["bytes"] * 8e-9))
        return Outcome(rates(stretch, counts), 1)


class RoundTrips(Load):
    """Round trips of one byte between each pair of CPUs (client, server)."""
    kind = ""
    cpus = ()
    packets_per_trip = 0

    def run(self, stretch):
        windows = [f"{begin}-{end}" for begin, end in stretch.windows.values()]
        clients = [subprocess.Popen([self.bench.tools / "round_trips", self.kind, *map(str, pair),
                                     *windows], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True) for pair in self.cpus]
        rows = []  # of each client: (count, p50, p99) of each window
        for client in clients:
            out, error = client.communicate()
            if client.returncode:
                raise Failed(f"round_trips: {error.strip()}")
            rows.append([tuple(map(int, line.split())) for line in out.splitlines()])
        figures = {}
        for (window, (begin, end)), same in zip(stretch.windows.items(), zip(*rows)):
            figures[window] = self.figures(same, end - begin)
        trips = sum(row[0] for one in rows for row in one[-1:])
        return Outcome(figures, trips * self.packets_per_trip)

    def figures(self, rows, seconds):
        raise NotImplementedError


class Trips(RoundTrips):
    name, title = "trips", "TCP round trip"
    units = {P50: "µs", P99: "µs"}
    kind, cpus, packets_per_trip = "tcp", ((0, 1),), 2

    def figures(self, rows, seconds):
        (_, p50, p99), = rows
        return {P50: p50 / 1000, P99: p99 / 1000}


class Pipe(RoundTrips):
    """Two pairs of processes, each on one CPU: every trip is two switches of the scheduler."""
    name, title = "pipe", "scheduler"
    units = {RATE: "trips/s"}
    kind, cpus = "pipe", ((0, 0), (1, 1))

    def figures(self, rows, seconds):
        return {RATE: sum(count for count, _, _ in rows) / seconds}


class Servers(Load):
    """Two servers and a client for each; the servers count the requests."""
    units = {RATE: "requests/s"}
    ports = ()

    def client(self, port):
        """The command of a client that does not end by itself."""
        raise NotImplementedError

    def count(self, port):
        """The requests that the server has answered."""
        raise NotImplementedError

    def finish(self, log):
        """Raise Failed if a client's output reports errors."""

    def total(self):
        return sum(self.count(port) for port in self.ports)

    def run(self, stretch):
        with contextlib.ExitStack() as stack:
            before = self.total()
            clients = []
            for (cpu, _), port in zip(PAIRS, self.ports):
                path = self.bench.work / f"client-{port}.log"
                log = stack.enter_context(open(path, "wb"))
                client = private_process(["taskset", "-c", str(cpu), *self.client(port)],
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                stack.callback(stop_process, client, signal.SIGKILL)
                clients.append((client, path))
            wait_until(lambda: self.total() > before + 100, "the clients did not begin")
            begin = time.monotonic()
            counts = [(0, self.total())]
            for second in range(1, stretch.seconds + 1):
                time.sleep(max(0, begin + second - time.monotonic()))
                count = self.total()
                counts.append((time.monotonic() - begin, count))
            for client, path in clients:
                if client.poll() is not None:
                    raise Failed(f"{self.name}: a client ended: {last_line(path)}")
                stop_process(client, signal.SIGINT)
                self.finish(path.read_text(errors="replace"))
        return Outcome(rates(stretch, counts), 2 * (counts[-1][1] - counts[0][1]))


class Redis(Servers):
    name, title = "redis", "redis GET"
    ports = (6379, 6380)

    @contextlib.contextmanager
    def served(self):
        with contextlib.ExitStack() as stack:
            for (_, cpu), port in zip(PAIRS, self.ports):
                stack.enter_context(server(
                    self.bench, cpu, "redis-server", "--port", str(port), "--bind", "127.0.0.1",
                    "--save", "", "--dir", str(self.bench.work), port=port))
                # The literal name of the key: redis-benchmark replaces it only with -r.
                ask(port, b"SET key:__rand_int__ 0123456789abcdef\r\n", rb"\+OK")
            yield

    def client(self, port):
        return ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-c", str(CLIENTS), "-q",
                "-t", "get", "-n", "1000000000"]

    def count(self, port):
        return int(ask(port, b"INFO stats\r\n", rb"total_commands_processed:(\d+)\r\n"))


class Nginx(Servers):
    name, title = "nginx", "nginx keep-alive"
    ports = (8080, 8081)
    options = ["-k"]
    config = """
        daemon off;
        master_process off;
        pid {directory}/nginx.pid;
        error_log stderr;
        events {{ worker_connections 512; }}
        http {{
            access_log off;
            client_body_temp_path {directory}/body;
            proxy_temp_path {directory}/proxy;
            fastcgi_temp_path {directory}/fastcgi;
            uwsgi_temp_path {directory}/uwsgi;
            scgi_temp_path {directory}/scgi;
            server {{
                listen 127.0.0.1:{port} backlog=1024;
                root {directory};
                location = /count {{ stub_status; }}
            }}
        }}
    """

    @contextlib.contextmanager
    def served(self):
        with contextlib.ExitStack() as stack:
            for (_, cpu), port in zip(PAIRS, self.ports):
                directory = self.bench.work / f"nginx-{port}"
                directory.mkdir(exist_ok=True)
                (directory / "page").write_bytes(b"x" * 200)
                (directory / "nginx.conf").write_text(self.config.format(directory=directory,
                                                                         port=port))
                stack.enter_context(server(self.bench, cpu, "nginx", "-c",
                                           str(directory / "nginx.conf"), port=port))
            yield

    def client(self, port):
        # -t sets 50,000 requests, and -n after it sets more.  ab ends at SIGINT with its report.
        return ["ab", "-q", *self.options, "-c", str(CLIENTS), "-t", "60", "-n", "2000000",
                f"http://127.0.0.1:{port}/page"]

    def count(self, port):
        return int(ask(port, b"GET /count HTTP/1.0\r\n\r\n", rb"\n \d+ \d+ (\d+) \n"))

    def finish(self, log):
        if not re.search(r"^Failed requests: +0$", log, re.MULTILINE) or "Non-2xx" in log:
            raise Failed(f"ab: not every request succeeded: {log[-300:]}")


class NginxConnections(Nginx):
    name, title = "nginx-connections", "nginx, a connection each"
    options = []


ALL = (Udp, Bulk, Trips, Redis, Nginx, NginxConnections, Pipe)


def ask(port, request, pattern):
    """Send a request on a connection of its own; return the first group (or all) of the match."""
    reply = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=READY_TIMEOUT_S) as client:
            client.sendall(request)
            while piece := client.recv(65536):
                reply += piece
                if match := re.search(pattern, reply):
                    return match[match.lastindex or 0]
    except OSError as error:
        raise Failed(f"port {port}: {error}") from None
    raise Failed(f"port {port}: unexpected reply {reply[:200]!r}")


def wait_until(condition, failure):
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"{failure} within {READY_TIMEOUT_S} s")
        time.sleep(0.01)


@contextlib.contextmanager
def server(bench, cpu, *words, port):
    """A server in the foreground on one CPU, until the end of the block."""
    path = bench.work / f"server-{port}.log"
    with open(path, "wb") as log:
        process = private_process(["taskset", "-c", str(cpu), *words], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log)
    try:
        wait_until(lambda: process.poll() is not None or listens(port),
                   f"{words[0]} did not listen on port {port}")
        if process.poll() is not None:
            raise Failed(f"{words[0]}: {last_line(path)}")
        yield
    finally:
        stop_process(process, signal.SIGTERM)


def listens(port):
    return bool(subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, text=True,
                               check=True).stdout.strip())

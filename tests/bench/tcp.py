# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures TCP over loopback with and without netflowd: bulk with iperf3, round trips with tcp_rr.

Each round runs both loads with nothing attached and with netflowd, and the order alternates.  A
ratio compares two figures of one round.
"""

import json
import statistics
import subprocess
import time

from daemon import Failed, private_process, stop_process

PORT = 5201
LISTEN_TIMEOUT_S = 5


def bulk(seconds):
    """Gbit/s that the reader received."""
    server = private_process(["taskset", "-c", "1", "iperf3", "--server", "--one-off", "--port",
                              str(PORT), "--bind", "127.0.0.1"], stdout=subprocess.DEVNULL)
    try:
        _wait_for_listener()
        done = subprocess.run(["taskset", "-c", "0", "iperf3", "--client", "127.0.0.1", "--port",
                               str(PORT), "--time", str(max(1, round(seconds))), "--json"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"iperf3: {json.loads(done.stdout or '{}').get('error', done.stderr)}")
        return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e9
    finally:
        stop_process(server, 15)


def _wait_for_listener():
    end = time.monotonic() + LISTEN_TIMEOUT_S
    while time.monotonic() < end:
        listening = subprocess.run(["ss", "-Hltn", f"sport = :{PORT}"], capture_output=True,
                                   text=True, check=True).stdout
        if listening.strip():
            return
        time.sleep(0.02)
    raise Failed(f"iperf3 did not listen on port {PORT} within {LISTEN_TIMEOUT_S} s")


def round_trips(bench):
    """(median, 99th percentile) in µs."""
    done = subprocess.run([bench.tools / "tcp_rr", str(bench.seconds)], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise Failed(f"tcp_rr: {done.stderr.strip()}")
    _, p50, p99 = done.stdout.split()
    return int(p50) / 1000, int(p99) / 1000


def measure(bench, rounds, nothing, netflowd):
    """Figures of each round: [{label: (gbits, p50, p99)}]."""
    figures = []
    for number in range(rounds):
        one = {}
        for tracer in (nothing, netflowd) if number % 2 else (netflowd, nothing):
            tracer.start()
            try:
                one[tracer.label] = (bulk(bench.seconds), *round_trips(bench))
            finally:
                tracer.stop()
        figures.append(one)
    return figures


def ratio(figures, index, of, base):
    """(median, least, greatest) of the rounds' ratios."""
    ratios = [one[of][index] / one[base][index] for one in figures]
    return statistics.median(ratios), min(ratios), max(ratios)

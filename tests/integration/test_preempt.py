# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of different priority on one CPU.  On newer kernels one can preempt another inside a
program of netflowd, and real-time kernels preempt softirqs, too: each drop is counted, or the
kernel reports that it did not run the program for it."""

import threading

import pytest

from lab import kernel, ledgers, paths, patience, waiting

SLOW, FAST = 13_000, 10_000
PORT = 9

pytestmark = pytest.mark.usefixtures("bpf")


def send(namespace, *arguments, priority=None):
    """Send datagrams on the first CPU; with a priority, the task preempts those without one."""
    words = ["taskset", "-c", "0", paths.TOOLS / "udp_send", *arguments]
    if priority:
        words = ["chrt", "-f", str(priority), *words]
    out = namespace.run(*words, timeout=120)
    return int(out.split()[0])


def send_both(namespace, address):
    """Send from two tasks; one wakes up again and again, in the middle of the other's work."""
    sent = {}
    fast = threading.Thread(target=lambda: sent.update(fast=send(
        namespace, "-n", patience.fewer(FAST), "-r", patience.fewer(8000), address, PORT,
        priority=10)))
    fast.start()
    sent["slow"] = 0
    while fast.is_alive():
        sent["slow"] += send(namespace, "-n", SLOW // 10, address, PORT)
    fast.join()
    return sent["fast"] + sent["slow"]


@pytest.mark.smoke
@pytest.mark.parametrize("where", ["task", "softirq"])
def test_drops_of_two_tasks(start, lab, where):
    """Dropped by the sender itself, at netfilter's hook output, or in the softirq of loopback."""
    namespace = lab.namespace(ipv6=False)
    if where == "task":
        namespace.nft_drop("output", f"udp dport {PORT}")
    else:
        namespace.nft_drop("prerouting", f"udp dport {PORT}")
    daemon = start("drops.rate=1")
    sent = send_both(namespace, "127.0.0.1")
    assert namespace.nft_counter("output" if where == "task" else "prerouting") == sent

    def counted():
        rows = [row for row in daemon.call("GetDrops")["rows"]
                if row.get("netns") == namespace.inode and row.get("protocol") == "ipv4/udp"]
        return sum(row["packets"] for row in rows)

    seen = waiting.settled(counted, sent)
    ledger = ledgers.check_balanced(daemon)["drops"]
    assert ledger["calls"] == ledger["hits"] + ledger["missed"]
    # Without preemption of tracepoints, the kernel runs each program.
    if not kernel.preempts_tracepoints():
        assert ledger["missed"] == 0
    assert sent - ledger["missed"] <= seen <= sent

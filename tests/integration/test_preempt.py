# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of different priority on one CPU.  On newer kernels one can preempt another inside a
program of netflowd, and real-time kernels preempt softirqs, too: each drop is counted, or the
kernel reports that it did not run the program for it."""

import threading

import pytest

from lab import backends, kernel, ledgers, paths, patience, waiting

SLOW, FAST = 13_000, 10_000
PORT = 9
# The probes that each datagram passes, and the kernel's names of their tracepoints.
EVENTS = {"kfree_skb": "skb/kfree_skb", "net_dev_start_xmit": "net/net_dev_start_xmit"}
# The largest share of its runs that a program may miss, ten times what 7.3-rt in a guest missed.
MOST_MISSED = 0.01

pytestmark = [
    pytest.mark.alone,
    pytest.mark.usefixtures("bpf"),
    pytest.mark.skipif(backends.TRACE_EVENTS, reason="it is programs that the kernel skips"),
]


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


def numbers(daemon):
    """{probe: its row} of a moment when the ledgers are balanced, and the ledger of drops."""
    ledger = ledgers.check_balanced(daemon)["drops"]
    return {probe["name"]: probe for probe in daemon.call("ListProbes")["probes"]}, ledger


def calls(probe):
    return probe["hits"] + (probe.get("missed") or 0)


@pytest.mark.smoke
@pytest.mark.parametrize("where", ["task", "softirq"])
def test_drops_of_two_tasks(start, lab, where):
    """Dropped by the sender itself, at netfilter's hook output, or in the softirq of loopback.

    Each datagram is one kfree_skb, and in the second case one net_dev_start_xmit before.  Two
    traces of these events bracket the two readings of the counters: what the programs counted,
    and what the kernel says that it did not run, is at least the inner and at most the outer one.
    """
    namespace = lab.namespace(ipv6=False)
    if where == "task":
        namespace.nft_drop("output", f"udp dport {PORT}")
    else:
        namespace.nft_drop("prerouting", f"udp dport {PORT}")
    daemon = start("records.rate=1")
    with kernel.event_counts(*EVENTS.values()) as outer:
        before, ledger_before = numbers(daemon)
        with kernel.event_counts(*EVENTS.values()) as inner:
            sent = send_both(namespace, "127.0.0.1")
        assert namespace.nft_counter("output" if where == "task" else "prerouting") == sent

        def counted():
            rows = [row for row in daemon.call("GetDrops")["rows"]
                    if row.get("netns") == namespace.inode and row.get("protocol") == "ipv4/udp"]
            return sum(row["packets"] for row in rows)

        seen = waiting.settled(counted, sent)
        after, ledger = numbers(daemon)
    hidden = sent * kernel.untraced()
    expected = {"kfree_skb": sent, "net_dev_start_xmit": 0 if where == "task" else sent}
    for name, event in EVENTS.items():
        grown = calls(after[name]) - calls(before[name])
        missed = calls(after[name]) - after[name]["hits"]
        said = f"{name}: {missed} missed, {grown} calls, traces {inner[event]} {outer[event]}"
        assert expected[name] - hidden <= inner[event], said
        assert inner[event] - hidden <= grown <= outer[event], said
        # Without preemption of tracepoints, the kernel runs each program.
        assert missed <= (MOST_MISSED * sent if kernel.preempts_tracepoints() else 0), said

    of_others = outer["skb/kfree_skb"] - sent
    hits = ledger["hits"] - ledger_before["hits"]
    assert hits - of_others <= seen <= min(hits, sent)
    assert ledger["missed"] == after["kfree_skb"].get("missed", 0)
    assert ledger["calls"] - ledger_before["calls"] == \
        calls(after["kfree_skb"]) - calls(before["kfree_skb"])

    # The kernel's own counters, read without netflowd.
    misses = kernel.recursion_misses(daemon.pid)
    for name in EVENTS:
        if after[name].get("missed") is not None and after[name]["how"] == "tp_btf":
            assert misses[f"nf_{name}"] == after[name]["missed"]

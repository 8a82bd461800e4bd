# SPDX-License-Identifier: GPL-2.0-or-later
"""NAPI and the receive softirq: polls, packets and full budgets that a test makes, and the counters
of /proc/net/softnet_stat."""

import contextlib
import pathlib
import socket
import time

import pytest

from lab import attempts, delay, offload, patience, sockets, waiting
from lab.softnet import softnet

# The kernel's default of net.core.dev_weight.
WEIGHT = 64
SO_SNDBUFFORCE = 32

pytestmark = [pytest.mark.alone, pytest.mark.shared, pytest.mark.usefixtures("bpf")]


def setting(name):
    return int(pathlib.Path("/proc/sys/net/core", name).read_text())


def said(daemon):
    return {row["cpu"]: (row["processed"], row["dropped"], row["time_squeeze"])
            for row in daemon.call("GetNapi")["cpus"]}


def polls_of(daemon, cpu, device=None):
    """The row of a device, or of the backlog, on a CPU; zeros if there is none."""
    for row in daemon.call("GetNapi")["napi"]:
        where = (row.get("netns"), row.get("ifindex")) if row.get("device") else None
        wanted = (device.namespace.inode, device.ifindex) if device else None
        if row["cpu"] == cpu and where == wanted:
            return row
    return {"polls": 0, "packets": 0, "full_budgets": 0}


@pytest.mark.smoke
def test_what_the_kernel_says(daemon, silent_pair):
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 1000)
    before = softnet()
    answer = said(daemon)
    after = softnet()
    assert answer.keys() == before.keys()
    for cpu, numbers in answer.items():
        for low, number, high in zip(before[cpu], numbers, after[cpu]):
            assert low <= number <= high


def test_packets_of_the_backlog(daemon, silent_pair):
    """Every packet on veth passes through a CPU's backlog: softnet_stat and netflowd agree."""
    count = 20_000
    kernel_before = softnet()
    before = {cpu: polls_of(daemon, cpu) for cpu in kernel_before}
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, count)
    time.sleep(patience.seconds(0.2))
    after = {cpu: polls_of(daemon, cpu) for cpu in kernel_before}
    kernel_after = softnet()
    packets = sum(after[c]["packets"] - before[c]["packets"] for c in after)
    polls = sum(after[c]["polls"] - before[c]["polls"] for c in after)
    processed = sum(kernel_after[c][0] - kernel_before[c][0] for c in after)
    assert count <= packets <= processed
    assert 0 < polls <= packets


@contextlib.contextmanager
def stalled(pair, cpu, room, count):
    """Send datagrams to a socket while this CPU, which receives them, serves no softirqs: the
    backlog has all of them at once.  Packets in it fill the sender's buffer, so that has `room`
    bytes.  The reader prevents ICMP errors; drops at its full buffer do not matter here."""
    with sockets.udp(pair.left, pair.right, pair.RIGHT4, 7777) as (sender, _):
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, room)
        with delay.on_cpu(0), delay.Stall(cpu, patience.milliseconds(50)) as stall:
            until = stall.begin()
            for _ in range(count):
                sender.send(b"x")
            attempts.need(time.monotonic_ns() < until, "sending took longer than the stall")
            stall.wait()
        yield


def needs_stalls():
    if not delay.two_cpus():
        pytest.skip("one CPU: no process can send while it is stalled")
    if not delay.can_stall():
        pytest.skip("BPF_PROG_TEST_RUN keeps softirqs off on 6.18 and later only: "
                    "cannot stall them")


@pytest.mark.simultaneous
def test_full_budgets(daemon, silent_pair):
    """A CPU that serves no softirqs for a while finds a known number of packets in its backlog."""
    needs_stalls()
    pair, count = silent_pair, 10 * WEIGHT
    if setting("dev_weight") != WEIGHT:
        pytest.skip(f"net.core.dev_weight is not {WEIGHT}")
    delay.receive_on(pair.right_device, 1)

    def attempt():
        before = polls_of(daemon, 1)
        with stalled(pair, 1, 4 << 20, count):
            after = waiting.until(lambda: polls_of(daemon, 1),
                                  lambda row: row["packets"] - before["packets"] >= count)
        assert after["packets"] - before["packets"] >= count
        full = after["full_budgets"] - before["full_budgets"]
        assert count // WEIGHT <= full <= count // WEIGHT + 1

    attempts.valid(attempt)


@pytest.mark.simultaneous
@pytest.mark.needs("drops", "only if the packet passed it before")
def test_full_backlog(daemon, silent_pair):
    """More packets than a backlog holds: GetNapi shows the kernel's count, and the drops have the
    reason CPU_BACKLOG."""
    needs_stalls()
    pair, room = silent_pair, setting("netdev_max_backlog")
    if room > 2000:
        pytest.skip(f"net.core.netdev_max_backlog is {room}: too many packets to send in time")
    delay.receive_on(pair.right_device, 1)

    def of_device():
        return daemon.dropped(pair.right_device, "ipv4/udp", "CPU_BACKLOG")

    def attempt():
        before, said_before, of_device_before = softnet()[1], said(daemon)[1], of_device()
        with stalled(pair, 1, 8 << 20, room + 200):
            pass
        dropped = softnet()[1][1] - before[1]
        # The backlog takes one more than its length, and may contain other packets.
        assert 199 <= dropped <= 299
        assert said(daemon)[1][1] - said_before[1] == dropped
        if daemon.knows_reasons():
            assert of_device() - of_device_before in (dropped, 199, 200)

    attempts.valid(attempt)


def test_a_device_with_napi_of_its_own(daemon, silent_pair):
    """veth has its own NAPI polls when GRO is on (5.13 and later)."""
    pair, count = silent_pair, 5000
    # Otherwise datagrams of a socket pass the NAPI by: veth_skb_is_eligible_for_gro().
    offload.switch(pair.left_device, offload.STSO, False)
    try:
        offload.switch(pair.right_device, offload.SGRO, True)
    except OSError as error:
        pytest.skip(f"no GRO on veth: {error}")
    pair.left.send_udp(pair.RIGHT4, 9, count)
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), count)
    rows = [row for row in daemon.call("GetNapi")["napi"]
            if (row.get("netns"), row.get("ifindex")) ==
            (pair.right.inode, pair.right_device.ifindex)]
    if not rows:
        pytest.skip("this kernel's veth has no NAPI without XDP")
    assert sum(row["packets"] for row in rows) == count
    assert 0 < sum(row["polls"] for row in rows)
    assert {row["device"] for row in rows} == {pair.right_device.name}


def test_softirq_wait_is_there(daemon, silent_pair):
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 1000)
    rows = [row for row in daemon.call("GetNapi")["cpus"] if row["wait_count"]]
    assert rows
    for row in rows:
        assert 0 <= row["wait_mean_ns"] <= row["wait_max_ns"]
        assert row["wait_p50_ns"] <= row["wait_p99_ns"] <= row["wait_max_ns"]

# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever strangers send, and however many namespaces come and go: a new cause of drops is counted
exactly under its own key, with a record within a second, and the sums by reason stay exact."""

import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import time

import pytest

from lab import journeys, kernel, packets, paths, patience, waiting
from lab.net import run

# Their ledger must be quiet, or they make and delete namespaces by the hundred.
alone = pytest.mark.alone
# These ask for their own devices only, so others may run at the same time, and drop packets, too.
beside = pytest.mark.shared("records.rate=1000000")

FRAMES = 6000
PROBE = 777
ETH_P_MIN = 0x600
SOL_UDP, UDP_SEGMENT = 17, 103
SECOND = patience.seconds(1.0)
# Namespaces that come and go, each with eight keys.
CHURN = int(os.environ.get("NETFLOWD_CHURN", patience.fewer(800)))

# ---- traffic ----


@contextlib.contextmanager
def raw(device):
    """A socket that sends frames as they are."""
    with device.namespace.entered():
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    with sender:
        sender.bind((device.name, 0))
        yield sender


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ethernet(source, target, ether_type, payload=b"\0" * 46):
    return mac(target.mac) + mac(source.mac) + struct.pack("!H", ether_type) + payload


def send_random_frames(source, target, count):
    """`count` frames, each of another EtherType that no protocol here handles."""
    known = {0x0800, 0x0806, 0x86DD, 0x8100, 0x88A8, 0x8863, 0x8864, 0x8847, 0x8848}
    types = random.sample([t for t in range(ETH_P_MIN, 0x10000) if t not in known], count)
    with raw(source) as sender:
        for ether_type in types:
            sender.send(ethernet(source, target, ether_type))


def all_rows(daemon):
    return daemon.call("GetDrops")["rows"]


def total(rows, **fields):
    return sum(row["packets"] for row in rows
               if all(row.get(name) == value for name, value in fields.items()))


def by_reason(daemon):
    return {(row.get("subsystem"), row.get("reason_number")): row["packets"]
            for row in daemon.call("GetDrops", by="reason")["rows"]}


def quiet(daemon):
    """The ledger and all rows, read while nothing was dropped."""
    def ledger_now():
        status = daemon.status()
        return {**status["drops"], "messages": status["packets"]["messages"]}

    def both():
        before = ledger_now()
        rows = all_rows(daemon)
        return before, rows, ledger_now()

    ledger, rows, _ = waiting.until(
        both, lambda r: r[0]["hits"] == r[2]["hits"] and r[0].get("balanced") is True, seconds=20)
    return ledger, rows


def check_sums(daemon):
    """Every drop is in exactly one row, and the rows by reason have the same sums.  Messages, which
    other programs free, are in none."""
    ledger, rows = quiet(daemon)
    real = ledger["hits"] - ledger["completed"]
    assert total(rows) == real - ledger["messages"], (total(rows), ledger)
    assert real == ledger["counted"] + ledger["unkeyed"]
    assert total(rows, unkeyed=True) == ledger["unkeyed"]
    return ledger, rows


def expect_new_cause(daemon, lab, count=PROBE):
    """A cause that did not exist before: a closed port in a namespace that did not exist before."""
    pair = lab.pair(ipv6=False)
    pair.left.send_udp(pair.RIGHT4, 9, count)
    reason = "NO_SOCKET" if daemon.knows_reasons() else None

    def rows():
        return [r for r in daemon.call("GetDrops", netns=str(pair.right.inode))["rows"]
                if r["protocol"] == "ipv4/udp" and reason in (None, r.get("reason"))]

    def recorded():
        waiting.until(rows, lambda found: total(found) >= count)
        return waiting.until(lambda: daemon.records(pair.right_device, "ipv4/udp", limit=1000),
                             bool)

    took, record = waiting.time_and_result(recorded, daemon.pid)
    assert took < SECOND
    assert record and record[-1]["netns"] == pair.right.inode
    found = rows()
    assert total(found) == count, found
    assert {r["device"] for r in found} == {pair.right_device.name}
    # And the command line says the same.
    out = daemon.netflowctl("drops", "--netns", pair.right.inode).stdout
    assert re.search(rf"^\s*{count}\s", out, re.MULTILINE), out
    return pair


# ---- the table of the issue ----


@alone
@pytest.mark.smoke
def test_random_ethertypes_hide_nothing(daemon, lab):
    """Six thousand EtherTypes from one container have one key; each record has its own."""
    hostile = lab.pair(ipv6=False)
    dropped = hostile.right_device
    send_random_frames(hostile.left_device, dropped, FRAMES)
    assert waiting.settled(lambda: daemon.dropped(dropped), FRAMES) == FRAMES
    rows = daemon.drop_rows(dropped)
    # Well-known ones, such as LLDP, can be among them.
    assert len(rows) < 20 and daemon.dropped(dropped, "other") > 0.99 * FRAMES, rows
    records = daemon.records(dropped)
    assert records and all(re.fullmatch("0x[0-9a-f]{4}", r["protocol"]) for r in records)
    expect_new_cause(daemon, lab)
    ledger, _ = check_sums(daemon)
    assert ledger["unkeyed"] == 0


def test_random_ip_protocols_hide_nothing(daemon, pair):
    """All 256 IP protocols: the well-known ones have keys of their own, the others one."""
    source, target = pair.left_device, pair.right_device
    with raw(source) as sender:
        for _ in range(10):
            for protocol in range(256):
                packet = packets.ipv4("10.77.9.9", pair.RIGHT4, protocol, b"\xff" * 64)
                sender.send(ethernet(source, target, packets.ETH_IPV4, packet))
    # An unused protocol is refused with an ICMP message, or is dropped where no route leads back.
    counted = waiting.until(
        lambda: [r for r in daemon.drop_rows(target) if r["protocol"].startswith("ipv4/")],
        lambda rows: total(rows) >= 2000)
    names = {r["protocol"] for r in counted}
    assert "ipv4/other" in names and len(names) < 40, names
    assert not [n for n in names if re.fullmatch(r"ipv4/\d+", n)]


def test_lengths_are_one_class(daemon, silent_pair):
    source, target = silent_pair.left_device, silent_pair.right_device
    with raw(source) as sender:
        for length in range(46, 1500):
            sender.send(ethernet(source, target, length, b"\xff" * max(46, length)))
    assert waiting.settled(lambda: daemon.dropped(target, "802.3"), 1454) == 1454


# ---- churn ----


REASON = "UNHANDLED_PROTO"
CHURN_TYPES = 8  # EtherTypes that tests/tools/netns_churn sends, each a key


class Churner:
    """Makes namespaces, drops packets in each, and leaves them.  Counts what it sent."""

    def __init__(self):
        self.sent = 0

    def turn(self, namespaces, copies=1, jobs=16):
        out = run(paths.TOOLS / "netns_churn", namespaces, copies, jobs, timeout=3600)
        made, frames = (int(word) for word in out.split())
        assert (made, frames) == (namespaces, namespaces * copies * CHURN_TYPES)
        self.sent += frames


def unhandled(daemon):
    """Frames without a handler in all namespaces, also those that are gone."""
    if not daemon.knows_reasons():
        pytest.skip("drops have no reasons on this kernel")
    return total(all_rows(daemon), reason=REASON)


@alone
def test_namespaces_that_come_and_go(daemon, lab):
    """Four hundred namespaces, made, used and deleted one after another, leave 3,200 keys.
    NETFLOWD_CHURN=260000 makes a million keys."""
    before = unhandled(daemon)
    churner = Churner()
    churner.turn(CHURN // 2)
    assert waiting.settled(lambda: unhandled(daemon) - before, churner.sent) >= churner.sent
    expect_new_cause(daemon, lab)
    ledger, _ = check_sums(daemon)
    assert ledger["unkeyed"] == 0


# ---- folding ----


@alone
def test_folding_keeps_sums_exact(start, lab, bpf):
    """With room for 64 keys, namespaces churn so that keys fold hundreds of times, while another
    namespace drops all the time.  Its rows, and the sums by reason, are exact to the packet.
    NETFLOWD_CHURN=130000 makes a million keys."""
    daemon = start("drops.keys=64")
    steady = lab.pair(ipv6=False)
    before = steady.right.nstat()
    first = unhandled(daemon)
    churner, sent = Churner(), 0
    for _ in range(20):
        churner.turn(CHURN // 20)
        steady.left.send_udp(steady.RIGHT4, 9, 100)
        sent += 100
    assert steady.right.nstat().since(before, "UdpNoPorts") == {"UdpNoPorts": sent}
    _, rows = check_sums(daemon)
    # Other tests' namespaces share this kernel, so the sum can be larger, but none of ours is lost.
    assert total(rows, reason=REASON) - first >= churner.sent
    gone = [row for row in rows if row.get("gone")]
    assert gone and not any("netns" in row or "device" in row for row in gone), gone
    # Some namespaces came faster than keys can fold; their drops are counted by reason.
    assert total(gone) + total(rows, unkeyed=True) > 0.9 * churner.sent
    # A key whose drops go on is exact, also when it has folded in between.
    assert daemon.dropped(steady.right_device, "ipv4/udp") + \
        daemon.call("GetDrops", device=steady.right_device.name)["folded"] >= sent
    assert len(rows) < 64 * 3 + len(gone) + 8


@alone
def test_steady_keys_never_fold(start, lab, bpf):
    """Keys whose drops come again and again stay, whatever comes and goes next to them."""
    daemon = start("drops.keys=256")
    steady = lab.pair(ipv6=False)
    churner, sent, folded = Churner(), 0, 0
    for turn in range(20):
        churner.turn(20)
        steady.left.send_udp(steady.RIGHT4, 9, 50)
        sent += 50
        counted = waiting.settled(lambda: daemon.dropped(steady.right_device, "ipv4/udp"),
                                  sent - folded)
        # The first time that keys fold, it has not come again yet.
        folded = sent - counted if turn < 5 else folded
        assert counted == sent - folded
    # Of the churned ones, no drop has a namespace any more.
    out = daemon.netflowctl("drops", "--dev", steady.right_device.name)
    assert "no longer known" in out.stdout, out.stdout
    check_sums(daemon)


@alone
def test_totals_by_reason_never_fall(start, lab, bpf):
    daemon = start("drops.keys=16")
    churner, last = Churner(), {}
    for _ in range(30):
        churner.turn(20)
        now = by_reason(daemon)
        assert all(now.get(reason, 0) >= count for reason, count in last.items()), (last, now)
        last = now
    check_sums(daemon)


@alone
def test_full_table_counts_by_reason(start, lab, bpf):
    """While the daemon does not run, no keys fold.  Drops of new keys count under their reason, and
    have records."""
    daemon = start("drops.keys=4", "records.rate=1000000",
                   "records.recent=20000")
    first = unhandled(daemon)
    churner = Churner()
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        churner.turn(100)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    waiting.until(lambda: unhandled(daemon) - first, lambda n: n >= churner.sent)
    ledger, rows = check_sums(daemon)
    assert ledger["unkeyed"] >= 0.5 * churner.sent
    assert [r for r in rows if r.get("unkeyed") and r["reason"] == REASON
            and "location" not in r]
    assert daemon.coverage("drop_keys")["state"] == "degraded"
    # Their records have all that the key lacks.
    records = [r for r in daemon.records(reason=REASON) if r.get("device") == "lo"]
    assert len(records) >= min(churner.sent, 100)
    assert all("netns" in r and "location" in r for r in records)
    # And with room again, which the daemon makes within a second, a new cause has its key.
    time.sleep(patience.seconds(1.2))
    expect_new_cause(daemon, lab)


@alone
def test_hostile_namespace_has_a_quota(start, lab, bpf):
    """Hundreds of devices in one namespace take a quarter of the table; the others keep theirs."""
    daemon = start("drops.keys=128")
    hostile = lab.namespace(ipv6=False)
    count = 200
    hostile.ip_batch(*(f"link add d{i} type veth peer name e{i}" for i in range(count)))
    hostile.ip_batch(*(f"link set {end}{i} up" for i in range(count) for end in "de"))
    with hostile.entered():
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack("!H", 0x9999) + b"\0" * 46
        with sender:
            for i in range(count):
                sender.sendto(frame, (f"d{i}", 0))

    def rows():
        return [r for r in all_rows(daemon) if r.get("netns") == hostile.inode]

    found = waiting.until(rows, lambda r: total(r) >= count)
    # IPv6 is off, so the frames are all that is dropped there.
    assert total(found) == count, found
    coarse = [r for r in found if r.get("coarse")]
    fine = [r for r in found if not r.get("coarse")]
    assert len(fine) == 128 / 4 and total(coarse) == count - len(fine), (len(fine), coarse)
    assert not any("device" in r or "protocol" in r for r in coarse)
    device = fine[0]["device"]
    assert daemon.call("GetDrops", device=device)["folded"] >= total(coarse)
    # The exact device is in the records.
    records = [r for r in daemon.records(limit=4096) if r.get("netns") == hostile.inode]
    assert len({r["device"] for r in records}) > len(fine)
    expect_new_cause(daemon, lab)
    check_sums(daemon)


# ---- packets on the wire ----


@beside
def test_gso_of_udp_counts_segments(daemon, silent_pair):
    """A datagram of ten segments reaches nft as one skb, and would be ten packets on the wire."""
    pair, segments, sends = silent_pair, 10, 50
    pair.right.nft_drop("input", "udp dport 5555")
    with pair.left.entered():
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender:
        try:
            sender.setsockopt(SOL_UDP, UDP_SEGMENT, 100)
        except OSError:
            pytest.skip("this kernel has no UDP_SEGMENT")
        for _ in range(sends):
            sender.sendto(b"x" * (100 * segments - 50), (pair.RIGHT4, 5555))
    rows = waiting.until(lambda: daemon.drop_rows(pair.right_device, "ipv4/udp", "NETFILTER_DROP"),
                         lambda r: sum(x["segments"] for x in r) >= segments * sends)
    assert pair.right.nft_counter("input") == total(rows)
    assert sum(r["segments"] for r in rows) == segments * sends, rows
    record = daemon.records(pair.right_device, "ipv4/udp")[-1]
    if total(rows) == sends:
        assert record["segments"] == segments
        assert "segments" in daemon.netflowctl("drops", "--netns", pair.right.inode).stdout


@beside
def test_gso_of_tcp_counts_segments(daemon, silent_pair):
    """TCP sends more than a segment at once to a peer that drops what it gets: skbs and segments
    are those of the kernel's counters."""
    pair = silent_pair
    with pair.right.entered():
        listener = socket.socket()
        listener.bind((pair.RIGHT4, 6666))
        listener.listen(1)
    with pair.left.entered():
        sender = socket.socket()
    with listener, sender:
        sender.connect((pair.RIGHT4, 6666))
        accepted, _ = listener.accept()
        with accepted:
            pair.right.nft_drop("input", "tcp dport 6666")
            before = pair.left.nstat()
            sender.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    sender.send(b"x" * 65536)

            def of_kernel():
                return (pair.right.nft_counter("input"),
                        pair.left.nstat().since(before, "TcpOutSegs", "TcpRetransSegs"))

            def all_of():
                return (of_kernel(),
                        daemon.drop_rows(pair.right_device, "ipv4/tcp", "NETFILTER_DROP"),
                        of_kernel())

            # TCP sends again after 0.2 s, 0.4 s more, and so on: between, the numbers are of the
            # same packets.
            (dropped, sent), rows, _ = waiting.until(
                all_of, lambda found: found[0] == found[2] and found[0][1]["TcpRetransSegs"] and
                total(found[1]) == found[0][0], seconds=10)
    # TcpOutSegs counts segments (gso_segs), without retransmissions since 2022, so both are added.
    wire = {sent["TcpOutSegs"], sent["TcpOutSegs"] + sent["TcpRetransSegs"]}
    if total(rows) == dropped:
        assert sum(r["segments"] for r in rows) in wire, (rows, sent)
    assert sum(r["segments"] for r in rows) > total(rows)


# ---- whose ----


@contextlib.contextmanager
def own_cgroup(name):
    """A cgroup of its own for the processes that are started with its path."""
    top = next((line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                if line.split()[2] == "cgroup2"), None)
    if top is None:
        pytest.skip("cgroup2 is not mounted here")
    path = pathlib.Path(top, name)
    path.mkdir()
    try:
        yield path
    finally:
        waiting.until(lambda: not (path / "cgroup.procs").read_text(), bool, seconds=5)
        path.rmdir()


def inside(cgroup, namespace):
    """The beginning of a command that runs a Python script in both.  `ip netns exec` would hide
    the hierarchy of cgroups."""
    return ("sh", "-c", f"echo $$ > {cgroup}/cgroup.procs && "
            f"exec nsenter --net=/run/netns/{namespace.name} python3 -c \"$0\"")


def send_from(cgroup, pair, port, count):
    """Send datagrams from a process in that cgroup."""
    run(*inside(cgroup, pair.left), f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({count}):
    try:
        s.sendto(b"x" * 20, ("{pair.RIGHT4}", {port}))
    except PermissionError:
        pass
""")


@beside
def test_drops_by_cgroup(daemon, silent_pair):
    """Two cgroups send what a rule at the output drops: each is counted under its own sender."""
    pair = silent_pair
    pair.left.nft_drop("output", "udp dport 5555")
    name, begin = pair.left.name, time.time()

    def dropped():
        return total(daemon.call("GetDrops", netns=str(pair.left.inode))["rows"])

    def records():
        return [r for r in daemon.records(protocol="ipv4/udp")
                if r.get("netns") == pair.left.inode and journeys.seconds_of(r["time"]) >= begin]

    # The number can have been that of a namespace that is gone.
    before = dropped()
    with own_cgroup(f"{name}-a") as a, own_cgroup(f"{name}-b") as b:
        ids = {a: os.stat(a).st_ino, b: os.stat(b).st_ino}
        send_from(a, pair, 5555, 321)
        send_from(b, pair, 5555, 123)
        assert pair.left.nft_counter("output") == 444
        waiting.until(dropped, lambda n: n - before >= 444)
        rows = {r.get("cgroup_id"): r for r in
                daemon.call("GetDrops", by="cgroup", netns=str(pair.left.inode))["rows"]}
        if not rows.get(ids[a]) and kernel.release() < (5, 15):
            pytest.skip("a socket's cgroup is not known before 5.15")
        assert rows[ids[a]]["packets"] == 321 and rows[ids[b]]["packets"] == 123, rows
        assert rows[ids[a]]["owner"]["cgroup"].endswith(f"{name}-a"), rows
        out = daemon.netflowctl("drops", "--by", "cgroup", "--netns", pair.left.inode).stdout
        assert re.search(rf"321 .*{name}-a", out), out
        record = waiting.until(records, bool)[0]
        assert record["owner"]["cgroup"].rsplit("/", 1)[1] in (f"{name}-a", f"{name}-b")


@beside
def test_cgroup_of_the_receiver(daemon, silent_pair):
    """A socket whose buffer is full: since 6.11 the kernel names the receiving socket."""
    if kernel.release() < (6, 11):
        pytest.skip("kfree_skb has no rx_sk before 6.11")
    pair, count = silent_pair, 500
    with own_cgroup(f"{pair.right.name}-r") as cgroup:
        reader = subprocess.Popen(
            [*inside(cgroup, pair.right), f"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
s.bind(("{pair.RIGHT4}", 7777))
print(1, flush=True)
time.sleep(1000)
"""], stdout=subprocess.PIPE)
        try:
            reader.stdout.readline()
            number = os.stat(cgroup).st_ino
            before = pair.right.nstat()
            pair.left.send_udp(pair.RIGHT4, 7777, count)
            errors = pair.right.nstat().since(before, "UdpRcvbufErrors")["UdpRcvbufErrors"]
            assert errors > count / 2

            def mine():
                rows = daemon.call("GetDrops", by="cgroup", netns=str(pair.right.inode))["rows"]
                return total(rows, cgroup_id=number)

            assert waiting.settled(mine, errors) == errors
        finally:
            reader.kill()
            reader.wait()
            reader.stdout.close()

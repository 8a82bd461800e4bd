# SPDX-License-Identifier: GPL-2.0-or-later
"""Drops that pass no kfree_skb: the kernel's other counters show them, exactly, and coverage says
what bypasses the probes.  The expected numbers are those of the packets that the tests send."""

import contextlib
import errno
import json
import pathlib
import socket
import subprocess

import pytest

from lab import packets, waiting, xdp
from lab.net import Device, run
from lab.prometheus import scrape
from lab.scans import PAUSE, QUICK, SECONDS, finished as scanned

pytestmark = pytest.mark.usefixtures("bpf", "cli")

COUNT = 37


# The load of other tests, or their XDP programs, degrade the coverage of drops.
DEGRADED_BY_OTHERS = pytest.mark.alone


@pytest.fixture
def quick(start):
    return start(QUICK)


def counters(daemon, **selection):
    """The counters of other sources that moved, as {(source, counter): row}."""
    rows = daemon.call("GetDrops")["elsewhere"]["rows"]
    return {(row["source"], row["counter"]): row for row in rows
            if all(row.get(key) == value for key, value in selection.items())}


def of(daemon, device):
    return counters(daemon, netns=device.namespace.inode, ifindex=device.ifindex)


def moved(daemon, device, counter, expected):
    """The row of a counter that reaches the expected number of packets, and stays there."""
    waiting.until(lambda: of(daemon, device).get(counter, {}).get("packets"),
                  lambda packets_: packets_ == expected, SECONDS, PAUSE)
    scanned(daemon)
    row = of(daemon, device)[counter]
    assert row["packets"] == expected
    return row


def frames(device, count=COUNT):
    """Frames that the device of the lab accepts."""
    return [packets.ethernet(device.mac, "02:00:00:00:00:01", 0x88b5, bytes([i]) * 60)
            for i in range(count)]


@contextlib.contextmanager
def tap(lab):
    namespace = lab.namespace(ipv6=False)
    with packets.Tunnel(namespace, lab.name(), packets.IFF_TAP) as tunnel:
        yield tunnel


# ---- XDP ----


@DEGRADED_BY_OTHERS
@pytest.mark.smoke
def test_native_xdp_before_an_skb_exists(quick, lab):
    """tun runs a native program on the page: no skb, no kfree_skb, only its counter."""
    with tap(lab) as tunnel, xdp.attached(tunnel.device):
        for frame in frames(tunnel.device):
            tunnel.write(frame)
        row = moved(quick, tunnel.device, ("link", "rx_dropped"), COUNT)
        assert (row["overlaps"], row["recorded"], row["gone"]) == (True, 0, False)
        assert row["device"] == tunnel.device.name
        assert quick.dropped(tunnel.device) == 0
        coverage = quick.coverage("drops")
        assert coverage["state"] == "degraded" and tunnel.device.name in coverage["reason"]
        assert quick.coverage("rx_latency")["state"] == "degraded"
        [bypass] = [b for b in quick.status()["elsewhere"]["bypasses"]
                    if b.get("netns") == tunnel.device.namespace.inode]
        assert (bypass["kind"], bypass["ifindex"]) == ("xdp_native", tunnel.device.ifindex)
    scanned(quick)
    assert quick.coverage("drops")["state"] == "full"


def test_native_xdp_on_veth(quick, silent_pair):
    """veth frees the skb of a dropped packet with kfree_skb: in both, and said to be."""
    device = silent_pair.right_device
    with xdp.attached(device):
        assert silent_pair.left.send_udp(silent_pair.RIGHT4, 9, COUNT) == COUNT
        row = moved(quick, device, ("driver", "rx_queue_*_xdp_drops"), COUNT)
        assert (row["class"], row["overlaps"]) == ("policy", True)
        assert quick.dropped(device, "ipv4/udp") == COUNT
        assert row["recorded"] == quick.dropped(device)


@DEGRADED_BY_OTHERS
def test_generic_xdp_is_seen(quick, silent_pair):
    device = silent_pair.right_device
    with xdp.attached(device, mode=xdp.GENERIC):
        assert silent_pair.left.send_udp(silent_pair.RIGHT4, 9, COUNT) == COUNT
        assert waiting.settled(lambda: quick.dropped(device), COUNT) == COUNT
        scanned(quick)
        assert not of(quick, device)
        assert quick.coverage("drops") == {"question": "drops", "state": "full"}
        assert [b["kind"] for b in quick.status()["elsewhere"]["bypasses"]
                if b.get("netns") == device.namespace.inode] == ["xdp_generic"]


def test_af_xdp(quick, silent_pair):
    device = silent_pair.right_device
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(xdp.bound_socket(device))
        except OSError as error:
            if error.errno == errno.EAFNOSUPPORT:
                pytest.skip("the kernel has no AF_XDP")
            raise
        scanned(quick)
        [bypass] = [b for b in quick.status()["elsewhere"]["bypasses"]
                    if b["kind"] == "xdp_sockets"]
        assert (bypass["netns"], bypass["sockets"]) == (device.namespace.inode, 1)
        coverage = quick.coverage("tx_latency")
        assert coverage["state"] == "degraded" and "AF_XDP" in coverage["reason"]
    scanned(quick)
    assert quick.coverage("tx_latency")["state"] == "full"


# ---- devices ----


def ifb(lab):
    namespace = lab.namespace(ipv6=False)
    name = lab.name()
    namespace.ip("link", "add", name, "type", "ifb")
    namespace.ip("link", "set", name, "up")
    return Device(namespace, name)


def test_a_device_that_drops_without_a_record(quick, lab):
    """ifb frees with consume_skb what no tc action redirected."""
    device = ifb(lab)
    with xdp.packet_socket(device) as sender:
        for frame in frames(device):
            sender.send(frame)
    row = moved(quick, device, ("link", "rx_dropped"), COUNT)
    assert (row["class"], row["overlaps"], row["recorded"]) == ("unknown", True, 0)
    assert quick.dropped(device) == 0
    out = quick.netflowctl("drops", "--netns", device.namespace.name).stdout
    assert "not seen by netflowd" in out and "rx_dropped" in out and device.name in out
    out = quick.netflowctl("drops", "--faults", "--netns", device.namespace.name).stdout
    assert "rx_dropped" not in out


@pytest.mark.alone
def test_a_deleted_device_keeps_its_sum(quick, lab):
    device = ifb(lab)
    with xdp.packet_socket(device) as sender:
        for frame in frames(device):
            sender.send(frame)
    moved(quick, device, ("link", "rx_dropped"), COUNT)
    device.namespace.ip("link", "delete", device.name)
    scanned(quick)
    assert not of(quick, device)
    assert counters(quick, gone=True)["link", "rx_dropped"]["packets"] == COUNT


def test_what_was_counted_before_does_not_count(start, lab):
    device = ifb(lab)
    with xdp.packet_socket(device) as sender:
        for frame in frames(device):
            sender.send(frame)
        assert device.statistics()["rx"]["dropped"] == COUNT
        daemon = start(QUICK)
        scanned(daemon)
        assert not of(daemon, device)
        sender.send(frames(device)[0])
        assert moved(daemon, device, ("link", "rx_dropped"), 1)


@pytest.mark.alone
def test_a_device_that_moves_does_not_count_twice(quick, lab):
    device, other = ifb(lab), lab.namespace(ipv6=False)
    with xdp.packet_socket(device) as sender:
        for frame in frames(device):
            sender.send(frame)
    moved(quick, device, ("link", "rx_dropped"), COUNT)
    device.namespace.ip("link", "set", device.name, "netns", other.name)
    scanned(quick)
    rows = [row for row in quick.call("GetDrops")["elsewhere"]["rows"]
            if (row["source"], row["counter"]) == ("link", "rx_dropped")]
    assert sum(row["packets"] for row in rows) == COUNT


@pytest.mark.alone
def test_a_selection_leaves_them_out(quick, lab):
    first, second = ifb(lab), ifb(lab)
    for device in (first, second):
        with xdp.packet_socket(device) as sender:
            sender.send(frames(device)[0])
        moved(quick, device, ("link", "rx_dropped"), 1)
    elsewhere = quick.call("GetDrops", netns=first.namespace.name)["elsewhere"]
    assert [row["ifindex"] for row in elsewhere["rows"]] == [first.ifindex]
    assert elsewhere["hidden"] == 1
    if quick.knows_reasons():
        assert "elsewhere" not in quick.call("GetDrops", reason="NO_SOCKET")


# ---- TCP ----


def test_listen_overflow(silent_pair, quick):
    """The kernel frees a SYN for a full accept queue with consume_skb.  The queue of 1 takes two
    connections."""
    left, right = silent_pair.left, silent_pair.right
    with right.entered():
        listener = socket.socket()
    with listener, contextlib.ExitStack() as stack:
        listener.bind((silent_pair.RIGHT4, 7777))
        listener.listen(1)
        before = right.nstat()
        with left.entered():
            clients = [stack.enter_context(socket.socket()) for _ in range(2)]
            late = stack.enter_context(socket.socket())
        for client in clients:
            client.connect((silent_pair.RIGHT4, 7777))
        late.setblocking(False)
        assert late.connect_ex((silent_pair.RIGHT4, 7777)) == errno.EINPROGRESS
        waiting.until(lambda: counters(quick, netns=right.inode),
                      lambda rows: ("tcp", "ListenOverflows") in rows, SECONDS, PAUSE)
        late.close()  # it sends no more SYNs
        scanned(quick)
        tcp = counters(quick, netns=right.inode)
        tcp = counters(quick, netns=right.inode)
        counted = right.nstat().since(before, "TcpExtListenOverflows", "TcpExtListenDrops")
        assert counted["TcpExtListenOverflows"] >= 1
        for name in ("ListenOverflows", "ListenDrops"):
            row = tcp["tcp", name]
            assert row["packets"] == counted[f"TcpExt{name}"]
            assert (row["class"], row["overlaps"]) == ("fault", True)
        assert not [row for row in quick.drop_rows() if row.get("netns") == right.inode]


# ---- the scan ----


def test_off(start, lab):
    daemon = start("elsewhere.interval=0")
    coverage = daemon.coverage("drops_elsewhere")
    assert coverage["state"] == "unavailable" and "elsewhere.interval" in coverage["reason"]
    assert "elsewhere" not in daemon.call("GetDrops")
    assert daemon.status()["elsewhere"] == {"interval_ns": 0, "scans": 0, "late_ns": 0}


@DEGRADED_BY_OTHERS
def test_a_reload_turns_scans_on_and_off(start, lab, tmp_path):
    """What is attached while scans are off is found later; what an old scan found is not shown."""
    settings = tmp_path / "netflowd.conf"
    settings.write_text("[elsewhere]\ninterval = 0\n")
    daemon = start(options=["--config", settings])
    with tap(lab) as tunnel, xdp.attached(tunnel.device):
        assert daemon.coverage("drops")["state"] == "full"
        settings.write_text("[elsewhere]\ninterval = 100ms\n")
        daemon.call("Reload")
        scanned(daemon)
        assert daemon.coverage("drops")["state"] == "degraded"
        settings.write_text("[elsewhere]\ninterval = 0\n")
        daemon.call("Reload")
        assert daemon.coverage("drops")["state"] == "full"
        assert "elsewhere" not in daemon.call("GetDrops")


def test_bypasses_that_are_not_listed(quick, lab):
    namespace = lab.namespace(ipv6=False)
    run("ip", "-n", namespace.name, "-batch", "-", timeout=60,
        input="\n".join(f"link add a{i} type veth peer name b{i}" for i in range(35)))
    with contextlib.ExitStack() as stack:
        for name in (f"{side}{i}" for side in "ab" for i in range(35)):
            stack.enter_context(xdp.attached(Device(namespace, name), mode=xdp.GENERIC))
        scanned(quick)
        scan = quick.status()["elsewhere"]
        assert len(scan["bypasses"]) == 64
        assert len(scan["bypasses"]) + scan["bypasses_left_out"] >= 70
        assert "that are not listed" in quick.netflowctl("status").stdout


def test_totals_have_different_labels(start, lab):
    """Devices of two kinds whose counters of one name mean different things have one series."""
    daemon = start(QUICK, "metrics.listen=unix")
    with tap(lab) as tunnel, xdp.attached(tunnel.device):
        device = ifb(lab)
        with xdp.packet_socket(device) as sender:
            for frame in frames(device):
                sender.send(frame)
        for frame in frames(tunnel.device):
            tunnel.write(frame)
        moved(daemon, tunnel.device, ("link", "rx_dropped"), COUNT)
        moved(daemon, device, ("link", "rx_dropped"), COUNT)
        text = scrape(daemon.directory / "metrics.sock")[1]
    series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if line[:1] not in ("#", "")]
    assert len(series) == len(set(series))


@pytest.mark.alone
def test_a_first_scan_comes_before_ready(start):
    scan = start().status()["elsewhere"]
    assert scan["scans"] >= 1 and scan["devices"] >= 1 and scan["namespaces"] >= 1
    assert (scan["closed"], scan["unread"], scan["left_out"]) == (0, 0, 0)


def test_without_the_right_to_enter_namespaces(start, lab):
    """/proc/PID/net shows listening sockets' drops, and the devices' standard counters by name."""
    device = ifb(lab)
    inode = device.namespace.inode
    daemon = start(QUICK, command=("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all",))
    with subprocess.Popen(["ip", "netns", "exec", device.namespace.name, "sleep", "300"]) as holder:
        try:
            place = pathlib.Path(f"/proc/{holder.pid}/ns/net")
            assert waiting.until(lambda: place.stat().st_ino, lambda at: at == inode)
            scanned(daemon)
            with xdp.packet_socket(device) as sender:
                for frame in frames(device):
                    sender.send(frame)
            found = waiting.until(
                lambda: counters(daemon, netns=inode).get(("link", "rx_dropped"), {}),
                lambda row: row.get("packets") == COUNT, SECONDS, PAUSE)
            assert found["packets"] == COUNT and found["device"] == device.name
        finally:
            holder.kill()
    coverage = daemon.coverage("drops_elsewhere")
    assert coverage["state"] == "degraded" and "CAP_SYS_ADMIN" in coverage["reason"]
    assert "standard counters are read" in coverage["reason"]
    assert daemon.status()["elsewhere"]["closed"] >= 1


def test_many_devices(start, lab):
    """Scans of 2,000 devices cost 2 % of a CPU at most; if that means longer pauses, it is said."""
    namespace = lab.namespace(ipv6=False)
    run("ip", "-n", namespace.name, "-batch", "-", timeout=300,
        input="\n".join(f"link add a{i} type veth peer name b{i}" for i in range(1000)))
    daemon = start(QUICK)
    scan = daemon.status()["elsewhere"]
    assert scan["devices"] >= 2000 and scan["left_out"] == 0
    assert scan["late_ns"] >= 50 * scan["cpu_ns"] - 100_000_000
    print({key: scan[key] for key in ("cpu_ns", "took_ns", "late_ns", "devices")})


# ---- hardware ----

NETDEVSIM = pathlib.Path("/sys/bus/netdevsim")
TRAP = "source_mac_is_multicast"


@pytest.fixture
def netdevsim(lab):
    """The namespace of a device of netdevsim, which traps packets of its own."""
    if not NETDEVSIM.exists():
        run("modprobe", "netdevsim", check=False)
    if not NETDEVSIM.exists():
        pytest.skip("the kernel has no module netdevsim (CONFIG_NETDEVSIM)")
    namespace = lab.namespace(ipv6=False)
    with namespace.entered():
        (NETDEVSIM / "new_device").write_text("77 1")
    try:
        yield namespace
    finally:
        (NETDEVSIM / "del_device").write_text("77")


def test_hardware_trap(quick, netdevsim):
    """The driver counts a packet that it traps, and reports it with devlink_trap_report."""
    handle = "netdevsim/netdevsim77"
    name = json.loads(netdevsim.ip("-j", "link", "show"))[-1]["ifname"]
    netdevsim.run("devlink", "trap", "set", handle, "trap", TRAP, "action", "trap")
    netdevsim.ip("link", "set", name, "up")
    assert waiting.until(lambda: ("trap", TRAP) in counters(quick, netns=netdevsim.inode), bool,
                         SECONDS, PAUSE)
    netdevsim.ip("link", "set", name, "down")
    scanned(quick)
    row = counters(quick, netns=netdevsim.inode)["trap", TRAP]
    shown = json.loads(netdevsim.run("devlink", "-s", "-j", "trap", "show", handle, "trap", TRAP))
    assert row["packets"] == shown["trap"][handle][0]["stats"]["rx"]["packets"] > 0
    assert (row["device"], row["class"], row["overlaps"]) == (handle, "fault", False)

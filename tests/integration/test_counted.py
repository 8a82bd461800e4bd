# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel counts on a device is shown exactly, whatever was followed: now, for the past and
as a metric; or it is not shown, with the reason."""

import contextlib
import datetime
import itertools
import os
import shutil
import subprocess
import time

import pytest

from lab import paths, waiting
from lab.net import Device, inhabited
from lab.prometheus import scrape
from lab.varlink import VarlinkError

SENT = 30000
NOBODY = 65534
# Those of systemd/netflowd.service.
CAPABILITIES = "+bpf,+perfmon,+syslog,+sys_ptrace,+dac_read_search"
SETTINGS = "history.interval=1s", "metrics.listen=unix"


@pytest.fixture(name="daemon")
def fixture_daemon(kept, bpf, tmp_path_factory):
    """One for all tests of the file, with a history."""
    del bpf
    last = kept.daemons[-1] if kept.daemons else None
    return last if last and last.running else \
        kept(*SETTINGS, history=tmp_path_factory.mktemp("history"))


def kernels(device):
    stats = device.statistics()
    return {"received": stats["rx"]["packets"], "received_bytes": stats["rx"]["bytes"],
            "sent": stats["tx"]["packets"], "sent_bytes": stats["tx"]["bytes"]}


def counted(daemon, device, **parameters):
    """The row of a device; {}: it has none."""
    try:
        reply = daemon.call("GetLatency", device=device.name, netns=str(device.namespace.inode),
                            **parameters)
    except VarlinkError as error:
        # The history of a daemon that was just started covers nothing yet.  And beside tests that
        # make many namespaces, the kernel's counts, which have the name, can be some 100 ms old.
        assert "since" in parameters or error.name == "UnknownDevice", error
        return {}
    rows = reply.get("counted", {}).get("rows", [])
    assert len(rows) <= 1
    return {key: value for key, value in (rows[0] if rows else {}).items()
            if key in ("received", "received_bytes", "sent", "sent_bytes")}


def in_metrics(daemon, device):
    found = {}
    for line in scrape(daemon.directory / "metrics.sock")[1].splitlines():
        for way, what in itertools.product(("received", "sent"), ("packets", "bytes")):
            if line.startswith(f"netflowd_device_{what}_total{{") and \
                    f'device="{device.name}"' in line and f'direction="{way}"' in line:
                found[way if what == "packets" else f"{way}_bytes"] = int(line.split()[-1])
    return found


def grown(before, after):
    return {key: after[key] - before.get(key, 0) for key in after}


def since(begun):
    return {"since": datetime.datetime.fromtimestamp(
        begun, datetime.timezone.utc).isoformat()}


def agree(device, read):
    """A device with IPv6 counts a late report now and then, so the kernel is asked each time."""
    both = waiting.until(lambda: (read(), kernels(device)), lambda pair: pair[0] == pair[1])
    assert both[0] == both[1]


def check(daemon, devices, send):
    """What the devices count from here on is the same, whoever is asked."""
    begun = time.time() - 1
    for device in devices:
        agree(device, lambda at=device: counted(daemon, at))
    before = {device.name: kernels(device) for device in devices}
    send()
    for device in devices:
        agree(device, lambda at=device: counted(daemon, at))
        agree(device, lambda at=device: in_metrics(daemon, at))
        # The devices were made after the daemon started, so that it has all that they counted.
        agree(device, lambda at=device: counted(daemon, at, **since(begun - 3600)))
    return [grown(before[device.name], kernels(device)) for device in devices]


def test_burst(daemon, silent_pair):
    left, right = silent_pair.left, silent_pair.right

    def send():
        assert left.send_udp(silent_pair.RIGHT4, 9, SENT) == SENT

    with inhabited(left, right):
        left_grown, right_grown = check(
            daemon, (silent_pair.left_device, silent_pair.right_device), send)
        assert left_grown["sent"] == right_grown["received"] == SENT
        row = daemon.call("GetLatency", netns=str(right.inode), all=True)
        rows = [at for at in row["latencies"] if at["direction"] == "rx" and
                at.get("device") == silent_pair.right_device.name]
        assert rows and all(at["packets"] == counted(daemon, silent_pair.right_device)["received"]
                   for at in rows)
        shown = daemon.netflowctl("latency", "--dev", silent_pair.right_device.name).stdout
        assert "packets that the kernel counted" in shown and "30,000" in shown


def test_routed(daemon, path):
    devices = path.left_device, path.near_device, path.far_device, path.right_device

    def send():
        assert path.left.send_udp(path.RIGHT4, 9, SENT) == SENT

    with inhabited(path.left, path.router, path.right):
        left, near, far, right = check(daemon, devices, send)
    assert left["sent"] == near["received"] >= SENT
    assert far["sent"] == right["received"] >= SENT


def test_bridged(daemon, lab):
    """left ── port, bridge, port ── right"""
    left, bridge, right = (lab.namespace(ipv6=False) for _ in range(3))
    ends = lab.veth(left, bridge), lab.veth(bridge, right)
    bridge.ip_batch("link add br0 type bridge mcast_snooping 0", "link set br0 up",
                    f"link set {ends[0][1].name} master br0",
                    f"link set {ends[1][0].name} master br0")
    for end, own, other, peer in ((ends[0][0], 1, 2, ends[1][1]), (ends[1][1], 2, 1, ends[0][0])):
        end.namespace.ip_batch(
            f"address add 10.77.1.{own}/24 dev {end.name}",
            f"neighbour replace 10.77.1.{other} lladdr {peer.mac} dev {end.name} nud permanent")

    def send():
        assert left.send_udp("10.77.1.2", 9, SENT) == SENT

    with inhabited(left, bridge, right):
        rows = check(daemon, (ends[0][0], ends[0][1], ends[1][0], ends[1][1]), send)
    assert [rows[0]["sent"], rows[1]["received"], rows[2]["sent"], rows[3]["received"]] == \
        4 * [SENT]


def test_no_source(daemon, silent_pair):
    """A namespace without a process: no number, and the reason."""
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 100)
    device = silent_pair.right_device
    # A reading can be some 100 ms old, and the processes that made the namespace were in it.
    reply = waiting.until(
        lambda: daemon.call("GetLatency", netns=str(device.namespace.inode), all=True),
        lambda reply: not reply["counted"]["rows"])
    assert reply["latencies"] and not any("packets" in row for row in reply["latencies"])
    assert not reply["counted"]["rows"] and reply["counted"]["uncounted"] >= 1
    shown = daemon.netflowctl("latency", "--netns", device.namespace.inode).stdout
    assert "no process is in their network namespace" in shown.replace("\n", " ")


def test_renamed_and_made_again(daemon, silent_pair):
    left, right = silent_pair.left, silent_pair.right
    device = silent_pair.right_device
    with inhabited(left, right):
        assert waiting.until(lambda: counted(daemon, device), bool)
        left.send_udp(silent_pair.RIGHT4, 9, 1000)
        assert waiting.settled(lambda: counted(daemon, device).get("received"), 1000) == 1000
        # A new device of the same name begins at 0.
        right.ip("link", "delete", device.name)
        right.ip("link", "add", device.name, "type", "veth", "peer", "name", "other")
        again = Device(right, device.name)
        assert waiting.settled(lambda: counted(daemon, again).get("received"), 0) == 0


def test_with_the_rights_of_the_service(start, silent_pair, tmp_path, bpf):
    """A user with five capabilities, none of which lets it enter a namespace; and what 300 more
    namespaces cost."""
    del bpf
    binary = tmp_path / "netflowd"
    shutil.copy(paths.DAEMON, binary)
    binary.chmod(0o755)
    daemon = start.make(binary=binary, command=[
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps",
        CAPABILITIES, "--ambient-caps", CAPABILITIES, "--bounding-set", f"-all,{CAPABILITIES}"])
    os.chown(daemon.directory, NOBODY, NOBODY)
    with contextlib.ExitStack() as stack:
        stack.enter_context(inhabited(silent_pair.left, silent_pair.right))
        for _ in range(300):
            process = stack.enter_context(subprocess.Popen(["unshare", "--net", "sleep", "300"]))
            stack.callback(process.kill)
        daemon.start()
        before = silent_pair.right_device.statistics()["rx"]["packets"]
        silent_pair.left.send_udp(silent_pair.RIGHT4, 9, 1234)
        assert silent_pair.right_device.statistics()["rx"]["packets"] == before + 1234
        received = waiting.settled(
            lambda: counted(daemon, silent_pair.right_device).get("received"), 1234, 30)
        [cost] = [part for part in daemon.status()["readings"] if part["part"] == "traffic"]
    assert received == 1234
    assert cost["cpu_ns"] / cost["readings"] < 300e6

# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules loaded after the daemon: drops in them have a location and a reason."""

import socket
import subprocess

import pytest

from lab import kernel, openvswitch, packets, waiting

pytestmark = [pytest.mark.alone, pytest.mark.smoke, pytest.mark.usefixtures("bpf")]


def modprobe(*arguments):
    done = subprocess.run(["modprobe", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return None if done.returncode == 0 else done.stdout.strip()


@pytest.fixture
def late():
    """Loads a module that was not loaded, and unloads it after the test."""
    loaded = []

    def unload(name, *users):
        """`users`: modules that need it, which other tests have loaded."""
        for user in users:
            modprobe("-r", user)
        why = modprobe("-r", name)
        if why:
            pytest.skip(f"cannot unload the module {name}: {why}")

    def load(name):
        why = modprobe(name)
        if why:
            pytest.skip(f"cannot load the module {name}: {why}")
        loaded.append(name)
        kernel.modules_changed()

    try:
        load.unload = unload
        yield load
    finally:
        for name in loaded:
            modprobe("-r", name)
        kernel.modules_changed()


def test_location_in_a_module_loaded_later(late, daemon, silent_pair):
    """gre_rcv drops GRE of a version without a handler."""
    pair, count = silent_pair, 30
    late.unload("gre", "ip6_gre", "ip_gre")
    late("gre")

    def send(number):
        with pair.left.entered(), \
                socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_GRE) as sender:
            for _ in range(number):
                sender.sendto(bytes(16), (pair.RIGHT4, 0))

    def locations():
        return {row["location"]: row["packets"] for row in daemon.drop_rows(pair.right_device)}

    with kernel.drop_trace() as trace:
        send(count)
        rows = waiting.until(locations, lambda rows: any("[gre]" in where for where in rows))
        assert list(rows.values()) == [count]
    (location,) = rows
    symbol, module = location.split(" ")
    assert symbol.startswith("gre_rcv+0x") and module == "[gre]"
    assert trace.matching(0x0800, None, symbol) == count


def test_reasons_of_a_module_loaded_later(late, daemon, reasons, lab):
    """Since 6.7, the BTF of the module openvswitch contains its own enum of reasons.  A flow
    without an action drops with one of them, a number to those who do not know the enum."""
    if kernel.release() < (6, 7):
        pytest.skip("openvswitch has no drop reasons before 6.7")
    namespace, count = lab.namespace(ipv6=False), 30
    late.unload("openvswitch")
    late("openvswitch")
    frame = packets.ethernet("02:00:00:00:00:02", "02:00:00:00:00:01", 0x88b5, bytes(60))
    with openvswitch.datapath(namespace, lab.name()) as datapath:
        for _ in range(count):
            datapath.execute(frame)

        def dropped():
            return {row["reason"]: (row["packets"], row["inferred"])
                    for row in daemon.call("GetDrops", by="reason")["rows"]
                    if "OVS" in row.get("reason", "")}

        rows = waiting.until(dropped, bool)
    assert rows == {"OVS_DROP_LAST_ACTION": (count, False)}

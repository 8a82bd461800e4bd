# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules that are loaded after the daemon: what is dropped in them has a place and a reason."""

import socket
import subprocess

import pytest

from lab import kernel, waiting
from lab.varlink import VarlinkError

pytestmark = [pytest.mark.smoke, pytest.mark.usefixtures("bpf")]


def modprobe(*arguments):
    done = subprocess.run(["modprobe", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return None if done.returncode == 0 else done.stdout.strip()


@pytest.fixture
def late():
    """Loads a module that was not there; it goes when the test is over."""
    loaded = []

    def unload(name):
        why = modprobe("-r", name)
        if why:
            pytest.skip(f"no module {name} that is not in use: {why}")

    def load(name):
        why = modprobe(name)
        if why:
            pytest.skip(f"no module {name} here: {why}")
        loaded.append(name)
        kernel.modules_changed()

    try:
        load.unload = unload
        yield load
    finally:
        for name in loaded:
            modprobe("-r", name)
        kernel.modules_changed()


def test_place_in_a_module_that_came_later(late, daemon, silent_pair):
    """GRE of a version that nothing handles: gre_rcv drops it."""
    pair, count = silent_pair, 30
    late.unload("gre")
    late("gre")

    def send(packets):
        with pair.left.entered(), \
                socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_GRE) as sender:
            for _ in range(packets):
                sender.sendto(bytes(16), (pair.RIGHT4, 0))

    def places():
        return {row["location"]: row["packets"] for row in daemon.drop_rows(pair.right_device)}

    with kernel.drop_trace() as trace:
        send(count)
        told = waiting.until(places, lambda rows: any("[gre]" in place for place in rows))
        assert list(told.values()) == [count]
    (place,) = told
    symbol, module = place.split(" ")
    assert symbol.startswith("gre_rcv+0x") and module == "[gre]"
    assert trace.matching(0x0800, None, symbol) == count


def test_reasons_of_a_module_that_came_later(late, daemon, reasons):
    """Open vSwitch has an enum of its own in its module's BTF, since 6.7."""
    if kernel.release() < (6, 7):
        pytest.skip("openvswitch has no drop reasons before 6.7")
    late.unload("openvswitch")

    def known():
        try:
            daemon.call("GetDrops", reason="OVS_DROP_LAST_ACTION")
        except VarlinkError as error:
            assert error.name == "UnknownReason"
            return False
        return True

    assert not known()
    late("openvswitch")
    assert waiting.until(known, bool)

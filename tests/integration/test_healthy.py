# SPDX-License-Identifier: GPL-2.0-or-later
"""A healthy host is silent: whatever its servers and clients do, `drops --faults` is empty for as
long as nothing is wrong.

In an emulated machine this asks about the whole host, elsewhere about the namespaces of the test.
"""

import collections
import contextlib
import os
import time

import pytest

from lab import patience, scans, servers, waiting
from lab.daemon import netflowctl

# Beside other tests, the kernel dropped resets of these servers in __ip_flush_pending_frames():
# perhaps because all namespaces share each CPU's socket for resets.  On a busy machine, reports of
# multicast groups are sent when their device is down already: the kernel drops them in
# __dev_queue_xmit() as QDISC_DROP, which is a fault of any other packet.  And these loads take all
# CPUs from other tests.
pytestmark = [pytest.mark.alone, pytest.mark.shared(scans.QUICK), pytest.mark.usefixtures("bpf")]

ALONE = "NETFLOWD_VM" in os.environ
REQUESTS = 2000
PODS = 50


def shown(row):
    words = (row.get("class", "no class"), row.get("reason", "no reason"),
             row.get("location", "").split("+")[0], row.get("protocol", ""), row.get("device", ""),
             *row.get("evidence", ()))
    return f"{row['packets']} packets: {' '.join(words)}"


def shown_elsewhere(row):
    return f"{row['packets']} in the kernel's counter {row['source']} {row['counter']} " \
           f"{row.get('device', '')}"


def cause(row):
    """What distinguishes a row from others and never changes: names can come later."""
    return tuple(row.get(key) for key in ("netns", "ifindex", "reason_number", "location",
                                          "protocol", "source", "counter"))


def counted(rows):
    packets = collections.Counter()
    for row in rows:
        packets[cause(row)] += row["packets"]
    return packets


class Silence:
    """A daemon that has seen all that the lab did."""

    def __init__(self, daemon, lab):
        self.daemon = daemon
        self.inodes = set()
        self.before = collections.Counter()
        # Each namespace of the lab counts from its first moment until after its end.
        self._namespace, lab.namespace = lab.namespace, self._remembered

    def _remembered(self, *arguments, **kwargs):
        """A namespace.  Its inode number can be that of one that earlier tests had: all that was
        counted for that number, when the kernel gives it again, is of the old one, which has gone.
        """
        namespace = self._namespace(*arguments, **kwargs)
        if not ALONE and namespace.inode not in self.inodes:
            self.before += counted(row for _, row in self._rows()
                                   if row.get("netns") == namespace.inode)
        self.inodes.add(namespace.inode)
        return namespace

    def _rows(self):
        reply = self.daemon.call("GetDrops", faults=True)
        return [(show, row) for show, rows in ((shown, reply["rows"]),
                                               (shown_elsewhere, reply["elsewhere"]["rows"]))
                for row in rows]

    def faults(self):
        rows = [(show, row) for show, row in self._rows()
                if ALONE or row.get("netns") in self.inodes]
        more = counted(row for _, row in rows) - self.before
        return [show(row) for show, row in rows if more[cause(row)]]

    def check(self):
        """netflowd counted no fault, and neither did the kernel in a scan of its counters that
        began after the load."""
        time.sleep(patience.seconds(0.3))  # what is under way arrives, and timers run
        scans.finished(self.daemon)
        faults = self.faults()
        assert not faults, "\n".join(faults)


@pytest.fixture
def before(kept):
    """Where the whole host is asked, no daemon that has seen earlier tests answers."""
    if ALONE:
        kept.end()


@pytest.fixture
def silence(before, daemon, lab):
    del before
    return Silence(daemon, lab)


@pytest.fixture
def link(lab, silence):
    del silence  # it comes first
    return servers.Link(lab, servers.host(lab), servers.host(lab))


@pytest.fixture
def web(link, tmp_path):
    with servers.nginx(link.right, tmp_path / "nginx"):
        yield link


@pytest.mark.smoke
def test_a_web_server_and_a_database(silence, web, tmp_path):
    """A connection for each request of the one, and redis-benchmark for the other, on one link."""
    with servers.redis(web.right, tmp_path / "redis"):
        servers.ab(web.left, web.right_address(), REQUESTS, "-c", 10)
        servers.redis_benchmark(web.left, web.right_address(), REQUESTS, "-t", "ping,set,get")
    silence.check()


@pytest.mark.parametrize("version", [4, 6])
def test_a_connection_for_each_request(silence, web, version):
    servers.ab(web.left, web.right_address(version), REQUESTS, "-c", 10)
    silence.check()


@pytest.mark.parametrize("version", [4, 6])
def test_big_pages(silence, web, version):
    servers.ab(web.left, web.right_address(version), 300, "-c", 10, page="big")
    silence.check()


def test_keep_alive(silence, web):
    servers.ab(web.left, web.right_address(), REQUESTS, "-c", 10, "-k")
    silence.check()


@pytest.mark.parametrize("version", [4, 6])
def test_tls(silence, web, version):
    servers.ab(web.left, web.right_address(version), 200, "-c", 5, port=443)
    silence.check()


@pytest.mark.parametrize("version", [4, 6])
def test_resets_by_the_client(silence, web, version):
    servers.reset(web.left, web.right_address(version), 200)
    servers.ab(web.left, web.right_address(version), 100)
    silence.check()


def test_a_connection_that_is_kept(silence, web):
    with servers.kept_alive(web.left, web.right_address()), \
            servers.kept_alive(web.left, web.right_address()):
        # Each asks after a second.
        asked = waiting.until(lambda: web.left.nstat()["TcpExtTCPKeepAlive"], lambda n: n >= 2,
                              10, 0.1)
        assert asked >= 2
        silence.check()
    silence.check()


def test_the_server_ends(silence, link, tmp_path):
    """It closes the connections that it has, and nobody listens any more."""
    with contextlib.ExitStack() as server:
        server.enter_context(servers.nginx(link.right, tmp_path / "nginx"))
        with servers.kept_alive(link.left, link.right_address()):
            servers.ab(link.left, link.right_address(), 100)
            server.close()
            silence.check()
    silence.check()


@pytest.mark.parametrize("version", [4, 6])
def test_closed_ports(silence, link, version):
    servers.refused(link.left, link.right_address(version), 50)
    silence.check()


@pytest.mark.parametrize("options", [(), ("-k", "0")], ids=["kept", "new"])
def test_redis(silence, link, tmp_path, options):
    with servers.redis(link.right, tmp_path / "redis"):
        servers.redis_benchmark(link.left, link.right_address(), REQUESTS, "-t", "ping,set,get",
                                *options)
        silence.check()
    silence.check()


@pytest.mark.parametrize("options", [(), ("-R",), ("-u", "-b", "2M", "-l", "1200", "-t", "1")],
                         ids=["tcp", "reverse", "udp"])
def test_iperf3(silence, link, tmp_path, options):
    end = servers.iperf3(link.left, link.right, link.right_address(), tmp_path, *options)
    assert end["sum"]["lost_packets"] == 0 if "-u" in options else end["sum_received"]["bytes"]
    silence.check()


@pytest.mark.parametrize("version", [4, 6])
def test_a_router(silence, lab, tmp_path, version):
    client, router, server = (servers.host(lab) for _ in range(3))
    router.sysctl(**{"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})
    near, far = (servers.Link(lab, client, router, 1), servers.Link(lab, router, server, 2))
    for namespace, gateway in ((client, near.right_address), (server, far.left_address)):
        namespace.ip_batch(f"route add default via {gateway(4)}",
                           f"route add default via {gateway(6)}")
    with servers.nginx(server, tmp_path / "nginx"):
        servers.ab(client, far.right_address(version), REQUESTS // 2, "-c", 10)
        servers.reset(client, far.right_address(version), 50)
        servers.refused(client, far.right_address(version), 20)
        silence.check()


def test_containers_that_start_and_stop(silence, lab, tmp_path):
    """They get their addresses by DHCP, serve and ask, and are deleted."""
    bridge = servers.Bridge(lab)
    with servers.dnsmasq(bridge.device(), tmp_path / "dnsmasq"):
        server, device = bridge.container()
        address = servers.lease(device, tmp_path)
        with servers.nginx(server, tmp_path / "nginx"):
            for _ in range(4):
                namespace, device = bridge.container()
                servers.lease(device, tmp_path)
                servers.ab(namespace, address, 50, "-c", 5)
                servers.ab(bridge.host, address, 20)
                lab.forget(namespace)
                # Its end of the bridge goes a moment later.  What is flooded to it until then is
                # lost, on any host.
                assert waiting.until(bridge.ports, lambda ports: ports == 1) == 1
            # Of all four: what is counted once stays counted.
            silence.check()
    silence.check()


@pytest.mark.smoke
def test_pods_by_the_dozen(silence, lab):
    """Each has a veth pair to the node, IPv6 on at both ends, and a life of a moment.  The end that
    comes up first reports its groups and checks its address (MLD, DAD) before the other has a route
    for multicast."""
    node = servers.host(lab)
    pods = []
    for _ in range(PODS):
        pods.append(servers.host(lab))
        lab.veth(node, pods[-1])
        if len(pods) > PODS // 10:
            lab.forget(pods.pop(0))
    device = lab.veth(node, pods[-1])[1]
    for state in ("down", "up") * 2:
        device.namespace.ip("link", "set", device.name, state)
    servers.wait_for_addresses(device)
    silence.check()
    for pod in pods:
        lab.forget(pod)
    silence.check()


def test_the_whole_lab_goes(silence, lab, tmp_path):
    """What is deleted while connections are open ends without a fault, too."""
    left, right = servers.host(lab), servers.host(lab)
    link = servers.Link(lab, left, right)
    with servers.nginx(right, tmp_path / "nginx"), \
            servers.kept_alive(left, link.right_address()):
        servers.ab(left, link.right_address(), 50)
        lab.forget(left)
        silence.check()
    silence.check()


@pytest.mark.skipif(not ALONE, reason="other drops of this host")
def test_drops_faults_prints_nothing(silence, web):
    """The page itself: nothing but what says that there is nothing."""
    servers.ab(web.left, web.right_address(), 100)
    page = netflowctl("--socket", silence.daemon.socket_path, "drops", "--faults")
    assert page.returncode == 0, page.stderr
    assert not silence.faults(), page.stdout
    assert page.stdout.startswith("No packet was dropped with --faults"), page.stdout

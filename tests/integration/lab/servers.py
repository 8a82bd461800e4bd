# SPDX-License-Identifier: GPL-2.0-or-later
"""A healthy host: servers of Debian's packages in namespaces, their clients, and the links between
them.  Neighbours resolve each other, and IPv6 configures itself, as on any host."""

import contextlib
import functools
import ipaddress
import json
import pathlib
import re
import socket
import struct
import subprocess
import tempfile

from . import patience, waiting
from .net import Device, run

# What Namespace turns off, with the kernel's own values.
_USUAL = {
    "mldv1_unsolicited_report_interval": 10000,
    "mldv2_unsolicited_report_interval": 1000,
    "accept_dad": 1,
    "dad_transmits": 1,
    "router_solicitations": 3,
    "addr_gen_mode": 0,
}
SMALL, BIG = 200, 100_000  # bytes of the pages that nginx serves


class Link:
    """Two hosts and a veth pair between them: 10.80.N.1 and .2, fd80:N::1 and ::2."""

    def __init__(self, lab, left, right, number=1):
        self.left, self.right = left, right
        self.left_device, self.right_device = lab.veth(left, right)
        self.number = number
        for device, last in ((self.left_device, 1), (self.right_device, 2)):
            give(device, f"10.80.{number}.{last}/24", f"fd80:{number}::{last}/64")
        for device in (self.left_device, self.right_device):
            wait_for_addresses(device)

    def left_address(self, version=4):
        return f"10.80.{self.number}.1" if version == 4 else f"fd80:{self.number}::1"

    def right_address(self, version=4):
        return f"10.80.{self.number}.2" if version == 4 else f"fd80:{self.number}::2"


def host(lab):
    """A namespace whose IPv6 is as the kernel has it without anybody's settings, but quicker: it
    waits for a neighbour, and for other owners of an address, for 100 ms, not for 1 to 2 s."""
    namespace = lab.namespace()
    namespace.sysctl(**{f"net.ipv6.conf.default.{key}": value for key, value in _USUAL.items()},
                     **{"net.ipv6.conf.default.router_solicitation_delay": 0})
    namespace.probe_ms = 100
    return namespace


def give(device, *addresses):
    device.namespace.ip_batch(*(f"address add {a} dev {device.name}" for a in addresses))


def wait_for_addresses(device):
    """Until duplicate address detection is over."""
    def tentative():
        return device.namespace.ip("-6", "address", "show", "dev", device.name, "tentative")

    assert not waiting.until(tentative, lambda text: not text, seconds=10), "still tentative"


def url(address, port, page=""):
    if ipaddress.ip_address(address).version == 6:
        address = f"[{address}]"
    return f"{'https' if port == 443 else 'http'}://{address}:{port}/{page}"


@contextlib.contextmanager
def serving(namespace, *words, ready, directory):
    """A server that runs in the foreground, until the end of the block."""
    with open(directory / f"{words[0]}.log", "ab") as log, \
            subprocess.Popen(["ip", "netns", "exec", namespace.name, *map(str, words)],
                             stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process:
        try:
            if not waiting.until(lambda: process.poll() is not None or ready(), bool, seconds=20):
                raise RuntimeError(f"{words[0]} is not ready")
            if process.poll() is not None:
                raise RuntimeError(f"{words[0]} ended: "
                                   f"{(directory / f'{words[0]}.log').read_text()}")
            yield process
        finally:
            process.terminate()
            process.wait(timeout=patience.seconds(10))


def listens(namespace, port, udp=False):
    """Whether a program has the port; asks without a packet."""
    return bool(namespace.run("ss", "-H", "-ln", "-u" if udp else "-t", "sport", "=", f":{port}"))


# ---- web ----

_NGINX = """
daemon off;
user root;
worker_processes 2;
pid {directory}/nginx.pid;
error_log stderr;
events {{ worker_connections 512; }}
http {{
	access_log off;
	client_body_temp_path {directory}/body;
	proxy_temp_path {directory}/proxy;
	fastcgi_temp_path {directory}/fastcgi;
	uwsgi_temp_path {directory}/uwsgi;
	scgi_temp_path {directory}/scgi;
	server {{
		listen 80;
		listen [::]:80;
		root {directory};
	}}
	server {{
		listen 443 ssl;
		listen [::]:443 ssl;
		ssl_certificate {directory}/certificate;
		ssl_certificate_key {directory}/key;
		root {directory};
	}}
}}
"""


@functools.cache
def _certificate():
    """{name of a file: content}; a key takes up to half a second, so all tests use one."""
    with tempfile.TemporaryDirectory() as temporary:
        key, certificate = (pathlib.Path(temporary, name) for name in ("key", "certificate"))
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=healthy", "-keyout", key, "-out", certificate)
        return {file.name: file.read_bytes() for file in (key, certificate)}


@contextlib.contextmanager
def nginx(namespace, directory):
    """Ports 80 and 443; the pages `small` and `big`."""
    directory.mkdir(exist_ok=True)
    (directory / "small").write_bytes(b"x" * SMALL)
    (directory / "big").write_bytes(b"x" * BIG)
    (directory / "nginx.conf").write_text(_NGINX.format(directory=directory))
    for name, content in _certificate().items():
        (directory / name).write_bytes(content)
    with serving(namespace, "nginx", "-c", directory / "nginx.conf", directory=directory,
                 ready=lambda: listens(namespace, 80) and listens(namespace, 443)) as process:
        yield process


def ab(namespace, address, requests, *options, port=80, page="small"):
    """Apache's benchmark: that many requests; each must succeed."""
    out = namespace.run("ab", "-q", "-n", requests, *options, url(address, port, page),
                        timeout=120)
    complete = int(re.search(r"^Complete requests: +(\d+)", out, re.MULTILINE)[1])
    failed = int(re.search(r"^Failed requests: +(\d+)", out, re.MULTILINE)[1])
    assert (complete, failed) == (requests, 0), out


def reset(namespace, address, count, port=80, page="big"):
    """Clients that ask for a page and reset the connection: some before the reply, some in it."""
    request = f"GET /{page} HTTP/1.1\r\nHost: healthy\r\n\r\n".encode()
    version = socket.AF_INET6 if ":" in address else socket.AF_INET
    for i in range(count):
        with namespace.entered():
            client = socket.socket(version)
        with client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.settimeout(patience.seconds(10))
            client.connect((address, port))
            client.sendall(request)
            if i % 2:
                assert client.recv(100)


def refused(namespace, address, count, port=4):
    """Connections and datagrams to a port that no program has."""
    version = socket.AF_INET6 if ":" in address else socket.AF_INET
    for _ in range(count):
        with namespace.entered():
            stream, datagram = socket.socket(version), socket.socket(version, socket.SOCK_DGRAM)
        with stream, datagram:
            try:
                stream.connect((address, port))
                raise RuntimeError(f"port {port} is open")
            except ConnectionRefusedError:
                pass
            datagram.sendto(b"x", (address, port))


@contextlib.contextmanager
def kept_alive(namespace, address, port=80):
    """A connection without data, whose kernel asks every second whether the peer is there.  At the
    end it waits until the peer has closed it, too: when the namespace and its devices are gone, the
    peer's FIN has no route."""
    with namespace.entered():
        client = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    with client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        client.settimeout(patience.seconds(10))
        client.connect((address, port))
        yield client
        client.shutdown(socket.SHUT_WR)
        assert not client.recv(1)


# ---- redis, iperf3 ----

@contextlib.contextmanager
def redis(namespace, directory):
    directory.mkdir(exist_ok=True)
    with serving(namespace, "redis-server", "--port", 6379, "--save", "", "--protected-mode", "no",
                 "--dir", directory, "--bind", "*", "-::*", directory=directory,
                 ready=lambda: listens(namespace, 6379)) as process:
        yield process


def redis_benchmark(namespace, address, requests, *options):
    out = namespace.run("redis-benchmark", "-h", address, "-n", requests, "-q", "-c", 20, *options,
                        timeout=120)
    assert "requests per second" in out and "rror" not in out, out


def iperf3(client, server, address, directory, *options):
    """A transfer of a second, unless the options say otherwise; returns iperf3's own report."""
    directory.mkdir(exist_ok=True)
    with serving(server, "iperf3", "-s", "-1", directory=directory,
                 ready=lambda: listens(server, 5201)):
        out = client.run("iperf3", "-J", "-t", 1, "-c", address, *options, timeout=120)
    report = json.loads(out)
    assert "error" not in report, report["error"]
    return report["end"]


# ---- DHCP ----

_LEASE = """\
#!/bin/sh
case $1 in
bound | renew)
	ip address replace "$ip/${mask:-24}" dev "$interface"
	[ -z "$router" ] || ip route replace default via "$router"
	;;
deconfig)
	ip address flush dev "$interface" scope global
	;;
esac
"""


@contextlib.contextmanager
def dnsmasq(device, directory):
    """DHCP on that device, whose address is 10.81.0.1/24.  It does not ping an address before it
    gives it: nobody would answer."""
    directory.mkdir(exist_ok=True)
    give(device, "10.81.0.1/24")
    namespace = device.namespace
    with serving(namespace, "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--port=0",
                 "--no-ping", "--user=root", f"--interface={device.name}", "--no-resolv",
                 f"--dhcp-leasefile={directory}/leases", f"--pid-file={directory}/dnsmasq.pid",
                 "--dhcp-range=10.81.0.100,10.81.0.200,1h", directory=directory,
                 ready=lambda: listens(namespace, 67, udp=True)) as process:
        yield process


def lease(device, directory):
    """Get an address for the device by DHCP; returns it.  The client asks for broadcasts."""
    script = directory / "lease"
    script.write_text(_LEASE)
    script.chmod(0o755)
    # udhcpc reports on its standard error.
    done = subprocess.run(["ip", "netns", "exec", device.namespace.name, "busybox", "udhcpc", "-B",
                           "-i", device.name, "-f", "-q", "-n", "-s", str(script)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
                          timeout=patience.seconds(30))
    return re.search(r"lease of (\S+) obtained", done.stdout)[1]


# ---- containers ----

class Bridge:
    """A host with a bridge, 10.81.0.1/24 and fd81::1/64, to which containers are connected."""

    def __init__(self, lab):
        self.lab = lab
        self.host = host(lab)
        self.name = lab.name()
        self.host.ip("link", "add", self.name, "type", "bridge")
        self.host.ip("link", "set", self.name, "up")

    def device(self):
        return Device(self.host, self.name)

    def container(self):
        """A namespace with a device on the bridge, up, without an IPv4 address."""
        namespace = host(self.lab)
        outside, inside = self.lab.veth(self.host, namespace)
        self.host.ip("link", "set", outside.name, "master", self.name)
        return namespace, inside

    def ports(self):
        """How many devices are connected to it."""
        return self.host.ip("-br", "link", "show", "master", self.name).count("\n")

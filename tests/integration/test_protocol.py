# SPDX-License-Identifier: GPL-2.0-or-later
"""The socket: Varlink with other clients, and with clients that break its rules.  Garbage, silence
or haste of a client costs only that client; the others do not notice."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import threading
import time

import pytest

from lab import paths, patience, waiting
from lab.varlink import VarlinkError

pytestmark = pytest.mark.shared

SERVICE = "org.varlink.service"
PROMPT = patience.seconds(0.5)  # an answer takes milliseconds


@pytest.fixture
def client(daemon):
    with daemon.client() as client:
        yield client


@pytest.fixture
def bystander(daemon):
    """A well-behaved client: the daemon answers all its calls, and soon, whatever others do."""
    with Bystander(daemon) as bystander:
        yield bystander


class Bystander(threading.Thread):
    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.client = daemon.client()
        self.pid = daemon.pid
        self.over = threading.Event()
        self.slowest = 0.0
        self.calls = 0
        self.failure = None

    def run(self):
        try:
            while not self.over.is_set():
                took = waiting.time_of(lambda: self.client.call("GetStatus"), self.pid)
                self.slowest = max(self.slowest, took)
                self.calls += 1
                time.sleep(0.005)
        # A test fails for any failure here: __exit__ raises it in the test's own thread.
        except Exception as failure:  # pylint: disable=broad-exception-caught
            self.failure = failure

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.05)
        self.over.set()
        self.join()
        self.client.close()
        assert self.failure is None, self.failure
        assert self.calls > 0 and self.slowest < PROMPT


# ---- org.varlink.service ----


@pytest.mark.portable
@pytest.mark.smoke
def test_get_info(client):
    info = client.call(f"{SERVICE}.GetInfo")
    assert set(info) == {"vendor", "product", "version", "url", "interfaces"}
    assert info["product"] == "netflowd"
    assert set(info["interfaces"]) == {SERVICE, "io.netflowd"}


def test_interface_is_the_one_in_the_tree(client):
    answer = client.call(f"{SERVICE}.GetInterfaceDescription", interface="io.netflowd")
    assert answer == {"description": paths.INTERFACE.read_text()}
    own = client.call(f"{SERVICE}.GetInterfaceDescription", interface=SERVICE)["description"]
    assert "interface org.varlink.service" in own


@pytest.mark.parametrize("method, parameters, error, expected", [
    ("io.netflowd.GetStatsu", {}, "MethodNotFound", {"method": "io.netflowd.GetStatsu"}),
    ("io.netflowd.getstatus", {}, "MethodNotFound", {"method": "io.netflowd.getstatus"}),
    ("io.nothing.Get", {}, "InterfaceNotFound", {"interface": "io.nothing"}),
    ("io.netflowd.GetDrops", {"topp": 1}, "InvalidParameter", {"parameter": "topp"}),
    ("io.netflowd.GetDrops", {"top": "1"}, "InvalidParameter", {"parameter": "top"}),
    ("io.netflowd.GetDrops", {"top": -1}, "InvalidParameter", {"parameter": "top"}),
    ("io.netflowd.GetDrops", {"netns": 1.5}, "InvalidParameter", {"parameter": "netns"}),
    ("io.netflowd.GetDrops", {"netns": 4026531840}, "InvalidParameter", {"parameter": "netns"}),
    ("io.netflowd.GetDrops", {"netns": "0"}, "InvalidParameter", {"parameter": "netns"}),
    ("io.netflowd.GetStatus", {"measure_ms": 0}, "InvalidParameter", {"parameter": "measure_ms"}),
    ("io.netflowd.GetStatus", {"measure_ms": 10001}, "InvalidParameter",
     {"parameter": "measure_ms"}),
    ("io.netflowd.Monitor", {}, "ExpectedMore", {}),
    (f"{SERVICE}.GetInterfaceDescription", {"interface": "io.nothing"}, "InterfaceNotFound",
     {"interface": "io.nothing"}),
    (f"{SERVICE}.GetInterfaceDescription", {}, "InvalidParameter", {"parameter": "interface"}),
])
def test_wrong_call(client, method, parameters, error, expected):
    client.send(method, parameters)
    with pytest.raises(VarlinkError) as caught:
        client.reply(method)
    assert caught.value.error == f"{SERVICE}.{error}"
    assert caught.value.parameters == expected
    client.call("GetStatus")  # the connection stays usable


def test_null_is_absent(client):
    client.call("GetDrops", by=None, reason=None, device=None, netns=None, top=None)
    client.call("GetStatus", measure_ms=None)


@pytest.mark.parametrize("chunk", [1, 7])
def test_message_in_pieces(client, chunk):
    message = json.dumps({"method": "io.netflowd.GetStatus"}).encode() + b"\0"
    for at in range(0, len(message), chunk):
        client.send_bytes(message[at:at + chunk])
        time.sleep(0.001)
    assert client.reply("io.netflowd.GetStatus")["daemon"]["pid"] > 0


def test_many_calls_at_once_are_answered_in_order(client):
    calls = [f"{SERVICE}.GetInfo", "io.netflowd.GetStatus", "io.netflowd.GetDrops",
             "io.netflowd.GetLatency"] * 50
    client.send_bytes(b"".join(json.dumps({"method": m}).encode() + b"\0" for m in calls))
    keys = {f"{SERVICE}.GetInfo": "vendor", "io.netflowd.GetStatus": "cost",
            "io.netflowd.GetDrops": "rows", "io.netflowd.GetLatency": "latencies"}
    for method in calls:
        assert keys[method] in client.reply(method)


def test_oneway_has_no_reply(client):
    client.send("io.netflowd.GetStatus", oneway=True)
    client.send("io.netflowd.NoSuchMethod", oneway=True)
    client.send(f"{SERVICE}.GetInfo")
    assert "vendor" in client.reply(f"{SERVICE}.GetInfo")


@pytest.mark.needs("cost", "no BPF programs")
def test_half_closed_client_gets_its_reply(client):
    client.send("io.netflowd.GetStatus", {"measure_ms": 50})
    client.socket.shutdown(socket.SHUT_WR)
    assert client.reply("io.netflowd.GetStatus")["cost"]["measured_ns"] >= 50e6
    assert client.at_end()


def test_measuring_does_not_hold_others_up(daemon, client, bystander):
    client.call("GetStatus", measure_ms=1000)
    client.call("ListProbes", measure_ms=300)


@pytest.mark.needs("cost", "no BPF programs")
def test_measured_probes(daemon, pair, client):
    """The test sends packets during the measurement: the probes that they pass have a cost, and at
    least as many hits as there are packets."""
    before = {p["name"]: p.get("hits") or 0 for p in client.call("ListProbes")["probes"]}
    sender = threading.Thread(target=pair.left.send_udp,
                              args=(pair.RIGHT4, 9, 5000, "-r", "10000"))
    sender.start()
    answer = client.call("ListProbes", measure_ms=400)
    sender.join()
    assert answer["measured_ns"] >= 400e6
    waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"), 5000)
    after = {p["name"]: p for p in client.call("ListProbes")["probes"]}
    for probe in answer["probes"]:
        if probe["name"] in ("net_dev_queue", "net_dev_start_xmit", "net_dev_xmit",
                             "netif_receive_skb", "kfree_skb") and probe["state"] == "attached":
            assert 0 < probe["ns_per_hit"] < 100000
            assert after[probe["name"]]["hits"] - before[probe["name"]] >= 5000
    # The statistics of the kernel are off again.
    assert pathlib.Path("/proc/sys/kernel/bpf_stats_enabled").read_text().strip() == "0"


# ---- clients that break the rules ----


GARBAGE = {
    "no json": b"hello\0",
    "empty": b"\0",
    "an array": b"[]\0",
    "no method": b"{}\0",
    "method is a number": b'{"method":1}\0',
    "parameters are an array": b'{"method":"io.netflowd.GetStatus","parameters":[]}\0',
    "more is a string": b'{"method":"io.netflowd.GetStatus","more":"yes"}\0',
    "invalid utf-8": b'{"method":"io.netflowd.\xff\xfe"}\0',
    "deep": b'{"method":"a.b","parameters":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}\0",
    "twice the same key": b'{"method":"io.netflowd.GetStatus","method":"a.b"}\0',
    "trailing text": b'{"method":"io.netflowd.GetStatus"} x\0',
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n\0",
    "random": bytes(range(1, 256)) * 40 + b"\0",
}


@pytest.mark.portable
@pytest.mark.smoke
@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_garbage(daemon, bystander, data):
    """The daemon replies with the error in the message, and disconnects the client."""
    with daemon.client() as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.send_bytes(data)
        with pytest.raises(VarlinkError) as caught:
            client.reply("io.netflowd.GetStatus")
        assert caught.value.name == "InvalidMessage"
        assert caught.value.parameters["reason"]
        assert client.at_end()


def test_oversized_message(daemon, bystander):
    with daemon.client() as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(64):
                client.send_bytes(b"x" * (1 << 16))
        with contextlib.suppress(ConnectionResetError):
            with pytest.raises(VarlinkError) as caught:
                client.reply("io.netflowd.GetStatus")
            assert caught.value.name == "InvalidMessage"
        assert client.at_end()


def test_half_messages(daemon, bystander):
    """Fifty clients do not finish their message, and disconnect in the middle of it."""
    clients = [daemon.client() for _ in range(50)]
    for client in clients:
        client.send_bytes(b'{"method":"io.netflowd.GetSta')
    time.sleep(0.1)
    for client in clients:
        client.close()


def test_clients_that_go_away_while_waiting(daemon, bystander):
    for _ in range(50):
        with daemon.client() as client:
            client.send("io.netflowd.GetStatus", {"measure_ms": 5000})
    for _ in range(20):
        with daemon.client() as client:
            client.send("io.netflowd.Monitor", {"stack": True}, more=True)


def test_client_that_never_reads(daemon, bystander):
    """A client sends calls and never reads; the daemon stops reading its calls, and keeps little
    memory for it."""
    before = daemon.status()["cost"]["resident_bytes"]
    call = json.dumps({"method": f"{SERVICE}.GetInterfaceDescription",
                       "parameters": {"interface": "io.netflowd"}}).encode() + b"\0"
    with daemon.client(timeout=0.5) as client:
        with contextlib.suppress(TimeoutError):
            for _ in range(20000):
                client.send_bytes(call)
        grown = daemon.status()["cost"]["resident_bytes"] - before
    limit = 16 << 20 if paths.VARIANT == "plain" else 64 << 20
    assert grown < limit


@pytest.mark.portable
@pytest.mark.smoke
def test_two_hundred_clients_at_once(daemon, bystander):
    """The daemon serves clients up to its limit, refuses each other client with TooMany, and serves
    new ones afterwards."""
    # The clients of earlier tests are gone: a busy machine's daemon may not know it yet.
    before = waiting.until(lambda: daemon.status()["clients"]["connected"],
                           lambda connected: connected <= 28, seconds=20)
    clients = [daemon.client() for _ in range(200)]
    for client in clients:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.send("io.netflowd.GetStatus")
    served = refused = 0
    for client in clients:
        try:
            client.reply("io.netflowd.GetStatus")
            served += 1
        except VarlinkError as error:
            assert error.name == "TooMany"
            assert error.parameters["limit"] == 128
            refused += 1
    assert served + refused == 200
    assert 100 <= served <= 128, before
    for client in clients:
        client.close()
    answer = waiting.until(lambda: _try(daemon), bool)
    assert answer


def _try(daemon):
    try:
        with daemon.client() as client:
            return client.call("GetStatus")
    except VarlinkError:
        return None


def sockets_of(pid):
    """The sockets that a process has open; packets of other tests can make it open files."""
    found = []
    for file in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(file))
    return [name for name in found if name.startswith("socket:")]


def test_two_hundred_clients_one_after_another(daemon, bystander):
    # A daemon that has answered the bystander has its socket.
    assert waiting.until(lambda: bystander.calls, bool)
    before = len(sockets_of(daemon.pid))
    for _ in range(200):
        with daemon.client() as client:
            client.call(f"{SERVICE}.GetInfo")
    left = waiting.until(lambda: len(sockets_of(daemon.pid)), lambda n: n <= before)
    assert left <= before


def test_clients_without_descriptors(start, bpf):
    """A daemon that may open few files refuses clients without spinning."""
    daemon = start(command=["prlimit", "--nofile=90:90"])
    with daemon.client() as first:
        clients = []
        for _ in range(100):
            clients.append(daemon.client())
        time.sleep(0.2)
        begin = _cpu_seconds(daemon.pid)
        time.sleep(1.0)
        assert _cpu_seconds(daemon.pid) - begin < 0.3
        assert first.call("GetStatus")
        for client in clients:
            client.close()
    assert waiting.until(lambda: _try(daemon), bool)


def _cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- access ----


def test_socket_is_not_for_every_user(daemon):
    mode = stat.S_IMODE(daemon.socket_path.stat().st_mode)
    assert mode in (0o600, 0o660)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c",
         "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])",
         str(daemon.socket_path)], stderr=subprocess.PIPE, text=True)
    assert "PermissionError" in done.stderr


# ---- other programs ----


def test_go_generator_reads_the_interface(client, tmp_path):
    generator = shutil.which("varlink-go-interface-generator")
    if not generator:
        pytest.skip("varlink-go is not installed")
    text = client.call(f"{SERVICE}.GetInterfaceDescription", interface="io.netflowd")["description"]
    (tmp_path / "io.netflowd.varlink").write_text(text)
    subprocess.run([generator, "io.netflowd.varlink"], cwd=tmp_path, check=True)
    generated, = tmp_path.glob("*.go")
    code = generated.read_text()
    for name in ("GetStatus", "GetDrops", "GetDropRecords", "GetLatency", "ListProbes", "Monitor"):
        assert f"func {name}()" in code
    for name in ("DropLedger", "InflightLedger", "UnknownReason", "NoData"):
        assert f"type {name} struct" in code


GO_CLIENT = """
// SPDX-License-Identifier: GPL-2.0-or-later
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/varlink/go/varlink"
)

type status struct {
	Daemon struct {
		Pid     int64  `json:"pid"`
		Version string `json:"version"`
	} `json:"daemon"`
}

func main() {
	ctx := context.Background()
	c, err := varlink.NewConnection(ctx, os.Args[1])
	if err != nil {
		panic(err)
	}
	defer c.Close()
	var interfaces []string
	if err := c.GetInfo(ctx, nil, nil, nil, nil, &interfaces); err != nil {
		panic(err)
	}
	var s status
	if err := c.Call(ctx, "io.netflowd.GetStatus", nil, &s); err != nil {
		panic(err)
	}
	err = c.Call(ctx, "io.netflowd.GetDrops", map[string]string{"by": "reson"}, nil)
	fmt.Printf("%v %d %v\\n", interfaces, s.Daemon.Pid, err)
}
"""


def test_a_go_client(daemon, tmp_path):
    if not shutil.which("go"):
        pytest.skip("golang-go is not installed")
    if not pathlib.Path("/usr/share/gocode/src/github.com/varlink/go").exists():
        pytest.skip("golang-github-varlink-go-dev is not installed")
    (tmp_path / "main.go").write_text(GO_CLIENT)
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                   "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "", "HOME": str(tmp_path)}
    subprocess.run(["go", "build", "-o", "client", "main.go"], cwd=tmp_path, env=environment,
                   check=True)
    done = subprocess.run([tmp_path / "client", f"unix:{daemon.socket_path}"],
                          stdout=subprocess.PIPE, text=True, check=True,
                          timeout=patience.seconds(20))
    assert "io.netflowd" in done.stdout
    assert f" {daemon.pid} " in done.stdout
    assert "UnknownField" in done.stdout


def test_varlinkctl(daemon):
    """systemd's own client, where the host has it."""
    if not shutil.which("varlinkctl"):
        pytest.skip("varlinkctl is not installed (systemd 255 and later)")
    done = subprocess.run(["varlinkctl", "call", "--json=short", str(daemon.socket_path),
                           "io.netflowd.GetStatus", "{}"], stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout)["daemon"]["pid"] == daemon.pid

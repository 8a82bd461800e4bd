# SPDX-License-Identifier: GPL-2.0-or-later
"""A tcpdump expression selects all records that match it, and no others."""

import ctypes
import ctypes.util
import time

import pytest

from lab import journeys, patience, sockets, waiting
from lab.varlink import VarlinkError

COUNT = 12
OPEN, OTHER, TCP, CLOSED, CLOSED_OTHER = 7001, 7002, 7003, 9, 10

pytestmark = [
    pytest.mark.alone, pytest.mark.usefixtures("bpf"),
    pytest.mark.shared(*journeys.EVERY, "records.rate=1000000")]

PAIRS = {}  # of each daemon, the one with its traffic


def exchange(pair, transport, version, port, size, count=COUNT):
    address = pair.right_address(version)
    with sockets.KINDS[transport](pair.left, pair.right, address, port) as (sender, reader):
        for _ in range(count):
            sender.send(b"x" * size)
            reader.recv(2000)


def make_traffic(pair):
    for version in (4, 6):
        exchange(pair, "udp", version, OPEN, 50)
        exchange(pair, "udp", version, OTHER, 900)
        exchange(pair, "tcp", version, TCP, 50)
    for port, count in ((CLOSED, COUNT), (CLOSED_OTHER, COUNT + 1)):
        pair.left.send_udp(pair.RIGHT4, port, count)


@pytest.fixture
def recorded(daemon, kept_lab):
    """(daemon, pair) after traffic of several kinds, each packet of which netflowd recorded."""
    if daemon not in PAIRS:
        pair = kept_lab.pair()
        make_traffic(pair)
        waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp", "NO_SOCKET"),
                        2 * COUNT + 1)
        # The last of them.
        journeys.wait_for(daemon, COUNT, pair.right_device, "delivered",
                          filter=f"ip6 and tcp dst port {TCP}")
        PAIRS[daemon] = pair
    return daemon, PAIRS[daemon]


def ports(record):
    transport = record.get("transport") or {}
    return {transport.get("source_port"), transport.get("destination_port")}


def version(record):
    return (record.get("ip") or {}).get("version")


def is_udp(record):
    return (record.get("protocol") or "").endswith("/udp")


EXPRESSIONS = {
    f"udp port {OPEN}": lambda r: is_udp(r) and OPEN in ports(r),
    f"udp dst port {OTHER} and ip": lambda r: is_udp(r) and version(r) == 4 and
        r["transport"]["destination_port"] == OTHER,
    f"ip6 and tcp port {TCP}": lambda r: version(r) == 6 and not is_udp(r) and TCP in ports(r),
    f"port {OPEN} or port {TCP}": lambda r: {OPEN, TCP} & ports(r),
    f"udp portrange {OPEN}-{OTHER}": lambda r: is_udp(r) and {OPEN, OTHER} & ports(r),
    f"src net 10.77.1.0/24 and udp port {OPEN}": lambda r: version(r) == 4 and is_udp(r) and
        OPEN in ports(r),
    "dst host fd77:1::2": lambda r: (r.get("ip") or {}).get("destination") == "fd77:1::2",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_latency_records(recorded, expression):
    daemon, pair = recorded
    everything = journeys.ask(daemon, pair.right_device)
    selected = journeys.ask(daemon, pair.right_device, filter=expression)
    assert selected == [r for r in everything if EXPRESSIONS[expression](r)]
    assert selected


def test_exactly_one_ports_records(recorded):
    """Both forms of the request match the packets sent: two versions, two ends."""
    daemon, pair = recorded
    for end, outcome in ((pair.left_device, "transmitted"), (pair.right_device, "delivered")):
        selected = journeys.wait_for(daemon, 2 * COUNT, end, outcome, filter=f"udp port {OPEN}")
        assert len(selected) == 2 * COUNT
        assert all(OPEN in ports(r) for r in selected)
    answer = daemon.call("GetLatencyRecords", filter=f"udp port {OPEN}",
                         netns=str(pair.right.inode), limit=1)
    assert answer["matched"] == 2 * COUNT and len(answer["records"]) == 1


@pytest.mark.parametrize("port, count", [(CLOSED, COUNT), (CLOSED_OTHER, COUNT + 1)])
def test_drop_records(recorded, port, count):
    daemon, pair = recorded
    selected = daemon.records(pair.right_device, filter=f"udp dst port {port}")
    assert len(selected) == count
    assert {r["transport"]["destination_port"] for r in selected} == {port}
    assert not daemon.records(pair.right_device, filter="udp dst port 11")


def test_size_is_part_of_it(recorded):
    daemon, pair = recorded
    large = journeys.ask(daemon, pair.right_device, filter=f"udp port {OTHER} and greater 900")
    assert len(large) == 2 * COUNT
    assert not journeys.ask(daemon, pair.right_device, filter=f"udp port {OPEN} and greater 900")


@pytest.mark.portable
@pytest.mark.smoke
def test_streams(daemon, pair):
    """Each stream has its own expression."""
    with daemon.client() as first, daemon.client() as second:
        first.monitor(records=["latency"], filter=f"udp port {OPEN}", netns=str(pair.right.inode))
        second.monitor(records=["drops"], filter=f"udp port {CLOSED_OTHER}",
                       netns=str(pair.right.inode))
        make_traffic(pair)
        latencies = [first.next_record()["latency"] for _ in range(2 * COUNT)]
        drops = [second.next_record()["drop"] for _ in range(COUNT + 1)]
        # Nothing else comes to either of them.
        time.sleep(patience.seconds(0.5))
        for client in (first, second):
            client.socket.settimeout(0.001)
            with pytest.raises(TimeoutError):
                client.receive()
    assert all(OPEN in ports(r) and r["outcome"] == "delivered" for r in latencies)
    assert {r["transport"]["destination_port"] for r in drops} == {CLOSED_OTHER}


# ---- wrong ones -------------------------------------------------------------

WRONG = ["tcp port", "((udp)", "tcp port 99999", "net 10.0.0.0/33", "ip6 host 10.0.0.1", "and",
         "udp[", "icmp port 5", "udp port 53 53 or"]
# libpcap would take the wrong word for a name, and ask the resolver for it.
NAMES = {"udp prot 53": "character 5", "host 300.1.1.1.1": "character 6",
         "host netflowd.invalid": "character 6", "tcp port https": "character 10",
         "net loopback": "character 5", "ip proto \\tcp": "character 10"}


def libpcap_says(expression):
    """libpcap's own message, from its own library, for the frames that the daemon gives to it."""
    name = ctypes.util.find_library("pcap")
    if not name:
        pytest.skip("libpcap is not installed")
    pcap = ctypes.CDLL(name)
    pcap.pcap_open_dead.restype = ctypes.c_void_p
    pcap.pcap_geterr.restype = ctypes.c_char_p
    pcap.pcap_geterr.argtypes = [ctypes.c_void_p]
    pcap.pcap_compile.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int,
                                  ctypes.c_uint32]
    handle = pcap.pcap_open_dead(1, 65535)  # DLT_EN10MB
    program = ctypes.create_string_buffer(64)
    if pcap.pcap_compile(handle, program, expression.encode(), 1, 0xFFFFFFFF) == 0:
        return None
    return pcap.pcap_geterr(handle).decode()


@pytest.mark.parametrize("method", ["GetLatencyRecords", "GetDropRecords"])
@pytest.mark.parametrize("expression", WRONG)
def test_wrong_expression(daemon, expression, method):
    text = libpcap_says(expression)
    assert text, "libpcap accepts it"
    with pytest.raises(VarlinkError) as error:
        daemon.call(method, filter=expression)
    assert error.value.name == "InvalidFilter"
    assert error.value.parameters["filter"] == expression
    assert text in error.value.parameters["reason"]


def test_wrong_expression_of_a_stream(daemon):
    with daemon.client() as client:
        client.send("io.netflowd.Monitor", {"filter": "udp prot 53"}, more=True)
        with pytest.raises(VarlinkError) as error:
            client.reply("io.netflowd.Monitor")
        assert error.value.name == "InvalidFilter"
        # The connection stays usable.
        assert client.call("GetStatus")


@pytest.mark.parametrize("expression", NAMES)
def test_names_are_not_looked_up(daemon, expression):
    """The resolver could block for seconds, during which netflowd would read no record."""
    def refused():
        with pytest.raises(VarlinkError) as error:
            daemon.call("GetLatencyRecords", filter=expression)
        return error

    took, error = waiting.time_and_result(refused, daemon.pid)
    assert took < 0.5
    assert error.value.name == "InvalidFilter"
    assert NAMES[expression] in error.value.parameters["reason"]


def answered(daemon, expression):
    try:
        daemon.call("GetLatencyRecords", filter=expression)
    except VarlinkError as error:
        assert error.name == "InvalidFilter"


def test_long_and_deep_expressions(daemon):
    """The daemon answers or refuses soon, and continues."""
    for expression in (" or ".join(f"port {n}" for n in range(1, 3000)),
                       "(" * 5000 + "ip" + ")" * 5000, "not " * 15000 + "ip", "x" * 60_000):
        took = waiting.time_of(lambda text=expression: answered(daemon, text), daemon.pid)
        assert took < 1.0, expression[:30]
    assert daemon.status()


def test_empty_expression_selects_all(recorded):
    daemon, pair = recorded
    assert journeys.ask(daemon, pair.right_device, filter="") == \
        journeys.ask(daemon, pair.right_device)

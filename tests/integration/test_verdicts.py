# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts: class, inferred reasons and messages of real drops of a known number are the same in
every output."""

import contextlib
import json
import re
import socket
import time

import pytest

from lab import kernel, packets, patience, waiting, xdp
from lab.alerts import Rules
from lab.net import run
from lab.prometheus import scrape

NETLINK_USERSOCK = 2  # linux/netlink.h
VMADDR_CID_LOCAL = 1  # linux/vm_sockets.h
CLASSES = ["fault", "unknown", "policy", "benign"]
FAULTS, BENIGN = 3, 100_000
PORT = 9
CAUSE = {"reason": "NEIGH_FAILED", "inferred": True, "class": "fault",
         "function": "neigh_invalidate"}


def no_neighbour(pair, count):
    """Send packets to an IPv6 neighbour that does not exist: the kernel drops them after three
    solicitations, 100 ms apart here and not a second, and gives no reason."""
    pair.left.sysctl(**{f"net.ipv6.neigh.{pair.left_device.name}.retrans_time_ms": 100})
    pair.left.send_udp(pair.right_address(6)[:-1] + "77", 9, count)


def failed(daemon, pair, **parameters):
    """The rows of these drops."""
    return [row for row in daemon.call("GetDrops", netns=str(pair.left.inode), limit=10000,
                                       **parameters)["rows"]
            if row.get("function") == CAUSE["function"]]


def wait_for(daemon, pair, count):
    rows = waiting.until(lambda: (found := failed(daemon, pair)) and
                         sum(row["packets"] for row in found) >= count and found, bool,
                         seconds=15.0)
    assert sum(row["packets"] for row in rows) == count
    return rows


def is_cause(row):
    assert {key: row.get(key) for key in CAUSE} == CAUSE
    if kernel.has_drop_reasons():
        assert row["kernel_reason"] == "NOT_SPECIFIED" and row["reason_number"] in (1, 2)
    assert "candidates" not in row


def unread_unix(count):
    """Close an AF_UNIX socket with this many messages in its queue: the kernel frees them."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with left, right:
        left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        for _ in range(count):
            left.send(b"unread")


def unread_netlink(count):
    """The same between two programs by netlink."""
    with contextlib.ExitStack() as stack:
        left, right = (stack.enter_context(socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_USERSOCK)) for _ in range(2))
        right.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        right.bind((0, 0))
        for _ in range(count):
            left.sendto(b"unread", right.getsockname())


def unread_vsock(count):
    """The same within this host by vsock; the connection itself needs some more messages."""
    if kernel.release() < (6, 3):
        pytest.skip("before 6.3 the packets of vsock are not skbs")
    run("modprobe", "vsock_loopback", check=False)
    with contextlib.ExitStack() as stack:
        try:
            listener, client = (stack.enter_context(socket.socket(
                socket.AF_VSOCK, socket.SOCK_SEQPACKET)) for _ in range(2))
            listener.bind((VMADDR_CID_LOCAL, socket.VMADDR_PORT_ANY))
        except OSError as error:
            pytest.skip(f"no vsock within this host (module vsock_loopback): {error}")
        listener.listen()
        client.connect(listener.getsockname())
        server = stack.enter_context(listener.accept()[0])
        for _ in range(count):
            client.send(b"unread")
        server.close()
        # If both ends close at the same time, they wait for each other, and send more 8 s later.
        client.settimeout(patience.seconds(5))
        assert client.recv(10) == b""


@pytest.fixture
def guessed(bpf):
    """This kernel has no reason of its own for a neighbour that does not answer."""
    del bpf


@pytest.mark.alone
@pytest.mark.smoke
def test_one_fault_leads_before_many_benign_drops(start, pair, guessed):
    del guessed
    daemon = start()
    pair.left.send_udp(pair.RIGHT4, 9, BENIGN)
    no_neighbour(pair, 1)
    row, = wait_for(daemon, pair, 1)
    is_cause(row)
    reply = daemon.call("GetDrops")
    assert reply["rows"][0]["class"] == "fault"
    assert [row["class"] for row in reply["rows"]] == \
        sorted((row["class"] for row in reply["rows"]), key=CLASSES.index)
    assert sum(reply["classes"].values()) == reply["packets"]
    assert reply["classes"]["benign"] >= BENIGN
    for by in ("reason", "location", "dev", "netns", "proto", "cgroup", "flow"):
        rows = daemon.call("GetDrops", by=by)["rows"]
        assert rows[0]["class"] == "fault", by
        assert [r["packets"] for r in daemon.call("GetDrops", by=by, faults=True)["rows"]] == \
            [r["packets"] for r in rows if r["class"] == "fault"], by

    lines = daemon.netflowctl("drops", "--netns", pair.left.inode).stdout.splitlines()
    assert re.search(r"; fault 1\b", lines[0])
    assert re.match(r" *1 +.* NEIGH_FAILED \(inferred\) +fault ", lines[2]), lines
    everything = daemon.netflowctl("drops").stdout.splitlines()
    rows = [line for line in everything if re.match(r" *[\d,]+ +<?[\d.]+ %", line)]
    assert " fault " in rows[0] and " benign " in rows[-1], everything


@pytest.mark.alone
@pytest.mark.portable
@pytest.mark.smoke
def test_classes_select(start, pair, guessed):
    del guessed
    daemon = start()
    pair.left.send_udp(pair.RIGHT4, 9, 421)
    no_neighbour(pair, FAULTS)
    wait_for(daemon, pair, FAULTS)
    whole = daemon.call("GetDrops")
    parts = {}
    for name in CLASSES:
        reply = daemon.call("GetDrops", classes=[name])
        assert {row["class"] for row in reply["rows"]} <= {name}
        assert reply["packets"] + reply["hidden"] >= whole["packets"]
        assert reply["packets"] == reply["classes"][name]
        parts[name] = reply["packets"]
    assert parts["fault"] >= FAULTS and parts["benign"] >= 421
    assert daemon.call("GetDrops", faults=True)["packets"] == parts["fault"]
    both = json.loads(daemon.netflowctl("drops", "--class", "benign,fault", "--json").stdout)
    assert both["packets"] >= parts["benign"] + parts["fault"]
    assert "hidden" not in whole

    text = daemon.netflowctl("drops", "--class", "unknown").stdout
    assert re.search(r"hidden: fault \d+", text)
    records = daemon.call("GetDropRecords", classes=["fault"], netns=str(pair.left.inode))
    assert len(records["records"]) == FAULTS and records["hidden"] >= 0
    for record in records["records"]:
        is_cause(record)
        # Read at the moment of the drop: the packet was IPv6, and its socket known.
        assert {"ip", "socket"} <= set(record["evidence"])

    wrong = daemon.netflowctl("drops", "--class", "fault,bening", check=False)
    assert wrong.returncode == 2 and "did you mean benign?" in wrong.stderr
    done = daemon.netflowctl("complete", "--", "drops", "--class", "fault,un")
    assert done.stdout.split("\t")[0] == "fault,unknown"


@pytest.mark.portable
@pytest.mark.smoke
def test_a_reason_selects_what_is_shown(start, pair, guessed):
    """By name what outputs show, by number what the kernel gave."""
    del guessed
    daemon = start()
    no_neighbour(pair, FAULTS)
    wait_for(daemon, pair, FAULTS)
    assert len(failed(daemon, pair, reason="NEIGH_FAILED")) == 1
    assert len(failed(daemon, pair, reason="skb_drop_reason_neigh_failed")) == 1
    assert not failed(daemon, pair, reason="NO_SOCKET")
    if kernel.has_drop_reasons():
        assert not failed(daemon, pair, reason="NOT_SPECIFIED")
        number = failed(daemon, pair)[0]["reason_number"]
        assert len(failed(daemon, pair, reason=str(number))) == 1
    records = daemon.call("GetDropRecords", reason="NEIGH_FAILED", netns=str(pair.left.inode))
    assert records["matched"] == FAULTS


def metric_of(daemon, name, **labels):
    """The sum of the samples with these labels."""
    found = 0
    for line in scrape(daemon.directory / "metrics.sock")[1].splitlines():
        match = re.match(rf"{name}{{(.*)}} (\S+)$", line)
        have = dict(re.findall(r'(\w+)="([^"]*)"', match[1])) if match else None
        if have and labels.items() <= have.items():
            found += float(match[2])
    return found


@pytest.mark.alone
def test_all_outputs_agree(start, pair, guessed, tmp_path):
    """Counters, metrics, export, report, records, alerts, pcapng, the live view and the history."""
    del guessed
    rules = Rules(tmp_path / "alerts.d")
    rules.write("verdicts.conf", """
[alert neighbour]
condition = drop_rate
reason = NEIGH_FAILED
class = fault
window = 1min
over = 0

[alert others]
condition = drop_rate
reason = NEIGH_FAILED
class = benign unknown policy
window = 1min
over = 0
""")
    daemon = start("metrics.listen=unix", "history.interval=1s", "alerts.interval=100ms",
                   rules.setting, history=tmp_path / "history")
    begun = time.time()
    no_neighbour(pair, FAULTS)
    wait_for(daemon, pair, FAULTS)
    space = str(pair.left.inode)

    labels = {"reason": "NEIGH_FAILED", "inferred": "true", "class": "fault"}
    assert waiting.until(lambda: metric_of(daemon, "netflowd_drops_total", netns=space, **labels),
                         lambda value: value == FAULTS)
    assert metric_of(daemon, "netflowd_drops_by_reason_total", **labels) == \
        sum(row["packets"] for row in daemon.call("GetDrops", by="reason")["rows"]
            if row.get("reason") == "NEIGH_FAILED" and row["inferred"])

    exported = json.loads(daemon.netflowctl("export", "--format", "json").stdout)
    row, = [row for row in exported["drops"] if row.get("function") == CAUSE["function"] and
            row.get("netns") == pair.left.inode]
    is_cause(row)
    assert row["packets"] == FAULTS

    alert = waiting.until(lambda: [a for a in daemon.call("GetAlerts")["alerts"]
                                   if a["name"] == "neighbour" and a["state"] == "firing"],
                          bool)[0]
    assert alert["evidence"]["reason"] == "NEIGH_FAILED" and alert["evidence"]["inferred"]
    assert "NEIGH_FAILED (inferred) " in alert["evidence"]["detail"]
    for record in alert["evidence"]["drops"]:
        is_cause(record)
    others, = [a for a in daemon.call("GetAlerts")["alerts"] if a["name"] == "others"]
    assert others["state"] == "inactive" and others["value"] == 0

    since = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(begun - 60))
    past, = failed(daemon, pair, since=since)
    is_cause(past)
    assert past["packets"] == FAULTS and "evidence" in past
    assert daemon.call("GetDrops", since=since, netns=space, classes=["fault"])["packets"] == FAULTS
    stored = daemon.call("GetDropRecords", since=since, netns=space, reason="NEIGH_FAILED")
    assert stored["matched"] == FAULTS
    for record in stored["records"]:
        is_cause(record)

    page = tmp_path / "report.html"
    daemon.netflowctl("report", "--html", page)
    assert "NEIGH_FAILED (inferred)" in page.read_text()
    capture = tmp_path / "drops.pcapng"
    daemon.netflowctl("drops", "--netns", space, "--pcap", capture)
    comment = b"dropped: NEIGH_FAILED (inferred), class fault, at"
    assert capture.read_bytes().count(comment) == FAULTS
    shown = daemon.netflowctl("top", "--count", "1").stdout
    assert re.search(r"NEIGH_FAILED \(inferred\).* fault +\S+ +neigh_invalidate", shown), shown
    lines = daemon.netflowctl("drops", "--records", "--netns", space, "--faults").stdout
    assert lines.count("NEIGH_FAILED (inferred)  fault") == FAULTS


@pytest.mark.alone
@pytest.mark.smoke
def test_messages_are_counted_apart(start, bpf):
    """Calls of kfree_skb = packets + messages + completed."""
    del bpf
    daemon = start("metrics.listen=unix")
    before = daemon.call("GetDrops")
    unread_unix(50)
    after = waiting.until(lambda: daemon.call("GetDrops"),
                          lambda reply: reply["messages"] >= before["messages"] + 50)
    assert after["messages"] >= before["messages"] + 50
    assert not [row for row in after["rows"] if "unix" in row.get("function", "")]
    assert not [record for record in daemon.call("GetDropRecords")["records"]
                if "unix" in record.get("function", "")]

    def whole():
        status = daemon.status()
        reply = daemon.call("GetDrops")
        again = daemon.status()["drops"]
        return status["drops"] == again, status, reply

    _, status, reply = waiting.until(whole, lambda found: found[0])
    ledger = status["drops"]
    assert ledger["hits"] == reply["packets"] + reply["messages"] + ledger["completed"]
    assert status["packets"]["dropped"] == reply["packets"] == sum(reply["classes"].values())
    assert status["packets"]["messages"] == reply["messages"]
    assert status["packets"]["faults"] == reply["classes"]["fault"]
    text = daemon.netflowctl("drops").stdout
    assert "messages (AF_UNIX, netlink and such). They are not packets." in text
    scraped = waiting.until(lambda: re.search(r"^netflowd_drops_messages_total (\S+)$",
                                              scrape(daemon.directory / "metrics.sock")[1], re.M),
                            lambda found: float(found[1]) >= reply["messages"])
    assert float(scraped[1]) >= reply["messages"]


@pytest.mark.alone
@pytest.mark.smoke
@pytest.mark.parametrize("unread", [unread_unix, unread_netlink, unread_vsock])
def test_each_message_is_counted_and_none_is_a_drop(start, unread, bpf):
    """Exactly as many more as there were more messages.  A whole host has other messages, too, so
    it may take several attempts; but never are there fewer."""
    del bpf
    daemon = start()

    def growth(count):
        before = daemon.call("GetDrops")["messages"]
        unread(count)
        still = waiting.until(lambda: (daemon.call("GetDrops")["messages"],
                                       time.sleep(patience.seconds(0.2)),
                                       daemon.call("GetDrops")["messages"]),
                              lambda found: found[0] == found[2] >= before + count)
        return still[2] - before

    growth(1)  # loads what is needed
    found = []
    while len(found) < 10 and 50 not in found:
        found.append(growth(51) - growth(1))
    assert 50 in found, found
    of_sockets = ("unix", "netlink", "vsock", "virtio")
    assert not [row for row in daemon.call("GetDrops")["rows"]
                if any(word in row.get("function", "") for word in of_sockets)]


REPORTS, ROUTING = 37, 20


def test_reports_of_groups_on_a_device_without_a_link(start, silent_pair, bpf):
    """The kernel repeats them, so nothing is lost; a hello of a routing protocol beside them is."""
    del bpf
    daemon, device = start(), silent_pair.left_device
    silent_pair.right.ip("link", "set", silent_pair.right_device.name, "down")
    waiting.until(lambda: silent_pair.left.run("tc", "qdisc", "show", "dev", device.name),
                  lambda text: "noop" in text or "state DOWN" in text)
    report = packets.ipv6("fe80::7", "ff02::16", 0, bytes.fromhex("3a00050200000000") + bytes(28),
                          hop_limit=1)
    hello = packets.ipv6("fe80::7", "ff02::5", 89, bytes(40), hop_limit=1)
    with xdp.packet_socket(device) as sender:
        for packet, count in ((report, REPORTS), (hello, ROUTING)):
            for _ in range(count):
                sender.send(packets.ethernet("33:33:00:00:00:16", device.mac, packets.ETH_IPV6,
                                             packet))

    def classes():
        found = {}
        for row in daemon.drop_rows(device):
            found[row.get("class")] = found.get(row.get("class"), 0) + row["packets"]
        return found

    expected = {"benign": REPORTS, "fault": ROUTING}
    assert waiting.settled(classes, expected) == expected, daemon.drop_rows(device)


@pytest.mark.smoke
@pytest.mark.parametrize("sockets", [8, 9])
def test_a_chain_of_sockets(start, lab, bpf, sockets):
    """A kernel without drop reasons has the sockets of a port in one chain, of which a program
    looks at eight: then certainly none has the address, or it is not known."""
    del bpf
    if kernel.has_drop_reasons():
        pytest.skip("this kernel says itself that there is no socket")
    daemon = start()
    namespace = lab.namespace(ipv6=False)
    with contextlib.ExitStack() as stack:
        for last in range(sockets):
            with namespace.entered():
                reader = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            reader.bind((f"127.0.1.{last}", PORT))
        namespace.send_udp("127.0.0.1", PORT, 421)
        rows = waiting.until(lambda: [row for row in daemon.call("GetDrops")["rows"]
                                      if row.get("netns") == namespace.inode and
                                      row.get("protocol") == "ipv4/udp"],
                             lambda found: sum(row["packets"] for row in found) >= 421)
    assert [row["packets"] for row in rows] == [421]
    certain = rows[0].get("reason") == "NO_SOCKET" and rows[0].get("inferred") is True
    assert certain == (sockets == 8), rows

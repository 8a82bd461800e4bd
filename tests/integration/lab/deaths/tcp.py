# SPDX-License-Identifier: GPL-2.0-or-later
"""Deaths of TCP segments, written byte by byte by a peer that this process plays."""

import socket
import struct
import time

from .. import packets, patience
from .scene import FEW_REASONS, NO_REASONS, death
from .udp import attach_filter

RECEIVE = {4: "tcp_v4_rcv", 6: "tcp_v6_rcv"}
TCP_MD5SIG, TCP_DEFER_ACCEPT = 14, 9
PORT = 7777
# Before 5.18, tcp_drop() freed segments without the tracepoint.
TCP_DROP = (5, 18)


class Peer:
    """The other end of a connection to a listener on a Wire."""

    FIRST = 1000

    def __init__(self, wire, source_port, version=4, options=b"", window=64240):
        self.wire, self.port, self.version = wire, source_port, version
        self.next = self.FIRST + 1
        wire.drain()
        wire.tcp(version, source_port, PORT, ["SYN"], self.FIRST, options=options, window=window)
        header = self.reply()
        self.theirs = struct.unpack_from("!I", header, 4)[0] + 1
        self.window, = struct.unpack_from("!H", header, 14)
        self.options = header[20:]

    def reply(self):
        """The TCP header, with its options, of the next segment for this peer."""
        end = time.monotonic() + patience.seconds(5)
        while time.monotonic() < end:
            frame = self.wire.read()
            if frame is None:
                time.sleep(0.001)
                continue
            header = frame[14 + (20 if self.version == 4 else 40):]
            if struct.unpack_from("!HH", header) == (PORT, self.port):
                return header
        raise TimeoutError("no segment for the peer")

    def send(self, flags, payload=b"", ahead=0, ack=0, **kwargs):
        """A segment `ahead` bytes past what is expected next, acknowledging `ack` more than all."""
        self.wire.tcp(self.version, self.port, PORT, flags, self.next + ahead, self.theirs + ack,
                      payload, **kwargs)

    def acknowledge(self):
        self.send(["ACK"])
        return self

    def data(self, payload):
        self.send(["ACK", "PSH"], payload)
        self.next += len(payload)


def connection(scene, version=4, source_port=5000, wire=None, **kwargs):
    """(Peer, accepted socket)"""
    wire = wire or scene.wire(ipv6=version == 6)
    listener = scene.listener(wire.namespace, wire.ends(version)[1], PORT)
    peer = Peer(wire, source_port, version, **kwargs).acknowledge()
    accepted = scene.keep(listener.accept()[0])
    listener.close()
    return peer, accepted


def _closed(scene, version):
    wire = scene.wire(ipv6=version == 6)
    for i in scene.each:
        wire.tcp(version, 5000 + i, 9, ["SYN"], 1000)


@death("NO_SOCKET", "benign", "tcp_v4_rcv", counters=("TcpOutRsts",))
def tcp_closed_port(scene):
    """A SYN for a port that no socket has."""
    _closed(scene, 4)


@death("NO_SOCKET", "benign", "tcp_v6_rcv", counters=("TcpOutRsts",))
def tcp6_closed_port(scene):
    """A SYN over IPv6 for a port that no socket has."""
    _closed(scene, 6)


@death("TCP_CSUM", "fault", "tcp_v4_rcv", counters=("TcpInCsumErrors",))
def tcp_checksum(scene):
    """A wrong TCP checksum."""
    wire = scene.wire()
    for _ in scene.each:
        wire.tcp(4, 5000, PORT, ["SYN"], bad_checksum=True)


@death("TCP_CSUM", "fault", "tcp_v6_rcv", counters=("TcpInCsumErrors",))
def tcp6_checksum(scene):
    """A wrong TCP checksum over IPv6."""
    wire = scene.wire(ipv6=True)
    for _ in scene.each:
        wire.tcp(6, 5000, PORT, ["SYN"], bad_checksum=True)


@death("PKT_TOO_SMALL", "fault", "tcp_v4_rcv", counters=("TcpInErrs",))
def tcp_header_length(scene):
    """A TCP header that says that it has 16 bytes."""
    wire = scene.wire()
    for _ in scene.each:
        wire.tcp(4, 5000, PORT, ["SYN"], words=4)


@death("PKT_TOO_SMALL", "fault", "tcp_v4_rcv")
def tcp_stub(scene):
    """A TCP segment with 12 bytes."""
    wire = scene.wire()
    for _ in scene.each:
        wire.ipv4(packets.TCP, bytes(12))


@death("TCP_FLAGS", "benign", "tcp_rcv_state_process", untraced_before=TCP_DROP)
def tcp_listener_flags(scene):
    """A SYN with FIN for a listener."""
    wire = scene.wire()
    scene.listener(wire.namespace, wire.own4, PORT)
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["SYN", "FIN"], 1000)


@death("TCP_RESET", "benign", "tcp_rcv_state_process", untraced_before=TCP_DROP)
def tcp_listener_reset(scene):
    """A reset for a listener."""
    wire = scene.wire()
    scene.listener(wire.namespace, wire.own4, PORT)
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["RST"], 1000)


@death("TCP_FLAGS", "benign", "tcp_v4_do_rcv")
def tcp_listener_ack(scene):
    """An acknowledgement for a listener, from no connection."""
    wire = scene.wire()
    scene.listener(wire.namespace, wire.own4, PORT)
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["ACK"], 1000, 2000)


def _full_accept_queue(scene, version):
    wire = scene.wire(ipv6=version == 6)
    # A full queue makes the kernel send cookies, and drop the SYN without a call of kfree_skb.  So
    # these handshakes begin before others fill the queue, which takes one more than the backlog.
    backlog = scene.count + 1
    scene.listener(wire.namespace, wire.ends(version)[1], PORT, backlog)
    late = [Peer(wire, 5000 + i, version) for i in scene.each]
    for i in range(backlog + 1):
        Peer(wire, 6000 + i, version).acknowledge()
    for peer in late:
        peer.acknowledge()


@death("TCP_LISTEN_OVERFLOW", "fault", "tcp_v4_do_rcv", "tcp_v4_rcv",
       counters=("TcpExtListenOverflows",), count=7)
def tcp_accept_queue(scene):
    """The last acknowledgement of a handshake, while the listener's accept queue is full."""
    _full_accept_queue(scene, 4)


@death("TCP_LISTEN_OVERFLOW", "fault", "tcp_v6_do_rcv", "tcp_v6_rcv",
       counters=("TcpExtListenOverflows",), count=7)
def tcp6_accept_queue(scene):
    """The last acknowledgement of a handshake over IPv6, while the accept queue is full."""
    _full_accept_queue(scene, 6)


@death("SOCKET_FILTER", "policy", "tcp_v4_rcv", undecided_before=NO_REASONS)
def tcp_socket_filter(scene):
    """A filter of a listener refuses the SYN."""
    wire = scene.wire()
    attach_filter(scene.listener(wire.namespace, wire.own4, PORT))
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["SYN"], 1000)


@death("SOCKET_FILTER", "policy", "tcp_v6_rcv", undecided_before=NO_REASONS)
def tcp6_socket_filter(scene):
    """A filter of a listener over IPv6 refuses the SYN."""
    wire = scene.wire(ipv6=True)
    attach_filter(scene.listener(wire.namespace, wire.own6, PORT))
    for i in scene.each:
        wire.tcp(6, 5000 + i, PORT, ["SYN"], 1000)


@death("TCP_MINTTL", "policy", "tcp_v4_rcv", counters=("TcpExtTCPMinTTLDrop",),
       undecided_before=FEW_REASONS)
def tcp_min_ttl(scene):
    """A TTL below a listener's IP_MINTTL."""
    wire = scene.wire()
    scene.listener(wire.namespace, wire.own4, PORT).setsockopt(socket.IPPROTO_IP, 21, 200)
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["SYN"], 1000)


def _md5_key(sock, address, key=b"netflowd"):
    where = struct.pack("!HH4s120x", 0, 0, packets.ipaddress.IPv4Address(address).packed)
    where = struct.pack("=H", socket.AF_INET) + where[2:]
    sock.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG,
                    where + struct.pack("=BBHI80s", 0, 0, len(key), 0, key))


MD5_OPTION = b"\x13\x12" + bytes(16) + b"\x01\x01"


@death("TCP_MD5NOTFOUND", "fault", "tcp_v4_rcv", counters=("TcpExtTCPMD5NotFound",),
       undecided_before=NO_REASONS)
def tcp_md5_missing(scene):
    """A SYN without a signature for a listener that asks for TCP-MD5."""
    wire = scene.wire()
    _md5_key(scene.listener(wire.namespace, wire.own4, PORT), wire.peer4)
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["SYN"], 1000)


@death("TCP_MD5UNEXPECTED", "fault", "tcp_v4_rcv", counters=("TcpExtTCPMD5Unexpected",),
       undecided_before=NO_REASONS)
def tcp_md5_unexpected(scene):
    """A SYN with a signature for a listener without TCP-MD5."""
    wire = scene.wire()
    scene.listener(wire.namespace, wire.own4, PORT)
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["SYN"], 1000, options=MD5_OPTION)


@death("TCP_MD5FAILURE", "fault", "tcp_v4_rcv", counters=("TcpExtTCPMD5Failure",),
       undecided_before=NO_REASONS)
def tcp_md5_wrong(scene):
    """A SYN with a wrong signature."""
    wire = scene.wire()
    _md5_key(scene.listener(wire.namespace, wire.own4, PORT), wire.peer4)
    for i in scene.each:
        wire.tcp(4, 5000 + i, PORT, ["SYN"], 1000, options=MD5_OPTION)


@death("TCP_OLD_DATA", "benign", "tcp_data_queue", "tcp_rcv_established",
       untraced_before=TCP_DROP)
def tcp_old_data(scene):
    """A segment that the receiver has already."""
    peer, _ = connection(scene)
    peer.data(b"x" * 100)
    for _ in scene.each:
        peer.send(["ACK"], b"x" * 100, ahead=-100)


@death("TCP_OFOMERGE", "benign", "tcp_data_queue", untraced_before=TCP_DROP)
def tcp_duplicate_out_of_order(scene):
    """A segment that waits already in the queue of early ones."""
    peer, _ = connection(scene)
    peer.send(["ACK"], b"x" * 100, ahead=50)
    for _ in scene.each:
        peer.send(["ACK"], b"x" * 100, ahead=50)


@death("TCP_INVALID_SEQUENCE", "fault", "tcp_validate_incoming", untraced_before=TCP_DROP)
def tcp_over_window(scene):
    """A segment far past the receiver's window."""
    peer, _ = connection(scene)
    for _ in scene.each:
        peer.send(["ACK"], b"x" * 100, ahead=1 << 28)


@death("TCP_OLD_SEQUENCE", "benign", "tcp_validate_incoming", untraced_before=TCP_DROP)
def tcp_keepalive(scene):
    """A keepalive: no data, one byte before what is expected."""
    peer, _ = connection(scene)
    for _ in scene.each:
        peer.send(["ACK"], ahead=-1)


@death("TCP_INVALID_SYN", "benign", "tcp_validate_incoming", counters=("TcpExtTCPSYNChallenge",),
       untraced_before=TCP_DROP)
def tcp_syn_in_connection(scene):
    """A SYN in an established connection."""
    peer, _ = connection(scene)
    for _ in scene.each:
        peer.send(["SYN"])


@death("TCP_RFC7323_PAWS", "benign", "tcp_validate_incoming", counters=("TcpExtPAWSEstab",),
       untraced_before=TCP_DROP)
def tcp_paws(scene):
    """A segment with a timestamp that is older than the last."""
    wire = scene.wire()
    listener = scene.listener(wire.namespace, wire.own4, PORT)
    now = 1_000_000

    def stamp(value, echo):
        return b"\x01\x01\x08\x0a" + struct.pack("!II", value, echo)

    peer = Peer(wire, 5000, options=stamp(now, 0))
    at = peer.options.index(b"\x08\x0a")
    echo, = struct.unpack_from("!I", peer.options, at + 2)
    peer.send(["ACK"], options=stamp(now, echo))
    scene.keep(listener.accept()[0])
    for _ in scene.each:
        peer.send(["ACK"], b"x" * 10, options=stamp(now - 1000, echo))


@death("TCP_ACK_UNSENT_DATA", "benign", "tcp_v4_do_rcv", untraced_before=TCP_DROP)
def tcp_ack_unsent(scene):
    """An acknowledgement of data that was never sent."""
    peer, _ = connection(scene)
    for _ in scene.each:
        peer.send(["ACK"], b"x", ack=1 << 20)


@death("TCP_TOO_OLD_ACK", "benign", "tcp_v4_do_rcv", untraced_before=TCP_DROP)
def tcp_ack_too_old(scene):
    """An acknowledgement of data from long ago."""
    peer, _ = connection(scene)
    for _ in scene.each:
        peer.send(["ACK"], b"x", ack=-(1 << 28))


@death("TCP_FLAGS", "benign", "tcp_v4_do_rcv", untraced_before=TCP_DROP)
def tcp_no_flags(scene):
    """A segment of a connection with neither ACK, RST nor SYN."""
    peer, _ = connection(scene)
    for _ in scene.each:
        peer.send([], b"x")


@death("TCP_INVALID_END_SEQUENCE", "fault", "tcp_data_queue", "tcp_validate_incoming",
       was={(6, 17): ("TCP_ZEROWINDOW", "fault")}, untraced_before=TCP_DROP)
def tcp_zero_window(scene):
    """A segment of new data, while the receiver's window is zero."""
    wire = scene.wire()
    wire.namespace.sysctl(**{"net.ipv4.tcp_invalid_ratelimit": 0})
    listener = scene.reader(wire.namespace, wire.own4, PORT, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    listener.listen()
    peer = Peer(wire, 5000).acknowledge()
    scene.keep(listener.accept()[0])
    window = peer.window
    while window:
        peer.data(b"x" * min(window, 400))
        window = struct.unpack_from("!H", peer.reply(), 14)[0]
    for _ in scene.each:
        peer.send(["ACK"], b"x" * 10)


@death("QUEUE_PURGE", "benign", "sk_stream_kill_queues", count=7)
def tcp_fin_after_close(scene):
    """The peer's FIN without data, after this side has closed."""
    wire = scene.wire()
    listener = scene.listener(wire.namespace, wire.own4, PORT)
    for i in scene.each:
        peer = Peer(wire, 5000 + i).acknowledge()
        listener.accept()[0].close()
        peer.send(["FIN", "ACK"], ack=1)


@death(None, "benign", "tcp_v4_rcv", count=7)
def tcp_time_wait(scene):
    """A segment for a connection in TIME_WAIT."""
    wire = scene.wire()
    listener = scene.listener(wire.namespace, wire.own4, PORT)
    peer = Peer(wire, 5000).acknowledge()
    listener.accept()[0].close()
    peer.send(["ACK"], ack=1)
    peer.send(["FIN", "ACK"], ack=1)
    peer.next += 1
    # The FIN is the first: the kernel keeps only a small socket for it.
    for _ in range(scene.count - 1):
        peer.send(["ACK"], ack=1)


@death("TCP_ABORT_ON_DATA", "benign", "tcp_v4_do_rcv", count=7)
def tcp_data_after_close(scene):
    """Data that arrives after this side has closed."""
    wire = scene.wire()
    listener = scene.listener(wire.namespace, wire.own4, PORT)
    peers = [Peer(wire, 5000 + i).acknowledge() for i in scene.each]
    for _ in peers:
        listener.accept()[0].close()
    # With a listener, 6.1 and older kernels leave no trace of the connection that has ended.
    listener.close()
    for peer in peers:
        peer.send(["ACK"], b"x" * 10, ack=1)


@death("TCP_FLAGS", "benign", "tcp_v4_do_rcv")
def tcp_handshake_ack(scene):
    """The last acknowledgement of a handshake has a wrong number."""
    wire = scene.wire()
    scene.listener(wire.namespace, wire.own4, PORT)
    for i in scene.each:
        Peer(wire, 5000 + i).send(["ACK"], ack=1000)


@death("QUEUE_PURGE", "benign", "tcp_disconnect", count=7)
def tcp_listener_closed(scene):
    """Handshakes that no process had accepted when the listener is closed."""
    wire = scene.wire()
    listener = scene.listener(wire.namespace, wire.own4, PORT)
    for i in scene.each:
        Peer(wire, 5000 + i).acknowledge().data(b"x")
    listener.close()

# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets byte by byte, and a TUN or TAP device to put them into a namespace's receive path."""

import fcntl
import ipaddress
import os
import struct

from .net import Device

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_TAP, IFF_NO_PI = 0x0001, 0x0002, 0x1000

TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
ETH_IPV4, ETH_IPV6, ETH_LLDP = 0x0800, 0x86DD, 0x88CC
TCP_FLAGS = {"FIN": 1, "SYN": 2, "RST": 4, "PSH": 8, "ACK": 16, "URG": 32, "ECE": 64, "CWR": 128}


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source, destination, protocol, payload, ttl=64, fragment=0, identification=0x4E46, *,
         options=b"", version=4, words=None, length=None, bad_checksum=False):
    """`fragment`: the 16-bit field of flags and offset.  `words` and `length` are the header's own
    lengths, if they are wrong on purpose."""
    words = 5 + len(options) // 4 if words is None else words
    length = 20 + len(options) + len(payload) if length is None else length

    def header(check):
        return struct.pack("!BBHHHBBH4s4s", version << 4 | words, 0, length, identification,
                           fragment, ttl, protocol, check, ipaddress.IPv4Address(source).packed,
                           ipaddress.IPv4Address(destination).packed) + options

    return header(checksum(header(0)) ^ (0x1111 if bad_checksum else 0)) + payload


def ipv6(source, destination, next_header, payload, hop_limit=64, *, version=6, length=None):
    """`length` is the header's own, if it is wrong on purpose."""
    return struct.pack("!IHBB16s16s", version << 28, len(payload) if length is None else length,
                       next_header, hop_limit, ipaddress.IPv6Address(source).packed,
                       ipaddress.IPv6Address(destination).packed) + payload


def extension(next_header):
    """An IPv6 options header of 8 bytes, filled with PadN."""
    return struct.pack("!BBBB4x", next_header, 0, 1, 4)


def _transport_checksum(source, destination, protocol, segment):
    ends = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    return checksum(ends + struct.pack("!II", len(segment), protocol) + segment)


def udp(source, destination, source_port, destination_port, payload, bad_checksum=False, *,
        length=None):
    """`length` is the header's own, if it is wrong on purpose."""
    length = 8 + len(payload) if length is None else length
    segment = struct.pack("!HHHH", source_port, destination_port, length, 0) + payload
    check = _transport_checksum(source, destination, UDP, segment) or 0xFFFF
    # A checksum of 0 would mean that there is none.
    check = check ^ 0x1111 or 0x2222 if bad_checksum else check
    return segment[:6] + struct.pack("!H", check) + segment[8:]


def tcp(source, destination, source_port, destination_port, flags, sequence=0, acknowledgement=0,
        payload=b"", bad_checksum=False, *, options=b"", words=None, window=64240):
    """`words` is the header's own length, if it is wrong on purpose."""
    words = 5 + len(options) // 4 if words is None else words
    segment = struct.pack("!HHIIBBHHH", source_port, destination_port, sequence & 0xFFFFFFFF,
                          acknowledgement & 0xFFFFFFFF, words << 4,
                          sum(TCP_FLAGS[f] for f in flags), window, 0, 0) + options + payload
    check = _transport_checksum(source, destination, TCP, segment)
    check ^= 0x1111 if bad_checksum else 0
    return segment[:16] + struct.pack("!H", check) + segment[18:]


def icmpv6(source, destination, kind, code, rest, bad_checksum=False):
    message = struct.pack("!BBH", kind, code, 0) + rest
    check = _transport_checksum(source, destination, ICMPV6, message)
    return message[:2] + struct.pack("!H", check ^ (0x1111 if bad_checksum else 0)) + message[4:]


def icmp(kind, code, rest, bad_checksum=False):
    message = struct.pack("!BBH", kind, code, 0) + rest
    check = checksum(message) ^ (0x1111 if bad_checksum else 0)
    return message[:2] + struct.pack("!H", check) + message[4:]


def ethernet(destination, source, kind, payload, vlan=None):
    """`vlan`: (EtherType of the tag, its 16 bits)."""
    def address(text):
        return bytes.fromhex(text.replace(":", ""))

    tag = struct.pack("!HH", *vlan) if vlan else b""
    return address(destination) + address(source) + tag + struct.pack("!H", kind) + payload


class Tunnel:
    """A TUN (IP packets) or TAP (Ethernet frames) device whose other end is this process."""

    def __init__(self, namespace, name, flags=IFF_TUN):
        with namespace.entered():
            self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
            fcntl.ioctl(self.fd, TUNSETIFF,
                        struct.pack("16sH22x", name.encode(), flags | IFF_NO_PI))
        namespace.ip("link", "set", name, "up")
        self.device = Device(namespace, name)

    def write(self, packet):
        assert os.write(self.fd, packet) == len(packet)

    def read(self):
        """The next packet that the namespace sent through the device, None if there is none."""
        try:
            return os.read(self.fd, 65536)
        except BlockingIOError:
            return None

    def close(self):
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A datapath of Open vSwitch, by generic netlink: linux/openvswitch.h."""

import contextlib
import socket
import struct

_GENERIC, _REQUEST, _ACK, _ERROR = 16, 1, 4, 2
_CONTROL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_NEW, _DELETE, _NAME, _UPCALL = 1, 2, 1, 2
_EXECUTE, _PACKET, _KEY, _ACTIONS = 3, 1, 2, 3
_IN_PORT, _ETHERNET, _ETHERTYPE = 3, 4, 6
_NESTED = 1 << 15


def _attribute(number, value):
    return struct.pack("=HH", 4 + len(value), number) + value + bytes(-len(value) % 4)


def _call(netlink, family, command, version, payload):
    """Send a request; returns the kernel's answer without its headers, empty if it only agreed."""
    body = struct.pack("=BBH", command, version, 0) + payload
    netlink.send(struct.pack("=IHHII", 16 + len(body), family, _REQUEST | _ACK, 1, 0) + body)
    answer = b""
    while True:
        message = netlink.recv(1 << 16)
        while message:
            length, kind = struct.unpack_from("=IH", message)
            if kind == _ERROR:
                error = -struct.unpack_from("=i", message, 16)[0]
                if error:
                    raise OSError(error, f"command {command} of family {family}")
                return answer
            answer = message[20:length]
            message = message[(length + 3) & ~3:]


def _family(netlink, name):
    answer = _call(netlink, _CONTROL, _GET_FAMILY, 1, _attribute(_FAMILY_NAME, name + b"\0"))
    while answer:
        length, kind = struct.unpack_from("=HH", answer)
        if kind == _FAMILY_ID:
            return struct.unpack_from("=H", answer, 4)[0]
        answer = answer[(length + 3) & ~3:]
    raise LookupError(name)


class Datapath:
    """A datapath in the caller's network namespace."""

    def __init__(self, netlink, name):
        self._netlink = netlink
        self._datapaths = _family(netlink, b"ovs_datapath")
        self._packets = _family(netlink, b"ovs_packet")
        _call(netlink, self._datapaths, _NEW, 2,
              bytes(4) + _attribute(_NAME, name.encode() + b"\0") + _attribute(_UPCALL, bytes(4)))
        self._index = struct.pack("=i", socket.if_nametoindex(name))

    def execute(self, frame):
        """Let the datapath execute an empty list of actions for a frame: it drops the frame."""
        key = _attribute(_IN_PORT, bytes(4)) + _attribute(_ETHERNET, frame[:12]) + \
            _attribute(_ETHERTYPE, frame[12:14])
        _call(self._netlink, self._packets, _EXECUTE, 1,
              self._index + _attribute(_PACKET, frame) + _attribute(_KEY | _NESTED, key) +
              _attribute(_ACTIONS | _NESTED, b""))

    def delete(self):
        _call(self._netlink, self._datapaths, _DELETE, 2, self._index)


@contextlib.contextmanager
def datapath(namespace, name):
    with namespace.entered():
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC)
        with netlink:
            netlink.bind((0, 0))
            made = Datapath(netlink, name)
            try:
                yield made
            finally:
                made.delete()

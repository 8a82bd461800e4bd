# SPDX-License-Identifier: GPL-2.0-or-later
"""Offloads of a device, by the ioctl that ethtool uses."""

import array
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
STXCSUM, STSO, SGSO, SGRO = 0x17, 0x1F, 0x24, 0x2C


def switch(device, command, on):
    """Turn one offload (STXCSUM, STSO, SGSO, SGRO) of a lab Device on or off."""
    value = array.array("B", struct.pack("II", command, int(on)))
    address, _ = value.buffer_info()
    request = struct.pack("16sP16x", device.name.encode(), address)
    with device.namespace.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)

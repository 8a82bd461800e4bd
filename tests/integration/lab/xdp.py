# SPDX-License-Identifier: GPL-2.0-or-later
"""XDP programs of a few instructions, AF_XDP sockets, and packet sockets that bypass the queue."""

import contextlib
import ctypes
import os
import platform
import resource
import socket
import struct

from . import kernel

BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
PROG_LOAD, LINK_CREATE = 5, 28
PROG_TYPE_XDP, ATTACH_XDP = 6, 37
FUNC_REDIRECT = 23
ABORTED, DROP, PASS = 0, 1, 2
GENERIC, NATIVE = 1 << 1, 1 << 2  # XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE
AF_XDP, SOL_XDP = 44, 283
XDP_RX_RING, XDP_UMEM_REG, XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING = 2, 4, 5, 6
XDP_COPY = 1 << 1
SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes.ljust(144, b"\0"))
    result = _libc.syscall(BPF, command, buffer, len(buffer))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


def _move(register, value):
    return struct.pack("<BBhi", 0xb7, register, 0, value)


def _load(*instructions):
    """The instructions, then exit."""
    # Before 5.11, the memory of programs counts as locked memory.
    if kernel.release() < (5, 11):
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)
    program = b"".join(instructions) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code, licence = ctypes.create_string_buffer(program), ctypes.create_string_buffer(b"GPL")
    return _bpf(PROG_LOAD, struct.pack("=IIQQ", PROG_TYPE_XDP, len(program) // 8,
                                       ctypes.addressof(code), ctypes.addressof(licence)))


@contextlib.contextmanager
def _attached(program, device, mode):
    try:
        with device.namespace.entered():
            link = _bpf(LINK_CREATE, struct.pack("=IIII", program, device.ifindex, ATTACH_XDP,
                                                 mode))
        try:
            yield
        finally:
            os.close(link)
    finally:
        os.close(program)


def attached(device, action=DROP, mode=NATIVE):
    """A program that returns the action for each packet of a lab Device."""
    return _attached(_load(_move(0, action)), device, mode)


def redirecting(device, to, mode=NATIVE):
    """A program that sends each packet of a lab Device out of another one of its namespace."""
    call = struct.pack("<BBhi", 0x85, 0, 0, FUNC_REDIRECT)
    return _attached(_load(_move(1, to.ifindex), _move(2, 0), call), device, mode)


@contextlib.contextmanager
def bound_socket(device):
    """An AF_XDP socket on queue 0 of a lab Device, in copy mode, with rings of 64 entries."""
    with device.namespace.entered():
        xsk = socket.socket(AF_XDP, socket.SOCK_RAW)
    with xsk:
        area = _libc.mmap
        area.restype, area.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t,
                                                        ctypes.c_int, ctypes.c_int, ctypes.c_int,
                                                        ctypes.c_long)
        umem = area(None, 64 * 4096, 3, 0x22, -1, 0)
        xsk.setsockopt(SOL_XDP, XDP_UMEM_REG, struct.pack("=QQIII4x", umem, 64 * 4096, 4096, 0, 0))
        for ring in (XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING):
            xsk.setsockopt(SOL_XDP, ring, struct.pack("=I", 64))
        name = struct.pack("=HHIII", AF_XDP, XDP_COPY, device.ifindex, 0, 0)
        buffer = ctypes.create_string_buffer(name)
        if _libc.bind(xsk.fileno(), buffer, len(name)) < 0:
            raise OSError(ctypes.get_errno(), "bind")
        yield xsk


@contextlib.contextmanager
def packet_socket(device, bypass=False):
    """A packet socket that only sends; with `bypass`, past the queue of the device."""
    with device.namespace.entered():
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    with tap:
        if bypass:
            tap.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        tap.bind((device.name, 0))
        yield tap

# SPDX-License-Identifier: GPL-2.0-or-later
"""The smallest BPF programs, loaded by bpf(2) itself: each returns one number."""

import ctypes
import os
import resource
import struct

from .. import kernel

PROG_LOAD, PROG_ATTACH, LINK_CREATE = 5, 8, 28
SOCKET_FILTER, XDP, CGROUP_SKB, LWT_IN, LWT_OUT, LWT_XMIT = 1, 6, 8, 10, 11, 12
CGROUP_INGRESS, CGROUP_EGRESS, ATTACH_XDP = 0, 1, 37
XDP_ABORTED, XDP_DROP = 0, 1
XDP_GENERIC, XDP_NATIVE = 2, 4  # XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE
_libc = ctypes.CDLL(None, use_errno=True)
_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]


def _bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = _libc.syscall(_BPF, command, buffer, 128)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"bpf({command}): {os.strerror(error)}")
    return result


class Program:
    """`r0 = result; exit`"""

    def __init__(self, kind, result, expected=0):
        # Before 5.11 the kernel charges BPF memory to this limit.
        if kernel.release() < (5, 11):
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)
        code = ctypes.create_string_buffer(struct.pack("<BBhi", 0xB7, 0, 0, result) +
                                           struct.pack("<BBhi", 0x95, 0, 0, 0))
        licence = ctypes.create_string_buffer(b"GPL")
        self.links = []
        # union bpf_attr: type, instructions, where they and the licence are, no log, version,
        # flags, name, ifindex, attach type.
        self.fd = _bpf(PROG_LOAD, struct.pack(
            "=IIQQIIQII16sII", kind, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0,
            0, 0, b"nft_death", 0, expected))

    def attach(self, target, kind, flags=0):
        """By a link, which ends with this object."""
        self.links.append(_bpf(LINK_CREATE, struct.pack("=IIII", self.fd, target, kind, flags)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in (*self.links, self.fd):
            os.close(fd)


def xdp(scene, device, result=XDP_DROP, mode=XDP_GENERIC):
    """An XDP program on a lab Device."""
    program = scene.keep(Program(XDP, result, ATTACH_XDP))
    with device.namespace.entered():
        program.attach(device.ifindex, ATTACH_XDP, mode)
    return program

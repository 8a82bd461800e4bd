# SPDX-License-Identifier: GPL-2.0-or-later
"""Drop reasons from the type information (BTF) of kernels: the running one, and those that
tests/vm has fetched."""

import contextlib
import json
import lzma
import pathlib
import subprocess
import tempfile

import pytest

from . import paths

RUNNING = pathlib.Path("/sys/kernel/btf/vmlinux")
MODULES = ("mac80211", "openvswitch")
# Enumerators that are not reasons: the ends of the enums, and values that receive functions of
# mac80211 return instead of a reason.
_NO_REASON = {"MAX", "SUBSYS_MASK", "OVS_DROP_MAX", "__OVS_DROP_REASON", "RX_CONTINUE",
              "RX_QUEUED", "QDISC_DROP_UNSPEC", "QDISC_DROP_MAX", "__QDISC_DROP_REASON"}
_XZ, _ZSTD = b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"


def fetched_kernels():
    """{release: image} of the kernels that tests/vm has fetched.  Debian keeps the image in /boot;
    since 7.2, beside the modules."""
    root = paths.TREE / "build" / "vm"
    return {image.name.removeprefix("vmlinuz-"): image
            for image in sorted(root.glob("*/root/boot/vmlinuz-*"))} | \
        {image.parent.name: image for image in sorted(root.glob("*/root/lib/modules/*/vmlinuz"))}


# A test of each of them.
FETCHED = pytest.mark.parametrize("release", sorted(fetched_kernels()) or [pytest.param(
    "none", marks=pytest.mark.skip(reason="build/vm has no kernel; tests/vm/run fetches them"))])


def running():
    """{(subsystem, reason), …} of the running kernel and its loaded modules."""
    modules = [RUNNING.parent / name for name in MODULES]
    return _reasons(RUNNING, [module for module in modules if module.exists()])


def of_release(release):
    """{(subsystem, reason), …} of a fetched kernel and its modules."""
    image = fetched_kernels()[release]
    directory = next((paths.TREE / "build" / "vm").glob(f"*/root/lib/modules/{release}"))
    with tempfile.TemporaryDirectory() as temporary:
        kernel = unpacked(image, pathlib.Path(temporary) / "vmlinux")
        modules = [unpacked(found, pathlib.Path(temporary) / name)
                   for name in MODULES for found in sorted(directory.rglob(f"{name}.ko*"))]
        return _reasons(kernel, modules)


def _reasons(kernel, modules):
    enums = _enums(kernel)
    if "skb_drop_reason" not in enums:
        return set()
    subsystems = {number: name.removeprefix("SKB_DROP_REASON_SUBSYS_").lower()
                  for name, number in enums.get("skb_drop_reason_subsys", {}).items()}
    subsystems[0] = "core"
    for module in modules:
        enums.update(_enums(module, kernel))
    return {(subsystems[number >> 16], short)
            for enum, values in enums.items()
            if "drop_reason" in enum and enum != "skb_drop_reason_subsys"
            for name, number in values.items()
            for short in [_short(name)] if short not in _NO_REASON}


def _short(name):
    """Shortens an enumerator in the same way as daemon/core/names.c."""
    name = name.removeprefix("___")
    short = name.removeprefix("SKB_DROP_REASON_")
    return short if short != name else name.removeprefix("SKB_")


def _enums(file, base=None):
    """{enum: {name: number}} of the enums of drop reasons and of their subsystems."""
    command = ["bpftool", *(("-B", base) if base else ()), "-j", "btf", "dump", "file", file]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return {entry["name"]: {value["name"]: value["val"] & 0xffffffff for value in entry["values"]}
            for entry in json.loads(out)["types"]
            if entry["kind"] == "ENUM" and "drop_reason" in str(entry["name"])}


def unpacked(file, target):
    """The ELF file in a kernel image, or in a module that may be compressed."""
    data = file.read_bytes()
    for start, unpack in _streams(data):
        with contextlib.suppress(lzma.LZMAError):
            plain = unpack(data[start:])
            if plain.startswith(b"\x7fELF"):
                target.write_bytes(plain)
                return target
    if data.startswith(b"\x7fELF"):
        target.write_bytes(data)
        return target
    raise ValueError(f"{file}: contains no ELF file that xz or zstd can unpack")


def _streams(data):
    for magic, unpack in ((_XZ, _xz), (_ZSTD, _zstd)):
        start = data.find(magic)
        while start >= 0:
            yield start, unpack
            start = data.find(magic, start + 1)


def _xz(data):
    return lzma.LZMADecompressor().decompress(data)


def _zstd(data):
    """zstd reports the data behind the stream as an error; kernel images always have such data."""
    return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout

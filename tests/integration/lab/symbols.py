# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of functions in kernels: the running one, and those that tests/vm has fetched.

Debian's packages have no System.map, so the names come from the table that the kernel itself
contains for /proc/kallsyms (scripts/kallsyms.c), and for modules from their ELF files.
"""

import array
import functools
import pathlib
import re
import struct
import tempfile

from . import btf, paths

# The tokens of "0" to "9" are characters themselves, at their place in the table of 256 tokens.
_DIGITS = b"".join(b"%d\0" % digit for digit in range(10))
_TOKENS, _BEFORE_DIGITS = 256, ord("0")
_BLOCK = 256  # the table of markers has the position of every 256th name
_MARKERS_APART = range(500, 20000)  # bytes of 256 names, and so the difference of two markers
_ENOUGH_MARKERS = 200
# Directories of modules in which places are.
_MODULES = ("kernel/net/**/*.ko*", "kernel/drivers/net/**/*.ko*", "kernel/drivers/vhost/*.ko*",
            "kernel/drivers/infiniband/ulp/ipoib/*.ko*")


@functools.cache
def running():
    """The names in /proc/kallsyms, without a compiler's suffixes."""
    lines = pathlib.Path("/proc/kallsyms").read_text().splitlines()
    return {_bare(line.split()[2]) for line in lines}


@functools.cache
def of_image(release):
    """The names in the image of a fetched kernel."""
    with tempfile.TemporaryDirectory() as temporary:
        image = btf.unpacked(btf.fetched_kernels()[release], pathlib.Path(temporary) / "vmlinux")
        return {_bare(name[1:]) for name in _kallsyms(image.read_bytes())}


@functools.cache
def of_modules(release):
    """The names in the network modules of a fetched kernel."""
    root = next((paths.TREE / "build" / "vm").glob(f"*/root/lib/modules/{release}"))
    names = set()
    with tempfile.TemporaryDirectory() as temporary:
        for pattern in _MODULES:
            for file in root.glob(pattern):
                module = btf.unpacked(file, pathlib.Path(temporary) / "module").read_bytes()
                names |= {_bare(name) for name in _strings(module)}
    return names


def _bare(name):
    """A name without .isra.0, .cold and the like."""
    return name.partition(".")[0]


def _strings(elf):
    """The names of all symbols of an ELF file (64 bits, of this byte order)."""
    at, = struct.unpack_from("=Q", elf, 0x28)
    size, count = struct.unpack_from("=HH", elf, 0x3a)
    sections = [struct.unpack_from("=IIQQQQII", elf, at + size * n) for n in range(count)]
    for _, kind, _, _, start, length, link, _ in sections:
        if kind == 2:  # SHT_SYMTAB
            for symbol in range(start, start + length, 24):
                name = sections[link][4] + struct.unpack_from("=I", elf, symbol)[0]
                yield elf[name:elf.index(b"\0", name)].decode("latin1")


def _kallsyms(kernel):
    """The names in the kernel's table, each after the letter of its type."""
    start, tokens = _token_table(kernel)
    markers, positions = _markers(kernel, start)
    blocks = len(positions)
    # The number of names precedes them, aligned to 4 or 8 bytes.
    for at in range(markers - positions[-1] - _BLOCK * 200 & ~3, markers - positions[-1], 4):
        count, = struct.unpack_from("=I", kernel, at)
        if (count + _BLOCK - 1) // _BLOCK == blocks:
            for names in (at + 4, at + 8):
                found = _names(kernel, names, count, tokens, positions)
                if found:
                    return found
    raise ValueError("no names of symbols in this kernel")


def _token_table(kernel):
    """The position of kallsyms_token_table, and its 256 tokens."""
    for match in re.finditer(re.escape(_DIGITS), kernel):
        start = match.start() - 1
        for _ in range(_BEFORE_DIGITS):
            start = kernel.rindex(b"\0", 0, start)
        tokens = kernel[start + 1:start + 1 + _TOKENS * 64].split(b"\0")[:_TOKENS]
        offsets, position = [], 0
        for token in tokens:
            offsets.append(position)
            position += len(token) + 1
        # kallsyms_token_index follows: the offset of each token.
        index = struct.pack(f"={_TOKENS}H", *(offset & 0xffff for offset in offsets))
        if 0 <= kernel[start + position:start + position + 64 + len(index)].find(index):
            return start + 1, [token.decode("latin1") for token in tokens]
    raise ValueError("no table of tokens in this kernel")


def _markers(kernel, end):
    """The last kallsyms_markers before `end`: its position and its values."""
    base = (end - (4 << 20)) & ~3
    words = array.array("I", kernel[base:end & ~3])
    for first in range(len(words) - _ENOUGH_MARKERS - 1, 0, -1):
        if words[first] == 0 and all(words[n + 1] - words[n] in _MARKERS_APART
                                     for n in range(first, first + _ENOUGH_MARKERS)):
            last = first
            while last + 1 < len(words) and words[last + 1] - words[last] in _MARKERS_APART:
                last += 1
            return base + 4 * first, list(words[first:last + 1])
    raise ValueError("no markers of names in this kernel")


def _names(kernel, start, count, tokens, positions):
    """The `count` names at `start`, or an empty list if the markers do not fit."""
    names, at = [], start
    for number in range(count):
        if number % _BLOCK == 0 and at - start != positions[number // _BLOCK]:
            return []
        length = kernel[at]
        if length & 0x80:
            at += 1
            length = length & 0x7f | kernel[at] << 7
        names.append("".join(tokens[byte] for byte in kernel[at + 1:at + 1 + length]))
        at += 1 + length
    return names

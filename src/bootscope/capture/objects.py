# SPDX-License-Identifier: Apache-2.0
"""What is kept of a build with every run that booted it, so that its recordings stay readable.

The names are keys of `SystemFacts.symbols`; older recordings have fewer of them.
"""

from __future__ import annotations

import gzip

import msgspec

from bootscope.loaders import registry as loaders

KERNEL_SYMBOLS, DECOMPRESSOR_SYMBOLS = "kernel", "decompressor"
SYMBOL_TABLES = (KERNEL_SYMBOLS, DECOMPRESSOR_SYMBOLS, *(program.symbols for program in loaders.PROGRAMS))
KERNEL = "kernel-program"
PROGRAMS, SCRIPTS, BLOCKS = "user-programs", "scripts", "rootfs-blocks"
INITCALLS = "initcall-levels"
ROOT_CONTENTS, UNITS = "rootfs-contents", "rootfs-units"
KERNEL_OBJECTS, KERNEL_CONFIG = "kernel-objects", "kernel-config"
OBJECTS_OF = {
    "kernel": KERNEL_OBJECTS,
    **{found.tree: found.objects for found in loaders.LOADERS.values()},
    "busybox": "busybox-objects",
}
CONFIG_OF = {
    "kernel": KERNEL_CONFIG,
    **{found.tree: found.config for found in loaders.LOADERS.values()},
    "busybox": "busybox-config",
}
"""Tree -> what is kept of how its program was linked, and configured."""
PIECES = {program.symbols: program.pieces for program in loaders.PROGRAMS if program.pieces}
"""Table of symbols -> what it is put together from where the program is not at one place."""

_WORTH_PACKING_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


class Program(msgspec.Struct, frozen=True):
    """A program or library: where its file's code goes in memory, and its functions.

    `segments` are (offset in the file, address, bytes) of what is mapped executable; `functions` are
    (address, bytes or 0 where unknown, name), by address.
    """

    segments: list[tuple[int, int, int]]
    functions: list[tuple[int, int, str]]

    def linked(self, offset: int) -> int | None:
        """The address at which what lies at an offset of the file was linked; None where nothing was."""
        found = (offset - at + address for at, address, size in self.segments if at <= offset < at + size)
        return next(found, None)


class Piece(msgspec.Struct, frozen=True):
    """A part of a boot loader that is put somewhere while it runs, in one piece.

    `size`: the bytes that it takes there. `functions` are (bytes from its beginning, bytes, name), in order.
    """

    name: str
    size: int
    functions: list[tuple[int, int, str]]


class Told(msgspec.Struct, frozen=True):
    """A function that is told of a piece that has its place: `address` of the function, and where the piece's
    name (a text), place and size (integers of 32 bits) are as it begins, as the plugin's watch file has it.
    `only`: of a function that is told of much else, the name that counts."""

    address: int
    name: str
    place: str
    size: str
    only: str = ""


class Pieces(msgspec.Struct, frozen=True):
    """The functions of a program of a boot loader: those that lie where they were linked, as (address, bytes,
    name) in order, and those in pieces of which `told` is told."""

    functions: list[tuple[int, int, str]]
    pieces: list[Piece] = []
    told: Told | None = None


def packed(data: bytes) -> bytes:
    """`data` as it is kept: compressed when it is large, the same bytes for the same data."""
    if len(data) < _WORTH_PACKING_BYTES or data[:2] == _GZIP:
        return data
    return gzip.compress(data, 6, mtime=0)


def unpacked(data: bytes) -> bytes:
    """The reverse of :func:`packed`; also opens what was compressed before it was kept."""
    return gzip.decompress(data) if data[:2] == _GZIP else data

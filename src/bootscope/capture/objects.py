# SPDX-License-Identifier: Apache-2.0
"""The parts of a build that are kept with every run that booted it, so that its recordings stay readable.

The names are keys of `SystemFacts.symbols`; older recordings have fewer of them.
"""

from __future__ import annotations

import gzip

import msgspec

from bootscope.capture.packing import LARGEST_BYTES, gunzipped
from bootscope.core.errors import ToolError
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
"""Tree -> the kept records of how its program was linked, and configured."""
PIECES = {program.symbols: program.pieces for program in loaders.PROGRAMS if program.pieces}
"""Symbol table -> the pieces from which it is assembled, if the program is not in one place."""

_WORTH_PACKING_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


class Program(msgspec.Struct, frozen=True):
    """A program or library: the addresses of its code in memory, and its functions.

    `segments` are (offset in the file, address, bytes) of executable mappings; `functions` are (address,
    bytes or 0 if unknown, name), by address.
    """

    segments: list[tuple[int, int, int]]
    functions: list[tuple[int, int, str]]

    def linked(self, offset: int) -> int | None:
        """The link address of an offset of the file; None if nothing was linked there."""
        found = (offset - at + address for at, address, size in self.segments if at <= offset < at + size)
        return next(found, None)


class Piece(msgspec.Struct, frozen=True):
    """A part of a boot loader that is placed somewhere at run time, in one piece.

    `size`: its bytes there. `functions` are (bytes from its beginning, bytes, name), in order.
    """

    name: str
    size: int
    functions: list[tuple[int, int, str]]


class Told(msgspec.Struct, frozen=True):
    """A function that is called once a piece is in place: `address` of the function, and where at its entry
    the piece's name (a text), address and size (32-bit integers) are found, in the syntax of the plugin's
    watch file. `only`: if the function is called for much else, the name that counts."""

    address: int
    name: str
    place: str
    size: str
    only: str = ""


class Pieces(msgspec.Struct, frozen=True):
    """The functions of a boot loader program: those at their link addresses, as (address, bytes, name) in
    order, and those in pieces, whose places `told` reports."""

    functions: list[tuple[int, int, str]]
    pieces: list[Piece] = []
    told: Told | None = None


def packed(data: bytes) -> bytes:
    """`data` as it is kept: compressed if large; the same bytes for the same data."""
    if len(data) < _WORTH_PACKING_BYTES or data[:2] == _GZIP:
        return data
    return gzip.compress(data, 6, mtime=0)


def unpacked(data: bytes, most_bytes: int = LARGEST_BYTES) -> bytes:
    """The reverse of :func:`packed`; also unpacks what was compressed before it was kept.

    Raises ToolError if it is damaged, or larger than `most_bytes`: runs may come from other computers.
    """
    if data[:2] != _GZIP:
        return data
    plain = gunzipped(data, most_bytes)
    if plain is None:
        raise ToolError(f"a kept part of a build is damaged, or unpacks to more than {most_bytes >> 20} MB")
    return plain

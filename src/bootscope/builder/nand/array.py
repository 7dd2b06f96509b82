# SPDX-License-Identifier: Apache-2.0
"""The array of a chip as a file that the emulator loads: an ELF file with a segment for each run of pages.

In memory the array is inverted: erased bytes are zeros, like unused memory. So the file only has the
programmed pages, and an erased chip takes no memory.
"""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from bootscope.builder.nand import hamming
from bootscope.system.nand import Nand

_INVERTED = bytes(255 - value for value in range(256))
_EM_ARM, _LOAD, _READ_WRITE = 40, 1, 6
_HEADER, _SEGMENT = "<16sHHIIIIIHHHHHH", "<IIIIIIII"
MARK = 0
"""What the factory programs into the first spare byte of the first pages of a bad block."""
_MARKED_PAGES = 2


def programmed(nand: Nand, blocks: Mapping[int, bytes]) -> dict[int, bytes]:
    """The raw pages of a chip with these blocks' data, whose other blocks are erased or bad: row -> bytes."""
    rows: dict[int, bytes] = {}
    for block, data in blocks.items():
        for number in range(-(-len(data) // nand.page_bytes)):
            page = data[number * nand.page_bytes : (number + 1) * nand.page_bytes]
            page = page.ljust(nand.page_bytes, b"\xff")
            if page.strip(b"\xff"):
                rows[block * nand.pages + number] = page + hamming.spare(page, nand.spare_bytes)
    for block in nand.bad_blocks:
        for number in range(_MARKED_PAGES):
            marked = bytes((MARK,)).ljust(nand.spare_bytes, b"\xff")
            rows[block * nand.pages + number] = b"\xff" * nand.page_bytes + marked
    for block, number, bit in nand.flipped_bits:
        row = block * nand.pages + number
        worn = bytearray(rows.get(row, b"\xff" * nand.raw_page_bytes))
        worn[bit // 8] ^= 1 << bit % 8
        rows[row] = bytes(worn)
    return rows


def write(nand: Nand, rows: Mapping[int, bytes], path: Path) -> None:
    """Writes the file. `rows`: raw pages that are not erased."""
    runs = list(_runs(sorted(rows)))
    first = struct.calcsize(_HEADER)
    at, heads = first + len(runs) * struct.calcsize(_SEGMENT), list[bytes]()
    for row, count in runs:
        place, size = nand.address + row * nand.raw_page_bytes, count * nand.raw_page_bytes
        heads.append(struct.pack(_SEGMENT, _LOAD, at, place, place, size, size, _READ_WRITE, 1))
        at += size
    name = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    sizes = (first, struct.calcsize(_SEGMENT), len(runs), 0, 0, 0)
    with path.open("wb") as f:
        f.write(struct.pack(_HEADER, name, 2, _EM_ARM, 1, 0, first, 0, 0, *sizes))
        f.writelines(heads)
        f.writelines(rows[row].translate(_INVERTED) for row in sorted(rows))


def read_memory(nand: Nand, memory: Path, start: int) -> dict[int, bytes]:
    """The raw pages that are not erased, from a file with a machine's memory from `start` on."""
    begin, found = nand.address - start, dict[int, bytes]()
    with memory.open("rb") as f:
        for low, high in _filled(f.fileno(), begin, begin + nand.array_bytes):
            first = (low - begin) // nand.raw_page_bytes
            last = -(-(high - begin) // nand.raw_page_bytes)
            f.seek(begin + first * nand.raw_page_bytes)
            for row in range(first, last):
                data = f.read(nand.raw_page_bytes)
                if data.strip(b"\0"):
                    found[row] = data.translate(_INVERTED)
    return found


def _filled(file: int, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a sparse file in a range that are not holes."""
    at = begin
    while at < end:
        try:
            low = os.lseek(file, at, os.SEEK_DATA)
        except OSError:
            return  # No data follows.
        if low >= end:
            return
        at = os.lseek(file, low, os.SEEK_HOLE)
        yield low, min(at, end)


def _runs(rows: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of consecutive rows: (first, number)."""
    for _, group in itertools.groupby(enumerate(rows), lambda pair: pair[1] - pair[0]):
        run = [row for _, row in group]
        yield run[0], len(run)

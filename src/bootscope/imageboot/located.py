# SPDX-License-Identifier: Apache-2.0
"""Where a file is on a card, whatever the file system: found by its content."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from bootscope.capture.record import Extent
from bootscope.devices.model import SECTOR_BYTES

_PIECE, _MOST_RUNS, _SAMPLE = 4096, 200, 4096


def extents(name: str, data: bytes, disk: Path) -> tuple[Extent, ...]:
    """The extents of a disk that hold some data, called `name`; none where the data are not found unchanged.

    Zeros are skipped: they occur everywhere.
    """
    if len(data) < _PIECE or not disk.stat().st_size:
        return ()
    with disk.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as whole:
        return tuple(
            Extent(name=name, sector=at // SECTOR_BYTES, sectors=-(-count // SECTOR_BYTES))
            for at, count in _runs(data, whole)
        )


def _runs(data: bytes, whole: mmap.mmap) -> Iterator[tuple[int, int]]:
    """(offset on the disk, bytes) of consecutive pieces of the data."""
    at = place = 0
    for _ in range(_MOST_RUNS):
        while at < len(data) and not data[at : at + _PIECE].strip(b"\0"):
            at += _PIECE
        if at >= len(data):
            return
        place = _found(data[at : at + _SAMPLE], whole, place)
        if place < 0:
            return
        count = _same(data, at, whole, place)
        yield place, count
        at, place = at + count, place + count


def _found(sample: bytes, whole: mmap.mmap, place: int) -> int:
    """The sector-aligned offset of a sample: from a place on, or else anywhere; -1 if it is not found."""
    for start in (place, 0):
        found = whole.find(sample, start)
        while found >= 0 and found % SECTOR_BYTES:
            found = whole.find(sample, found + 1)
        if found >= 0:
            return found
    return -1


def _same(data: bytes, at: int, whole: mmap.mmap, place: int) -> int:
    """How many bytes are equal, in whole pieces."""
    count = 0
    while at + count < len(data):
        part = data[at + count : at + count + _PIECE]
        if whole[place + count : place + count + len(part)] != part:
            break
        count += len(part)
    return count

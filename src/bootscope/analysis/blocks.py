# SPDX-License-Identifier: Apache-2.0
"""What sectors of the card hold: an image, a file by name, or a file system's own data."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bootscope.capture.record import Extent

ROOT_PARTITION = "root file system"
UNKNOWN = "space outside partitions"
_LINE = re.compile(r"^([0-9]{1,15})\t([0-9]{1,15})\t([^\t\n]*)(?:\t([0-9]{1,15}))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of sectors and what it holds; `file_sector` is where in its file the run begins."""

    sector: int
    sectors: int
    name: str
    file_sector: int = 0


class BlockMap:
    """Names for every sector. The smallest piece that holds a sector names it."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        """Smaller pieces hide larger ones; of two of equal size the later one shows."""
        flat = list(_flatten(list(pieces)))
        self._starts = [start for start, _ in flat]
        self._pieces = [piece for _, piece in flat]

    @classmethod
    def make(cls, extents: Iterable[Extent], root: str) -> BlockMap:
        """From the extents of the card and the text of the root file system's block map.

        Lines of the map that do not parse are skipped, and all of them if the card has no root file system.
        """
        known = list(extents)
        pieces = [Piece(e.sector, e.sectors, e.name) for e in known]
        for base in [e.sector for e in known if e.name == ROOT_PARTITION][:1]:
            for match in _LINE.finditer(root):
                first, count, name, at = match.groups()
                pieces.append(Piece(base + int(first), int(count), name, int(at or 0)))
        return cls(pieces)

    def split(self, sector: int, sectors: int) -> Iterator[Piece]:
        """The pieces of a run of sectors, in order."""
        at, end = sector, sector + sectors
        index = bisect_right(self._starts, at) - 1
        while at < end:
            upto = self._starts[index + 1] if index + 1 < len(self._starts) else end
            piece = self._pieces[index] if index >= 0 else _NOTHING
            stop = min(end, max(upto, at))
            if stop > at:
                yield Piece(at, stop - at, piece.name, piece.file_sector + at - piece.sector)
            at, index = stop, index + 1


_NOTHING = Piece(0, 0, UNKNOWN)


def _flatten(pieces: list[Piece]) -> Iterator[tuple[int, Piece]]:
    """(start, piece) of stretches that do not overlap, in order; the smallest piece wins."""
    edges = sorted({p.sector for p in pieces} | {p.sector + p.sectors for p in pieces})
    # Larger ones first, so that smaller ones overwrite them.
    starts = {edge: i for i, edge in enumerate(edges)}
    found = [_NOTHING] * len(edges)
    for piece in sorted(pieces, key=lambda p: -p.sectors):
        for i in range(starts[piece.sector], starts[piece.sector + piece.sectors]):
            found[i] = piece
    last = None
    for edge, piece in zip(edges, found, strict=True):
        if piece is not last:
            yield edge, piece
            last = piece

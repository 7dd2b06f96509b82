# SPDX-License-Identifier: Apache-2.0
"""What a program was linked from: the places of its object files, from the map that GNU ld writes.

Stored as text, one piece a line: address and size in hexadecimal, section, object file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

OBJECTS = "objects.txt"
"""The name of that text in the result of a step."""

# The address of a piece is on the next line when the name of its section is long.
_PIECE = re.compile(
    r"^ (?P<section>\S+)\s+0x(?P<address>[0-9a-f]+)\s+0x(?P<size>[0-9a-f]+) (?P<object>\S.*)$", re.M
)
_KEPT = re.compile(r"^([0-9a-f]{1,16}) ([0-9a-f]{1,16}) (\S+) (\S.*)$", re.M)
_NOT_LOADED = (".comment", ".debug", ".ARM.attributes", ".stab", ".note.GNU")
_BEGIN = "Linker script and memory map"
_MEMBER = re.compile(r"(?P<folder>.*/)?[^/]*\.a\((?P<member>[^()]+)\)$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A section of an object file in a linked program."""

    address: int
    size: int
    section: str
    object: str


def pieces(text: str) -> Iterator[Piece]:
    """The pieces of a link map that take memory, in the order of the map."""
    _, _, body = text.partition(_BEGIN)
    for match in _PIECE.finditer(body):
        address, size = int(match["address"], 16), int(match["size"], 16)
        if address and size and not match["section"].startswith(_NOT_LOADED):
            yield Piece(address, size, match["section"], _object(match["object"]))


def _object(name: str) -> str:
    """The path of an object file; members of an archive get the archive's folder."""
    match = _MEMBER.match(name)
    return f"{match['folder'] or ''}{match['member']}" if match else name


def write(found: Iterable[Piece], path: Path) -> None:
    """Stores pieces as text, sorted by address."""
    ordered = sorted(found, key=lambda p: (p.address, p.object))
    path.write_text("".join(f"{p.address:x} {p.size:x} {p.section} {p.object}\n" for p in ordered))


def read(text: str) -> list[Piece]:
    """The reverse of :func:`write`; invalid lines are skipped."""
    return [Piece(int(m[1], 16), int(m[2], 16), m[3], m[4]) for m in _KEPT.finditer(text)]


class Objects:
    """The object files of one program, found by address."""

    def __init__(self, found: Iterable[Piece]) -> None:
        self.pieces = sorted(found, key=lambda p: p.address)
        self._starts = [p.address for p in self.pieces]

    def at(self, address: int) -> Piece | None:
        """The piece that holds `address`."""
        piece = self.pieces[max(0, bisect_right(self._starts, address) - 1)] if self.pieces else None
        return piece if piece and piece.address <= address < piece.address + piece.size else None

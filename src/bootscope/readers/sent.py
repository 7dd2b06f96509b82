# SPDX-License-Identifier: Apache-2.0
"""Files that bootscope's collector sent over the console, found in a log of that console.

    bootscope-agent: begin 1 NAME
    @bs 0 BASE64 CRC
    ...
    bootscope-agent: end LINES BYTES CRC

Each line has its number and the CRC32 of number and text, so lines of others in between do no harm, nor
do the stamps that a logger puts before a line. A line that somebody has printed into is put together
again where its checksum tells that this is right. What is still missing makes the file useless from there
on, as it is packed: it is cut there, and that is said.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from dataclasses import dataclass, field

from bootscope.readers.base import Repair

MOST_LINES = 1 << 20
_BEGIN = re.compile(rb"bootscope-agent: begin 1 ([A-Za-z0-9._-]{1,64})")
_END = re.compile(rb"bootscope-agent: end (\d{1,7}) (\d{1,9}) ([0-9a-f]{8})")
_LINE = re.compile(rb"@bs ((\d{1,7}) ([A-Za-z0-9+/]{2,72}={0,2})) ([0-9a-f]{8})")
_TORN = re.compile(rb"@bs (\d{1,7}) ")
_PIECE = re.compile(rb"[A-Za-z0-9+/= ]{1,90}")
_REACH = 4
"""Lines after a torn one in which the rest of it is looked for."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that came over the console, `data` as far as it is whole."""

    name: str
    data: bytes
    repairs: list[Repair]


@dataclass(slots=True)
class _Coming:
    """A file of which lines are still coming."""

    name: str
    first_line: int
    parts: dict[int, bytes] = field(default_factory=dict)
    mended: int = 0
    whole: tuple[int, int, int] | None = None
    """Lines, bytes and CRC32 that the end tells."""

    def sent(self) -> Sent:
        repairs: list[Repair] = []
        if self.mended:
            repairs.append(Repair("split lines of a sent file joined", self.mended, self.first_line))
        data = bytearray()
        number = 0
        while number in self.parts:
            data += self.parts[number]
            number += 1
        lines = self.whole[0] if self.whole else max(self.parts, default=-1) + 1
        missing = lines - sum(1 for known in self.parts if known < lines)
        if missing > 0:
            repairs.append(
                Repair("lines of a sent file are missing: truncated there", missing, self.first_line)
            )
        elif self.whole is None:
            repairs.append(Repair("a sent file is truncated: read up to there", 1, self.first_line))
        elif (len(data), zlib.crc32(data)) != self.whole[1:]:
            repairs.append(Repair("the checksum of a sent file is wrong", 1, self.first_line))
        return Sent(self.name, bytes(data), repairs)


def is_there(data: bytes) -> bool:
    """Whether a file was sent in this log; quick."""
    return b"bootscope-agent: begin 1 " in data


def sent_files(data: bytes) -> tuple[list[Sent], bytes]:
    """The files sent in a console log, and the log with the lines of these emptied.

    The lines stay, empty, so that numbers of lines are those of the log as it was.
    """
    lines = data.split(b"\n")
    files: list[_Coming] = []
    rest: list[bytes] = []
    for index, line in enumerate(lines):
        if begin := _BEGIN.search(line):
            files.append(_Coming(begin[1].decode("ascii"), index + 1))
        coming = files[-1] if files and files[-1].whole is None else None
        if coming is not None and b"@bs " in line and len(coming.parts) < MOST_LINES:
            _take(coming, lines, index)
            rest.append(b"\r" if line.endswith(b"\r") else b"")
            continue
        if coming is not None and (end := _END.search(line)):
            coming.whole = (int(end[1]), int(end[2]), int(end[3], 16))
        rest.append(line)
    return [f.sent() for f in files], b"\n".join(rest)


def _take(coming: _Coming, lines: list[bytes], index: int) -> None:
    good = False
    for match in _LINE.finditer(lines[index]):
        part = _decoded(match[1], match[3], match[4])
        if part is not None:
            coming.parts.setdefault(int(match[2]), part)
            good = True
    torn = None if good else _TORN.search(lines[index])
    if torn is None or int(torn[1]) in coming.parts:
        return
    part = _mended(torn[1], lines[index][torn.end() :], lines[index + 1 : index + 1 + _REACH])
    if part is not None:
        coming.parts[int(torn[1])] = part
        coming.mended += 1


def _decoded(checked: bytes, text: bytes, crc: bytes) -> bytes | None:
    """The bytes of a line; None when its checksum is wrong."""
    if zlib.crc32(checked) != int(crc, 16):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None


def _mended(number: bytes, rest: bytes, after: list[bytes]) -> bytes | None:
    """A line into which somebody has printed: its beginning, text of others, and its end on a later line,
    or on the same one. Every way to put it together is tried until the checksum fits."""
    beginning = _PIECE.match(rest)
    start = beginning[0] if beginning else b""
    for line in (rest[len(start) :], *after):
        end = line.rstrip(b"\r ")
        for cut in range(max(0, len(end) - 90), len(end) + 1):
            for take in range(len(start), max(-1, len(start) - 2), -1):
                match = _LINE.fullmatch(b"@bs " + number + b" " + start[:take] + end[cut:])
                if match and (part := _decoded(match[1], match[3], match[4])) is not None:
                    return part
    return None

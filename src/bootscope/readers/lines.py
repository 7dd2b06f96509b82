# SPDX-License-Identifier: Apache-2.0
"""Bytes that came over a serial line, or through an editor, as clean lines.

What is mended is told as :class:`~bootscope.readers.base.Repair`: mixed line ends, terminal escape
codes, NUL bytes, wrong encodings, a file that is the same text several times over, a last line that
breaks off. Nothing else of the text is changed.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from bootscope.readers.base import Repair

K = TypeVar("K", bound=bytes | str | int | tuple[object, ...])
V = TypeVar("V")
# CSI; OSC and DCS strings; charset choices; two-byte escapes. No part reaches past the next ESC or line
# end, so that the search is linear in the length of any input.
_ESCAPE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\a-z=>])"
)
# The same as a program shows it that makes control characters visible: colours, and where the cursor goes.
_SHOWN_ESCAPE = re.compile(rb"\^\[\[[0-9;?]{0,16}[mKJHhl]")
# The same colours where the control character itself was lost on the way: only in pairs, on and off again.
_LOST_ESCAPE = re.compile(rb"\[[01](?:;\d{1,3}){1,3}m([^\n\[\x1b]{0,120})\[0?m")
_LINE = re.compile(rb"[^\n]*\n")
# A block repeated this short may be a habit of the board; longer, it is a file joined to itself.
_REPEAT_MIN_BYTES = 512
_REPEAT_MIN_LINES = 10
_REPEAT_TRIES = 8


@dataclass(frozen=True)
class Lines:
    """Lines ready to be read: `blob` holds them all, each ended by one ``\\n``.

    Made by :func:`split`. Regular expressions may run over `blob` as a whole (flag ``re.M``);
    `starts` lead back to lines.
    """

    blob: bytes
    repairs: list[Repair] = field(default_factory=list)

    @cached_property
    def starts(self) -> array[int]:
        """Offset in `blob` of each line."""
        return array("q", (m.start() for m in _LINE.finditer(self.blob)))

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[str]:
        for match in _LINE.finditer(self.blob):
            yield decode(match[0][:-1])

    def raw(self, index: int) -> bytes:
        """The bytes of a line (from 0), without its end."""
        start = self.starts[index]
        return self.blob[start : self.blob.index(b"\n", start)]

    def text(self, index: int) -> str:
        """A line (from 0) as text. Untrusted: escape before showing."""
        return decode(self.raw(index))


class Memo(dict[K, V]):
    """What `make` makes of bytes or text that comes again and again (names of functions, stamps), each made
    once. What `make` raises is raised each time."""

    def __init__(self, make: Callable[[K], V], most: int = 100_000) -> None:
        """`most` are kept: with one more, all are forgotten."""
        super().__init__()
        self._make, self._most = make, most

    def __missing__(self, raw: K) -> V:
        if len(self) > self._most:
            self.clear()
        found = self[raw] = self._make(raw)
        return found


def decode(raw: bytes) -> str:
    """Text of bytes that ought to be UTF-8; bytes that are not show as ``\\xNN``."""
    return raw.decode("utf-8", "backslashreplace")


def split(data: bytes, *, once: bool = True) -> Lines:
    """Cuts `data` into clean lines. Takes any bytes and never raises.

    A file that is one text several times over is read once; not so without `once`, for formats in which
    repetition says something (samples of a steady signal).

    Carriage returns beside a line feed vanish; alone inside a line they stay, since a progress display
    is one line. In a file that has hardly a line feed they are the line ends.
    """
    repairs: list[Repair] = []
    blob = without_nuls(data, repairs)
    blob = _one_line_end(blob, repairs)
    blob = _without_escapes(blob, repairs)
    if blob and not blob.endswith(b"\n"):
        repairs.append(Repair("the file ends in the middle of a line", 1, blob.count(b"\n") + 1))
        blob += b"\n"
    if once:
        blob = _once(blob, repairs)
    _count_wrong_encodings(blob, repairs)
    return Lines(blob, repairs)


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, max(0, offset)) + 1


def without_nuls(data: bytes, repairs: list[Repair]) -> bytes:
    """`data` without NUL bytes, which `repairs` then tells."""
    first = data.find(b"\0")
    if first < 0:
        return data
    repairs.append(Repair("NUL bytes removed", data.count(b"\0"), _line_of(data, first)))
    return data.replace(b"\0", b"")


def _one_line_end(data: bytes, repairs: list[Repair]) -> bytes:
    """Makes every line end a single line feed, and tells when a file mixes several kinds."""
    if b"\r" not in data:
        return data
    feeds = data.count(b"\n")
    crlf, lfcr = data.count(b"\r\n"), data.count(b"\n\r")
    # Plain replacement first: it is far cheaper, and seldom leaves anything to the expressions.
    blob = data.replace(b"\r\n", b"\n").replace(b"\n\r", b"\n")
    blob = re.sub(rb"\r+\n", b"\n", blob) if b"\r\n" in blob else blob
    blob = re.sub(rb"\n\r+", b"\n", blob) if b"\n\r" in blob else blob
    alone = blob.count(b"\r") - blob.startswith(b"\r")
    # In a file of LF CR alone, an empty line looks like a CR LF.
    one_kind = feeds in (crlf, lfcr)
    first = _line_of(blob, blob.find(b"\r", 1)) if alone else 1
    if alone > feeds:
        repairs.append(Repair("carriage returns taken as line ends", alone, first))
        return blob.replace(b"\r", b"\n")
    if feeds and not one_kind:
        repairs.append(Repair("mixed line ends (CR LF, LF CR, LF) unified", feeds, 1))
    if alone:
        repairs.append(Repair("carriage returns inside lines kept", alone, first))
    return blob


def _without_escapes(blob: bytes, repairs: list[Repair]) -> bytes:
    # Whether a single byte is there takes a tenth of the time that a search for several does.
    for rare, sign, codes, kept, what in (
        (b"\x1b", b"\x1b", _ESCAPE, b"", "terminal escape codes removed"),
        (b"^", b"^[[", _SHOWN_ESCAPE, b"", "terminal escape codes written out as ^[ removed"),
        (b";", b"[0;", _LOST_ESCAPE, rb"\1", "terminal escape codes without their control character removed"),
    ):
        first = blob.find(sign) if rare in blob else -1
        if first < 0:
            continue
        line = _line_of(blob, first)
        blob, count = codes.subn(kept, blob)
        if count:
            repairs.append(Repair(what, count, line))
    return blob


def _once(blob: bytes, repairs: list[Repair]) -> bytes:
    """A file that is one text several times over, as that text once."""
    period = _period(blob)
    if not period:
        return blob
    times = len(blob) // period
    line = blob.count(b"\n", 0, period) + 1
    repairs.append(Repair(f"the file repeats the same text {times} times, read once", times - 1, line))
    return blob[:period]


def _period(blob: bytes) -> int:
    """Length of the block that the whole of `blob` repeats, or 0."""
    head = blob[:_REPEAT_MIN_BYTES]
    if len(blob) < 2 * _REPEAT_MIN_BYTES:
        return 0
    at = _REPEAT_MIN_BYTES - 1
    for _ in range(_REPEAT_TRIES):
        at = blob.find(b"\n" + head, at, len(blob) // 2 + len(head) + 1)
        if at < 0:
            return 0
        period = at + 1
        if len(blob) % period == 0 and _repeats(blob, period):
            return period if blob.count(b"\n", 0, period) >= _REPEAT_MIN_LINES else 0
        at += 1
    return 0


def _repeats(blob: bytes, period: int) -> bool:
    """Whether `blob` is its first `period` bytes over and over; in pieces, to copy little at a time."""
    step = 1 << 20
    end = len(blob) - period
    return all(
        blob[at : min(at + step, end)] == blob[at + period : min(at + step, end) + period]
        for at in range(0, end, step)
    )


def _count_wrong_encodings(blob: bytes, repairs: list[Repair]) -> None:
    if blob.isascii():
        return
    try:
        blob.decode("utf-8")
    except UnicodeDecodeError as error:
        # What is not UTF-8 gets lost on the way there and back.
        count = sum(m[0].decode("utf-8", "ignore").encode() != m[0] for m in _LINE.finditer(blob))
        what = "lines that are not UTF-8, their bytes shown as \\xNN"
        repairs.append(Repair(what, count, _line_of(blob, error.start)))

# SPDX-License-Identifier: Apache-2.0
"""trace-cmd's files (trace.dat): what is in which part of them.

Version 6 is one sequence of parts, version 7 has sections that options point to, packed or not:
https://man.archlinux.org/man/trace-cmd.dat.v6.5.en and trace-cmd.dat.v7.5.en. What these pages leave
out, and trace-cmd 3.1 writes: the size in a section's head has 64 bits, and a buffer's clock is followed by
the size of its pages.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from bootscope.core.errors import UserError, printable
from bootscope.readers.ring_buffer import CpuBuffer
from bootscope.readers.unpack import MAX_BYTES, Budget, compression, decompressed

MAGIC = b"\x17\x08\x44tracing"
_END = 0
_BUFFER, _CLOCK, _UNAME, _VERSION = 3, 4, 5, 9
_HEADER, _FTRACE, _EVENTS, _KALLSYMS, _PRINTK, _CMDLINES, _TEXT = 16, 17, 18, 19, 20, 21, 22
_MOST_SECTIONS = 1_000
_MOST_CPUS = 4_096
_SECTIONS = (_BUFFER, _HEADER, _FTRACE, _EVENTS, _KALLSYMS, _PRINTK, _CMDLINES, _TEXT)


class BrokenError(UserError):
    """A file that breaks off or contradicts itself: what is before that place was read."""


@dataclass
class TraceDat:
    """All parts of a file, still as bytes."""

    version: int = 0
    order: str = "<"
    long_bytes: int = 8
    page_bytes: int = 4096
    packed_by: str = ""
    formats: list[bytes] = field(default_factory=list)
    kallsyms: bytes = b""
    printk: bytes = b""
    cmdlines: bytes = b""
    buffers: list[CpuBuffer] = field(default_factory=list)
    text: bytes = b""
    """A trace that was stored as text, by the latency tracers."""
    clock: str = ""
    kernel: str = ""
    tool: str = "trace-cmd"
    broken: str = ""
    """What is missing of the file, and why; empty when it is whole."""


class _Cursor:
    """Reads from bytes, one thing after the other."""

    def __init__(self, data: bytes, order: str, at: int = 0) -> None:
        self.data, self.order, self.at = data, order, at

    def number(self, letter: str) -> int:
        """A number: H, I or Q. Raises BrokenError behind the end."""
        size = struct.calcsize(self.order + letter)
        return int(struct.unpack(self.order + letter, self.take(size))[0])

    def take(self, size: int) -> bytes:
        """So many bytes. Raises BrokenError behind the end."""
        if size > len(self.data) - self.at:
            raise BrokenError("it breaks off")
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        """Text up to a NUL."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise BrokenError("it breaks off")
        found, self.at = self.data[self.at : end], end + 1
        return found.decode("utf-8", "backslashreplace")


def opened(data: bytes) -> TraceDat:
    """The parts of a file that begins with MAGIC. Raises BrokenError for a version that is not known, and
    UserError for what unpacks to too much."""
    cursor = _Cursor(data, "<", len(MAGIC))
    version = cursor.text()
    if version not in ("6", "7"):
        raise BrokenError(f"version {printable(version[:20])} of trace.dat is not known, 6 and 7 are")
    found = TraceDat(int(version), "<>"[cursor.take(1) != b"\0"])
    cursor.order = found.order
    cursor.take(1)
    found.page_bytes = cursor.number("I")
    try:
        if found.version == 6:
            _Old(found, cursor).read()
        else:
            _New(found, cursor).read()
    except BrokenError as error:
        found.broken = error.message
    return found


def _header(found: TraceDat, cursor: _Cursor) -> None:
    """The kernel's descriptions of its sub-buffers and records."""
    cursor.take(len(b"header_page\0"))
    page = cursor.take(cursor.number("Q"))
    found.long_bytes = 4 if b"commit;\toffset:8;\tsize:4;" in page else 8
    cursor.take(len(b"header_event\0"))
    cursor.take(cursor.number("Q"))


def _formats(cursor: _Cursor, found: TraceDat) -> None:
    for _ in range(cursor.number("I")):
        found.formats.append(cursor.take(cursor.number("Q")))


def _systems(cursor: _Cursor, found: TraceDat) -> None:
    for _ in range(cursor.number("I")):
        cursor.text()
        _formats(cursor, found)


def _add_buffer(found: TraceDat, cpu: int, data: bytes, page_bytes: int) -> None:
    if not 64 <= page_bytes <= 1 << 24:
        raise BrokenError("its pages have no size")
    if len(found.buffers) >= _MOST_CPUS:
        raise BrokenError("it has too many CPUs")
    if data:
        found.buffers.append(CpuBuffer(cpu, data, page_bytes, found.long_bytes, found.order))


def _option(found: TraceDat, number: int, body: bytes) -> None:
    """An option that tells about the whole file."""
    words = body.partition(b"\0")[0].decode("utf-8", "backslashreplace").strip()
    if number == _CLOCK:
        inside = words.partition("[")[2].partition("]")[0]
        found.clock = found.clock or inside or words.partition(" ")[0]
    elif number == _UNAME:
        parts = words.split()
        found.kernel = parts[2] if len(parts) > 2 else words
    elif number == _VERSION:
        found.tool = f"trace-cmd {words}"


class _Old:
    """Version 6."""

    def __init__(self, found: TraceDat, cursor: _Cursor) -> None:
        self._found, self._cursor = found, cursor

    def read(self) -> None:
        found, cursor = self._found, self._cursor
        _header(found, cursor)
        _formats(cursor, found)
        _systems(cursor, found)
        found.kallsyms = cursor.take(cursor.number("I"))
        found.printk = cursor.take(cursor.number("I"))
        found.cmdlines = cursor.take(cursor.number("Q"))
        cpus = cursor.number("I")
        kind = cursor.take(10)
        if kind == b"options  \0":
            self._options()
            kind = cursor.take(10)
        if kind == b"latency  \0":
            found.text = cursor.data[cursor.at :]
        elif kind == b"flyrecord\0":
            self._flyrecord(cpus)
        else:
            raise BrokenError("its kind of data is not known")

    def _options(self) -> None:
        cursor = self._cursor
        while number := cursor.number("H"):
            body = cursor.take(cursor.number("I"))
            if number == _BUFFER:
                self._found.broken = "buffers of instances beside the first are left out"
            else:
                _option(self._found, number, body)

    def _flyrecord(self, cpus: int) -> None:
        cursor = self._cursor
        if cpus > _MOST_CPUS:
            raise BrokenError("it has too many CPUs")
        places = [(cursor.number("Q"), cursor.number("Q")) for _ in range(cpus)]
        for cpu, (start, size) in enumerate(places):
            part = cursor.data[start : start + size]
            _add_buffer(self._found, cpu, part, self._found.page_bytes)
            if len(part) < size:
                self._found.broken = "it breaks off"


class _New:
    """Version 7."""

    def __init__(self, found: TraceDat, cursor: _Cursor) -> None:
        self._found, self._cursor = found, cursor
        self._budget = Budget(MAX_BYTES)

    def read(self) -> None:
        cursor, found = self._cursor, self._found
        found.packed_by = cursor.text()
        cursor.text()
        seen: set[int] = set()
        pointers: list[tuple[int, bytes]] = []
        at = cursor.number("Q")
        while at and at not in seen and len(seen) < _MOST_SECTIONS:
            seen.add(at)
            at = self._options(self._section(at), pointers)
        # The header first: it tells the size of the kernel's long.
        for number, body in sorted(pointers, key=lambda one: one[0] != _HEADER):
            self._part(number, body)

    def _options(self, cursor: _Cursor, pointers: list[tuple[int, bytes]]) -> int:
        """Options of one section, those that point to a section into `pointers`; where the next are, or 0."""
        while cursor.at < len(cursor.data):
            number = cursor.number("H")
            body = cursor.take(cursor.number("I"))
            if number == _END:
                return _Cursor(body, cursor.order).number("Q")
            if number in _SECTIONS:
                pointers.append((number, body))
            else:
                _option(self._found, number, body)
        return 0

    def _section(self, at: int) -> _Cursor:
        """What is in the section at a place, unpacked."""
        order = self._found.order
        cursor = _Cursor(self._cursor.data, order, at)
        cursor.number("H")
        packed = cursor.number("H") & 1
        cursor.number("I")
        size = cursor.number("Q")
        body = self._chunk(cursor) if packed else cursor.take(size)
        return _Cursor(body, order)

    def _chunk(self, cursor: _Cursor) -> bytes:
        size, whole = cursor.number("I"), cursor.number("I")
        return self._unpacked(cursor.take(size), whole)

    def _unpacked(self, data: bytes, whole: int) -> bytes:
        """`data` unpacked, which must come to `whole` bytes."""
        self._budget.spend(whole, "trace.dat")
        if self._found.packed_by == "zstd":
            if compression(data) != "zstd":
                raise BrokenError("zstd data damaged")
            body, wrong = decompressed("trace.dat", data, Budget(whole))
            if wrong:
                raise BrokenError(wrong[0].what)
        elif self._found.packed_by == "zlib":
            try:
                body = zlib.decompressobj().decompress(data, whole or 1)
            except zlib.error as error:
                raise BrokenError(f"zlib data damaged ({error})") from error
        else:
            raise BrokenError(
                f"it is packed by {printable(self._found.packed_by[:20])}; zstd and zlib are known"
            )
        if len(body) != whole:
            raise BrokenError("a packed part has another size than it says")
        return body

    def _part(self, number: int, body: bytes) -> None:
        option = _Cursor(body, self._found.order)
        at = option.number("Q")
        if number == _BUFFER:
            self._buffer(option, at)
            return
        section, found = self._section(at), self._found
        if number == _HEADER:
            _header(found, section)
        elif number == _FTRACE:
            _formats(section, found)
        elif number == _EVENTS:
            _systems(section, found)
        elif number == _KALLSYMS:
            found.kallsyms = section.take(section.number("I"))
        elif number == _PRINTK:
            found.printk = section.take(section.number("I"))
        elif number == _CMDLINES:
            found.cmdlines = section.take(section.number("Q"))
        else:
            found.text = section.data

    def _buffer(self, option: _Cursor, at: int) -> None:
        head = _Cursor(self._cursor.data, self._found.order, at)
        head.number("H")
        packed = head.number("H") & 1
        option.text()
        clock = option.text()
        self._found.clock = clock or self._found.clock
        page_bytes, cpus = option.number("I"), option.number("I")
        for _ in range(cpus):
            cpu, start, size = option.number("I"), option.number("Q"), option.number("Q")
            if not size:
                continue
            place = _Cursor(self._cursor.data, self._found.order, start)
            body = b"".join(self._chunks(place)) if packed else place.take(size)
            _add_buffer(self._found, cpu, body, page_bytes)

    def _chunks(self, cursor: _Cursor) -> Iterator[bytes]:
        for _ in range(cursor.number("I")):
            yield self._chunk(cursor)

# SPDX-License-Identifier: Apache-2.0
"""Reader of the plugin's binary stream (``native/plugin/stream.h`` is its other half).

A stream is a 64-byte header and a run of records: type (1 byte), payload size (1 byte), stamp as the
zigzag LEB128 distance in nanoseconds from the record before, payload. The header's committed length
moves only after a record is whole, and this reader stops at the first record that is not, so a
stream cut at any byte reads as the records that were whole.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from bootscope.errors import UserError

MAGIC = b"BSCOPE1\n"
VERSION = 1
_HEADER = struct.Struct("<8sIIQI")
HEADER_BYTES = 64


class Kind(IntEnum):
    """Record types, as in stream.h."""

    IO = 1
    HOOK = 2
    SAMPLE = 3
    IDLE = 4
    TOUCH = 5
    FRAME = 6
    TEXT = 7
    CLOCK = 8
    END = 9


class End(IntEnum):
    """Why the plugin stopped recording, as in stream.h."""

    STOP_HOOK = 1
    STOP_FRAME = 2
    STOP_TEXT = 3
    LIMIT = 4
    QUIET = 5


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `time_ns` is virtual time, never smaller than that of the record before."""

    time_ns: int


@dataclass(frozen=True, slots=True)
class Io(Record):
    """A store of `size` bytes of `value` to device `device` at byte offset `offset`."""

    device: int
    offset: int
    size: int
    value: int


@dataclass(frozen=True, slots=True)
class Hook(Record):
    """The program reached hook `hook`; `text` is what a captured register pointed to."""

    hook: int
    registers: tuple[int, ...]
    text: bytes


@dataclass(frozen=True, slots=True)
class Sample(Record):
    """The program counter at this time."""

    pc: int


@dataclass(frozen=True, slots=True)
class Idle(Record):
    """The CPU slept for `duration_ns` and woke up at `time_ns`."""

    duration_ns: int


@dataclass(frozen=True, slots=True)
class Frame(Record):
    """First store to (`whole` false) or completion of (`whole` true) frame number `number`."""

    frame: int
    number: int
    whole: bool
    copied: bool
    pc: int


@dataclass(frozen=True, slots=True)
class Text(Record):
    """Watched text `text` has just gone through its device register."""

    text: int


@dataclass(frozen=True, slots=True)
class Clock(Record):
    """Resynchronisations of the counted clock, and the largest error among them."""

    syncs: int
    worst_ns: int


@dataclass(frozen=True, slots=True)
class Ended(Record):
    """The plugin stopped here."""

    reason: End
    ident: int


@dataclass(frozen=True, slots=True)
class Unknown(Record):
    """A record of a type this reader does not know (made by a newer plugin)."""

    kind: int
    payload: bytes


class _Cut(Exception):
    """The data ends inside a record."""


class _Cursor:
    """Reads numbers out of one bytes object."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def byte(self) -> int:
        if self.at >= self.end:
            raise _Cut
        self.at += 1
        return self.data[self.at - 1]

    def uint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 70:
                raise _Cut

    def sint(self) -> int:
        value = self.uint()
        return (value >> 1) ^ -(value & 1)

    def bytes(self, size: int) -> bytes:
        if self.at + size > self.end:
            raise _Cut
        self.at += size
        return self.data[self.at - size : self.at]


def _io(t: int, c: _Cursor) -> Record:
    device, offset, size = c.uint(), c.uint(), c.byte()
    return Io(t, device, offset, size, c.uint())


def _hook(t: int, c: _Cursor) -> Record:
    hook, n_registers = c.uint(), c.byte()
    registers = tuple(c.uint() for _ in range(n_registers))
    return Hook(t, hook, registers, c.bytes(c.byte()) if c.at < c.end else b"")


def _frame(whole: bool, t: int, c: _Cursor) -> Record:
    frame, number, copied = c.uint(), c.uint(), c.byte()
    return Frame(t, frame, number, whole, bool(copied), c.uint())


def _ended(t: int, c: _Cursor) -> Record:
    if c.data[c.at : c.end][:1] not in {bytes([reason]) for reason in End}:
        return Unknown(t, Kind.END, c.data[c.at : c.end])
    return Ended(t, End(c.byte()), c.uint())


def _record(kind: int, time_ns: int, c: _Cursor) -> Record:
    match kind:
        case Kind.IO:
            return _io(time_ns, c)
        case Kind.HOOK:
            return _hook(time_ns, c)
        case Kind.SAMPLE:
            return Sample(time_ns, c.uint())
        case Kind.IDLE:
            return Idle(time_ns, c.uint())
        case Kind.TOUCH | Kind.FRAME:
            return _frame(kind == Kind.FRAME, time_ns, c)
        case Kind.TEXT:
            return Text(time_ns, c.uint())
        case Kind.CLOCK:
            return Clock(time_ns, c.uint(), c.sint())
        case Kind.END:
            return _ended(time_ns, c)
        case _:
            return Unknown(time_ns, kind, c.data[c.at : c.end])


class Decoder:
    """Turns committed stream bytes into records; can be fed as they arrive.

    Records come out in file order. What is left of a record cut in the middle stays in the buffer.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._time_ns = 0

    def feed(self, data: bytes) -> Iterator[Record]:
        """Yields the records that became whole with `data`."""
        self._buffer += data
        at, end = 0, len(self._buffer)
        try:
            while at < end:
                cursor = _Cursor(self._buffer, at, end)
                kind, size = cursor.byte(), cursor.byte()
                time_ns = self._time_ns + cursor.sint()
                cursor.bytes(size)
                record = _record(kind, time_ns, _Cursor(self._buffer, cursor.at - size, cursor.at))
                self._time_ns, at = time_ns, cursor.at
                yield record
        except _Cut:
            pass
        finally:
            self._buffer = self._buffer[at:]


def committed_bytes(header: bytes) -> int:
    """How many bytes of whole records follow the header; 0 for a header that is not there yet.

    Raises UserError when this is no stream or one of a newer version.
    """
    if len(header) < _HEADER.size or header[:8] == bytes(8):
        return 0
    magic, version, _size, committed, _tick = _HEADER.unpack_from(header)
    if magic != MAGIC:
        raise UserError("not a bootscope stream (wrong magic number)")
    if version > VERSION:
        raise UserError(f"stream version {version} is newer than this bootscope reads ({VERSION})")
    return int(committed)


def body(data: bytes) -> bytes:
    """The committed records of a stream file's bytes."""
    return data[HEADER_BYTES : HEADER_BYTES + committed_bytes(data[:HEADER_BYTES])]


def read(path: Path) -> list[Record]:
    """All whole records of a stream file. Raises UserError when it is no stream."""
    return list(Decoder().feed(body(path.read_bytes())))


def trim(path: Path) -> None:
    """Cuts the space that was allocated ahead off a stream that is not written any more."""
    with path.open("r+b") as f:
        header = f.read(HEADER_BYTES)
        end = HEADER_BYTES + committed_bytes(header)
        if len(header) == HEADER_BYTES and end < path.stat().st_size:
            f.truncate(end)

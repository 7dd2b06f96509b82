# SPDX-License-Identifier: Apache-2.0
"""Reader of the plugin's binary stream (``native/plugin/stream.h`` is its other half).

A stream is a 64-byte header and a sequence of records: type (1 byte), payload size (1 byte), stamp as the
zigzag LEB128 distance in nanoseconds from the previous record, payload. The header's committed length
advances only after a record is complete, and this reader stops at the first incomplete one, so a stream cut
at any byte reads as its complete records.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial
from pathlib import Path

from bootscope.capture.records import (
    AnyRecord,
    Bytes,
    Clock,
    Cpu,
    Cpus,
    End,
    Ended,
    Frame,
    Hook,
    Idle,
    Io,
    Light,
    Read,
    Record,
    Sample,
    Slept,
    StackSample,
    Text,
    Unknown,
    Waited,
    uint,
)
from bootscope.core.errors import UserError

__all__ = [
    "HEADER_BYTES",
    "MAGIC",
    "VERSION",
    "AnyRecord",
    "Bytes",
    "Clock",
    "Cpu",
    "Cpus",
    "Decoder",
    "End",
    "Ended",
    "Frame",
    "Hook",
    "Idle",
    "Io",
    "Kind",
    "Light",
    "Read",
    "Record",
    "Sample",
    "Slept",
    "StackSample",
    "Text",
    "Unknown",
    "Waited",
    "body",
    "committed_bytes",
    "read",
    "trim",
    "uint",
]
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
    STACK = 10
    CPU = 11
    BYTES = 12
    CPUS = 13
    SLEPT = 14
    LIGHT = 15
    READ = 16
    WAITED = 17


def _uints(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    found = []
    for _ in range(count):
        value, at = uint(data, at)
        found.append(value)
    return found, at


def _io(t: int, data: bytes) -> Record:
    device, at = uint(data, 0)
    offset, at = uint(data, at)
    return Io(t, device, offset, data[at], uint(data, at + 1)[0])


def _hook(t: int, data: bytes) -> Record:
    hook, at = uint(data, 0)
    registers, at = _uints(data, at + 1, data[at])
    if at >= len(data):
        return Hook(t, hook, tuple(registers), b"")
    text = data[at + 1 : at + 1 + data[at]]
    if len(text) < data[at]:
        raise IndexError
    return Hook(t, hook, tuple(registers), text)


def _one_number(kind: type[Sample | Idle | Text | Cpu | Slept]) -> Callable[[int, bytes], Record]:
    return lambda t, data: kind(t, uint(data, 0)[0])


def _stack(t: int, data: bytes) -> Record:
    (pc, lr, flags), at = _uints(data, 0, 3)
    return StackSample(t, pc, lr, flags, data[at:])


def _frame(whole: bool, t: int, data: bytes) -> Record:
    (frame, number), at = _uints(data, 0, 2)
    return Frame(t, frame, number, whole, bool(data[at]), uint(data, at + 1)[0])


def _light(t: int, data: bytes) -> Record:
    return Light(t, *_uints(data, 0, 3)[0])


def _clock(t: int, data: bytes) -> Record:
    (syncs, worst), _ = _uints(data, 0, 2)
    return Clock(t, syncs, _signed(worst))


def _cpus(t: int, data: bytes) -> Record:
    (number, quantum_ns), _ = _uints(data, 0, 2)
    return Cpus(t, number, quantum_ns)


def _read(t: int, data: bytes) -> Record:
    return Read(t, *_uints(data, 0, 4)[0])


def _waited(t: int, data: bytes) -> Record:
    return Waited(t, *_uints(data, 0, 2)[0])


def _ended(t: int, data: bytes) -> Record:
    if data[:1] not in {bytes([reason]) for reason in End}:
        return Unknown(t, Kind.END, data)
    return Ended(t, End(data[0]), uint(data, 1)[0])


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


_SAMPLE = int(Kind.SAMPLE)
_MAKERS: dict[int, Callable[[int, bytes], Record]] = {
    Kind.IO: _io,
    Kind.HOOK: _hook,
    Kind.SAMPLE: _one_number(Sample),
    Kind.IDLE: _one_number(Idle),
    Kind.TOUCH: partial(_frame, False),
    Kind.FRAME: partial(_frame, True),
    Kind.TEXT: _one_number(Text),
    Kind.CLOCK: _clock,
    Kind.END: _ended,
    Kind.STACK: _stack,
    Kind.CPU: _one_number(Cpu),
    Kind.BYTES: Bytes,
    Kind.CPUS: _cpus,
    Kind.SLEPT: _one_number(Slept),
    Kind.LIGHT: _light,
    Kind.READ: _read,
    Kind.WAITED: _waited,
}


class Decoder:
    """Turns committed stream bytes into records; can be fed as they arrive.

    Records come out in file order. The rest of a record cut in the middle stays in the buffer.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._time_ns = 0
        self._numbers: dict[bytes, int] = {}

    def feed(self, data: bytes) -> Iterator[Record]:
        """Yields the records completed by `data`."""
        # A recording has hundreds of thousands of records: no objects besides the records themselves.
        buffer = self._buffer + data
        at, time_ns = 0, self._time_ns
        makers, numbers = _MAKERS, self._numbers
        whole = len(buffer)
        try:
            while True:
                kind = buffer[at]
                size = buffer[at + 1]
                # Like uint, without the call: nearly all distances have up to three bytes.
                moved, begin = buffer[at + 2], at + 3
                if moved >= 0x80:
                    middle = buffer[at + 3]
                    if middle < 0x80:
                        moved, begin = moved & 0x7F | middle << 7, at + 4
                    elif (high := buffer[at + 4]) < 0x80:
                        moved, begin = moved & 0x7F | (middle & 0x7F) << 7 | high << 14, at + 5
                    else:
                        moved, begin = uint(buffer, at + 2)
                end = begin + size
                if end > whole:
                    break
                now = time_ns + ((moved >> 1) ^ -(moved & 1))
                payload = buffer[begin:end]
                record: Record
                if kind == _SAMPLE:
                    # The same few addresses occur again and again.
                    pc = numbers.get(payload)
                    if pc is None:
                        pc = numbers[payload] = uint(payload, 0)[0]
                    record = Sample(now, pc)
                else:
                    maker = makers.get(kind)
                    record = maker(now, payload) if maker else Unknown(now, kind, payload)
                time_ns, at = now, end
                yield record
        except IndexError:
            pass
        finally:
            self._buffer, self._time_ns = buffer[at:], time_ns


def committed_bytes(header: bytes) -> int:
    """How many bytes of complete records follow the header; 0 for a header that is not there yet.

    Raises UserError when this is no stream, or one of a newer version.
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
    """All complete records of a stream file. Raises UserError when it is no stream."""
    return list(Decoder().feed(body(path.read_bytes())))


def trim(path: Path) -> None:
    """Cuts off the space allocated ahead in a stream that is no longer written."""
    with path.open("r+b") as f:
        header = f.read(HEADER_BYTES)
        end = HEADER_BYTES + committed_bytes(header)
        if len(header) == HEADER_BYTES and end < path.stat().st_size:
            f.truncate(end)

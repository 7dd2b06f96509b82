# SPDX-License-Identifier: Apache-2.0
"""What the plugin records: the kinds of records of a stream (``native/plugin/stream.h``)."""

from __future__ import annotations

from enum import IntEnum

import msgspec


class End(IntEnum):
    """Why the plugin stopped recording, as in stream.h."""

    STOP_HOOK = 1
    STOP_FRAME = 2
    STOP_TEXT = 3
    LIMIT = 4
    QUIET = 5
    STOP_LIGHT = 6


_LONGEST_SHIFT = 70


def uint(data: bytes, at: int) -> tuple[int, int]:
    """(LEB128 number at `at`, where it ends). Raises IndexError for one without an end."""
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while shift <= _LONGEST_SHIFT:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise IndexError


class Record(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=0):
    """One record; `time_ns` is virtual time, never smaller than that of the previous record.

    There are hundreds of thousands of them, and no cycles: the garbage collector can skip them.
    """

    time_ns: int


class Io(Record, frozen=True, gc=False, tag=1):
    """A store of `size` bytes of `value` to device `device` at byte offset `offset`."""

    device: int
    offset: int
    size: int
    value: int


class Hook(Record, frozen=True, gc=False, tag=2):
    """The program reached hook `hook`; `text` is what a captured register pointed to."""

    hook: int
    registers: tuple[int, ...]
    text: bytes


class Sample(Record, frozen=True, gc=False, tag=3):
    """The program counter at this time."""

    pc: int


class Idle(Record, frozen=True, gc=False, tag=4):
    """The CPU, or all of several CPUs, slept for `duration_ns` and woke up at `time_ns`."""

    duration_ns: int


class Frame(Record, frozen=True, gc=False, tag=5):
    """First store to (`whole` false) or completion of (`whole` true) frame number `number`."""

    frame: int
    number: int
    whole: bool
    copied: bool
    pc: int


class Text(Record, frozen=True, gc=False, tag=6):
    """Watched text `text` has just been written to its device register."""

    text: int


class Clock(Record, frozen=True, gc=False, tag=7):
    """Resynchronisations of the counted clock, and the largest error found by them."""

    syncs: int
    worst_ns: int


class Ended(Record, frozen=True, gc=False, tag=8):
    """The plugin stopped here."""

    reason: End
    ident: int


class StackSample(Record, frozen=True, gc=False, tag=9):
    """The stack: program counter, link register, flags, and what may be return addresses.

    Follows the hook or sample that it belongs to. `raw` holds the words as stored: few of them are ever used.
    """

    pc: int
    lr: int
    flags: int
    raw: bytes

    @property
    def words(self) -> dict[int, int]:
        """Distance from the stack pointer in words -> address; its lowest bit is 1 for Thumb code."""
        found: dict[int, int] = {}
        at = 0
        try:
            while at < len(self.raw):
                distance, at = uint(self.raw, at)
                found[distance], at = uint(self.raw, at)
        except IndexError:
            pass
        return found


class Unknown(Record, frozen=True, gc=False, tag=10):
    """A record of a type unknown to this reader (made by a newer plugin)."""

    kind: int
    payload: bytes


class Cpu(Record, frozen=True, gc=False, tag=11):
    """The records from here on are of CPU `cpu`; those before the first such record are of CPU 0."""

    cpu: int


class Bytes(Record, frozen=True, gc=False, tag=12):
    """More of the bytes that the preceding hook recorded."""

    data: bytes


class Cpus(Record, frozen=True, gc=False, tag=13):
    """The first record if there are several CPUs: each has its own time, at most `quantum_ns` (and a block of
    code) ahead of another one's. The records are in order of these times.

    Recordings without it are of one CPU, or of several whose times were added up.
    """

    number: int
    quantum_ns: int


class Slept(Record, frozen=True, gc=False, tag=14):
    """One of several CPUs slept for `duration_ns` and woke up at `time_ns`, whatever the others did."""

    duration_ns: int


class Light(Record, frozen=True, gc=False, tag=15):
    """The first store of a colour to picture `picture`, which was dark: to the byte at `offset` of it, by the
    instruction at `pc`."""

    picture: int
    offset: int
    pc: int


class Read(Record, frozen=True, gc=False, tag=16):
    """Reads of device `device` as memory, in order: `size_bytes` from byte `offset` on, by so many bus
    accesses. `time_ns` is that of the last of them.
    """

    device: int
    offset: int
    size_bytes: int
    accesses: int


class Waited(Record, frozen=True, gc=False, tag=17):
    """The CPU waited for device `device`, for `duration_ns` in all since the record before; `time_ns` is the
    end. Only where the guest's clock passes with the devices' time."""

    device: int
    duration_ns: int


AnyRecord = (
    Io
    | Hook
    | Sample
    | Idle
    | Frame
    | Text
    | Clock
    | Ended
    | StackSample
    | Unknown
    | Cpu
    | Bytes
    | Cpus
    | Slept
    | Light
    | Read
    | Waited
)

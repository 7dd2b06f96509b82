# SPDX-License-Identifier: Apache-2.0
"""Reader of the results of a counting pass (``native/plugin/timing.h`` is its other half).

Beside a boot in the store: ``timing/ID.bin``, packed, and ``timing/ID.json``, which describes it. ID is that
of the geometry of the caches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.capture.packing import packed, unpacked
from bootscope.capture.record import read_json, write_json, write_whole
from bootscope.capture.stream import Bytes, Clock, Frame, Hook, Record, Sample, StackSample, uint
from bootscope.core.errors import UserError
from bootscope.cores.counts import NONE, Count, Counts

FOLDER = "timing"
MAGIC = b"BSCOUNT1"
SCHEMA = 1


class CountedInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a boot's counts belong to: the geometry of the caches, the stream whose events the pass repeated,
    the phases of its parts."""

    core: str
    geometry: dict[str, list[int | str]]
    stream_sha256: str
    phases: tuple[str, ...]
    size_bytes: int
    host_ms: int
    schema: int = SCHEMA


class Entry(msgspec.Struct, frozen=True, gc=False):
    """The counts since the previous entry, up to the last of `events` events, or to a `sample` after it."""

    events: int
    sample: bool
    counts: Counts


def is_event(entry: Record) -> bool:
    """Whether a counting pass repeats a record exactly: all do but samples, which are taken where blocks of
    instructions begin."""
    return not isinstance(entry, Sample | StackSample | Bytes)


def same_boot(first: Iterable[Record], again: Iterable[Record]) -> bool:
    """Whether two streams are of the same boot: the same events in the same order, at the same times.

    Between two device accesses the time is counted by blocks of instructions. A block that an exception
    leaves early is counted whole, and a counting pass has other blocks. So the times of a hook or a frame may
    differ by the clock error of either stream, which it states.
    """
    events = [list(filter(is_event, stream)) for stream in (first, again)]
    worst_ns = max((one.worst_ns for each in events for one in each if isinstance(one, Clock)), default=0)
    return len(events[0]) == len(events[1]) and all(
        a == b or _same_but_for_time(a, b, worst_ns) for a, b in zip(*events, strict=True)
    )


def _same_but_for_time(a: Record, b: Record, worst_ns: int) -> bool:
    if isinstance(a, Clock):
        return isinstance(b, Clock)
    if not isinstance(a, Hook | Frame) or abs(a.time_ns - b.time_ns) > worst_ns:
        return False
    return msgspec.structs.replace(a, time_ns=b.time_ns) == b


class CountedBlock(msgspec.Struct, frozen=True, gc=False):
    """A block of instructions in one part: where it is, when it was first translated (virtual time), the
    number of instructions begun in it (an upper bound), and its counts."""

    address: int
    first_ns: int
    instructions: int
    counts: Counts


@dataclass(frozen=True)
class Counted:
    """A pass: entries in order of time, and the blocks of each part by address."""

    info: CountedInfo
    entries: tuple[Entry, ...]
    parts: tuple[tuple[CountedBlock, ...], ...]


def keep(folder: Path, name: str, info: CountedInfo, data: bytes) -> None:
    """Keeps the plugin's file `data` of a boot whose folder this is. Raises UserError when it is damaged."""
    parse(data, info)
    (folder / FOLDER).mkdir(exist_ok=True)
    write_whole(_path(folder, name), b"".join(packed(data)))
    write_json(folder / FOLDER / f"{name}.json", info)


def kept(folder: Path) -> dict[str, CountedInfo]:
    """The passes of a boot, by the id of their geometry. Raises UserError for a damaged description."""
    return {
        path.stem: read_json(path, CountedInfo, SCHEMA) for path in sorted((folder / FOLDER).glob("*.json"))
    }


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of the counts of each pass of a boot, by the id of its geometry: equal for equal counts, on
    any computer. Raises UserError when one is damaged."""
    return {
        name: hashlib.sha256(_content(folder, name, info)).hexdigest() for name, info in kept(folder).items()
    }


def digest(folder: Path, name: str) -> bytes:
    """A hash of the file of a pass. Raises UserError when it cannot be read."""
    return hashlib.sha256(_packed(folder, name)).digest()


def read(folder: Path, name: str) -> Counted:
    """A pass of a boot. Raises UserError when it is damaged."""
    info = read_json(folder / FOLDER / f"{name}.json", CountedInfo, SCHEMA)
    return parse(_content(folder, name, info), info)


def _content(folder: Path, name: str, info: CountedInfo) -> bytes:
    """The plugin's file. Raises UserError when it cannot be read or is damaged."""
    data = unpacked(_packed(folder, name), info.size_bytes)
    if data is None:
        raise UserError(f"{_path(folder, name)} is damaged")
    return data


def _packed(folder: Path, name: str) -> bytes:
    path = _path(folder, name)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def _path(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.bin"


def parse(data: bytes, info: CountedInfo) -> Counted:
    """Parses the plugin's file. Raises UserError if it is none, damaged, or has other parts than `info`."""
    if not data.startswith(MAGIC):
        raise UserError("these are not the counts of a timing pass (wrong magic number)")
    try:
        found = _Reader(data).all(info)
    except IndexError:
        raise UserError("the counts are truncated") from None
    if len(found.parts) != len(info.phases):
        raise UserError(f"what was counted has {len(found.parts)} parts, and the boot {len(info.phases)}")
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, len(MAGIC)

    def all(self, info: CountedInfo) -> Counted:
        kinds, entries, parts = self._number(), self._number(), self._number()
        # Each takes at least one byte: a file that claims more is damaged.
        if kinds != len(Count) or entries + parts > len(self._data):
            raise IndexError
        return Counted(info, tuple(self._entries(entries)), tuple(self._part() for _ in range(parts)))

    def _number(self) -> int:
        value, self._at = uint(self._data, self._at)
        return value

    def _counts(self) -> Counts:
        mask = self._number()
        if mask >> len(Count):
            raise IndexError
        if not mask:
            return NONE
        return tuple(self._number() if mask >> kind & 1 else 0 for kind in range(len(Count)))

    def _entries(self, count: int) -> list[Entry]:
        events, found = 0, []
        for _ in range(count):
            word = self._number()
            events += word >> 1
            found.append(Entry(events, bool(word & 1), self._counts()))
        return found

    def _part(self) -> tuple[CountedBlock, ...]:
        count, address, found = self._number(), 0, []
        if count > len(self._data):
            raise IndexError
        for _ in range(count):
            address += self._number()
            found.append(CountedBlock(address, self._number(), self._number(), self._counts()))
        return tuple(found)

# SPDX-License-Identifier: Apache-2.0
"""What a file was read as, kept beside it: a long capture of a logic analyser takes seconds to read.

The capture is what counts. What was kept is used for the very bytes, options and code of the readers that it
was made by; else the capture is read anew. A kept file that cannot be read or written is not missed.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from array import array
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from bootscope.capture.record import write_whole
from bootscope.readers.base import Boot, Clock, Log, Miss, Reading, Repair
from bootscope.timeline import trace
from bootscope.timeline.trace import Point, Stack, Table, Track


class _Log(msgspec.Struct, frozen=True, array_like=True):
    """A log's columns; those of numbers as they lie in memory."""

    blob: bytes
    starts: bytes
    ends: bytes
    at_ns: bytes
    level: bytes
    kernel_ns: bytes


class _Boot(msgspec.Struct, frozen=True, array_like=True):
    clock: Clock
    log: _Log
    tracks: list[Track]
    points: list[Point]
    stacks: list[Stack]
    tables: list[Table]
    facts: dict[str, str]


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A file that was read: its name, the name of its reader, and what the reading has beside its boots."""

    name: str
    reader: str
    size_bytes: int
    guesses: list[tuple[str, int]]
    boots: list[_Boot]
    counts: tuple[int, int, int]
    missed: list[Miss]
    repairs: list[Repair]
    questions: list[str]

    @property
    def reading(self) -> Reading:
        """What the reader gave. Raises ValueError when it is damaged."""
        boots = [_boot(each) for each in self.boots]
        return Reading(boots, *self.counts, self.missed, self.repairs, self.questions)


_decoder = msgspec.msgpack.Decoder(Kept)


def key(data: bytes, values: Mapping[str, str]) -> bytes:
    """What a reading depends on: the bytes, the options, and the readers' code."""
    options = msgspec.json.encode(sorted(values.items()))
    parts = (data, options, code_id(), sys.byteorder.encode())
    return b"".join(hashlib.sha256(part).digest() for part in parts)


@cache
def code_id() -> bytes:
    """The source of all that takes part in reading: who changes a reader need not think of what is kept."""
    readers = sorted(Path(__file__).parent.rglob("*.py"))
    found = hashlib.sha256()
    for path in (*readers, Path(trace.__file__)):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.digest()


def load(path: Path, wanted: bytes) -> Kept | None:
    """What is kept in a file, if it was made under that key; None for anything else."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError):
        data = path.read_bytes()
        if data.startswith(wanted):
            return _decoder.decode(memoryview(data)[len(wanted) :])
    return None


def keep(path: Path, made: bytes, name: str, reader: str, size_bytes: int,
         guesses: list[tuple[str, int]], reading: Reading) -> None:  # fmt: skip
    """Writes a reading, made under a key, to a file; says nothing where that cannot be."""
    r = reading
    kept = Kept(
        name,
        reader,
        size_bytes,
        guesses,
        [_packed(boot) for boot in r.boots],
        (r.lines_total, r.lines_understood, r.lines_empty),
        r.missed,
        r.repairs,
        r.questions,
    )
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        write_whole(path, made + msgspec.msgpack.encode(kept))


def _packed(boot: Boot) -> _Boot:
    blob, *numbers = boot.log.columns()
    columns = [column.tobytes() for column in numbers]
    log = _Log(bytes(blob), *columns)
    return _Boot(boot.clock, log, boot.tracks, boot.points, boot.stacks, boot.tables, boot.facts)


def _boot(kept: _Boot) -> Boot:
    c = kept.log
    starts, ends, at_ns, kernel_ns = (array("q", each) for each in (c.starts, c.ends, c.at_ns, c.kernel_ns))
    log = Log.of_columns(c.blob, starts, ends, at_ns, array("b", c.level), kernel_ns)
    return Boot(kept.clock, log, kept.tracks, kept.points, kept.stacks, kept.tables, kept.facts)

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
from bootscope.readers.base import Log, Reading
from bootscope.timeline import trace


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A file that was read: its name, the name of its reader, how sure that was, and the reading."""

    name: str
    reader: str
    size_bytes: int
    guesses: list[tuple[str, int]]
    reading: Reading


def _packed(log: Log) -> list[bytes]:
    """A log's columns; those of numbers as they lie in memory."""
    blob, starts, ends, at_ns, level, kernel_ns, own = log.columns()
    numbers = (starts, ends, at_ns, level, kernel_ns)
    return [bytes(blob), *(column.tobytes() for column in numbers), bytes(own)]


def _unpacked(_kind: type, packed: list[bytes]) -> Log:
    blob, *numbers, own = packed
    starts, ends, at_ns, level, kernel_ns = map(array, "qqqbq", numbers)
    return Log.of_columns(blob, starts, ends, at_ns, level, kernel_ns, bytearray(own))


_decoder = msgspec.msgpack.Decoder(Kept, dec_hook=_unpacked)


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


def keep(path: Path, made: bytes, kept: Kept) -> None:
    """Writes a reading, made under a key, to a file; says nothing where that cannot be."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        write_whole(path, made + msgspec.msgpack.encode(kept, enc_hook=_packed))

# SPDX-License-Identifier: Apache-2.0
"""A range of a file, read by offsets: a disk, a partition, the gap between two."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.core.errors import UserError, printable

CHUNK_BYTES = 4 << 20


@dataclass(frozen=True)
class Volume:
    """`size_bytes` of the file at `path` from `offset_bytes` on; `descriptor` is open for reading."""

    path: Path
    descriptor: int
    offset_bytes: int
    size_bytes: int

    def read(self, at: int, count: int) -> bytes:
        """Up to `count` bytes; fewer at the end, empty outside."""
        count = min(count, self.size_bytes - at)
        return os.pread(self.descriptor, count, self.offset_bytes + at) if at >= 0 and count > 0 else b""

    def part(self, at: int, count: int) -> Volume:
        """A range of this one, cut at its end."""
        at = max(0, min(at, self.size_bytes))
        count = max(0, min(count, self.size_bytes - at))
        return replace(self, offset_bytes=self.offset_bytes + at, size_bytes=count)

    def chunks(self, overlap: int = 256, most: int = 1 << 62) -> Iterator[tuple[int, bytes]]:
        """(offset, bytes) of overlapping chunks, to search all of it, or its first `most` bytes."""
        end = min(most, self.size_bytes)
        for at in range(0, end, CHUNK_BYTES):
            yield at, self.read(at, min(CHUNK_BYTES + overlap, end - at))


def opened(path: Path, name: str) -> Volume:
    """A whole file. Raises UserError when it cannot be read. The caller must close the descriptor."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        size = os.lseek(descriptor, 0, os.SEEK_END)
    except OSError as error:
        raise UserError(f"cannot read {printable(name)}: {error.strerror}") from error
    return Volume(path, descriptor, 0, size)

# SPDX-License-Identifier: Apache-2.0
"""A file of ours that an image is unpacked to, with holes for zeros, and a limited size."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bootscope.core.errors import SpaceError, UserError, printable
from bootscope.core.text import size

MOST_BYTES = 64 << 30
"""The limit for an unpacked image: the size of large cards."""
_KEPT_FREE_BYTES = 1 << 30
_BLOCK = 1 << 16


class SparseFile:
    """Writes at any offset. Raises UserError for an image that is larger than MOST_BYTES, SpaceError where
    its data do not fit on the disk."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self._name = path, printable(name)
        self._file = path.open("wb")
        self._left = shutil.disk_usage(path.parent).free - _KEPT_FREE_BYTES
        self._end = 0

    def write(self, at: int, data: bytes) -> None:
        """Writes data at an offset; zeros take no room."""
        self._reach(at + len(data))
        for start in range(0, len(data), _BLOCK):
            block = data[start : start + _BLOCK]
            if block.count(0) == len(block):
                continue
            self._left -= len(block)
            if self._left < 0:
                raise SpaceError(
                    f"no room to unpack {self._name} in {printable(str(self.path.parent))}",
                    hint="set TMPDIR to a folder with more room, or unpack the image yourself",
                )
            self._file.seek(at + start)
            self._file.write(block)

    def _reach(self, end: int) -> None:
        self._end = max(self._end, end)
        if self._end > MOST_BYTES:
            raise UserError(
                f"{self._name} unpacks to more than {size(MOST_BYTES)}",
                hint="no card is so large; if it is meant, unpack the image yourself",
            )

    def close(self, size_bytes: int | None = None) -> None:
        """Closes the file, with this size where it is known."""
        if size_bytes is not None:
            self._reach(size_bytes)
            self._end = size_bytes
        self._file.flush()
        os.ftruncate(self._file.fileno(), self._end)
        self._file.close()

    def __enter__(self) -> SparseFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

# SPDX-License-Identifier: Apache-2.0
"""Reading a stream while it is being written."""

from __future__ import annotations

from pathlib import Path

from bootscope.capture.stream import HEADER_BYTES, committed_bytes


class Tail:
    """Reads what was added to a stream since the last read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = 0

    def new(self) -> bytes:
        """The committed bytes that were not returned before."""
        try:
            with self._path.open("rb") as f:
                committed = committed_bytes(f.read(HEADER_BYTES))
                f.seek(HEADER_BYTES + self._seen)
                data = f.read(max(0, committed - self._seen))
        except FileNotFoundError:
            return b""
        self._seen += len(data)
        return data

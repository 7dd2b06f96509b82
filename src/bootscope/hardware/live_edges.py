# SPDX-License-Identifier: Apache-2.0
"""Edges as a small analyser reports them, for a boot that ends at one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from bootscope.capture import tap, tapper
from bootscope.core.errors import UserError
from bootscope.readers.formats import edges

Edge = tuple[str, int]
"""A pin, and its new level."""
_LONGEST_LINE = 4096


class LiveEdges:
    """Follows the file that receives an analyser's lines, while it is being written.

    `lives` says whether more may be written. The moment of an edge is when this computer received it, in ns
    of its monotonic clock: some milliseconds late, which is good enough to end a boot.
    """

    def __init__(self, path: Path, lives: Callable[[], bool]) -> None:
        self._path, self.lives = path, lives
        self._read_bytes = 0
        self._decoder = tap.Decoder()
        self._line = bytearray()
        self._levels: dict[str, int] = {}
        self._seen: list[tuple[int, Edge]] = []

    def first_ns(self, edge: Edge, since_ns: int) -> int | None:
        """When the first such edge came, from `since_ns` on; None if none has come yet."""
        self._look()
        return next((at_ns for at_ns, seen in self._seen if seen == edge and at_ns >= since_ns), None)

    def _look(self) -> None:
        # Damaged records are skipped here, and reported when the whole capture is read.
        with contextlib.suppress(OSError, UserError), self._path.open("rb") as f:
            f.seek(self._read_bytes)
            data = f.read()
            self._read_bytes += len(data)
            for kind, at_ns, payload in self._decoder.feed(data):
                if kind == tapper.BYTES:
                    self._seen += ((at_ns, edge) for edge in self._take(payload))

    def _take(self, payload: bytes) -> Iterator[Edge]:
        *whole, rest = payload.split(b"\n")
        for part in whole:
            line = edges.row((self._line + part).decode("ascii", "replace"))
            self._line.clear()
            if line:
                yield from self._edges(line)
        self._line += rest[:_LONGEST_LINE]
        del self._line[_LONGEST_LINE:]

    def _edges(self, line: edges.Row) -> Iterator[Edge]:
        """The edges in a line: one, or those that levels show to have been lost."""
        told = line.levels or (((line.pin, line.level),) if line.pin else ())
        for pin, level in told:
            before = self._levels.get(pin)
            self._levels[pin] = level
            if before != level and (before is not None or line.pin):
                yield pin, level

# SPDX-License-Identifier: Apache-2.0
"""What a trimming has found out so far, kept so that it can be interrupted and goes on when asked again.

Builds and boots that work are in the cache and the store anyway. Here is what they do not know: that a
build failed, and why.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from bootscope.capture.record import write_whole

SCHEMA = 1


class Tried(msgspec.Struct, frozen=True):
    """What came of a variant: the recording, or why there is none; names that its linker missed.

    `reason` is empty when it works.
    """

    reason: str = ""
    run_id: str = ""
    undefined: tuple[str, ...] = ()


class _Kept(msgspec.Struct):
    schema: int = SCHEMA
    outcomes: dict[str, Tried] = {}


class Memory:
    """What was tried, by the id of the variant, in one file; written after each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = _Kept()
        # A file that is damaged, or newer than we are, only costs the time to find out again.
        with contextlib.suppress(OSError, msgspec.DecodeError):
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
            if kept.schema == SCHEMA:
                self._kept = kept

    def __len__(self) -> int:
        return len(self._kept.outcomes)

    def get(self, key: str) -> Tried | None:
        """What came of a variant, if that is known."""
        return self._kept.outcomes.get(key)

    def keep(self, key: str, tried: Tried) -> Tried:
        """Remembers what came of a variant; returns it."""
        self._kept.outcomes[key] = tried
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._path, msgspec.json.encode(self._kept))
        return tried

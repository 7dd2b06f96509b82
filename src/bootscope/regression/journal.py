# SPDX-License-Identifier: Apache-2.0
"""What a bisection has seen, trial by trial: a file of JSON lines beside the runs, append-only.

    bisects/SYSTEM-KEY.jsonl      KEY depends on what is searched and what is measured

An interrupted or killed bisection continues from there with `--resume`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bootscope.core.jsonlines import JsonLines

MEASURED, BROKEN, UNBUILT = "measured", "broken", "not built"
FOLDER = "bisects"


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a commit (`key`: its hash) or of a combination of differences: `ns` of what is measured,
    if the boot completed; `run_id` if it booted; `why` if it did not build, or its boot broke. `same_as`: the
    key of a result with the same images, which were not booted again. `build_s` and `boot_s` are host
    time."""

    key: str = msgspec.field(name="commit")
    state: str
    ns: int | None = None
    run_id: str = ""
    why: str = ""
    same_as: str = ""
    build_s: float = 0.0
    boot_s: float = 0.0
    schema: int = 1


class Journal:
    """The file of one bisection. `words` identify it."""

    def __init__(self, store_root: Path, system: str, words: Iterable[str]) -> None:
        key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
        self._file = JsonLines(store_root / FOLDER / f"{system}-{key}.jsonl", Tried)

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._file.path

    def read(self) -> dict[str, Tried]:
        """What was tried, by key. Raises ToolError when it cannot be read."""
        return {tried.key: tried for tried in self._file.read()}

    def begin(self) -> None:
        """Discards what was tried before."""
        self.path.unlink(missing_ok=True)

    def add(self, tried: Tried) -> None:
        """Appends a result. Raises ToolError when it cannot."""
        self._file.add(tried)

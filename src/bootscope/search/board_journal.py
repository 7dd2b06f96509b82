# SPDX-License-Identifier: Apache-2.0
"""What searches on a real board have measured of a tree: a file beside the runs, which is only added to.

    searches/TREE.board.jsonl

One line each: a search that began, with its options; a comparison, from when its first recording began;
a variant that was not built. They are found again by a key: a hash over what was on the board, and over
everything that decides how it was measured. A boot is measured and varies, so that only a search that goes
on with another one looks here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bootscope.core.jsonlines import JsonLines

SCHEMA = 1


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """A comparison as it is kept, by `key`; `system` is the hash of the images without changes. `runs`: the
    key of a variant -> its recording. `checked`: keys of variants that the owner's check was asked about.
    `over`: everything of it was measured; the rest is as in a Pair. `refused`: why nothing was booted: the
    images are the `same`, or the build failed, with its `log`."""

    key: str
    system: str
    runs: dict[str, str] = {}
    checked: tuple[str, ...] = ()
    over: bool = False
    rounds: int = 0
    deploy_s: float = 0.0
    faults: tuple[str, ...] = ()
    sizes: dict[str, tuple[int, int]] = {}
    missed: tuple[str, ...] = ()
    refused: str = ""
    same: bool = False
    log: str = ""


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the journal. `kind`: `begun` (with `options`), `compared` (with `comparison`; the last one of
    a key counts), `ended` (with `why`)."""

    kind: str
    at: str
    schema: int = SCHEMA
    options: dict[str, Any] | None = None
    comparison: Comparison | None = None
    why: str = ""


class BoardJournal:
    """The journal of the tree of that name in the store at `root`."""

    def __init__(self, root: Path, tree: str) -> None:
        self._file = JsonLines(root / "searches" / f"{tree}.board.jsonl", Line)
        self.options: dict[str, Any] | None = None
        """Of the last search that began."""
        self.comparisons: dict[str, Comparison] = {}
        for line in self._file.read():
            if line.schema == SCHEMA:
                self._keep(line)

    def begin(self, options: dict[str, Any]) -> None:
        """A search begins. Raises ToolError, as all that writes."""
        self._write(Line("begun", _now(), options=options))

    def end(self, why: str) -> None:
        """It has ended."""
        self._write(Line("ended", _now(), why=why))

    def add(self, comparison: Comparison) -> None:
        """Keeps how a comparison stands."""
        self._write(Line("compared", _now(), comparison=comparison))

    def _write(self, line: Line) -> None:
        self._file.add(line)
        self._keep(line)

    def _keep(self, line: Line) -> None:
        if line.comparison:
            self.comparisons[line.comparison.key] = line.comparison
        elif line.kind == "begun":
            self.options = line.options


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

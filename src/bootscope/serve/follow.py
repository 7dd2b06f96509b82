# SPDX-License-Identifier: Apache-2.0
"""Following a run that another process records: what is new since the last look."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from bootscope.capture.record import BOOT, BootInfo, read_json
from bootscope.capture.store import Store
from bootscope.core.errors import BootscopeError
from bootscope.core.text import seconds, visible
from bootscope.runs.growing import Growing, Line, SoFar, growing

MOST_LINES = 2000
"""How many lines a page holds: the newest ones."""
_MS = 1_000_000


class Follower:
    """Follows one run, always its newest boot."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        self._path = store.runs / run_id
        self._boot = 0
        self._watched: Growing | None = None
        self._found = SoFar()
        """The result of the last look that succeeded: a record may be half written when it is read."""
        self._sent: list[Line] = []
        self._told: list[str] = []

    def look(self) -> dict[str, Any]:
        """News for a page (live.js): `boot`, lines from number `from` on, milestones and phases, how boots
        have `ended`; `over` when nothing more will come, `gone` when the run is deleted."""
        if not self._path.exists():
            return {"gone": True, "over": True}
        recording = self._store.is_recording(self._path)
        fresh = self._newest()
        trouble = ""
        try:
            if self._watched:
                self._found = self._watched.look(last=not recording)
        except BootscopeError as error:
            trouble = visible(error.message, 200)
        found = self._found
        return {
            "boot": self._boot,
            "fresh": fresh,
            **self._new(found.lines),
            "milestones": [(name, seconds(ns)) for name, ns in found.milestones],
            "phases": [(name, start // _MS, end // _MS) for name, start, end in found.phases],
            "now": found.now_ns // _MS,
            "clock": found.clock,
            "ended": self._ended(),
            "trouble": trouble,
            "over": not recording,
        }

    def _new(self, lines: tuple[Line, ...]) -> dict[str, Any]:
        """Lines that were not sent yet, or have changed since: later data give more exact times."""
        shown = [Line(line.at_ns // _MS * _MS, line.phase, line.text) for line in lines]
        pairs = zip(self._sent, shown, strict=False)
        same = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(self._sent), len(shown)))
        self._sent = shown
        begin = max(same, len(shown) - MOST_LINES)
        new = [(seconds(line.at_ns), line.phase, line.text) for line in shown[begin:]]
        return {"from": begin, "total": len(shown), "lines": new}

    def _newest(self) -> bool:
        """Switches to the newest boot; returns whether it is another one than before."""
        numbers = [int(p.name) for p in (self._path / "boots").glob("[0-9]*") if p.name.isdecimal()]
        newest = max(numbers, default=0)
        if newest == self._boot:
            return False
        self._boot, self._watched, self._found, self._sent = newest, self._watch(newest), SoFar(), []
        return True

    def _watch(self, number: int) -> Growing | None:
        with contextlib.suppress(BootscopeError):
            return growing(self._store, self._run_id, number)
        return None

    def _ended(self) -> list[str]:
        """How the boots have ended so far, in words."""
        for number in range(len(self._told) + 1, self._boot + 1):
            path = self._path / "boots" / f"{number:03}" / BOOT
            if not path.exists():
                break
            self._told.append(f"boot {number}: {_how(path)}")
        return self._told


def _how(path: Path) -> str:
    try:
        return visible(read_json(path, BootInfo).message, 200)
    except BootscopeError:
        return "how it ended cannot be read"

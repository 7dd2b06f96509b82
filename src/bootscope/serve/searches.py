# SPDX-License-Identifier: Apache-2.0
"""Searches by their journals: which ones exist, and what the last one has found so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from bootscope.core.jsonlines import JsonLines
from bootscope.core.text import listed, seconds, signed, visible
from bootscope.search.journal import SCHEMA, Comparison, Line, is_running
from bootscope.search.outcome import Outcome

_FOLDER, _ENDING = "searches", ".jsonl"
_MOST_BYTES = 4 << 20
"""Bytes of a journal that are read in one look; the rest is for the next one."""
MOST_ROWS = 1000
_WORDS = 200


class Row(NamedTuple):
    """A variant: `key` for its place in the table, techniques, its time and the change from the base in
    words, how it ended, its recording."""

    key: str
    what: str
    time: str
    change: str
    how: str
    run_id: str


def names(root: Path) -> list[str]:
    """The searches of a store, by the names of their systems or trees."""
    return sorted(path.name.removesuffix(_ENDING) for path in (root / _FOLDER).glob(f"*{_ENDING}"))


def running(root: Path, name: str) -> bool | None:
    """Whether that search is running; None if unknown."""
    return is_running(root / _FOLDER / f"{name}{_ENDING}")


class SearchFollower:
    """Follows one journal: always the search that began last."""

    def __init__(self, root: Path, name: str) -> None:
        self._file = JsonLines(root / _FOLDER / f"{name}{_ENDING}", Line)
        self._at = 0
        self._forget(Line("begun", ""))

    def _forget(self, begun: Line) -> None:
        """Begins with a new search."""
        self._begun, self._ended, self._last = begun.at, "", begun.at
        self._options = begun.options or {}
        self._base: Outcome | None = None
        self._best: Outcome | None = None
        self._rows: dict[str, Row] = {}

    def look(self) -> dict[str, Any]:
        """News for a page (search_live.js). Raises ToolError when the journal cannot be read."""
        if not self._file.path.exists():
            return {"gone": True, "over": True}
        alive = is_running(self._file.path)  # checked first: what it wrote last is still read
        fresh, changed, more = self._at == 0, set[str](), True
        while more:
            lines, end = self._file.after(self._at, _MOST_BYTES)
            more, self._at = end != self._at, end
            for line in lines:
                if line.schema != SCHEMA:
                    continue
                fresh = fresh or line.kind == "begun"
                changed |= self._take(line)
        rows = [self._rows[key] for key in list(self._rows)[-MOST_ROWS:] if fresh or key in changed]
        return {
            "fresh": fresh,
            "begun": self._begun,
            "last": self._last,
            "ended": self._ended,
            "alive": alive,
            "best": self._fastest(),
            "options": [
                f"{visible(key, 40)}: {visible(str(value), 80)}" for key, value in self._options.items()
            ],
            "rows": rows,
            "over": False,
        }

    def _take(self, line: Line) -> set[str]:
        """Reads a line; returns the keys of rows that it changes."""
        if line.kind == "begun":
            self._forget(line)
        self._last = line.at
        row = None
        if line.kind == "ended":
            self._ended = visible(line.why, _WORDS) or "ended"
        elif line.outcome:
            row = self._of_outcome(line.outcome)
        elif line.comparison:
            row = _of_comparison(line.comparison)
        if not row:
            return set()
        self._rows[row.key] = row
        return {row.key}

    def _fastest(self) -> str:
        """The fastest variant so far against the base, in words; empty if there is none."""
        base, best = self._base, self._best
        if not (base and best) or best.total_ns >= base.total_ns:
            return ""
        change_ns = best.total_ns - base.total_ns
        part = f"{signed(change_ns)}, {100 * change_ns / base.total_ns:+.1f} %"
        return f"{seconds(best.total_ns)} s ({part}): {visible(listed(best.what, 8), _WORDS)}"

    def _of_outcome(self, outcome: Outcome) -> Row:
        if not outcome.what and outcome.reached:
            self._base = outcome
        base, reached = self._base, outcome.reached
        if reached and base and outcome.until == base.until:
            self._best = min((each for each in (self._best, outcome) if each), key=lambda o: o.total_ns)
        compared = reached and base is not None and base is not outcome and base.until == outcome.until
        return Row(
            visible(outcome.key, 80),
            visible(listed(outcome.what, 8), _WORDS) or "without changes",
            f"{seconds(outcome.total_ns)} s" if reached else "",
            signed(outcome.total_ns - base.total_ns) if compared and base else "",
            visible(outcome.message if reached else f"{outcome.ended}: {outcome.message}", _WORDS),
            outcome.run_id,
        )


def _of_comparison(comparison: Comparison) -> Row:
    state = "compared" if comparison.over else "being compared"
    how = comparison.refused or ("the images are the same" if comparison.same else "")
    faults = f"; {listed(comparison.faults)}" if comparison.faults else ""
    rounds = f"{state}, {comparison.rounds} round{'' if comparison.rounds == 1 else 's'}{faults}"
    run_id = next(reversed(comparison.runs.values()), "")
    return Row(
        visible(comparison.key, 80),
        visible(comparison.key, _WORDS),
        "",
        "",
        visible(how or rounds, _WORDS),
        run_id,
    )

# SPDX-License-Identifier: Apache-2.0
"""The lines about all runs in one file. It only saves time: a damaged one is deleted, and one that cannot be
written or read (a full disk, a read-only store) is ignored."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from bootscope.capture.stored import Summary

_NAMES = ", ".join(Summary.__dataclass_fields__)
_TABLE = f"CREATE TABLE IF NOT EXISTS runs ({_NAMES}, PRIMARY KEY (run_id))"


@dataclass(frozen=True)
class RunIndex:
    """The file at `path`."""

    path: Path

    def all(self) -> dict[str, Summary]:
        """All its lines, by run."""
        return {row[0]: Summary(*row) for row in self._do(f"SELECT {_NAMES} FROM runs")}

    def get(self, run_id: str) -> Summary | None:
        """The line about a run, if there is one."""
        rows = self._do(f"SELECT {_NAMES} FROM runs WHERE run_id = ?", one=run_id)
        return Summary(*rows[0]) if rows else None

    def put(self, *summaries: Summary) -> None:
        """Writes lines, replacing older ones."""
        rows = [astuple(summary) for summary in summaries]
        self._do("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def forget(self, run_ids: list[str]) -> None:
        """Removes runs."""
        self._do("DELETE FROM runs WHERE run_id = ?", [(run_id,) for run_id in run_ids])

    def _do(
        self, statement: str, rows: list[tuple[Any, ...]] | None = None, one: str | None = None
    ) -> list[tuple[Any, ...]]:
        """Runs one statement, once for each of `rows` or with `one`; returns its result."""
        for attempt in range(2):
            try:
                with contextlib.closing(sqlite3.connect(self.path, timeout=30)) as db, db:
                    db.execute(_TABLE)
                    if rows is None:
                        return db.execute(statement, (one,) if one is not None else ()).fetchall()
                    db.executemany(statement, rows)
                    return []
            except sqlite3.DatabaseError as error:
                # An index with other columns is as useless as a damaged one.
                if isinstance(error, sqlite3.OperationalError) and "column" not in str(error):
                    return []
                if attempt == 0:
                    self.path.unlink(missing_ok=True)
        return []

# SPDX-License-Identifier: Apache-2.0
"""What searches have seen of a system: a file of JSON lines beside the runs, append-only.

    searches/SYSTEM.jsonl
    searches/TREE.board.jsonl
    searches/SYSTEM.running     locked while a search of it runs

One line each: a search that began, with its options; a system that was built and booted, also one that could
not be built or that hung; the audit of a recording; on a physical board a comparison, from when its first
recording began. A repeated search finds all of it here, so nothing is built or booted twice. Boots of a board
vary: only a resumed search uses its comparisons.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bootscope.audit.findings import Finding
from bootscope.builder.ids import tree_id
from bootscope.core.jsonlines import JsonLines
from bootscope.core.locks import is_held
from bootscope.core.paths import package_dir
from bootscope.search.outcome import Outcome
from bootscope.system.changes import Change
from bootscope.techniques.model import techniques

SCHEMA = 1


class SavedFinding(msgspec.Struct, frozen=True):
    """A finding of an audit, as stored."""

    technique: str
    recipe: str = msgspec.field(name="way")
    saving_ns: int | None
    evidence: str
    assumptions: tuple[str, ...]
    change: Change


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """A comparison as stored, by `key`; `system` is the hash of the images without changes. `runs`: the key
    of a variant -> its recording. `checked`: keys of variants that passed the owner's check. `over`: all of
    it was measured; the other fields are as in a Pair. `refused`: why nothing was booted: the images are the
    `same`, or the build failed, with its `log`."""

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
    """A line of the journal. `kind` says which of the other fields are set: `begun` (`options`), `outcome`,
    `audit` (`run_id`, `findings`), `compared` (`comparison`; the last one with a key counts), `ended`
    (`why`). `code` names the program that wrote it."""

    kind: str
    at: str
    code: str = ""
    schema: int = SCHEMA
    options: dict[str, Any] | None = None
    outcome: Outcome | None = None
    run_id: str = ""
    findings: tuple[SavedFinding, ...] = ()
    comparison: Comparison | None = None
    why: str = ""


BOARD = ".board"
"""Suffix of the name of a tree's journal."""
RUNNING = ".running"
"""Suffix of the name of the lock beside a journal."""


class Journal:
    """The journal of the named system in the store at `root`. Several threads may write to it."""

    def __init__(self, root: Path, system: str) -> None:
        self.path = root / "searches" / f"{system}.jsonl"
        self._file = JsonLines(self.path, Line)
        self._lock = threading.Lock()
        self._code = tree_id(package_dir())
        self._outcomes: dict[str, tuple[Outcome, bool]] = {}
        self._audits: dict[str, tuple[SavedFinding, ...]] = {}
        self._unlock: Callable[[], object] = lambda: None
        self.comparisons: dict[str, Comparison] = {}
        self.options: dict[str, Any] | None = None
        """Options of the last search that began."""
        for line in self._file.read():
            if line.schema == SCHEMA:
                self._keep(line)

    def outcome(self, key: str) -> tuple[Outcome, bool] | None:
        """The outcome of the system with that key, and whether this same program computed its figures."""
        with self._lock:
            return self._outcomes.get(key)

    def of_run(self, run_id: str) -> Outcome | None:
        """The outcome of the system recorded as that run; None if no search made it."""
        with self._lock:
            found = (outcome for outcome, _ in self._outcomes.values() if outcome.run_id == run_id)
            return next(found, None)

    def add(self, outcome: Outcome) -> None:
        """Stores an outcome. Raises ToolError when it cannot be written."""
        self._write(Line("outcome", _now(), self._code, outcome=outcome))

    def compared(self, comparison: Comparison) -> None:
        """Stores the state of a comparison. Raises ToolError when it cannot be written."""
        self._write(Line("compared", _now(), self._code, comparison=comparison))

    def findings(self, run_id: str, make: Callable[[], tuple[Finding, ...]]) -> list[Finding]:
        """The findings of the audit of a recording; `make` computes them if they are not known yet."""
        if run_id not in self._audits:
            saved = tuple(
                SavedFinding(f.technique.id, f.recipe, f.saving_ns, f.evidence, f.assumptions, f.change)
                for f in make()
            )
            self._write(Line("audit", _now(), self._code, run_id=run_id, findings=saved))
        found = techniques()
        return [
            Finding(found[s.technique], s.recipe, s.saving_ns, s.evidence, s.assumptions, s.change)
            for s in self._audits[run_id]
        ]

    def begin(self, options: dict[str, Any]) -> None:
        """Marks the beginning of a search; :func:`is_running` is True until it ends or its process dies."""
        self._write(Line("begun", _now(), self._code, options=options))
        self._lock_running()

    def end(self, why: str) -> None:
        """Marks the end of the search."""
        self._write(Line("ended", _now(), self._code, why=why))
        self._unlock()

    def _lock_running(self) -> None:
        """Holds the lock until the search ends, this object is deleted, or the process dies."""
        self._unlock()
        with contextlib.suppress(OSError):  # another search of the same system is running, too
            lock = os.open(self.path.with_suffix(RUNNING), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            self._unlock = weakref.finalize(self, os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _keep(self, line: Line) -> None:
        same = line.code == self._code
        if line.outcome:
            self._outcomes[line.outcome.key] = (line.outcome, same)
        elif line.comparison:
            self.comparisons[line.comparison.key] = line.comparison
        elif line.kind == "audit" and same:
            # Another catalogue may give other findings for the same recording.
            self._audits[line.run_id] = line.findings
        elif line.kind == "begun":
            self.options = line.options

    def _write(self, line: Line) -> None:
        with self._lock:
            self._file.add(line)
            self._keep(line)


def is_running(journal: Path) -> bool | None:
    """Whether a process is working on the search with that journal; None for a search by an earlier version
    of bootscope, which left no mark."""
    with contextlib.suppress(OSError):
        return is_held(journal.with_suffix(RUNNING))
    return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

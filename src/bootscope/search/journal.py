# SPDX-License-Identifier: Apache-2.0
"""What searches have seen of a system: a file of JSON lines beside the runs, which is only added to.

    searches/SYSTEM.jsonl
    searches/TREE.board.jsonl
    searches/SYSTEM.running     locked while a search of it runs

One line each: a search that began, with its options; a system that was built and booted, also one that
could not be built or that hung; the audit of a recording; on a physical board a comparison, from when its
first recording began. A search that is asked again finds all of it here, so that nothing is built or booted
twice. Boots of a board vary: only a search that is resumed uses its comparisons.
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
    """A finding of an audit, as it is kept."""

    technique: str
    recipe: str = msgspec.field(name="way")
    saving_ns: int | None
    evidence: str
    assumptions: tuple[str, ...]
    change: Change


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
    """A line of the journal. `kind` says which of the other fields there are: `begun` (`options`),
    `outcome`, `audit` (`run_id`, `findings`), `compared` (`comparison`; the last of a key counts), `ended`
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
"""What the name of a tree's journal ends with."""
RUNNING = ".running"
"""What the name of the lock beside a journal ends with."""


class Journal:
    """The journal of the system of that name in the store at `root`. Several threads may write to it."""

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
        """Of the last search that began."""
        for line in self._file.read():
            if line.schema == SCHEMA:
                self._keep(line)

    def outcome(self, key: str) -> tuple[Outcome, bool] | None:
        """What came of the system with that key, and whether this very program reckoned its figures."""
        with self._lock:
            return self._outcomes.get(key)

    def of_run(self, run_id: str) -> Outcome | None:
        """What came of the system that was recorded as that run; None where no search made it."""
        with self._lock:
            found = (outcome for outcome, _ in self._outcomes.values() if outcome.run_id == run_id)
            return next(found, None)

    def add(self, outcome: Outcome) -> None:
        """Keeps what came of a system. Raises ToolError when it cannot be written."""
        self._write(Line("outcome", _now(), self._code, outcome=outcome))

    def compared(self, comparison: Comparison) -> None:
        """Keeps how a comparison stands. Raises ToolError when it cannot be written."""
        self._write(Line("compared", _now(), self._code, comparison=comparison))

    def findings(self, run_id: str, make: Callable[[], tuple[Finding, ...]]) -> list[Finding]:
        """The findings of the audit of a recording; `make` makes them where they are not known yet."""
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
        """A search begins; :func:`is_running` says so until it ends, or its process does."""
        self._write(Line("begun", _now(), self._code, options=options))
        self._lock_running()

    def end(self, why: str) -> None:
        """It has ended."""
        self._write(Line("ended", _now(), self._code, why=why))
        self._unlock()

    def _lock_running(self) -> None:
        """Holds the lock until the search ends, this is thrown away, or the process dies."""
        self._unlock()
        with contextlib.suppress(OSError):  # another search of the same system is at work, too
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
            # Another catalogue may find other things in the same recording.
            self._audits[line.run_id] = line.findings
        elif line.kind == "begun":
            self.options = line.options

    def _write(self, line: Line) -> None:
        with self._lock:
            self._file.add(line)
            self._keep(line)


def is_running(journal: Path) -> bool | None:
    """Whether a process is at work on the search with that journal; None for one of an earlier bootscope,
    which left no mark."""
    with contextlib.suppress(OSError):
        return is_held(journal.with_suffix(RUNNING))
    return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

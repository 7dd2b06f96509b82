# SPDX-License-Identifier: Apache-2.0
"""The figures of runs in the list. Missing ones are computed in the background, so that a list of many runs
never waits for them."""

from __future__ import annotations

import contextlib
import queue
import threading
import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from bootscope.capture.imported import IMPORT
from bootscope.capture.measured import MEASURED
from bootscope.capture.record import RUN
from bootscope.capture.store import Store
from bootscope.capture.stored import Summary
from bootscope.core.errors import BootscopeError, to_stderr
from bootscope.runs.listing import Figure, figure_of, kept_figure

_Stamp = tuple[str, int, int]


class Known(NamedTuple):
    """A run with its figure; `pending` if that is being computed, `failed` if a bug of ours prevents it."""

    run: Summary
    figure: Figure | None
    pending: bool
    labels: Mapping[str, str] = MappingProxyType({})
    failed: bool = False


class Figures:
    """The figures of a store's runs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[_Stamp, Figure | None] = {}
        self._asked: set[_Stamp] = set()
        self._failed: set[_Stamp] = set()
        self._queue: queue.SimpleQueue[tuple[_Stamp, Summary]] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()

    def all(self) -> list[Known]:
        """All runs, oldest first."""
        runs = self._store.summaries()
        return [self._of(run)._replace(labels=self._store.labels_of(run.run_id)) for run in runs]

    def _of(self, run: Summary) -> Known:
        stamp = self._stamp(run)
        if not run.usable:
            return Known(run, None, False)
        if stamp not in self._known:
            if kept := kept_figure(self._store, run):
                self._known[stamp] = kept
            else:
                self._ask(stamp, run)
                return Known(run, None, True)
        return Known(run, self._known[stamp], False, failed=stamp in self._failed)

    def _stamp(self, run: Summary) -> _Stamp:
        """A key that changes when the run does: milestones or boots may be added."""
        folder, changed_ns = self._store.runs / run.run_id, 0
        for name in (RUN, MEASURED, IMPORT):
            with contextlib.suppress(OSError):
                changed_ns = max(changed_ns, (folder / name).stat().st_mtime_ns)
        return run.run_id, run.complete, changed_ns

    def _ask(self, stamp: _Stamp, run: Summary) -> None:
        with self._lock:
            if stamp in self._asked:
                return
            self._asked.add(stamp)
            self._queue.put((stamp, run))
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, daemon=True)
                self._worker.start()

    def _work(self) -> None:
        while True:
            stamp, run = self._queue.get()
            self._known[stamp] = self._computed(stamp, run)

    def _computed(self, stamp: _Stamp, run: Summary) -> Figure | None:
        """The figure; None if there is none. Never raises: the only thread works for all runs."""
        try:
            return figure_of(self._store, run)
        except (BootscopeError, OSError):  # a run may be deleted meanwhile, or be damaged
            return None
        except Exception:
            self._failed.add(stamp)
            for line in traceback.format_exc().splitlines():
                to_stderr(line)
            to_stderr(f"the times of {run.run_id} are not shown: this is a bug; please report it")
            return None

# SPDX-License-Identifier: Apache-2.0
"""Pages of runs, which take seconds to make: the last ones are kept, and only a few are made at a time."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from bootscope.capture.store import Store

_KEPT = 8
_AT_A_TIME = 2

Key = tuple[object, ...]


class Pages:
    """The pages of a store's runs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[Key, str] = OrderedDict()
        self._lock = threading.Lock()
        self._room = threading.Semaphore(_AT_A_TIME)

    def get(self, names: tuple[str, ...], run_ids: tuple[str, ...], make: Callable[[], str]) -> str:
        """The page about `names`; `make` makes it if its runs have changed. Raises what `make` raises."""
        key = (names, *map(self._state, run_ids))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        with self._room:
            made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made

    def _state(self, run_id: str) -> tuple[tuple[str, int], ...]:
        """The descriptions of a run and of its boots, which may change, with their modification times."""
        folder = self._store.runs / run_id
        found = []
        for path in sorted([*folder.glob("*.json"), *folder.glob("boots/*/boot.json")]):
            if path.name != "figure.json":
                with contextlib.suppress(OSError):
                    found.append((str(path), path.stat().st_mtime_ns))
        return tuple(found)

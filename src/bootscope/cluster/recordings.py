# SPDX-License-Identifier: Apache-2.0
"""Recordings that workers make: their ids, and how they get into the store of this computer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime

from bootscope.builder.cache import Cache
from bootscope.capture.loading import load
from bootscope.capture.store import Store
from bootscope.core.errors import ToolError, UserError

_COMING = ".coming-"


@contextlib.contextmanager
def reserved(store: Store, name: str) -> Iterator[str]:
    """An id for a run, reserved so that nobody else takes it."""
    base = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
    for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
        run_id, mark = f"{base}{suffix}", store.root / f"{_COMING}{base}{suffix}"
        if (store.runs / run_id).exists():
            continue
        with contextlib.suppress(FileExistsError):
            mark.mkdir()
            try:
                yield run_id
            finally:
                mark.rmdir()
            return
    raise ToolError(f"cannot name a new run in {store.runs}")


def take(store: Store, cache: Cache, run_id: str, run: bytes) -> None:
    """Takes a recording into the store after checking its hashes. Raises UserError where they differ."""
    with cache.workspace() as work:
        path = work / "run.bsz"
        path.write_bytes(run)
        found = load(store, path, [run_id])
    if run_id not in found.loaded:
        raise UserError(f"run {run_id} is there already")
    store.mark(run_id)
    store.index(run_id)

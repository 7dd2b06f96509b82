# SPDX-License-Identifier: Apache-2.0
"""The techniques of a stored run: one of a search, or one of a real board made by `try`."""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.capture.store import Store
from bootscope.capture.stored import BOARD
from bootscope.core.errors import UserError
from bootscope.search.journal import Journal

_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-")


def techniques_of_run(store: Path, name: str) -> list[str]:
    """The techniques of a run that a search made, or of a board's; empty if no run has that name.

    Raises UserError for a run whose techniques are not known.
    """
    # Only a run's id begins with its time: for other names the store is neither read nor created.
    if not _RUN.match(name):
        return []
    runs = Store(store)
    searched = (Journal(store, path.stem).of_run(name) for path in sorted(store.glob("searches/*.jsonl")))
    if outcome := next(filter(None, searched), None):
        techniques = outcome.what
    elif name in runs.run_ids():
        techniques = runs.load_measured(name).info.techniques if runs.kind(name) == BOARD else ()
    else:
        return []
    if not techniques:
        raise UserError(
            f"run {name}: the techniques that it tried are unknown",
            hint="name the techniques; only runs of `optimize`, and of `try` on a real board, are known",
        )
    return list(techniques)

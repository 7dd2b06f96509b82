# SPDX-License-Identifier: Apache-2.0
"""The techniques of a stored run: of a search's, or of one of a real board's that `try` made."""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.capture.store import Store
from bootscope.capture.stored import BOARD
from bootscope.core.errors import UserError
from bootscope.search.journal import Journal

_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-")


def techniques_of_run(store: Path, name: str) -> list[str]:
    """The techniques of a run: one that a search made, or a board's; nothing where no run is called that.

    Raises UserError for a run that no techniques are known of.
    """
    # A run's id begins with its time, as no technique's does; for these only the store is looked at, or made.
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

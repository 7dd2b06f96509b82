# SPDX-License-Identifier: Apache-2.0
"""Works out at once what `show`, its views and `audit` will be asked for: nobody waits for it later."""

from __future__ import annotations

import contextlib

from bootscope.analysis.all_views import NAMES
from bootscope.build.cache import Cache
from bootscope.capture.store import Store
from bootscope.errors import BootscopeError
from bootscope.lab.looked import looked
from bootscope.lab.subject import of_recording
from bootscope.views import View, view


def prepare(store: Store, cache: Cache, run_id: str) -> None:
    """Fills the index of the boot of a run that `show` shows. What cannot be told is left out."""
    run = store.load(run_id)
    # One boot, gone through once for all of them.
    seen = view(store, run, indexed=True)
    with contextlib.suppress(BootscopeError):
        _views(seen)
    with contextlib.suppress(BootscopeError):
        looked(of_recording(store, cache, seen))


def _views(seen: View) -> None:
    # In this order: what says the whole, then what takes long.
    _ = seen.timeline, seen.consumers
    for name in NAMES:
        with contextlib.suppress(BootscopeError):
            seen.tables(name)

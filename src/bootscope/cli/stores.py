# SPDX-License-Identifier: Apache-2.0
"""The store that a command works with: a folder, or one on a server, which receives what the command made."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from bootscope.capture.store import Store
from bootscope.core.errors import BootscopeError, ToolError, UserError, printable, to_stderr
from bootscope.core.paths import store_dir, store_url

if TYPE_CHECKING:
    from bootscope.capture.remote_store import RemoteStore

_opened: list[RemoteStore] = []
_MISSPELT = re.compile(r"(s3|gs|gcs|az|abfs|abfss|sftp|ssh|ftp|https?|file):(?!//)|file://(?!/)")
"""A URL with a missing slash would be a folder of that name."""
_NONE: Mapping[str, str] = MappingProxyType({})


def open_store(*, marks: Mapping[str, str] = _NONE) -> Store:
    """The store that BOOTSCOPE_STORE names; `marks` are labels for the runs that are made.

    Raises UserError for an invalid URL.
    """
    url, named = store_url(), os.environ.get("BOOTSCOPE_STORE", "")
    if _MISSPELT.match(named):
        hint = "s3://BUCKET/FOLDER, file:///FOLDER, or a folder such as ./NAME"
        raise UserError(f"BOOTSCOPE_STORE={printable(named)} is neither a folder nor a URL", hint=hint)
    if not url:
        return Store(store_dir(), marks=marks)
    # Without a server, what reaches one need not be loaded.
    from bootscope.capture.remote_store import RemoteStore

    store = RemoteStore(store_dir(), url, marks=marks)
    _opened.append(store)
    return store


@contextlib.contextmanager
def telling_what_is_kept(store: Store) -> Iterator[None]:
    """If the user ends the block, says which runs were made in it, unless they have no boots."""
    earlier = len(store.made)
    try:
        yield
    except KeyboardInterrupt:
        for run_id in store.made[earlier:]:
            found = store.summary(run_id)
            if found.boots:
                done = f"{found.complete} of {found.boots} boots"
                to_stderr(f"kept as {run_id}: {done}; bootscope show {run_id}")
        raise


def send_new() -> int:
    """Sends runs that are not on the server yet, from the stores that were opened; returns the exit code.

    Raises ToolError for the first that could not be sent; all runs stay here as well.
    """
    opened = list(_opened)
    _opened.clear()
    for store in opened:
        for run_id in list(store.unsent()):
            _send(store, run_id)
    return 0


def _send(store: RemoteStore, run_id: str) -> None:
    from bootscope.runs.listing import figure_of

    try:
        figure_of(store, store.summary(run_id))  # it is stored beside the run, and sent with it
        store.send(run_id)
    except BootscopeError as error:
        again = "the next command sends it again"
        hint = f"{error.hint}; {again}" if error.hint else again
        raise ToolError(
            f"{run_id} is in {store.root} and was not sent: {error.message}", hint=hint
        ) from error
    to_stderr(f"sent {run_id}")

# SPDX-License-Identifier: Apache-2.0
"""Small changes to a source tree, as a system file names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

import msgspec

from bootscope.core.errors import printable
from bootscope.core.settings import Setting


class SourceEdit(Setting, frozen=True):
    """In `file` of the tree, `before` becomes `after`. `before` must occur exactly once."""

    file: str
    before: str
    after: str


def of(edits: Mapping[str, SourceEdit] | msgspec.UnsetType) -> Mapping[str, SourceEdit]:
    """The edits of an optional setting."""
    return {} if isinstance(edits, msgspec.UnsetType) else edits


def check(key: str, edits: Mapping[str, SourceEdit], require: Callable[[bool, str, str], None]) -> None:
    """Requires that the edits at `key` name files of the tree and text to search for in them."""
    for name, edit in edits.items():
        at = f"{key}.{printable(name)}"
        require(inside(edit.file), f"{at}.file", f"a path in the tree, got '{printable(edit.file)}'")
        require(bool(edit.before.strip()), f"{at}.before", "the text that becomes another one")


def inside(path: str) -> bool:
    """Whether a path stays inside the tree that it is relative to."""
    return bool(path) and not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts

# SPDX-License-Identifier: Apache-2.0
"""Small edits of sources: each requires the text that it expects, and is refused where that is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.core.errors import UserError


@dataclass(frozen=True)
class Edit:
    """`before` becomes `after` in the file at `path` of a tree. `before` must occur exactly once."""

    path: str
    before: str
    after: str


_FOR_LINUX = "it is made for the source of Linux 6.12"


def edited(
    tree: Path, files: Mapping[str, str], edits: Iterable[Edit], setting: str, made_for: str = _FOR_LINUX
) -> dict[str, str]:
    """The files that edits change, by path, as text. Files in `files` are taken from there, the others from
    the folder `tree`. `setting` is what needs the edits; `made_for` says which source they are made for.

    Raises UserError where a file is missing, or does not have the text that an edit expects exactly once.
    """
    found: dict[str, str] = {}
    for edit in edits:
        text = found.get(edit.path, files.get(edit.path))
        if text is None:
            path = tree / edit.path
            text = path.read_text() if path.is_file() else ""
        if text.count(edit.before) != 1:
            first = next(line for line in edit.before.splitlines() if line.strip()).strip()
            raise UserError(
                f"{setting} cannot be had: {edit.path} of this source tree has not exactly one place with "
                f"'{first}'",
                hint=f"{made_for}; leave {setting} out",
            )
        found[edit.path] = text.replace(edit.before, edit.after)
    return {path: text for path, text in found.items() if not _same(path, text, tree, files)}


def _same(path: str, text: str, tree: Path, files: Mapping[str, str]) -> bool:
    """Whether edits left a text unchanged: they only require it."""
    there = files.get(path)
    return text == (there if there is not None else (tree / path).read_text())

# SPDX-License-Identifier: Apache-2.0
"""Content ids: names that are hashes of everything that goes into a thing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bootscope.core import hints
from bootscope.core.errors import ToolError


def id_of(value: object) -> str:
    """SHA-256 over the canonical JSON of `value` (keys sorted), as 64 hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def sources_id(folder: Path, file: str, what: str) -> str:
    """The hash of a folder of our C sources, among them `file`. Raises ToolError when that is missing."""
    if not (folder / file).exists():
        raise ToolError(f"the {what}'s sources are not in {folder}", hint=hints.REINSTALL)
    return tree_id(folder)


def tree_id(root: Path, skip: Iterable[str] = (".git", "__pycache__")) -> str:
    """A hash over the names, kinds, execute bits and contents of all files and empty folders below `root`.

    Owners and times do not count: they do not survive a checkout.
    """
    skipped = set(skip)
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in skipped)
        here = Path(folder)
        if not folders and not files:
            digest.update(os.fsencode(here.relative_to(root)) + b"\0folder\n")
        for name in sorted([*files, *(f for f in folders if (here / f).is_symlink())]):
            path = here / name
            if path.is_symlink():
                kind, content = "link", hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
            elif path.is_file():
                kind = "program" if path.stat().st_mode & 0o100 else "file"
                content = file_sha256(path)
            else:
                continue
            digest.update(os.fsencode(path.relative_to(root)) + f"\0{kind}\0{content}\n".encode())
    return digest.hexdigest()

# SPDX-License-Identifier: Apache-2.0
"""The content id of an image's files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from bootscope.core.errors import UserError, printable
from bootscope.imageboot.content import of_file

_MOST_FILES = 200_000


def of_files(files: Sequence[str]) -> str:
    """A hash of files and of everything in folders. Raises UserError where one cannot be read."""
    digest = hashlib.sha256()
    for name in files:
        try:
            for row in _rows(Path(name)):
                digest.update(row.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise UserError(f"cannot read {printable(name)}: {error.strerror}") from error
    return digest.hexdigest()


def _rows(path: Path) -> Iterator[str]:
    if not path.is_dir():
        yield f"{path.name}\0{of_file(path)}\0"
        return
    count = 0
    for here, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > _MOST_FILES:
                raise UserError(f"{printable(str(path))} has more than {_MOST_FILES:,} files")
            yield _row(Path(here, name), path)


def _row(file: Path, top: Path) -> str:
    """A file of a folder: its name, size and time, since changed files are written anew."""
    about = file.lstat()
    told = str(file.readlink()) if stat.S_ISLNK(about.st_mode) else f"{about.st_size} {about.st_mtime_ns}"
    return f"{file.relative_to(top)}\0{told}\0{about.st_mode:o}\0"

# SPDX-License-Identifier: Apache-2.0
"""The file in which runs go to another computer: a tar archive, compressed with zstd (`tar --zstd -tf FILE`).

    bootscope-save.json                  first: which runs and files follow, in this order, with their SHA-256
    objects/SHA256.gz                    what the runs name of the store's objects
    runs/RUN/...                         the runs as they lie in the store, without derived files

The same runs give the same bytes. A reader expects exactly the archive that its first file describes: a
header that differs in any byte from that of the next file is an error, so that links, devices, other names,
and files twice or out of order are never processed.

History of the schema:
  1  2026-11  first version
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from bootscope.capture.record import RECORDS
from bootscope.core.errors import UserError, printable

SCHEMA = 1
CONTENTS = "bootscope-save.json"
RUNS, OBJECTS = "runs", "objects"
BLOCK = 512
MOST_CONTENTS_BYTES = 256 << 20
"""Of the list of files, unpacked; 500 runs of ten boots have 20 MB."""
MOST_FILE_BYTES = (8 << 30) - 1
"""Of one file: the maximum that a tar header can hold in digits."""
MADE_AGAIN = frozenset({"figure.json", "recording.lock", "pins-read.bin", RECORDS})
"""Files of a run that are not part of it: derived from the others, or temporary."""
_RUN = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,149}"
_FILE = r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,98}"
RUN_NAME, FILE_NAME, OBJECT_NAME = re.compile(_RUN), re.compile(_FILE), re.compile(r"[0-9a-f]{64}")
_RUN_FILE = re.compile(rf"{RUNS}/{_RUN}(/boots/[0-9]{{3,6}}(/timing)?|/files)?/{_FILE}")
_OBJECT_FILE = re.compile(rf"{OBJECTS}/[0-9a-f]{{64}}\.gz")


class SavedFile(msgspec.Struct, frozen=True):
    """A file: its name in the archive, its length, and the SHA-256 of its bytes."""

    name: str
    size_bytes: int
    sha256: str


class SavedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its files; `objects` are the names of what it needs of the store's objects."""

    run_id: str
    files: tuple[SavedFile, ...]
    objects: tuple[str, ...] = ()


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive holds. `bootscope` is the version that wrote it."""

    kind: Literal["bootscope-save"] = "bootscope-save"
    schema: int = SCHEMA
    bootscope: str
    objects: tuple[SavedFile, ...]
    runs: tuple[SavedRun, ...]

    def files(self) -> Iterator[SavedFile]:
        """All files, in order."""
        yield from self.objects
        for run in self.runs:
            yield from run.files


def part_of_run(run: Path) -> Iterator[Path]:
    """The files of a run's folder that belong to it, by name. Foreign files are left out."""
    for path in sorted(run.rglob("*")):
        name = f"{RUNS}/{path.relative_to(run.parent)}"
        kept = _RUN_FILE.fullmatch(name) and path.name not in MADE_AGAIN
        if kept and path.is_file() and not path.is_symlink():
            yield path


def header(name: str, size_bytes: int) -> bytes:
    """The block before a file in the archive. Raises UserError for a name that is too long for it."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size_bytes, 0o644
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise UserError(f"{printable(name[:200])} cannot be saved: {error}") from error


def padding(size_bytes: int) -> int:
    """How many bytes of 0 follow a file of that length."""
    return -size_bytes % BLOCK


def checked(contents: Contents) -> Contents:
    """The same. Raises UserError for anything that :mod:`saving` never writes: other names, repeated names,
    files of another run, results computed from a recording, impossible lengths."""
    name, count = max(Counter(f.name for f in contents.files()).items(), key=lambda i: i[1], default=("", 0))
    if count > 1:
        raise UserError(f"its list of files has {printable(name[:200])} twice")
    for file in contents.files():
        if not 0 <= file.size_bytes <= MOST_FILE_BYTES:
            raise UserError(f"{printable(file.name[:200])} is said to have {file.size_bytes} bytes")
    wrong = [f.name for f in contents.objects if not _OBJECT_FILE.fullmatch(f.name)]
    for run in contents.runs:
        if not RUN_NAME.fullmatch(run.run_id):
            raise UserError(f"'{printable(run.run_id[:200])}' is not a run id")
        wrong += [f.name for f in run.files if not _is_of(run.run_id, f.name)]
    if wrong:
        raise UserError(f"'{printable(wrong[0][:200])}' is not a file of a run")
    return contents


def _is_of(run_id: str, name: str) -> bool:
    """Whether a file can belong to that run. What is derived from a recording cannot: every verb would take
    it for its own result."""
    derived = name.rpartition("/")[2] in MADE_AGAIN
    return bool(_RUN_FILE.fullmatch(name)) and name.startswith(f"{RUNS}/{run_id}/") and not derived

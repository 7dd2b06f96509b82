# SPDX-License-Identifier: Apache-2.0
"""Imported runs in the store: the files as given, and the user's statements about them.

    runs/RUN/import.json            what was imported, and how it was to be read
    runs/RUN/files/0001-boot.log    the files, unchanged; those of a megabyte and more packed, as .zst

Their meaning is derived again at each use, so that better readers improve old imports.

History of the schema:
  1  2026-11  first version
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from bootscope import __version__
from bootscope.capture.packing import packed, unpacked
from bootscope.capture.record import read_json, write_json, write_parts
from bootscope.core.errors import UserError, printable

SCHEMA = 1
IMPORT, _FILES = "import.json", "files"
_PACKED_BYTES = 1 << 20
_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Raw:
    """A file as it was given, unchanged. `folder` is the folder it came with, or the empty string;
    `name` then begins with it."""

    name: str
    data: bytes
    folder: str = ""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What the user stated where files cannot tell.

    `formats` and `stamps` are by file name, "" standing for all files; `values` are a reader's options by
    name; `offsets_ns` by file name: how long after the first file's zero its own zero is; `milestones` are
    texts by name.
    """

    formats: dict[str, str] = {}
    stamps: dict[str, str] = {}
    values: dict[str, str] = {}
    offsets_ns: dict[str, int] = {}
    milestones: dict[str, str] = {}
    keep_going: bool = False


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file: its name as given, the folder it came with, where it is kept and whether it is packed there
    (`sha256` is of the stored file, `size_bytes` of the original); `formats` are the names of the formats as
    which it was read on import."""

    name: str
    folder: str
    stored: str
    sha256: str
    size_bytes: int
    formats: tuple[str, ...] = ()
    packed: bool = False


class ImportInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An imported run. `boots` is the number of boots found on import."""

    run_id: str
    created: str
    bootscope: str
    name: str
    files: tuple[KeptFile, ...]
    answers: Answers
    boots: int
    schema: int = SCHEMA


def safe_name(name: str) -> str:
    """A name for a file or run that is safe for shells and file systems; `import` if nothing is left."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-._")
    return plain[:_NAME_CHARACTERS].rstrip("-._") or "import"


def keep(
    run: Path,
    name: str,
    raws: Iterable[Raw],
    formats: Mapping[str, tuple[str, ...]],
    answers: Answers,
    boots: int,
) -> ImportInfo:
    """Fills the new, empty folder of a run with an import; if that fails, the folder is removed.

    `formats` are, by file name, the names of the formats as which it was read.
    """
    try:
        (run / _FILES).mkdir()
        files = tuple(_keep_file(run, at, raw, formats) for at, raw in enumerate(raws, 1))
        info = ImportInfo(
            run_id=run.name,
            created=datetime.now().astimezone().isoformat(timespec="seconds"),
            bootscope=__version__,
            name=name,
            files=files,
            answers=answers,
            boots=boots,
        )
        write_json(run / IMPORT, info)
    except BaseException:
        shutil.rmtree(run, ignore_errors=True)
        raise
    return info


def _keep_file(run: Path, number: int, raw: Raw, formats: Mapping[str, tuple[str, ...]]) -> KeptFile:
    stored = f"{number:04}-{safe_name(Path(raw.name).name)}"
    large = len(raw.data) >= _PACKED_BYTES
    stored += ".zst" if large else ""
    checksum = hashlib.sha256()
    parts = packed(raw.data) if large else iter((raw.data,))
    write_parts(run / _FILES / stored, _summed(parts, checksum.update))
    return KeptFile(
        name=raw.name,
        folder=raw.folder,
        stored=stored,
        sha256=checksum.hexdigest(),
        size_bytes=len(raw.data),
        formats=formats.get(raw.name, ()),
        packed=large,
    )


def _summed(parts: Iterable[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
    """`parts`, each fed to a checksum before it is written."""
    for part in parts:
        update(part)
        yield part


def read_import(run: Path) -> ImportInfo:
    """The import in a run's folder. Raises UserError when its description is damaged or too new."""
    return read_json(run / IMPORT, ImportInfo, SCHEMA)


def raw_files(run: Path, info: ImportInfo) -> list[Raw]:
    """The files of an import, unchanged. Raises UserError when one is missing or was changed."""
    found = []
    for file in info.files:
        path = run / _FILES / Path(file.stored).name
        try:
            data = path.read_bytes()
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            why = error.strerror if isinstance(error, OSError) else error
            raise UserError(f"{info.run_id}: {printable(path.name)} cannot be read: {why}") from error
        same = hashlib.sha256(data).hexdigest() == file.sha256
        whole = unpacked(data, file.size_bytes) if same and file.packed else data
        if not same or whole is None:
            raise UserError(f"{info.run_id}: {path.name} has changed since the import")
        found.append(Raw(file.name, whole, file.folder))
    return found

# SPDX-License-Identifier: Apache-2.0
"""Writing runs of a store to one file for another computer (saved.py describes it)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from bootscope import __version__
from bootscope.capture import saved
from bootscope.capture.record import RUN, RunInfo, read_json
from bootscope.capture.saved import OBJECTS, RUNS, Contents, SavedFile, SavedRun
from bootscope.capture.store import Store
from bootscope.core import zstd
from bootscope.core.errors import ToolError, UserError

_LEVEL = 9
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Written:
    """What was saved: the ids of the runs, the size of their files in bytes, and that of the written file."""

    run_ids: tuple[str, ...]
    size_bytes: int
    saved_bytes: int


def save(store: Store, run_ids: Iterable[str], to: Path) -> Written:
    """Writes these runs to the file `to`, which appears when it is complete.

    Raises UserError if the file exists, a run is being recorded or changes meanwhile, or `to` cannot be
    written; ToolError if the store lacks an object that a run needs.
    """
    if to.exists():
        raise UserError(f"{to} exists already; nothing is overwritten", hint="another name, or rm it first")
    ids = sorted(set(run_ids))
    for run_id in ids:
        store.fetch(run_id)
    contents = _contents(store, ids)
    part = to.with_name(f".{to.name}.part")
    try:
        with part.open("wb") as f:
            _write(store, contents, f)
        part.rename(to)
    except OSError as error:
        raise UserError(f"cannot write {to}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    size_bytes = sum(file.size_bytes for file in contents.files())
    return Written(tuple(run.run_id for run in contents.runs), size_bytes, to.stat().st_size)


def objects_of(run: Path) -> tuple[str, ...]:
    """The store's objects that the run in a folder names. Raises UserError when it cannot be read."""
    if not (run / RUN).exists():
        return ()
    return tuple(sorted(set(read_json(run / RUN, RunInfo).system.symbols.values())))


def _contents(store: Store, run_ids: list[str]) -> Contents:
    runs = []
    for run_id in run_ids:
        folder = store.runs / run_id
        if store.is_recording(folder):
            raise UserError(f"run {run_id} is being recorded", hint="save it when that is done")
        files = tuple(_file(store.root, path) for path in saved.part_of_run(folder))
        runs.append(SavedRun(run_id=run_id, files=files, objects=objects_of(folder)))
    names = sorted({name for run in runs for name in run.objects})
    missing = [name for name in names if not (store.root / OBJECTS / f"{name}.gz").is_file()]
    if missing:
        of = next(run.run_id for run in runs if missing[0] in run.objects)
        raise ToolError(f"the store lacks object {missing[0][:12]}, which run {of} needs")
    objects = tuple(_file(store.root, store.root / OBJECTS / f"{name}.gz") for name in names)
    return saved.checked(Contents(bootscope=__version__, objects=objects, runs=tuple(runs)))


def _file(root: Path, path: Path) -> SavedFile:
    found, size = hashlib.sha256(), 0
    for part in _parts(path):
        found.update(part)
        size += len(part)
    folder = OBJECTS if path.parent.name == OBJECTS else RUNS
    return SavedFile(f"{folder}/{path.relative_to(root / folder)}", size, found.hexdigest())


def _parts(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as f:
            while part := f.read(_CHUNK):
                yield part
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror}") from error


def _write(store: Store, contents: Contents, to: BinaryIO) -> None:
    """The whole archive. Raises UserError if a file no longer matches the list."""
    listed = msgspec.json.encode(contents)
    with zstd.module().ZstdFile(to, "wb", level=_LEVEL) as out:
        out.write(saved.header(saved.CONTENTS, len(listed)) + listed + bytes(saved.padding(len(listed))))
        for file in contents.files():
            out.write(saved.header(file.name, file.size_bytes))
            found, size = hashlib.sha256(), 0
            for part in _parts(store.root / file.name):
                found.update(part)
                size += len(part)
                out.write(part)
            if (size, found.hexdigest()) != (file.size_bytes, file.sha256):
                raise UserError(f"{file.name} changed while it was being saved", hint="save again")
            out.write(bytes(saved.padding(size)))
        out.write(bytes(2 * saved.BLOCK))

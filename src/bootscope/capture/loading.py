# SPDX-License-Identifier: Apache-2.0
"""Loading saved runs into a store. They appear complete, after all checks; existing runs stay unchanged."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bootscope.capture import labels, saved
from bootscope.capture.imported import IMPORT, ImportInfo
from bootscope.capture.imported import SCHEMA as IMPORT_SCHEMA
from bootscope.capture.measured import MEASURED, MeasuredInfo, read_pins
from bootscope.capture.measured import SCHEMA as MEASURED_SCHEMA
from bootscope.capture.packing import LARGEST_BYTES
from bootscope.capture.record import BOOT, RUN, SCHEMA, BootInfo, RunInfo, read_json
from bootscope.capture.saved import OBJECTS, RUNS, SavedRun
from bootscope.capture.saving import objects_of
from bootscope.capture.store import Store
from bootscope.capture.unpacking import Archive, opened
from bootscope.core.errors import SpaceError, ToolError, UserError, printable, unknown
from bootscope.core.text import size

_LOCK, _STAGE = ".loading.lock", ".loading-"
_SPARE_BYTES = 64 << 20
"""Disk space that stays free."""
_CHUNK = 1 << 20
_DESCRIBED: tuple[tuple[str, type[RunInfo | MeasuredInfo | ImportInfo], int], ...] = (
    (RUN, RunInfo, SCHEMA),
    (MEASURED, MeasuredInfo, MEASURED_SCHEMA),
    (IMPORT, ImportInfo, IMPORT_SCHEMA),
)


@dataclass(frozen=True)
class Loaded:
    """The result for each run of a file, by id: loaded; already there and equal; already there with other
    content, and left unchanged."""

    loaded: tuple[str, ...]
    same: tuple[str, ...]
    differ: tuple[str, ...]
    size_bytes: int


def load(store: Store, path: Path, wanted: Collection[str] = ()) -> Loaded:
    """Loads the runs of a saved file into the store, or only those `wanted`.

    Raises UserError for a file that is not ours, damaged, newer or hostile, and for a run that it does not
    contain; SpaceError if the disk has no room; ToolError for a store that cannot be written. The store is
    then unchanged.
    """
    store.check_writable()
    with opened(path) as archive, _stage(store) as stage:
        runs = {run.run_id: run for run in archive.contents.runs}
        for name in wanted:
            if name not in runs:
                raise unknown(f"run in {path}", name, list(runs))
        asked = [run for name, run in runs.items() if not wanted or name in wanted]
        there = {run.run_id: _same(store, run) for run in asked if (store.runs / run.run_id).exists()}
        new = [run for run in asked if run.run_id not in there]
        _room(store, archive)
        _unpack(archive, stage, new)
        for run in new:
            _check(path, stage, store, run)
        _take(store, stage, new)
    same, differ = (tuple(i for i, equal in there.items() if equal is which) for which in (True, False))
    size_bytes = sum(file.size_bytes for run in new for file in run.files)
    return Loaded(tuple(run.run_id for run in new), same, differ, size_bytes)


@contextlib.contextmanager
def _stage(store: Store) -> Iterator[Path]:
    """A folder of the store in which files wait until all are checked; only one load of a store at a time."""
    with (store.root / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError("another bootscope is loading runs into this store", hint="wait for it") from None
        for left in store.root.glob(f"{_STAGE}*/"):  # of a killed load
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_STAGE, dir=store.root) as folder:
            yield Path(folder)


def _same(store: Store, run: SavedRun) -> bool:
    """Whether the store's run of that name is the same; its labels may differ."""
    here = {
        f"{RUNS}/{path.relative_to(store.runs)}": path for path in saved.part_of_run(store.runs / run.run_id)
    }
    said = f"{RUNS}/{run.run_id}/{labels.LABELS}"
    theirs = {file.name: file.sha256 for file in run.files if file.name != said}
    here.pop(said, None)
    return here.keys() == theirs.keys() and all(_sha256(p) == theirs[name] for name, p in here.items())


def _sha256(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _room(store: Store, archive: Archive) -> None:
    free = shutil.disk_usage(store.root).free - _SPARE_BYTES
    if archive.size_bytes > free:
        words = (
            f"{archive.path} needs {size(archive.size_bytes)}, and {store.root} has {size(max(0, free))} left"
        )
        raise SpaceError(
            words, hint="bootscope cache prune makes room; or load some of its runs: load FILE RUN..."
        )


def _unpack(archive: Archive, stage: Path, runs: Collection[SavedRun]) -> None:
    """Writes the files of these runs, and the objects that they name; reads and checks all others."""
    wanted = {file.name for run in runs for file in run.files}
    wanted |= {f"{OBJECTS}/{name}.gz" for run in runs for name in run.objects}
    for file, parts in archive.each():
        if file.name not in wanted:
            for _ in parts:
                pass
            continue
        to = stage / file.name
        to.parent.mkdir(parents=True, exist_ok=True)
        with to.open("xb") as f:
            for part in parts:
                f.write(part)
            f.flush()
            os.fsync(f.fileno())


def _check(path: Path, stage: Path, store: Store, run: SavedRun) -> None:
    """Raises UserError if a run's descriptions cannot be read or belong to another run, or its objects are
    missing, do not match their names, or are of no use to it."""
    folder = stage / RUNS / run.run_id
    try:
        _check_described(folder, run.run_id)
        needed = objects_of(folder)
        for name in needed:
            _check_object(stage, store, name)
        # Whatever it brings beyond those is unchecked, and would take the place of the real object.
        if more := sorted(set(run.objects) - set(needed)):
            raise UserError(
                f"run {run.run_id} brings object {printable(more[0][:12])}, which it does not name"
            )
    except UserError as error:
        words = error.message.replace(f"{stage}/", "")
        raise UserError(f"{path} is refused: {words}", hint="nothing of it was loaded") from error


def _check_described(folder: Path, run_id: str) -> None:
    found = [(name, kind, newest) for name, kind, newest in _DESCRIBED if (folder / name).exists()]
    if len(found) != 1:
        raise UserError(f"run {run_id} has {len(found)} descriptions")
    name, kind, newest = found[0]
    described = read_json(folder / name, kind, newest)
    if described.run_id != run_id:
        raise UserError(f"{name} of {run_id} is of another run")
    if isinstance(described, ImportInfo):
        _check_stored(described)
    for boot in (folder / "boots").glob("*"):
        if (boot / BOOT).exists() and read_json(boot / BOOT, BootInfo).boot_id != f"{run_id}/{boot.name}":
            raise UserError(f"boot {boot.name} of {run_id} is another one")
        pins = read_pins(boot)
        # A name that cannot be printed may be none at all: no file name holds a zero byte.
        if pins and pins.file and (Path(pins.file).name != pins.file or not pins.file.isprintable()):
            raise UserError(f"boot {boot.name} of {run_id} names a file outside of it")
    labels.read(folder)


def _check_stored(info: ImportInfo) -> None:
    wrong = [file.stored for file in info.files if not saved.FILE_NAME.fullmatch(file.stored)]
    if wrong:
        raise UserError(f"{IMPORT} names '{printable(wrong[0][:200])}', which is not a file of a run")


def _check_object(stage: Path, store: Store, name: str) -> None:
    """Checks an object, which is named by the hash of its unpacked content."""
    if not saved.OBJECT_NAME.fullmatch(name):
        raise UserError(f"'{name[:80]}' is not an object name")
    path = stage / OBJECTS / f"{name}.gz"
    if not path.exists():
        try:
            store.object(name)
        except ToolError:
            raise UserError(f"object {name[:12]} is missing") from None
        return
    if _unpacked_sha256(path) != name:
        raise UserError(f"object {name[:12]} is not what its name says")


def _unpacked_sha256(path: Path) -> str:
    """The hash of a gzip file's content; empty if it is damaged, or larger than any object."""
    found, count, tool = hashlib.sha256(), 0, zlib.decompressobj(31)
    with path.open("rb") as f, contextlib.suppress(zlib.error):
        while not tool.eof:
            feed = tool.unconsumed_tail or f.read(_CHUNK)
            if not feed:
                return ""
            part = tool.decompress(feed, _CHUNK)
            found.update(part)
            count += len(part)
            if count > LARGEST_BYTES:
                return ""
        return "" if tool.unused_data or f.read(1) else found.hexdigest()
    return ""


def _take(store: Store, stage: Path, runs: Collection[SavedRun]) -> None:
    """Moves checked files to their places; objects first, since runs name them."""
    for path in (stage / OBJECTS).glob("*.gz"):
        to = store.root / OBJECTS / path.name
        if not to.exists():
            path.rename(to)
    for run in runs:
        to = store.runs / run.run_id
        try:
            to.mkdir()  # claims the name: the first to do so keeps it
        except FileExistsError:
            raise UserError(
                f"run {run.run_id} appeared in the store meanwhile", hint="load the file again"
            ) from None
        (stage / RUNS / run.run_id).rename(to)

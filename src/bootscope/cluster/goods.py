# SPDX-License-Identifier: Apache-2.0
"""What caches exchange: finished steps, and sources, all checked by hash.

steps/ID/ of the cache, as everywhere given/HASH/NAME in a worker's cache: a source file with that SHA-256, or
a folder with that tree id
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from bootscope.builder import parcel
from bootscope.builder.cache import Cache
from bootscope.builder.ids import file_sha256, tree_id
from bootscope.core.errors import ToolError

STEP, GIVEN = "steps", "given"
PIECE_BYTES = 4 << 20
_NAME_DIGITS = set("0123456789abcdef")


def find(cache: Cache, kind: str, name: str) -> Path | None:
    """The folder of a step or of something given, if it is in the cache."""
    if kind == STEP:
        return cache.find(name)
    path = cache.root / GIVEN / name
    return path if path.is_dir() else None


def names(cache: Cache) -> dict[str, list[str]]:
    """The names of a cache's content, by kind."""
    return {kind: sorted(_there(cache.root / kind)) for kind in (STEP, GIVEN)}


def _there(folder: Path) -> Iterator[str]:
    with contextlib.suppress(FileNotFoundError):
        yield from (path.name for path in folder.iterdir() if is_name(path.name))


def is_name(name: str) -> bool:
    return len(name) == 64 and set(name) <= _NAME_DIGITS


def content(folder: Path) -> str:
    """The hash by which a step's folder is checked."""
    return tree_id(folder)


@contextlib.contextmanager
def packed(cache: Cache, folder: Path) -> Iterator[Path]:
    """The parcel of a folder, in a temporary file."""
    with cache.workspace() as work:
        path = work / "parcel"
        with path.open("wb") as f:
            parcel.pack(folder, f)
        yield path


@contextlib.contextmanager
def wrapped(cache: Cache, thing: Path) -> Iterator[Path]:
    """The parcel of a source file, or of a folder beside a system's file, as it is sent to others."""
    with cache.workspace() as work:
        new = work / "new"
        new.mkdir()
        if thing.is_dir():
            shutil.copytree(thing, new / thing.name, symlinks=True)
        else:
            shutil.copyfile(thing, new / thing.name)
        with packed(cache, new) as path:
            yield path


def take(cache: Cache, kind: str, name: str, wanted: str, packed: Path) -> Path:
    """Unpacks a parcel, compares it with the hash `wanted`, and puts it into the cache.

    Raises ToolError where the hash differs, SpaceError where there is no room; the cache is then unchanged.
    """
    final = (cache.steps if kind == STEP else cache.root / GIVEN) / name
    with cache.lock(name, lambda: None):
        if there := find(cache, kind, name):
            return there
        with cache.workspace() as work:
            new = work / "new"
            new.mkdir()
            with packed.open("rb") as f:
                parcel.unpack(f, new)
            came = content(new) if kind == STEP else given_hash(new)
            if came != wanted:
                raise ToolError(f"what came as {name[:16]} has the hash {came[:16]}, expected {wanted[:16]}")
            final.parent.mkdir(exist_ok=True)
            return cache.commit(new, final)


def given_hash(folder: Path) -> str:
    """The hash of the only entry of a folder: a file's SHA-256, or a folder's tree id; empty for anything
    else."""
    found = list(folder.iterdir())
    if len(found) != 1 or found[0].is_symlink():
        return ""
    return tree_id(found[0]) if found[0].is_dir() else file_sha256(found[0])


def piece(path: Path, offset: int) -> bytes:
    """A piece of a parcel; the last one is shorter."""
    with path.open("rb") as f:
        f.seek(offset)
        return f.read(PIECE_BYTES)

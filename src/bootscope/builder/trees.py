# SPDX-License-Identifier: Apache-2.0
"""Kept build trees: from the one with the nearest configuration, make compiles only what differs.

Kbuild knows which symbols each object depends on, so continuing from another configuration gives the same
images as starting anew; tests/lab/test_exactness.py checks that. Kept trees are optional: losing them
loses only time, and no id depends on them.

    trees/KEY/NAME/        a build tree, and its requested configuration (wanted.json)
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bootscope.builder.cache import remove_tree
from bootscope.builder.ids import id_of
from bootscope.builder.step import Context
from bootscope.core.damaged import DAMAGED
from bootscope.core.tools import versions

KEPT = 4
"""How many trees of a source are kept; one of a kernel takes 100 to 400 MB."""

_WANTED = "wanted.json"
_COUNTERS = (".version",)
"""Files that count builds, which would show in the image."""


def key_of(source_id: str, rest: str, compiler: str) -> str:
    """A key for trees of these sources (the id of their step), the compiler (its name), and `rest`."""
    return id_of([source_id, versions(compiler), rest])[:32]


def begin(context: Context, key: str, wanted: Mapping[str, object], build: Path) -> None:
    """Makes `build`, as a copy of the kept tree that is nearest to `wanted`, or empty.

    `key` identifies the source and everything that is not a symbol; `wanted` maps symbols to values.
    """
    with context.cache.lock(f"trees-{key}", lambda: None):
        nearest = min(kept(context.cache.root, key), key=lambda tree: _distance(tree, wanted), default=None)
        if not nearest:
            build.mkdir()
            return
        os.utime(nearest)
        context.continued = True
        shutil.copytree(nearest, build, symlinks=True)
    for name in (_WANTED, *_COUNTERS):
        (build / name).unlink(missing_ok=True)


def keep(context: Context, key: str, wanted: Mapping[str, object], build: Path) -> None:
    """Keeps `build` for the next build, by moving it away."""
    folder = context.cache.root / "trees" / key
    new = folder / id_of(wanted)[:16]
    (build / _WANTED).write_bytes(msgspec.json.encode(wanted))
    with context.cache.lock(f"trees-{key}", lambda: None):
        folder.mkdir(parents=True, exist_ok=True)
        remove_tree(new)
        build.rename(new)
        os.utime(new)
        trees = sorted(kept(context.cache.root, key), key=lambda tree: tree.stat().st_mtime, reverse=True)
        for tree in trees[KEPT:]:
            remove_tree(tree)


def kept(root: Path, key: str) -> list[Path]:
    """The trees for this key in the cache at `root`: a build continues from the nearest."""
    folder = root / "trees" / key
    return [path for path in folder.iterdir() if (path / _WANTED).exists()] if folder.exists() else []


def _distance(tree: Path, wanted: Mapping[str, object]) -> int:
    """The number of symbols that were requested differently."""
    there: dict[str, object] = {}
    with contextlib.suppress(OSError, *DAMAGED):
        there = msgspec.json.decode((tree / _WANTED).read_bytes(), type=dict[str, object])
    return sum(there.get(name) != wanted.get(name) for name in {*there, *wanted})

# SPDX-License-Identifier: Apache-2.0
"""Prebuilt images as the systems of other verbs: by their name, or as files with a board."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bootscope.boards.changed import parted
from bootscope.boards.profile import board_names
from bootscope.buildtrees import keep
from bootscope.capture.store import Store
from bootscope.cli.common import runner
from bootscope.cli.stores import open_store
from bootscope.core.errors import UserError, printable
from bootscope.core.paths import cache_dir
from bootscope.imageedit.record import KIND, SCHEMA, ImageRecord, is_image, load_image

if TYPE_CHECKING:
    from bootscope.emulator.plugin_config import Limits
    from bootscope.emulator.recording import Observer
    from bootscope.search.image_bench import ImageBench


def image_of(names: Sequence[str], board: str | None, **more: str) -> ImageRecord | None:
    """The named image: by its name, or as files or an imported system with an emulated `board`; None for
    anything else. `more` are other keys of the record. Raises UserError for files without a board."""
    if len(names) == 1 and is_image(names[0]):
        if board:
            raise UserError(f"{printable(names[0])} has its board: leave --board out")
        return load_image(names[0])[0]
    if not board or parted(board)[0] not in board_names():
        return None
    if len(names) == 1 and keep.is_tree(names[0]):
        tree = keep.load_tree(names[0])[0]
        return _record(tree.name, board, [tree.folder], **{"machine": tree.machine, **more})
    if names and all(Path(name).exists() for name in names):
        from bootscope.imageboot.subject import name_of

        return _record(name_of(names[0]), board, names, **more)
    return None


def _record(name: str, board: str, files: Sequence[str], **more: str) -> ImageRecord:
    paths = tuple(str(Path(file).absolute()) for file in files)
    return ImageRecord(schema=SCHEMA, kind=KIND, name=name, board=board, files=paths, **more)


def bench(
    args: argparse.Namespace,
    record: ImageRecord,
    observer: Observer | None = None,
    store: Store | None = None,
    limits: Limits | None = None,
    timeout_s: float | None = None,
) -> ImageBench:
    """The bench of the image, unchanged and changed. Raises UserError if the image is not understood."""
    # What boots images is slow to load, and most commands need no image.
    from bootscope.builder.cache import Cache
    from bootscope.cli.observers import Quiet
    from bootscope.cli.progress import progress
    from bootscope.search.image_bench import bench_of_image

    watcher = progress(quiet=args.json)
    make = runner(args, Cache(cache_dir()), watcher)
    made = bench_of_image(store or open_store(), make, watcher, observer or Quiet(), record)
    made = replace(made, limits=limits) if limits else made
    return replace(made, timeout_s=timeout_s) if timeout_s else made


def ending(record: ImageRecord, until: str | None, text: str | None) -> ImageRecord:
    """A record whose boots end as requested, if that was requested."""
    if not until and not text:
        return record
    return msgspec.structs.replace(record, until=until or "", until_text=text or "")

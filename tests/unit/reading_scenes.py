# SPDX-License-Identifier: Apache-2.0
"""Boots of the stock system that read files of its root file system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bootscope.analysis.blocks import BlockMap, Piece
from bootscope.capture.store import Store
from bootscope.inventory.recorded import Recorded

from .lab_scenes import MS, boot, known

SECTOR = 80_000
"""Where the first file lies; each has so many sectors for itself:"""
ROOM = 1000
PAGE_SECTORS = 8


def reading(
    store: Store,
    files: Sequence[str],
    reads: Sequence[tuple[str, int, int]],
    wanted: Mapping[str, set[int]] | None = None,
    **settings: str,
) -> Recorded:
    """A boot in which init reads (file, first page, pages); of `wanted` files it is known which pages a
    process wanted."""
    at = {path: SECTOR + number * ROOM for number, path in enumerate(files)}
    story = boot().switch(1, name=b"init")
    for inode, (path, pages) in enumerate((wanted or {}).items(), start=12):
        story.hook("bio", 1, at[path], 512, 0, inode, text=path.encode())
        for page in sorted(pages):
            story.hook("page", inode, page)
    for path, first, count in reads:
        story.work(MS).read(at[path] + first * PAGE_SECTORS, count * 4096)
    contents = {path: "file 0123456789abcdef" for path in files}
    found = known(store, story.work(MS).sample().records, files={**contents, "/etc": "folder"})
    return replace(where(found, at), settings={**found.settings, **settings})


def where(found: Recorded, at: Mapping[str, int]) -> Recorded:
    """The same boot, with files of the root from these sectors on."""
    blocks = BlockMap([Piece(sector, ROOM, path) for path, sector in at.items()])
    evidence = replace(found.view.evidence, blocks=blocks)
    return replace(found, view=replace(found.view, understand=lambda: evidence))

# SPDX-License-Identifier: Apache-2.0
"""What lies in which sectors of a root file system image: files by name, and the file system's own data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bootscope.builder.filesystems.model import Piece

BLOCK_MAP = "blocks.txt"


def write(folder: Path, pieces: Iterable[Piece]) -> None:
    """Writes BLOCK_MAP: a line `first sector, sectors, name, sector in the file` for each piece, by tabs.

    Sectors have 512 bytes and count from the image's start; of the file system's own data the last is 0.
    """
    lines = [f"{first}\t{count}\t{name}\t{at}\n" for first, count, name, at in sorted(pieces)]
    (folder / BLOCK_MAP).write_text("".join(lines))

# SPDX-License-Identifier: Apache-2.0
"""What lies in which sectors of a root file system image: files by name, and the file system's own data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from bootscope.build.step import Context
from bootscope.errors import ToolError
from bootscope.system.load import SECTOR_BYTES

BLOCK_MAP = "blocks.txt"
_JOURNAL = "<8>"
_BLOCK_BYTES = re.compile(r"^Block size:\s+(\d+)", re.M)
_GROUP_PARTS = re.compile(
    r"(superblock|Group descriptors|Reserved GDT blocks|Block bitmap|Inode bitmap|Inode table)"
    r" at (\d+)(?:-(\d+))?"
)


def write(context: Context, image: Path, paths: Iterable[PurePosixPath]) -> None:
    """Writes BLOCK_MAP: a line `first sector, sectors, name, sector in the file` for each piece, by tabs.

    Sectors have 512 bytes and count from the image's start. `paths` are the files and folders in it;
    of the file system's own data the last is 0.
    """
    described = context.run(["dumpe2fs", image]).output
    match = _BLOCK_BYTES.search(described)
    if not match:
        raise ToolError(f"dumpe2fs does not tell the block size of {image.name}")
    per_block = int(match[1]) // SECTOR_BYTES
    pieces = [*_own_data(described), *_files(context, image, paths)]
    lines = [
        f"{first * per_block}\t{count * per_block}\t{name}\t{at * per_block}\n"
        for first, count, name, at in sorted(pieces)
    ]
    (context.out / BLOCK_MAP).write_text("".join(lines))


def _own_data(described: str) -> Iterator[tuple[int, int, str, int]]:
    """(first block, blocks, what, 0) of the file system's own data, from what dumpe2fs says."""
    for what, first, last in _GROUP_PARTS.findall(described):
        yield int(first), int(last or first) - int(first) + 1, f"ext4 {what.lower()}", 0


def _files(
    context: Context, image: Path, paths: Iterable[PurePosixPath]
) -> Iterator[tuple[int, int, str, int]]:
    """(first block, blocks, path, block in the file) of every file and folder."""
    script = context.scratch / "blocks.debugfs"
    # What debugfs would read as the end of a name, or of a line, is not asked for.
    asked_for = (f"/{path}" for path in paths if '"' not in str(path) and str(path).isprintable())
    names = [_JOURNAL, "/", *asked_for]
    script.write_text("".join(f'blocks "{name}"\n' for name in names))
    # debugfs repeats each command before what it answers.
    current = ""
    for line in context.run(["debugfs", "-f", script, image]).output.splitlines():
        asked = re.match(r'debugfs: blocks "(.*)"$', line)
        if asked:
            current = asked[1]
        elif re.fullmatch(r"[\d ]+", line):
            name = "ext4 journal" if current == _JOURNAL else current
            for first, count, at in runs([int(word) for word in line.split()]):
                yield first, count, name, at


def runs(blocks: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(first, count, place of the first) for each run of neighbours; 0, a hole in a file, is none."""
    begin = 0
    for at in range(1, len(blocks) + 1):
        if at == len(blocks) or blocks[at] != blocks[at - 1] + 1 or not blocks[at - 1]:
            if blocks[begin]:
                yield blocks[begin], at - begin, begin
            begin = at

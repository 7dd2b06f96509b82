# SPDX-License-Identifier: Apache-2.0
"""ext2, ext3, ext4: mkfs makes them empty, debugfs writes every file, owned by root."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bootscope.builder.filesystems.model import FileSystem, Order, Piece
from bootscope.core.errors import ToolError
from bootscope.devices.model import SECTOR_BYTES

_JOURNAL = "<8>"
_BLOCK_BYTES = re.compile(r"^Block size:\s+(\d+)", re.M)
_GROUP_PARTS = re.compile(
    r"(superblock|Group descriptors|Reserved GDT blocks|Block bitmap|Inode bitmap|Inode table)"
    r" at (\d+)(?:-(\d+))?"
)


def kind(name: str) -> FileSystem:
    """The kind called `name`: ext2, ext3 or ext4."""
    return FileSystem(make, pieces, (f"mkfs.{name}", "debugfs", "dumpe2fs"), revision=0)


def make(order: Order) -> None:
    """Raises ToolError when the image cannot be made or filled."""
    order.empty()
    rootfs = order.rootfs
    fixed = f"hash_seed={rootfs.uuid},lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"
    own = ["-q", "-F", "-U", rootfs.uuid, "-L", rootfs.label, "-E", fixed]
    order.context.run([f"mkfs.{rootfs.filesystem}", *own, *rootfs.options, order.image])
    _fill(order)


def _fill(order: Order) -> None:
    """Makes debugfs write every entry; quotes protect unusual names."""
    commands: list[str] = []
    for path in sorted(order.entries):
        entry = order.entries[path]
        if entry.target is not None:
            commands.append(f'symlink "/{path}" "{entry.target}"')
        elif entry.source is None:
            commands.append(f'mkdir "/{path}"')
            if entry.permissions is not None:
                commands.append(f'set_inode_field "/{path}" mode 0{0o040000 | entry.mode:o}')
        else:
            commands.append(f'write "{entry.source.resolve()}" "/{path}"')
            commands.append(f'set_inode_field "/{path}" mode 0{0o100000 | entry.mode:o}')
    script = order.context.scratch / "fill.debugfs"
    script.write_text("\n".join(commands) + "\n")
    output = order.context.run(["debugfs", "-w", "-f", script, order.image]).output
    # debugfs continues after an error and exits with status 0, so its output decides.
    errors = [line for line in output.splitlines() if not line.startswith(("debugfs", "Allocated inode"))]
    if errors:
        raise ToolError(f"the root file system could not be filled: {errors[0]}")


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image: the file system's own data from dumpe2fs, files from debugfs."""
    described = order.context.run(["dumpe2fs", order.image]).output
    match = _BLOCK_BYTES.search(described)
    if not match:
        raise ToolError(f"dumpe2fs does not tell the block size of {order.image.name}")
    per_block = int(match[1]) // SECTOR_BYTES
    for first, count, name, at in (*_own_data(described), *_files(order)):
        yield first * per_block, count * per_block, name, at * per_block


def _own_data(described: str) -> Iterator[tuple[int, int, str, int]]:
    """(first block, blocks, name, 0) of the file system's own data, from the output of dumpe2fs."""
    for what, first, last in _GROUP_PARTS.findall(described):
        yield int(first), int(last or first) - int(first) + 1, f"ext4 {what.lower()}", 0


def _files(order: Order) -> Iterator[tuple[int, int, str, int]]:
    """(first block, blocks, path, block in the file) of every file and folder."""
    script = order.context.scratch / "blocks.debugfs"
    script.write_text("".join(f'blocks "{name}"\n' for name in (_JOURNAL, *order.listed())))
    # debugfs repeats each command before its answer.
    current = ""
    for line in order.context.run(["debugfs", "-f", script, order.image]).output.splitlines():
        asked = re.match(r'debugfs: blocks "(.*)"$', line)
        if asked:
            current = asked[1]
        elif re.fullmatch(r"[\d ]+", line):
            name = "ext4 journal" if current == _JOURNAL else current
            for first, count, at in runs([int(word) for word in line.split()]):
                yield first, count, name, at


def runs(blocks: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(first, count, place of the first) of each run of adjacent blocks; 0, a hole in a file, is skipped."""
    begin = 0
    for at in range(1, len(blocks) + 1):
        if at == len(blocks) or blocks[at] != blocks[at - 1] + 1 or not blocks[at - 1]:
            if blocks[begin]:
                yield blocks[begin], at - begin, begin
            begin = at

# SPDX-License-Identifier: Apache-2.0
"""The image of a board's flash: kernel and device tree in their own erase blocks, the root after them.

A system's [card] says where they are: `boot_sector` the kernel, with the device tree in the last erase block
of its part, and `root_sector` the root. A boot loader is at `loader_sector`, with its script in the last
erase block before the kernel. There is no partition table: the command line contains the partitions.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bootscope.boards.profile import Board
from bootscope.builder.filesystems import KINDS
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import card, payload, rootfs
from bootscope.builder.steps.card import wrap_script
from bootscope.capture.record import Extent
from bootscope.core.errors import StepError, UserError
from bootscope.devices.model import SECTOR_BYTES, MemoryStorage
from bootscope.system.model import Card, System, has_loader
from bootscope.system.nand import nand_of

_ERASED = b"\xff"
_FOR_FLASH = ("jffs2", "ubifs", "cramfs", "squashfs", "erofs")
"""Root file systems for flash: one that is written to must support erase blocks."""
_OWN_OPTIONS = ("-e", "--eraseblock", "--leb-size", "-p", "--peb-size")
"""Options that tell mtd-utils' programs the size of erase blocks."""


def part_of(board: Board) -> MemoryStorage | None:
    """The flash that a board boots from; None for one that boots from a card."""
    found = board.storage_device
    return found if isinstance(found, MemoryStorage) else None


def check(system: System, board: Board) -> None:
    """Raises UserError where a system does not fit its board's flash, or needs flash that the board lacks."""
    flash, found = part_of(board), system.card
    kind = system.rootfs.filesystem
    if nand_of(system.nand):
        return
    if rootfs.on_ubi(system.rootfs):
        _check_volume(system, board, flash)
    if not flash:
        if KINDS[kind].flash:
            raise UserError(
                f"{system.name}: rootfs.filesystem: {kind} is for flash, and {board.name} has a card",
                hint="bootscope help boards: vexpress-a9 has flash",
            )
        return
    if found.size_bytes != flash.size:
        more = "more" if found.size_bytes > flash.size else "less"
        raise UserError(
            f"{system.name}: card.size_bytes: the flash image has {found.size_bytes:,} bytes, {more} than "
            f"the {flash.size:,} of {board.storage} on {board.name}",
            hint=f"set it to {flash.size}",
        )
    if kind not in _FOR_FLASH:
        raise UserError(
            f"{system.name}: rootfs.filesystem: {kind} is not for flash, which {board.name} boots from",
            hint=f"one of {', '.join(_FOR_FLASH)}",
        )
    _check_blocks(system, board, flash)


def _check_volume(system: System, board: Board, flash: MemoryStorage | None) -> None:
    kind = system.rootfs.filesystem
    if not flash:
        raise UserError(
            f"{system.name}: rootfs.volume: UBI is for flash, and {board.name} has a card",
            hint="bootscope help boards: vexpress-a9 has flash",
        )
    if KINDS[kind].flash:
        why = "is in a volume of UBI already" if kind == "ubifs" else "cannot be on UBI"
        raise UserError(f"{system.name}: rootfs.volume: {kind} {why}", hint="leave rootfs.volume out")


def _check_blocks(system: System, board: Board, flash: MemoryStorage) -> None:
    found, per_block = system.card, flash.erase_bytes // SECTOR_BYTES
    for key in ("boot_sector", "boot_sectors", "root_sector", "root_sectors"):
        if getattr(found, key) % per_block:
            raise UserError(
                f"{system.name}: card.{key}: {getattr(found, key)} sectors are no whole erase blocks: "
                f"those of {board.storage} on {board.name} have {flash.erase_bytes:,} bytes",
                hint=f"a multiple of {per_block}",
            )
    for option in system.rootfs.options if KINDS[system.rootfs.filesystem].flash else ():
        if option.startswith(_OWN_OPTIONS):
            raise UserError(
                f"{system.name}: rootfs.options: '{option}': the erase blocks are those of {board.storage} "
                f"on {board.name}, {flash.erase_bytes:,} bytes",
                hint="leave it out",
            )


def step(system: System, script: str, board: Board) -> Step:
    """The step `card`: the whole flash, with `script` for its boot loader."""
    found, loads = system.card, has_loader(system)

    def work(context: Context) -> None:
        image = context.out / card.IMAGE
        image.write_bytes(_ERASED * found.size_bytes)
        layout = [
            *(_loader(context, image, system, script, board) if loads else [_unused(found)]),
            *_boot(context, image, system, board),
            Extent(name="root file system", sector=found.root_sector, sectors=found.root_sectors),
        ]
        _put(context.results["rootfs"] / rootfs.IMAGE, image, found.root_sector, found.root_sectors, "root")
        (context.out / card.LAYOUT).write_bytes(msgspec.json.encode(layout))

    told = {"script": script} if loads else {"command_line": system.kernel.command_line}
    inputs: dict[str, object] = {"card": found, **told, "flash": True}
    needs = (
        *(("uboot",) if loads else ()),
        *("kernel", "device-tree", "rootfs", *(("payload",) if payload.needed(system.kernel) else ())),
    )
    return Step("card", "image of the flash", 1, work, inputs, needs, ("mkimage",) if loads else ())


def _unused(found: Card) -> Extent:
    return Extent(name="block of the boot loader", sector=0, sectors=found.boot_sector)


def _loader(context: Context, image: Path, system: System, script: str, board: Board) -> list[Extent]:
    """Puts the boot loader and its script into the flash."""
    found, flash, loader = system.card, part_of(board), board.boot_loader
    assert flash
    block = flash.erase_bytes // SECTOR_BYTES
    at, room = found.loader_sector, found.boot_sector - block - found.loader_sector
    text, wrapped = context.scratch / "boot.cmd", context.scratch / loader.script_file
    size = payload.path_of(context, system.kernel).stat().st_size
    text.write_text(script.replace("{kernel_bytes}", hex(size)))
    wrap_script(context, board, text, wrapped)
    built = context.results[loader.tree] / loader.card_image
    return [
        _put(built, image, at, room, loader.main.title),
        _put(wrapped, image, at + room, block, "boot script"),
    ]


def _boot(context: Context, image: Path, system: System, board: Board) -> list[Extent]:
    found, flash = system.card, part_of(board)
    assert flash
    block = flash.erase_bytes // SECTOR_BYTES
    kernel = payload.path_of(context, system.kernel)
    tree = context.results["device-tree"] / payload.DEVICE_TREE
    at, room = found.boot_sector, found.boot_sectors - block
    return [
        _put(kernel, image, at, room, "kernel"),
        _put(tree, image, at + room, block, "device tree"),
    ]


def _put(path: Path, image: Path, sector: int, room: int, name: str) -> Extent:
    """Copies a file into the image. Raises ToolError for one larger than its place."""
    size = path.stat().st_size
    sectors = -(-size // SECTOR_BYTES)
    if sectors > room:
        raise StepError(
            f"the {name} has {size:,} bytes, there is room for {room * SECTOR_BYTES:,} in the flash",
            hint="see [card] of the system file",
        )
    with image.open("r+b") as f:
        f.seek(sector * SECTOR_BYTES)
        f.write(path.read_bytes())
    return Extent(name=name, sector=sector, sectors=sectors)

# SPDX-License-Identifier: Apache-2.0
"""The content of a system's NAND chip: as written in the factory, and as earlier boots have left it.

An earlier boot is one of the same system: it starts with that content and runs for a given time, then the
power is cut. So what Linux writes at its first start - a bad block table, a fastmap of UBI - is written by
Linux, and the recorded boot finds it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import Board
from bootscope.builder.filesystems import KINDS, ubi
from bootscope.builder.nand import array
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import card, nand_loader, plugin, rootfs
from bootscope.core.errors import CommandError, StepError, ToolError, UserError
from bootscope.devices.model import Media, in_option
from bootscope.system.model import System
from bootscope.system.nand import Nand

IMAGE = "nand.elf"
CARD = "boot-card"
"""The step that makes the card, without the chip."""
_FACTORY = "nand"
_MEMORY = "memory"


def check(system: System, nand: Nand, board: Board) -> None:
    """Raises UserError where a chip does not work with its board, or with the root file system."""
    start, end = system.kernel.memory_address, system.kernel.memory_address + system.kernel.memory_bytes
    last = nand.address + nand.array_bytes
    if not start <= nand.address < last <= end:
        raise UserError(
            f"{system.name}: nand.address: the chip takes {nand.array_bytes:,} bytes with its spare bytes, "
            f"{nand.address:#x} to {last:#x}; the memory of {board.name} is {start:#x} to {end:#x}",
            hint="another address, or fewer blocks",
        )
    if system.framebuffer and not (
        last <= system.framebuffer.address
        or system.framebuffer.address + system.framebuffer.reserved_bytes <= nand.address
    ):
        raise UserError(f"{system.name}: nand.address: the frame buffer lies in the chip's memory")
    nand_loader.check(system)
    kind = system.rootfs.filesystem
    if kind != "ubifs" and not (rootfs.on_ubi(system.rootfs) and not KINDS[kind].flash):
        raise UserError(
            f"{system.name}: rootfs.filesystem: {kind} cannot be in the NAND chip",
            hint='"ubifs", or one that is only read, with rootfs.volume = "ubi"',
        )


def steps(system: System, nand: Nand, board: Board) -> list[Step]:
    """The steps for the chip's content, and the step `card`, which adds it to the image of the card."""
    before = [plugin.step()] if nand.boots_before else []
    return [_factory(system, nand), *before, _with_card(system, nand, board)]


def _factory(system: System, nand: Nand) -> Step:
    """The step `nand`: the root's blocks in the good ones of its partition, all others marked as erased."""

    def work(context: Context) -> None:
        data = (context.results["rootfs"] / rootfs.IMAGE).read_bytes()
        blocks = _blocks(nand, nand.root, "root file system", data)
        empty = ubi.erased(nand.page_bytes)
        blocks |= {block: empty for block in nand.good_blocks(nand.root) if block not in blocks}
        for partition, path in nand_loader.content(context, system).items():
            blocks |= _blocks(nand, partition, path.name, path.read_bytes())
        array.write(nand, array.programmed(nand, blocks), context.out / IMAGE)

    inputs = {key: getattr(nand, key) for key in _CONTENT}
    if nand.flipped_bits:
        inputs["flipped_bits"] = nand.flipped_bits
    needs = ("rootfs", *nand_loader.needs(system))
    return Step(_FACTORY, "content of the NAND chip", 1, work, inputs, needs)


def _blocks(nand: Nand, partition: str, what: str, data: bytes) -> dict[int, bytes]:
    """Data in the good blocks of a partition. Raises ToolError where it has too few of them."""
    good, size = nand.good_blocks(partition), nand.erase_bytes
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    if len(parts) > len(good):
        raise StepError(
            f"the {what} takes {len(parts)} erase blocks, the partition '{partition}' has "
            f"{len(good)} good ones",
            hint="see [nand] of the system file",
        )
    return dict(zip(good, parts, strict=False))


_CONTENT = (
    "address", "blocks", "page_bytes", "spare_bytes", "erase_bytes", "partitions", "bad_blocks", "root",
)  # fmt: skip


def _with_card(system: System, nand: Nand, board: Board) -> Step:
    def work(context: Context) -> None:
        there = context.results[CARD]
        shutil.copy(there / card.LAYOUT, context.out)
        with (context.out / card.IMAGE).open("wb") as f:
            f.truncate(system.card.size_bytes)
        card.copy_sparse(there / card.IMAGE, context.out / card.IMAGE, 0)
        content = context.results[_FACTORY] / IMAGE
        for number in range(1, nand.boots_before + 1):
            content = _boot(context, system, board, nand, content, number)
        shutil.copy(content, context.out / IMAGE)

    inputs: dict[str, object] = {"boots": nand.boots_before}
    if not nand.boots_before:
        return Step("card", "SD card and NAND chip", 1, work, inputs, (CARD, _FACTORY))
    inputs |= {
        "boot_ns": nand.boot_before_ns,
        "machine": machine_arguments(board, Media(Path(card.IMAGE), nand=Path(IMAGE))),
        "tick_ns": board.tick_ns,
        "memory": [system.kernel.memory_address, system.kernel.memory_bytes],
    }
    title = "boots before the recorded one"
    return Step("card", title, 1, work, inputs, (CARD, _FACTORY, "plugin"), (board.arch.tools.qemu,))


def _boot(context: Context, system: System, board: Board, nand: Nand, content: Path, number: int) -> Path:
    """A boot with `content` in the chip; returns the content after it. Raises ToolError when QEMU fails."""
    folder = context.scratch / f"boot-{number}"
    folder.mkdir()
    memory, watch, after = folder / _MEMORY, folder / "watch", folder / IMAGE
    with memory.open("wb") as f:
        f.truncate(system.kernel.memory_bytes)
    watch.write_text("\n".join(_watched(board, nand)) + "\n")
    program = context.results["plugin"] / plugin.PLUGIN
    command = [
        board.arch.tools.qemu,
        *machine_arguments(board, Media(context.out / card.IMAGE, nand=content, memory=memory)),
        *("-plugin", f"{in_option(program)},watch={in_option(watch)},out={in_option(folder / 'stream')}"),
    ]
    try:
        context.run(command)
    except CommandError as error:
        raise ToolError(f"boot {number} before the recorded one: {error.message}") from error
    array.write(nand, array.read_memory(nand, memory, system.kernel.memory_address), after)
    memory.unlink()
    return after


def _watched(board: Board, nand: Nand) -> list[str]:
    """What the plugin watches, only the time: see watch.h of the plugin."""
    arch = board.arch
    return [
        f"tick {board.tick_ns}",
        f"word {arch.word_bytes} {arch.mode_bit}",
        f"register pc {arch.registers.counter}",
        f"register stack {arch.registers.stack}",
        *(f"idle {idle.size} {idle.mask:#x} {idle.value:#x}" for idle in board.qemu.idle),
        f"limit {nand.boot_before_ns}",
    ]

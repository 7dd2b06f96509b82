# SPDX-License-Identifier: Apache-2.0
"""The steps for what runs before the kernel: boot loader and firmware, compiled or prebuilt."""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.boards.profile import Board
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Step
from bootscope.builder.steps import firmware, grub, prebuilt, seabios, uboot
from bootscope.core.errors import UserError
from bootscope.loaders.grub import GRUB
from bootscope.loaders.model import FIRMWARE
from bootscope.system.model import Firmware, Prebuilt, System, has_bios, has_loader
from bootscope.system.named_sources import loader_symbols


def taken(s: System, p: Prebuilt, found: Mapping[str, Resolved], board: Board) -> list[Step]:
    """The steps for a prebuilt boot loader and firmware."""
    if not has_loader(s):
        return []
    source = found[s.uboot.source]
    bios = [prebuilt.firmware_step(p, found[FIRMWARE])] if has_bios(s) else []
    if isinstance(s.firmware, Firmware) and not board.boot_loader.firmware:
        bios = [seabios.step(s.firmware, board.arch)]
    if board.boot_loader is GRUB:
        symbols = found[loader_symbols(s)] if loader_symbols(s) else None
        return [grub.step(p, source, GRUB.tree, s.card.loader_sector, symbols), *bios]
    return [prebuilt.uboot_step(p, source, on_card=bool(s.card.loader_sector)), *bios]


def built(system: System, board: Board) -> list[Step]:
    """The steps for the boot loader and the firmware before it; first the one that the other contains."""
    arch, loader, below = board.arch, board.boot_loader, system.firmware
    if not has_loader(system):
        return []
    _check_place(system, board)
    if not loader.firmware:
        return [uboot.step(system, arch, loader)]
    if not isinstance(below, Firmware):
        raise UserError(
            f"{system.name} has no [firmware], and {board.name} needs {loader.firmware.title} to boot",
            hint="add the section to the system file (bootscope help systems)",
        )
    if loader.firmware.package and not below.package_at:
        raise UserError(f"{system.name}: firmware.package_at: {loader.firmware.title} needs a place in flash")
    steps = [firmware.step(system, below, board), uboot.step(system, arch, loader)]
    return steps if loader.firmware.told_by else steps[::-1]


def check(system: System, board: Board) -> None:
    """Raises UserError where only one of system and board has a boot loader."""
    if has_loader(system) and not board.boot_loader.programs:
        raise UserError(
            f"{system.name} has a boot loader, and the emulator itself starts the kernel on {board.name}",
            hint="leave the section [uboot] out of the system file (bootscope help systems)",
        )
    if not has_loader(system) and board.boot_loader.programs:
        raise UserError(
            f"{system.name} has no boot loader, and {board.name} needs {board.boot_loader.title} to boot",
            hint="add the section [uboot] to the system file (bootscope help systems)",
        )


def _check_place(system: System, board: Board) -> None:
    """Raises UserError where the boot loader is not where the board looks for it."""
    loader, sector = board.boot_loader, system.card.loader_sector
    said = f"{system.name}: card.loader_sector: expected"
    if loader.card_files and sector:
        raise UserError(f"{said} 0: {board.name} looks for files of the boot partition")
    if not loader.boot_images and not sector:
        raise UserError(f"{said} 1 or more: the chip of {board.name} looks for the boot loader in sectors")

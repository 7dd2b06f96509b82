# SPDX-License-Identifier: Apache-2.0
"""Falcon mode: the SPL loads Linux itself, from sectors or files of the card; U-Boot stays as the fallback.

The boards' code lacks the function that chooses between the two, so it is added to a view of U-Boot's tree.
What U-Boot would have put into the device tree, the command line and the memory, is added here.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import payload
from bootscope.builder.steps.edits import Edit, edited
from bootscope.builder.steps.payload import DEVICE_TREE
from bootscope.devices import sd_card
from bootscope.devices.sunxi_boot_rom import UBOOT_FOLDER
from bootscope.system.model import Card, Firmware, Kernel, Symbols, System, has_device_tree

ARGUMENTS, WAY_BACK = payload.ARGUMENTS, "u-boot.img"
ARGUMENT_SECTORS = sd_card.ROOM_SECTORS
"""Room for the device tree before the kernel."""

_DECIDES = """\
// SPDX-License-Identifier: GPL-2.0-or-later
/* Falcon mode: whether the SPL starts U-Boot (1) or Linux (0). A 'c' that waits on the serial line asks
 * for U-Boot, and so does a card without a kernel in the place for it. An SPL without a serial line has
 * only the second. */
#include <serial.h>
#include <spl.h>

int spl_start_uboot(void)
{
#if CONFIG_IS_ENABLED(SERIAL)
	return serial_tstc() && serial_getc() == 'c';
#else
	return 0;
#endif
}
"""
_SECTORS_FIRST = Edit(*sd_card.WHERE_FIRST)
"""An SPL that loads U-Boot from files looks for Linux only in files. With this it tries the sectors first,
then files."""
_MAKE = "\nifdef CONFIG_XPL_BUILD\nobj-y += falcon.o\nendif\n"


def symbols(card: Card, kernel: Kernel) -> Symbols:
    """The symbols that U-Boot must be configured with."""
    found: Symbols = {
        "SPL_OS_BOOT": True,
        "SPL_PAYLOAD_ARGS_ADDR": hex(kernel.device_tree_address),
        "SYS_LOAD_ADDR": hex(kernel.load_address),
    }
    if card.raw_sector:
        # With this an SPL takes sectors without a header for U-Boot and starts them; here U-Boot is in files.
        own = {"SPL_RAW_IMAGE_SUPPORT": False} if _sectors_first(card) else {}
        return {
            **found,
            **own,
            sd_card.FROM_SECTORS: True,
            sd_card.ARGUMENTS_SECTOR: hex(card.raw_sector),
            sd_card.ARGUMENTS_SECTORS: hex(read_sectors(card)),
            sd_card.KERNEL_SECTOR: hex(card.raw_sector + ARGUMENT_SECTORS),
        }
    return {
        **found,
        "SPL_FS_FAT": True,
        **sd_card.FROM_FILES,
        "SPL_FS_LOAD_KERNEL_NAME": payload.file_name(kernel),
        "SPL_FS_LOAD_ARGS_NAME": ARGUMENTS,
        "SPL_FS_LOAD_PAYLOAD_NAME": WAY_BACK,
    }


def read_sectors(card: Card) -> int:
    """How many sectors of the device tree's place the SPL reads."""
    return card.argument_sectors or ARGUMENT_SECTORS


def by_spl(system: System) -> bool:
    """Whether U-Boot's SPL itself loads Linux, without firmware between the two."""
    return system.uboot.falcon and not isinstance(system.firmware, Firmware)


def needed(system: System) -> bool:
    """Whether anything needs the device tree of this step."""
    wanted = by_spl(system) or bool(system.card.raw_sector) or system.kernel.append_device_tree
    return wanted and has_device_tree(system)


def tree_inputs(card: Card) -> dict[str, object]:
    """What the changed files depend on."""
    first = {"sectors_first": (_SECTORS_FIRST.path, _SECTORS_FIRST.after)} if _sectors_first(card) else {}
    return {"source": _DECIDES, "makefile": _MAKE, **first}


def files(tree: Path, card: Card) -> dict[str, str]:
    """New and changed files in a view of U-Boot's tree: path -> text. Raises UserError for a U-Boot whose SPL
    decides differently where it looks."""
    makefile = f"{UBOOT_FOLDER}/Makefile"
    changed = {f"{UBOOT_FOLDER}/falcon.c": _DECIDES, makefile: (tree / makefile).read_text() + _MAKE}
    if not _sectors_first(card):
        return changed
    return changed | edited(
        tree, changed, [_SECTORS_FIRST], "card.raw_sector", "this U-Boot is of another version"
    )


def _sectors_first(card: Card) -> bool:
    """Whether Linux is in sectors, and the boot loader in files."""
    return bool(card.raw_sector) and not card.loader_sector


def step(system: System) -> Step:
    """The step `falcon`: the device tree as Linux needs it, without U-Boot's help."""
    kernel = system.kernel

    def work(context: Context) -> None:
        blob = context.out / ARGUMENTS
        shutil.copy(context.results["device-tree"] / DEVICE_TREE, blob)
        memory = f"/memory@{kernel.memory_address:x}"
        start, size = f"{kernel.memory_address:x}", f"{kernel.memory_bytes:x}"
        context.run(["fdtput", "-t", "s", blob, "/chosen", "bootargs", kernel.command_line])
        context.run(["fdtput", "-cp", blob, memory])
        context.run(["fdtput", "-t", "s", blob, memory, "device_type", "memory"])
        context.run(["fdtput", "-t", "x", blob, memory, "reg", start, size])

    inputs = {
        "command_line": kernel.command_line,
        "memory": [kernel.memory_address, kernel.memory_bytes],
    }
    return Step("falcon", "device tree for Falcon mode", 1, work, inputs, ("device-tree",), ("fdtput",))

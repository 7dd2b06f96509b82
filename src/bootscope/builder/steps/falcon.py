# SPDX-License-Identifier: Apache-2.0
"""Falcon mode: the SPL loads Linux itself, from sectors or files of the card; U-Boot stays as the way back.

The code of the boards lacks the function that decides between the two, so it is added to a view of U-Boot's
tree. What U-Boot would have put into the device tree, the command line and the memory, is put in here.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import payload
from bootscope.builder.steps.payload import DEVICE_TREE
from bootscope.builder.steps.unpack import TREE, tree_of
from bootscope.devices import sd_card
from bootscope.devices.sunxi_boot_rom import UBOOT_FOLDER
from bootscope.system.model import Card, Kernel, Symbols, System, UBoot

ARGUMENTS, WAY_BACK = payload.ARGUMENTS, "u-boot.img"
ARGUMENT_SECTORS = 256
"""Room for the device tree before the kernel: 128 KiB."""

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
_MAKE = "\nifdef CONFIG_XPL_BUILD\nobj-y += falcon.o\nendif\n"


def symbols(card: Card, kernel: Kernel) -> Symbols:
    """What U-Boot must be configured with."""
    found: Symbols = {
        "SPL_OS_BOOT": True,
        "SPL_PAYLOAD_ARGS_ADDR": hex(kernel.device_tree_address),
        "SYS_LOAD_ADDR": hex(kernel.load_address),
    }
    if card.raw_sector:
        return {
            **found,
            sd_card.FROM_SECTORS: True,
            sd_card.ARGUMENTS_SECTOR: hex(card.raw_sector),
            sd_card.ARGUMENTS_SECTORS: hex(ARGUMENT_SECTORS),
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


def needed(system: System) -> bool:
    """Whether anything wants the device tree of this step."""
    return system.uboot.falcon or bool(system.card.raw_sector) or system.kernel.append_device_tree


def source_of(uboot: UBoot) -> str:
    """The name of the source tree that this U-Boot is built from."""
    return f"{uboot.source}-falcon" if uboot.falcon else uboot.source


def tree_step(uboot: UBoot) -> Step:
    """The step `unpack-SOURCE-falcon`: a view of U-Boot's tree, of links, in which the SPL can decide."""

    def work(context: Context) -> None:
        tree_with(tree_of(context, uboot.source), context.out / TREE)

    inputs = {"source": _DECIDES, "makefile": _MAKE}
    needs = (f"unpack-{uboot.source}",)
    return Step(f"unpack-{source_of(uboot)}", "U-Boot's tree for Falcon mode", 1, work, inputs, needs)


def tree_with(tree: Path, view: Path) -> None:
    """Makes the view."""
    shutil.copytree(tree, view, symlinks=True, copy_function=_link)
    (view / UBOOT_FOLDER / "falcon.c").write_text(_DECIDES)
    makefile = view / UBOOT_FOLDER / "Makefile"
    text = makefile.read_text()
    makefile.unlink()
    makefile.write_text(text + _MAKE)


def _link(source: str, target: str) -> None:
    # A link to a link of the tree would be relative to the wrong folder.
    os.symlink(os.path.realpath(source), target)  # noqa: PTH211


def step(system: System) -> Step:
    """The step `falcon`: the device tree as Linux wants it, without U-Boot's help."""
    kernel = system.kernel

    def work(context: Context) -> None:
        blob = context.out / ARGUMENTS
        shutil.copy(context.results["device-tree"] / DEVICE_TREE, blob)
        memory = f"/memory@{kernel.memory_address:x}"
        start, size = f"{kernel.memory_address:x}", f"{kernel.memory_bytes:x}"
        context.run(["fdtput", "-t", "s", blob, "/chosen", "bootargs", kernel.command_line])
        context.run(["fdtput", "-c", blob, memory])
        context.run(["fdtput", "-t", "s", blob, memory, "device_type", "memory"])
        context.run(["fdtput", "-t", "x", blob, memory, "reg", start, size])

    inputs = {
        "command_line": kernel.command_line,
        "memory": [kernel.memory_address, kernel.memory_bytes],
    }
    return Step("falcon", "device tree for Falcon mode", 1, work, inputs, ("device-tree",), ("fdtput",))

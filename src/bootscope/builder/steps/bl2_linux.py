# SPDX-License-Identifier: Apache-2.0
"""Falcon mode of Trusted Firmware-A: BL2 loads Linux from the card, and U-Boot stays as the fallback.

The platform's BL2 supports neither card nor Linux. So files of ours (bl2/) are compiled with it; what they
must know of board and system goes into a header, including command line and frame buffer, which U-Boot's
script would have put into the device tree.
"""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.boards.profile import Board
from bootscope.builder.steps import falcon
from bootscope.core.errors import ToolError, UserError
from bootscope.devices.registry import standard_controller
from bootscope.system.model import System

OPTIONS = ("ARM_LINUX_KERNEL_AS_BL33=1",)
"""For the make of Trusted Firmware-A: BL31 passes the address of the device tree to what it starts."""

SOURCES = tuple(sorted(Path(__file__).with_name("bl2").glob("*.[ch]")))
PACKINGS = ("none", "lz4")
LARGEST_KERNEL_BYTES = 0x4000000
_FOLDER = "plat/qemu/common"
_MAKEFILE, _DEFINITIONS = "plat/qemu/qemu/platform.mk", "plat/qemu/qemu/include/platform_def.h"
_MAKE = f"\nBL2_SOURCES += {_FOLDER}/linux.c\nBL2_LDFLAGS += -Wl,--wrap=setup_page_tables\n"
_LARGER = {
    "PLAT_PHY_ADDR_SPACE_SIZE": "(1ULL << 39)",  # the configuration space of PCI is above 4 GiB
    "PLAT_VIRT_ADDR_SPACE_SIZE": "(1ULL << 39)",
    "MAX_MMAP_REGIONS": "(15 + MAX_MMAP_REGIONS_SPMC)",
    "MAX_XLAT_TABLES": "(9 + MAX_XLAT_TABLES_SPMC)",
}


def header(system: System, board: Board) -> str:
    """The header for the files in bl2/. Raises UserError for a board or a system that does not support it."""
    base, space = standard_controller(board.storage_device), board.qemu.config_space
    if base is None or not isinstance(space, tuple):
        raise UserError(f"uboot.falcon: BL2 reads from an SD controller on PCI, {board.name} has none")
    kernel = system.kernel
    if not system.card.raw_sector or kernel.packed not in PACKINGS:
        raise UserError(
            "uboot.falcon: BL2 takes the kernel out of sectors of the card, packed by lz4 or not at all",
            hint="set card.raw_sector and kernel.packed",
        )
    if system.initramfs and system.initramfs.place != "built-in":
        raise UserError("uboot.falcon: BL2 loads no initramfs", hint='initramfs.place = "built-in"')
    values = {
        "LINUX_SECTOR": system.card.raw_sector + falcon.ARGUMENT_SECTORS,
        "LINUX_ADDRESS": kernel.load_address,
        "LINUX_ROOM": LARGEST_KERNEL_BYTES,
        "PACKED_ADDRESS": kernel.initramfs_address,
        "TABLE_ADDRESS": kernel.device_tree_address,
        "CARD_BASE": base,
        "CONFIG_SPACE": space[0],
    }
    texts = {"BOOTARGS": kernel.command_line}
    if fb := system.framebuffer:
        values |= {"FRAMEBUFFER_ADDRESS": fb.address, "FRAMEBUFFER_BYTES": fb.reserved_bytes}
        values |= {"FRAMEBUFFER_WIDTH": fb.width, "FRAMEBUFFER_HEIGHT": fb.height}
        values |= {"FRAMEBUFFER_STRIDE": fb.stride_bytes}
        texts["FRAMEBUFFER_FORMAT"] = fb.format
    lines = [*(f"#define {name} {value:#x}ULL" for name, value in values.items())]
    lines += [f'#define {name} "{_quoted(text)}"' for name, text in texts.items()]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text as a C string literal. Raises UserError for characters that the device tree must not contain."""
    if not text.isascii() or not text.isprintable():
        raise UserError("kernel.command_line: BL2 can only have printable ASCII in it")
    return text.replace("\\", "\\\\").replace('"', '\\"')


def files(tree: Path, told: str) -> dict[str, str]:
    """New and changed files in a tree of Trusted Firmware-A: path -> text. Raises ToolError for a tree
    without the definitions of this platform."""
    definitions = (tree / _DEFINITIONS).read_text()
    for name, value in _LARGER.items():
        definitions, found = re.subn(rf"(?m)^#define {name}\s.*$", f"#define {name} {value}", definitions)
        if found != 1:
            raise ToolError(f"{_DEFINITIONS} of Trusted Firmware-A has no {name}")
    return {
        **{f"{_FOLDER}/{name}": text for name, text in _sources().items()},
        f"{_FOLDER}/linux.h": told,
        _MAKEFILE: (tree / _MAKEFILE).read_text() + _MAKE,
        _DEFINITIONS: definitions,
    }


def inputs(told: str) -> dict[str, object]:
    """What the changed files depend on."""
    return {"sources": _sources(), "header": told, "make": _MAKE, "larger": _LARGER}


def _sources() -> dict[str, str]:
    return {path.name: path.read_text() for path in SOURCES}

# SPDX-License-Identifier: Apache-2.0
"""Raw flash: what each boot reads of all of it, and where the device tree has a chip."""

from __future__ import annotations

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part, number
from bootscope.system.nand import chip_node

_INFORMATION = 7
"""A console shows informational messages if its level is this one or higher."""


def bad_block_scan(known: Inventory) -> str | None:
    """Whether the driver of a NAND chip scans all blocks for marks of bad ones."""
    return _scan(
        known, r"Scanning device for bad blocks", r"Bad block table found", "MTD_RAW_NAND", "drivers for NAND"
    )


def ubi_scan(known: Inventory) -> str | None:
    """Whether UBI reads the headers of all erase blocks."""
    return _scan(known, r"ubi\d+: scanning is finished", r"ubi\d+: attached by fastmap", "MTD_UBI", "UBI")


def _scan(known: Inventory, scans: str, spared: str, symbol: str, what: str) -> str | None:
    if found := known.logged(scans):
        return f"the kernel says: {found[0]}"
    if known.logged(spared) or known.symbol("kernel", symbol) == "n":
        return ""
    if not known.log or not known.log.has_kernel_start:
        return None
    level = number(known.word("loglevel") or "")
    hidden = known.word("quiet") is not None or (level is not None and level < _INFORMATION)
    if not hidden:
        return ""
    return f"the kernel has {what}, and its messages are hidden" if known.on("kernel", symbol) else None


_UBI = "ubi.mtd"
_UBI_DEFAULTS = ("", "0", "0", "-1", "0")
"""Defaults of `ubi.mtd=` after the device: place of a header, blocks for bad ones, number of the UBI device,
whether to use a fastmap (Linux' drivers/mtd/ubi/build.c; older kernels lack the last)."""
_FASTMAP = 4


def ubi_with_fastmap(known: Inventory) -> str:
    """The word of the command line that attaches UBI, with a fastmap allowed; empty where no word does so.

    Raises UserError where the command line is unknown, or attaches several devices.
    """
    if not known.knows(Part.COMMAND_LINE):
        raise UserError("the kernel command line is not known")
    found = [word for word in known.words if word.startswith(f"{_UBI}=")]
    if len(found) > 1:
        raise UserError(f"the command line attaches several UBI devices: {' '.join(found)}")
    if not found:
        return ""
    parts = found[0].partition("=")[2].split(",")
    parts += _UBI_DEFAULTS[len(parts) :]
    parts[_FASTMAP] = "1"
    return f"{_UBI}={','.join(parts)}"


def nand_chip(known: Inventory) -> str:
    """The device tree path of the system's NAND chip; empty for a system without one.

    Raises UserError where it is unknown.
    """
    address = known.settings.get("nand.address", "")
    if not address.isdecimal():
        if known.knows(Part.SETTINGS):
            return ""
        raise UserError("the node of a NAND chip in the device tree is not known")
    return chip_node(int(address))

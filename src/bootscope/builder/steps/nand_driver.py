# SPDX-License-Identifier: Apache-2.0
"""The driver for a NAND chip in memory, added to the kernel's sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bootscope.core.errors import StepError

SYMBOL = "MTD_NAND_BOOTSCOPE"
_DRIVER = Path(__file__).with_name("nand") / "bootscope_nand.c"
_FOLDER = "drivers/mtd/nand/raw"
_KCONFIG = f"""
config {SYMBOL}
\ttristate "NAND chip of bootscope, in memory"
\tdepends on MTD_RAW_NAND && OF && HAS_IOMEM
\tselect MTD_NAND_ECC_SW_HAMMING
\thelp
\t  A raw NAND chip whose array is memory that the device tree reserves.
"""
_MAKE = f"\nobj-$(CONFIG_{SYMBOL}) += {_DRIVER.stem}.o\n"


def inputs() -> list[str]:
    """What the sources with the driver depend on."""
    return [_DRIVER.read_text(), _KCONFIG, _MAKE]


def files(tree: Path, others: Mapping[str, str]) -> dict[str, str]:
    """New and changed files in a kernel's tree for the driver, applied over `others`: path -> text.

    Raises ToolError for a kernel without a place for it.
    """
    kconfig, makefile = f"{_FOLDER}/Kconfig", f"{_FOLDER}/Makefile"
    if not (tree / kconfig).is_file():
        raise StepError(
            f"the kernel's tree has no {kconfig}, where the driver of the NAND chip goes",
            hint="Linux has it from 4.17 on; the driver is for 6.3 and later",
        )

    def now(path: str) -> str:
        return others[path] if path in others else (tree / path).read_text()

    return {
        f"{_FOLDER}/{_DRIVER.name}": _DRIVER.read_text(),
        kconfig: now(kconfig) + _KCONFIG,
        makefile: now(makefile) + _MAKE,
    }

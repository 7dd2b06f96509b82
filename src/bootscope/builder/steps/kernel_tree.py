# SPDX-License-Identifier: Apache-2.0
"""The kernel's sources as a system wants them: a view of the tree in which some files are others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import tree_view
from bootscope.builder.steps.unpack import TREE, tree_of
from bootscope.core.errors import ToolError
from bootscope.system.model import Kernel, System
from bootscope.system.nand import nand_of

NAND_SYMBOL = "MTD_NAND_BOOTSCOPE"
_NAND_DRIVER = Path(__file__).with_name("nand") / "bootscope_nand.c"
_NAND_FOLDER = "drivers/mtd/nand/raw"
_KCONFIG = f"""
config {NAND_SYMBOL}
\ttristate "NAND chip of bootscope, in memory"
\tdepends on MTD_RAW_NAND && OF && HAS_IOMEM
\tselect MTD_NAND_ECC_SW_HAMMING
\thelp
\t  A raw NAND chip whose array is memory that the device tree reserves.
"""
_MAKE = f"\nobj-$(CONFIG_{NAND_SYMBOL}) += {_NAND_DRIVER.stem}.o\n"


def files_of(kernel: Kernel) -> Mapping[str, str]:
    """The files that a system puts over the kernel's sources."""
    return kernel.files if isinstance(kernel.files, dict) else {}


def source_of(system: System) -> str:
    """The name of the source tree that this kernel is built from."""
    kernel = system.kernel
    with_nand = f"{kernel.source}-nand" if nand_of(system.nand) else kernel.source
    return f"{with_nand}-files" if files_of(kernel) else with_nand


def needed(system: System) -> bool:
    """Whether it is another tree than the one that was unpacked."""
    return source_of(system) != system.kernel.source


def step(system: System) -> Step:
    """The step `unpack-SOURCE-nand`, `-files` or both: the view."""
    kernel, nand = system.kernel, nand_of(system.nand)

    def work(context: Context) -> None:
        tree = tree_of(context, kernel.source)
        driver = _nand_files(tree) if nand else {}
        tree_view.write(tree, context.out / TREE, {**driver, **files_of(kernel)})

    inputs: dict[str, object] = {"files": files_of(kernel)}
    if nand:
        inputs["nand"] = [_NAND_DRIVER.read_text(), _KCONFIG, _MAKE]
    title = "the kernel's tree with the driver of a NAND chip" if nand else ""
    title = title or "the kernel's tree with files of the system"
    return Step(f"unpack-{source_of(system)}", title, 1, work, inputs, (f"unpack-{kernel.source}",))


def _nand_files(tree: Path) -> dict[str, str]:
    """What is new or other in the view for the driver: path -> text. Raises ToolError for a kernel without a
    place for it."""
    kconfig, makefile = f"{_NAND_FOLDER}/Kconfig", f"{_NAND_FOLDER}/Makefile"
    if not (tree / kconfig).is_file():
        raise ToolError(
            f"the kernel's tree has no {kconfig}, where the driver of the NAND chip goes",
            hint="Linux has it from 4.17 on; the driver is for 6.3 and later",
        )
    return {
        f"{_NAND_FOLDER}/{_NAND_DRIVER.name}": _NAND_DRIVER.read_text(),
        kconfig: (tree / kconfig).read_text() + _KCONFIG,
        makefile: (tree / makefile).read_text() + _MAKE,
    }

# SPDX-License-Identifier: Apache-2.0
"""A NAND chip that U-Boot's SPL boots from: the driver in U-Boot's sources, the content of the chip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bootscope.builder.nand import hamming
from bootscope.builder.step import Context
from bootscope.builder.steps import payload
from bootscope.core.errors import StepError, UserError
from bootscope.devices.sunxi_boot_rom import CONSTANTS, CONSTANTS_END, FAMILY_SYMBOL, NAND_SYMBOL
from bootscope.system.model import Kernel, Symbols, System, builds_loader
from bootscope.system.nand import ARGUMENT_BYTES, DEVICE_TREE, KERNEL, UBOOT, Nand, nand_of

IMAGE = "u-boot.img"
"""U-Boot, with the header that the SPL expects."""
_DRIVER = Path(__file__).parent / "nand" / "uboot" / "bootscope_nand.c"
_FOLDER = "drivers/mtd/nand/raw"
_SYMBOL = "NAND_BOOTSCOPE"
_KCONFIG = f"""
config {_SYMBOL}
\tbool "NAND chip of bootscope, in memory"
\tdepends on {FAMILY_SYMBOL} && MTD_RAW_NAND && !{NAND_SYMBOL}
\thelp
\t  A raw NAND chip whose array is memory that nothing else uses.

if {_SYMBOL}

config {_SYMBOL}_ADDRESS
\thex "Where its array lies"

config {_SYMBOL}_BLOCKS
\tint "Erase blocks"

config {_SYMBOL}_IDENTITY
\thex "The bytes that it tells of itself, the first one the highest"

config {_SYMBOL}_READ_NS
\tint "Time from the array to the page register, in ns"

config {_SYMBOL}_CYCLE_NS
\tint "Time of a cycle of the bus, in ns"

endif
"""
_MAKE = f"\nobj-$(CONFIG_{_SYMBOL}) += {_DRIVER.stem}.o\n"


def wanted(system: System) -> Nand | None:
    """The chip, if the SPL boots from it."""
    nand = nand_of(system.nand)
    return nand if nand and UBOOT in nand.partitions and builds_loader(system) else None


def holds_kernel(system: System) -> bool:
    """Whether kernel and device tree are in the chip."""
    nand = wanted(system)
    return nand is not None and KERNEL in nand.partitions


def check(system: System) -> None:
    """Raises UserError where an SPL that boots from the chip cannot start Linux as the system needs it."""
    nand = nand_of(system.nand)
    if not nand or UBOOT not in nand.partitions:
        return
    if not builds_loader(system):
        said = f"{system.name}: nand.partitions.{UBOOT}"
        raise UserError(f"{said}: a prebuilt U-Boot has no driver for the chip")
    if not system.uboot.falcon:
        return
    if system.card.raw_sector or not holds_kernel(system):
        raise UserError(
            f"{system.name}: uboot.falcon: its SPL boots from the NAND chip, and the kernel is on the card",
            hint=f"nand.partitions.{KERNEL} and .{DEVICE_TREE}, and card.raw_sector = 0",
        )
    if not system.kernel.uimage_address:
        raise UserError(
            f"{system.name}: uboot.falcon: from NAND the SPL takes a kernel only with the header of a uImage",
            hint="kernel.uimage_address",
        )


def symbols(nand: Nand) -> Symbols:
    """The symbols that U-Boot must be configured with to boot from the chip."""
    return {
        "MTD": True,
        "MTD_RAW_NAND": True,
        NAND_SYMBOL: False,
        _SYMBOL: True,
        f"{_SYMBOL}_ADDRESS": hex(nand.address),
        f"{_SYMBOL}_BLOCKS": nand.blocks,
        f"{_SYMBOL}_IDENTITY": f"0x{nand.identity}",
        f"{_SYMBOL}_READ_NS": nand.read_ns.value,
        f"{_SYMBOL}_CYCLE_NS": nand.cycle_ns.value,
        "SYS_NAND_BLOCK_SIZE": hex(nand.erase_bytes),
        "SYS_NAND_PAGE_SIZE": hex(nand.page_bytes),
        "SYS_NAND_OOBSIZE": hex(nand.spare_bytes),
        "SYS_NAND_U_BOOT_LOCATIONS": True,
        "SYS_NAND_U_BOOT_OFFS": hex(nand.offset(UBOOT)),
        "CMD_NAND": True,
        "SPL_NAND_SUPPORT": True,
        "SPL_NAND_SIMPLE": True,
        "SPL_NAND_ECC": True,
        "SPL_NAND_SOFTECC": True,
    }


def falcon_symbols(nand: Nand, kernel: Kernel) -> Symbols:
    """The symbols that U-Boot must be configured with for an SPL that loads Linux from the chip."""
    return {
        "SPL_OS_BOOT": True,
        "SPL_PAYLOAD_ARGS_ADDR": hex(kernel.device_tree_address),
        "SYS_LOAD_ADDR": hex(kernel.load_address),
        "SYS_NAND_SPL_KERNEL_OFFS": hex(nand.offset(KERNEL)),
        "CMD_SPL": True,
        "CMD_SPL_NAND_OFS": hex(nand.offset(DEVICE_TREE)),
        "CMD_SPL_WRITE_SIZE": hex(ARGUMENT_BYTES),
    }


def inputs(nand: Nand) -> list[object]:
    """What the sources with the driver depend on."""
    return [_DRIVER.read_text(), _KCONFIG, _MAKE, _constants(nand)]


def files(tree: Path, nand: Nand) -> dict[str, str]:
    """New and changed files in U-Boot's tree for the driver: path -> text. Raises ToolError for a tree for
    other boards."""
    kconfig, makefile, boards = f"{_FOLDER}/Kconfig", f"{_FOLDER}/Makefile", tree / CONSTANTS
    constants = boards.read_text() if boards.is_file() else ""
    if constants.count(CONSTANTS_END) != 1:
        raise StepError(
            f"U-Boot's tree has no {CONSTANTS} that ends as expected: the NAND chip's places go there",
            hint="the driver is for U-Boot 2025.01; leave the partition 'uboot' of the chip out",
        )
    return {
        f"{_FOLDER}/{_DRIVER.name}": _DRIVER.read_text(),
        kconfig: (tree / kconfig).read_text() + _KCONFIG,
        makefile: (tree / makefile).read_text() + _MAKE,
        CONSTANTS: constants.replace(CONSTANTS_END, f"{_constants(nand)}\n{CONSTANTS_END}"),
    }


def _constants(nand: Nand) -> str:
    """Where the SPL's simple NAND driver finds the codes in the spare bytes of a page."""
    first = hamming.first_place(nand.spare_bytes)
    codes = nand.page_bytes // hamming.STEP_BYTES * hamming.CODE_BYTES
    places = ", ".join(str(place) for place in range(first, first + codes))
    return (
        f"#define CFG_SYS_NAND_BASE {nand.address:#x}\n"
        f"#define CFG_SYS_NAND_ECCSIZE {hamming.STEP_BYTES}\n"
        f"#define CFG_SYS_NAND_ECCBYTES {hamming.CODE_BYTES}\n"
        f"#define CFG_SYS_NAND_ECCPOS {{ {places} }}\n"
    )


def needs(system: System) -> tuple[str, ...]:
    """The steps whose results are in the chip for the boot loader."""
    if not wanted(system):
        return ()
    tree = "falcon" if system.uboot.falcon else "device-tree"
    kernel = "payload" if payload.needed(system.kernel) else "kernel"
    return ("uboot", *((tree, kernel) if holds_kernel(system) else ()))


def content(context: Context, system: System) -> dict[str, Path]:
    """The content of the chip for the boot loader: name of a partition -> file."""
    if not wanted(system):
        return {}
    found = {UBOOT: context.results["uboot"] / IMAGE}
    if holds_kernel(system):
        falcon = system.uboot.falcon
        name = payload.ARGUMENTS if falcon else payload.DEVICE_TREE
        found[DEVICE_TREE] = context.results["falcon" if falcon else "device-tree"] / name
        size = found[DEVICE_TREE].stat().st_size
        if falcon and size > ARGUMENT_BYTES:
            raise StepError(f"the device tree has {size:,} bytes, the SPL reads {ARGUMENT_BYTES:,}")
        found[KERNEL] = payload.path_of(context, system.kernel)
    return found


def put_in(script: str, system: System, size_of: Callable[[str], int]) -> str:
    """The boot loader's script with the places of kernel and device tree in the chip: `{nand_kernel}` and
    `{nand_device_tree}` become offset and size as `nand read` takes them. `size_of`: the size of a
    partition's content, in bytes."""
    nand = wanted(system)
    if not nand or not holds_kernel(system):
        return script
    for name in (KERNEL, DEVICE_TREE):
        asked = f"{{nand_{name}}}"
        if asked in script:
            script = script.replace(asked, f"{nand.offset(name):#x} {size_of(name):#x}")
    return script

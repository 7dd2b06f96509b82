# SPDX-License-Identifier: Apache-2.0
"""Trusted Firmware-A before U-Boot: BL1 in the chip's memory, BL2, BL31, and U-Boot as BL33.

Source: docs/design/firmware-design.rst of Trusted Firmware-A 2.12.
"""

from __future__ import annotations

from dataclasses import replace

from bootscope.loaders.model import (
    FIRMWARE,
    KERNEL,
    LOAD,
    ROM,
    Announced,
    Firmware,
    Hooked,
    Program,
    Stage,
)
from bootscope.loaders.uboot import PROPER, UBOOT

_LATE_NS = 100_000_000


def _program(name: str, *, stays: bool = False) -> Program:
    return Program(
        name=name,
        title=name.upper(),
        phrase=name.upper(),
        symbols=name,
        symbols_file=f"{name}.map",
        code=f"{name}-program",
        code_file=f"{name}.elf",
        functions={Hooked.DELAY: "udelay"},
        linked=f"{name}/{name}.elf",
        tree=FIRMWARE,
        stays=stays,
    )


BL1, BL2, BL31 = _program("bl1"), _program("bl2"), _program("bl31", stays=True)
_STAGES = tuple(
    Stage(program.name, program.hook(Hooked.START), program.name, program) for program in (BL1, BL2, BL31)
)
_SAYS = {"bl1": r"^NOTICE:  BL1: ", "bl2": r"^NOTICE:  BL2: ", "bl31": r"^NOTICE:  BL31: "}
TFA = replace(
    UBOOT,
    name="tf-a",
    title="Trusted Firmware-A and U-Boot",
    payload="u-boot.bin",
    firmware=Firmware(
        title="Trusted Firmware-A",
        arguments=(
            *("PLAT={platform}", "BUILD_BASE={build}", "BUILD_STRING=bootscope"),
            *("BL33={payload}", "all", "fip"),
        ),
        made="{platform}/release",
        image="flash.img",
        first="bl1.bin",
        package="fip.bin",
    ),
    announced=(
        *(Announced(name, said, 0, _LATE_NS, "it prints late") for name, said in _SAYS.items()),
        *(one for one in UBOOT.announced if one.phase != "spl"),
    ),
    stages=(
        ROM,
        *_STAGES,
        Stage("bootloader", PROPER.hook(Hooked.START), "bootloader", PROPER),
        Stage(LOAD, program=PROPER),
        *KERNEL,
    ),
)

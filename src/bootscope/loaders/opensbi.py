# SPDX-License-Identifier: Apache-2.0
"""U-Boot on RISC-V: its SPL, OpenSBI, which stays, and U-Boot proper.

OpenSBI comes with U-Boot in one image. Source: docs/firmware/fw_dynamic.md of OpenSBI 1.6, and
doc/board/emulation/qemu-riscv.rst of U-Boot 2025.01.
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
from bootscope.loaders.uboot import PROPER, SPL, UBOOT

_LATE_NS = 100_000_000
_IMAGE = "fw_dynamic"
OPENSBI = Program(
    name="opensbi",
    title="OpenSBI",
    phrase="OpenSBI",
    symbols="opensbi",
    symbols_file="opensbi.map",
    code="opensbi-program",
    code_file="opensbi.elf",
    functions={Hooked.DELAY: "sbi_timer_delay_loop"},
    linked=f"{_IMAGE}.elf",
    tree=FIRMWARE,
    stays=True,
)
UBOOT_OPENSBI = replace(
    UBOOT,
    name="u-boot-opensbi",
    title="U-Boot SPL, OpenSBI and U-Boot",
    moves_to=2,
    first_image="spl/u-boot-spl.bin",
    card_image="u-boot.itb",
    firmware=Firmware(
        title="OpenSBI",
        arguments=("PLATFORM={platform}", "O={build}", "FW_PIC=y"),
        made="platform/{platform}/firmware",
        image=f"{_IMAGE}.bin",
        told_by="OPENSBI",
    ),
    announced=(*UBOOT.announced, Announced("opensbi", r"^OpenSBI v\d", 0, _LATE_NS, "it prints late")),
    stages=(
        ROM,
        Stage("spl", SPL.hook(Hooked.START), "spl", SPL),
        Stage("opensbi", OPENSBI.hook(Hooked.START), "opensbi", OPENSBI),
        Stage("bootloader", PROPER.hook(Hooked.START), "bootloader", PROPER),
        Stage(LOAD, program=PROPER),
        *KERNEL,
    ),
)

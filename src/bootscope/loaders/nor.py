# SPDX-License-Identifier: Apache-2.0
"""U-Boot that the CPU runs from parallel NOR flash, without an SPL: it relocates itself to memory, and copies
the kernel there, or starts it in place. Source: README of U-Boot 2025.01, "Board initialization flow"."""

from __future__ import annotations

from dataclasses import replace

from bootscope.loaders.model import KERNEL, LOAD, ROM, Hooked, Stage
from bootscope.loaders.uboot import PROPER, UBOOT

UBOOT_NOR = replace(
    UBOOT,
    name="u-boot-nor",
    title="U-Boot in NOR flash",
    card_image="u-boot.bin",
    announced=tuple(one for one in UBOOT.announced if one.phase != "spl"),
    stages=(
        ROM,
        Stage("bootloader", PROPER.hook(Hooked.START), "bootloader", PROPER),
        Stage(LOAD, program=PROPER),
        *KERNEL,
    ),
)

# SPDX-License-Identifier: Apache-2.0
"""U-Boot in files of the card's boot partition: for Xilinx' Zynq-7000, whose ROM looks for `boot.bin` there.

That is the SPL, which loads `u-boot.img` from the same partition. Source: Zynq-7000 Technical Reference
Manual, UG585, chapter 6, and doc/board/xilinx/zynq.rst of U-Boot 2025.01.
"""

from __future__ import annotations

from dataclasses import replace

from bootscope.loaders.uboot import UBOOT

UBOOT_FILES = replace(
    UBOOT,
    name="u-boot-files",
    first_image="spl/u-boot-spl.bin",
    card_files=("spl/boot.bin", "u-boot.img"),
)

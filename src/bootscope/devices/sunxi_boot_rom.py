# SPDX-License-Identifier: Apache-2.0
"""The boot ROM of Allwinner SoCs: what it starts, and what U-Boot calls the images that it makes for it."""

from __future__ import annotations

IMAGE, FIRST_STAGE_IMAGE = "u-boot-sunxi-with-spl.bin", "sunxi-spl.bin"
"""What goes to a card as it is, and the first stage that it begins with."""
UBOOT_FOLDER = "board/sunxi"
"""The code of these boards in U-Boot's tree."""
CONSTANTS, CONSTANTS_END = "include/configs/sunxi-common.h", "#endif /* _SUNXI_COMMON_CONFIG_H */"
"""Constants of these boards that U-Boot has no symbols for, and how the file ends."""
FAMILY_SYMBOL, NAND_SYMBOL = "ARCH_SUNXI", "NAND_SUNXI"
"""U-Boot's symbols of these SoCs, and of their own controller of NAND."""
TITLE = "an Allwinner SoC"
_MAGIC, _MAGIC_AT, _SIZE_AT, _MOST_BYTES = b"eGON.BT0", 4, 16, 0x10000


def first_stage(image: bytes) -> bytes | None:
    """The first stage at the beginning of an image, which says its own length; None when there is none."""
    if image[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        return None
    size = int.from_bytes(image[_SIZE_AT : _SIZE_AT + 4], "little")
    return image[: min(size, _MOST_BYTES)]

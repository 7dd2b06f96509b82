# SPDX-License-Identifier: Apache-2.0
"""The boot ROM of Allwinner SoCs: what it starts, and U-Boot's names for the images made for it."""

from __future__ import annotations

IMAGE, FIRST_STAGE_IMAGE = "u-boot-sunxi-with-spl.bin", "sunxi-spl.bin"
"""The image that goes to a card as it is, and the first stage at its beginning."""
UBOOT_FOLDER = "board/sunxi"
"""The code of these boards in U-Boot's tree."""
CONSTANTS, CONSTANTS_END = "include/configs/sunxi-common.h", "#endif /* _SUNXI_COMMON_CONFIG_H */"
"""Constants of these boards for which U-Boot has no symbols, and how the file ends."""
FAMILY_SYMBOL, NAND_SYMBOL = "ARCH_SUNXI", "NAND_SUNXI"
"""U-Boot's symbols for these SoCs, and for their NAND controller."""
TITLE = "an Allwinner SoC"
_MAGIC, _MAGIC_AT, _SIZE_AT, _MOST_BYTES = b"eGON.BT0", 4, 16, 0x10000


def first_stage(image: bytes) -> bytes | None:
    """The first stage at the beginning of an image, which states its own length; None if there is none."""
    if image[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        return None
    size = int.from_bytes(image[_SIZE_AT : _SIZE_AT + 4], "little")
    return image[: min(size, _MOST_BYTES)]

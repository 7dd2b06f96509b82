# SPDX-License-Identifier: Apache-2.0
"""SD and MMC cards, whatever the controller: addressing, possible sizes of images, and the names of Linux and
boot loaders for what they need."""

from __future__ import annotations

from bootscope.devices.model import SECTOR_BYTES

SECTOR_OPCODES = frozenset({17, 18, 24, 25})
"""Commands whose argument is a place on the card."""
APP_COMMAND = 55
"""Gives the next opcode another meaning."""
_BYTE_ADDRESSED_UP_TO = 2 << 30
IMAGE_SIZE = "a power of two, 1 MiB or more"
"""The possible sizes of an image in bytes: QEMU accepts no other card."""

ROOT = "/dev/mmcblk"
"""The prefix of Linux's names of cards."""
DISK = f"{ROOT}0"
"""Linux's name of the card on a board that has one."""
MOST_BYTES = 1 << 41
"""Of a card: 2 TB, according to the SD specification."""
KERNEL_SYMBOLS = {"MMC_BLOCK": "the root file system is on an MMC or SD card"}
"""What Linux needs for a root file system on one, and why."""
COMMAND, COMMAND_SYMBOL = "mmc", "CMD_MMC"
"""U-Boot's command that reads and writes a card by sectors, and the symbol that it needs."""
FROM_SECTORS = "SPL_FALCON_BOOT_MMCSD"
ARGUMENTS_SECTOR = "SYS_MMCSD_RAW_MODE_ARGS_SECTOR"
ARGUMENTS_SECTORS = "SYS_MMCSD_RAW_MODE_ARGS_SECTORS"
BOOT_TABLES = "boot partition: FAT and folders"
"""Data of the boot partition outside of files."""
ROOM_SECTORS = 256
"""Sectors for the device tree before the kernel: 128 KiB."""
KERNEL_SECTOR = "SYS_MMCSD_RAW_MODE_KERNEL_SECTOR"
"""What a U-Boot SPL needs to load Linux from sectors of a card, and where it looks for what."""
FROM_FILES = {"SYS_MMCSD_FS_BOOT": True, "SYS_MMCSD_FS_BOOT_PARTITION": 1}
"""What it needs to load Linux from files of the first partition."""
WHERE_FIRST = ("common/spl/spl_mmc.c", "\treturn MMCSD_MODE_FS;\n", "\treturn MMCSD_MODE_RAW;\n")
"""The place in U-Boot's sources where an SPL that can read files decides to look there only: the file, its
text, and the text that makes it try sectors first."""


class Place:
    """Where on a medium the last command ended, and which way its data went."""

    def __init__(self) -> None:
        self._end: tuple[int, bool] | None = None

    def goes_on(self, sector: int | None, size_bytes: int, write: bool) -> bool:
        """Whether the next command begins there, in the same direction. Data that are not on the medium move
        nothing."""
        if sector is None:
            return False
        last, self._end = self._end, (sector + -(-size_bytes // SECTOR_BYTES), write)
        return (sector, write) == last


def byte_addressed(card_bytes: int) -> bool:
    """Whether a card of this size is addressed in bytes; larger ones are addressed in sectors."""
    return card_bytes <= _BYTE_ADDRESSED_UP_TO


def size_for(image_bytes: int) -> int:
    """The size of the smallest card that holds an image: QEMU accepts only certain sizes."""
    return 1 << max(20, (image_bytes - 1).bit_length())


def fits(card_bytes: int) -> bool:
    """Whether an image may have this size."""
    return card_bytes >= 1 << 20 and card_bytes & (card_bytes - 1) == 0

# SPDX-License-Identifier: Apache-2.0
"""SD and MMC cards, whatever the controller: how they are addressed, how large an image may be, and the names
that Linux and boot loaders have for what they need."""

from __future__ import annotations

SECTOR_OPCODES = frozenset({17, 18, 24, 25})
"""Commands whose argument is a place on the card."""
APP_COMMAND = 55
"""Says that the next opcode means something else."""
_BYTE_ADDRESSED_UP_TO = 2 << 30
IMAGE_SIZE = "a power of two, 1 MiB or more"
"""What the size of an image in bytes must be: QEMU takes no other card."""

ROOT = "/dev/mmcblk"
"""How Linux's names of cards begin."""
DISK = f"{ROOT}0"
"""Linux's name of the card on a board that has one."""
MOST_BYTES = 1 << 41
"""Of a card: 2 TB, as the SD specification has it."""
KERNEL_SYMBOLS = {"MMC_BLOCK": "the root file system is on an MMC or SD card"}
"""What Linux needs for a root file system on one, and why."""
COMMAND, COMMAND_SYMBOL = "mmc", "CMD_MMC"
"""U-Boot's command that reads and writes one by sectors, and what it needs for it."""
FROM_SECTORS = "SPL_FALCON_BOOT_MMCSD"
ARGUMENTS_SECTOR = "SYS_MMCSD_RAW_MODE_ARGS_SECTOR"
ARGUMENTS_SECTORS = "SYS_MMCSD_RAW_MODE_ARGS_SECTORS"
BOOT_TABLES = "boot partition: FAT and folders"
"""What of the boot partition is no file."""
ROOM_SECTORS = 256
"""For the device tree before the kernel: 128 KiB."""
KERNEL_SECTOR = "SYS_MMCSD_RAW_MODE_KERNEL_SECTOR"
"""What an SPL of U-Boot needs to load Linux from sectors of one, and where it looks for what."""
FROM_FILES = {"SYS_MMCSD_FS_BOOT": True, "SYS_MMCSD_FS_BOOT_PARTITION": 1}
"""What it needs to load Linux from files of the first partition."""
WHERE_FIRST = ("common/spl/spl_mmc.c", "\treturn MMCSD_MODE_FS;\n", "\treturn MMCSD_MODE_RAW;\n")
"""The place in U-Boot's sources where an SPL that can read files decides to look there only: the file, its
text, and the text that makes it try sectors first."""


def byte_addressed(card_bytes: int) -> bool:
    """Whether places on a card of this size are given in bytes; on larger ones they are in sectors."""
    return card_bytes <= _BYTE_ADDRESSED_UP_TO


def size_for(image_bytes: int) -> int:
    """The size of the smallest card that an image fits on: QEMU takes none of another size."""
    return 1 << max(20, (image_bytes - 1).bit_length())


def fits(card_bytes: int) -> bool:
    """Whether an image may have this size."""
    return card_bytes >= 1 << 20 and card_bytes & (card_bytes - 1) == 0

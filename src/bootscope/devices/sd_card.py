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
KERNEL_SYMBOL = "MMC_BLOCK"
"""What Linux needs for a root file system on one."""
LOADER_SYMBOL = "CMD_MMC"
"""What a boot loader needs to let a user read one."""


def byte_addressed(card_bytes: int) -> bool:
    """Whether places on a card of this size are given in bytes; on larger ones they are in sectors."""
    return card_bytes <= _BYTE_ADDRESSED_UP_TO


def fits(card_bytes: int) -> bool:
    """Whether an image may have this size."""
    return card_bytes >= 1 << 20 and card_bytes & (card_bytes - 1) == 0

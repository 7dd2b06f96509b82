# SPDX-License-Identifier: Apache-2.0
"""The sector of a card where one boot leaves a seed of random numbers for the next (first/seed.h)."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bootscope.capture.record import Extent
from bootscope.core.errors import StepError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.system.model import Card

MARK = b"bootscope seed 1"
SEED_BYTES = 32


def sector(left: bool) -> bytes:
    """The sector's content: the mark, then zeros, or with `left` the seed that a boot has left. That is the
    same in each image, so that boots of it can be compared."""
    seed = hashlib.sha256(MARK).digest() if left else b""
    return (MARK + seed).ljust(SECTOR_BYTES, b"\0")


def put(image: Path, card: Card) -> list[Extent]:
    """Writes the sector, if the card has one. Raises ToolError where the boot loader occupies it."""
    if not card.seed_sector:
        return []
    with image.open("r+b") as opened:
        opened.seek(card.seed_sector * SECTOR_BYTES)
        if any(opened.read(SECTOR_BYTES)):
            raise StepError(f"card.seed_sector: the boot loader lies in sector {card.seed_sector}")
        opened.seek(card.seed_sector * SECTOR_BYTES)
        opened.write(sector(card.seed_left))
    return [Extent(name="seed of random numbers", sector=card.seed_sector, sectors=1)]

# SPDX-License-Identifier: Apache-2.0
"""The console lines of all boot loaders, as one table: regular expressions that fit where a line begins."""

from __future__ import annotations

from bootscope.loaders import others, uboot
from bootscope.loaders.model import Banner

BANNERS: tuple[Banner, ...] = (
    others.TRUSTED_FIRMWARE,
    *uboot.BANNERS,
    others.AT91BOOTSTRAP,
    others.BAREBOX,
    others.GRUB,
)
HANDOVER = uboot.HANDOVER
"""The last words of a boot loader."""
COUNTDOWN = uboot.COUNTDOWN
COUNTDOWN_SECONDS = uboot.COUNTDOWN_SECONDS
PROMPT = rf"^({uboot.PROMPT}|{others.GRUB_PROMPT}|{others.BAREBOX_PROMPT}) ?$"
OWN_WORDS = uboot.OWN_WORDS
"""Other beginnings of lines that no kernel writes."""


def patterns(*milestones: str) -> str:
    """What the banners match that are one of these milestones ("" for those that are none)."""
    return "|".join(banner.pattern for banner in BANNERS if banner.milestone in milestones)


BOOT_LOADER = patterns("bootloader")
SPOKEN = "|".join((patterns("spl", "bootloader"), others.TRUSTED_FIRMWARE_LINE, HANDOVER))
"""Lines by which a console's log is recognised."""
LOADERS = "|".join((patterns("spl", "bootloader"), others.AT91BOOTSTRAP.pattern))
"""Lines that say that there is a boot loader."""


def in_order() -> list[str]:
    """What the programs of a boot begin with, the earliest first."""
    orders = sorted({banner.order for banner in BANNERS})
    return ["|".join(b.pattern for b in BANNERS if b.order == order) for order in orders]

# SPDX-License-Identifier: Apache-2.0
"""The console lines of all programs before Linux in one table: regular expressions that match at the start of
a line."""

from __future__ import annotations

import re

from bootscope.loaders import others, uboot
from bootscope.loaders.model import Banner, Order

BANNERS: tuple[Banner, ...] = (*uboot.BANNERS, *others.BANNERS)
HANDOVER = rf"(?:{uboot.HANDOVER}|{others.HANDOVER})"
"""The last line of a boot loader."""
HANDED_OVER = others.HANDED_OVER
"""The last line of a firmware before its payload."""
RESETS = uboot.RESETS
"""The last line of a boot loader before it resets the chip."""
VERSION_GOES_ON = uboot.VERSION_GOES_ON
"""Follows a boot loader's banner where a command printed it."""
COUNTDOWN = uboot.COUNTDOWN
COUNTDOWN_SECONDS = uboot.COUNTDOWN_SECONDS
PROMPT = rf"^({uboot.PROMPT}|{others.GRUB_PROMPT}|{others.BAREBOX_PROMPT}) ?$"
BUILT_SPEAKS = "|".join(banner.pattern for banner in uboot.BANNERS)
"""The banners of the programs of the boot loader that bootscope builds."""
COREBOOT_SPEAKS = "|".join(banner.pattern for banner in others.BANNERS if banner.milestone == "coreboot")
LOOK_COREBOOT = "cbmem -t shows coreboot's own times"
OWN_WORDS = uboot.OWN_WORDS
"""Other starts of lines that no kernel prints."""


def banner_of(match: re.Match[str] | re.Match[bytes]) -> Banner:
    """The banner for a match of WHICH."""
    return BANNERS[(match.lastindex or 1) - 1]


def patterns(*stages: str) -> str:
    """A pattern for the banners of these stages."""
    return "|".join(banner.pattern for banner in BANNERS if banner.milestone in stages)


BOOT_LOADER = patterns("bootloader", "grub")
# The first character (after a blank, the second) rules out most lines of a kernel, at the least cost.
ANY = r"(?=[A-Z0-9\[(=bciwp-]| [ISX\[])(?:" + "|".join(banner.pattern for banner in BANNERS) + ")"
"""The banner of any program before Linux."""
WHICH = "|".join(f"({banner.pattern})" for banner in BANNERS)
"""The same with a group for each program (:func:`banner_of`)."""
SPOKEN = f"{ANY}|NOTICE:  BL|{HANDOVER}"
"""Lines by which a console's log is recognised."""
_LOADING = (Order.EARLY_LOADER, Order.LOADER, Order.SYSTEM)
LOADERS = "|".join(banner.pattern for banner in BANNERS if banner.order in _LOADING)
"""Lines that show that there is a boot loader."""

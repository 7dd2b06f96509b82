# SPDX-License-Identifier: Apache-2.0
"""Boot loaders that bootscope cannot boot yet, and knows by what they say on a console."""

from __future__ import annotations

from bootscope.loaders.model import Banner

TRUSTED_FIRMWARE = Banner(r"NOTICE:  BL1: ", "NOTICE:  BL1: ", "", 0)
TRUSTED_FIRMWARE_LINE = r"NOTICE:  BL"
AT91BOOTSTRAP = Banner(r"AT91Bootstrap ", "AT91Bootstrap ", "", 3)
BAREBOX = Banner(r"barebox \d", "barebox ", "bootloader", 4)
BAREBOX_PROMPT = r"barebox@.{1,80}:/ ?#?"
GRUB = Banner(r"GNU GRUB  version", "GRUB", "bootloader", 4)
GRUB_PROMPT = r"grub>"

# SPDX-License-Identifier: Apache-2.0
"""A chip's memory into which its boot ROM copies the first program, for QEMU machines without such a ROM.

QEMU puts the program there and lets the CPU start in it. The ROM's time for reading the program from the card
is part of the time before the first instruction.
"""

from __future__ import annotations

from bootscope.devices.boot_memory import BootMemory
from bootscope.devices.model import Media, in_option


class OnChipMemory(BootMemory, frozen=True, tag="on-chip-memory", tag_field="kind"):
    """The address of that program: the CPU starts at its first byte."""

    def firmware_arguments(self, media: Media) -> tuple[str, ...]:
        if not media.loader:
            return ()
        place = f"addr={self.base:#x},cpu-num=0,force-raw=on"
        return ("-device", f"loader,file={in_option(media.loader)},{place}")

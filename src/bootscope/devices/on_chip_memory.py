# SPDX-License-Identifier: Apache-2.0
"""Memory of a chip that its boot ROM copies the first program into, where QEMU's machine has no such ROM.

QEMU puts the program there and lets the CPU begin with it. What the ROM would take, reading the program
from the card, is a part of the time before the first instruction.
"""

from __future__ import annotations

from bootscope.devices.boot_memory import BootMemory
from bootscope.devices.model import Media, in_option


class OnChipMemory(BootMemory, frozen=True, tag="on-chip-memory", tag_field="kind"):
    """Where that program lies: the CPU begins with its first byte."""

    def firmware_arguments(self, media: Media) -> tuple[str, ...]:
        if not media.loader:
            return ()
        place = f"addr={self.base:#x},cpu-num=0,force-raw=on"
        return ("-device", f"loader,file={in_option(media.loader)},{place}")

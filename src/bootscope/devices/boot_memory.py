# SPDX-License-Identifier: Apache-2.0
"""Memory into which the board's ROM has put its first program before it starts it.

Where the ROM reads it from, and how long that takes, is part of the time before the first instruction.
"""

from __future__ import annotations

from typing import ClassVar

from bootscope.core.settings import Setting
from bootscope.devices.model import MEMORY, DeviceEvent, Media


class BootMemory(Setting, frozen=True, tag="boot-memory", tag_field="kind"):
    """The address of that program: the beginning of memory on QEMU's boards `virt` for RISC-V."""

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int

    def decoder(self, name: str, medium_bytes: int) -> BootMemoryDecoder:
        return BootMemoryDecoder()

    def above_zero(self) -> dict[str, int]:
        return {"size": self.size}

    def firmware_arguments(self, media: Media) -> tuple[str, ...]:
        return ("-bios", str(media.loader)) if media.loader else ()


class BootMemoryDecoder:
    """It is memory: no store to it is an event."""

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        return None

# SPDX-License-Identifier: Apache-2.0
"""Parallel NOR flash from which the CPU runs its first code, as on QEMU's boards `virt`.

Its code and data are read as memory: no store shows that, and it costs nothing here.
"""

from __future__ import annotations

from typing import ClassVar

from bootscope.core.settings import Setting
from bootscope.devices.model import MEMORY, DeviceEvent, Media, in_option


class Pflash(Setting, frozen=True, tag="pflash", tag_field="kind"):
    """The first bank of flash: as large as its image."""

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int

    def decoder(self, name: str, medium_bytes: int) -> PflashDecoder:
        return PflashDecoder()

    def above_zero(self) -> dict[str, int]:
        return {"size": self.size}

    def firmware_arguments(self, media: Media) -> tuple[str, ...]:
        if not media.loader:
            return ()
        return ("-drive", f"if=pflash,unit=0,format=raw,file={in_option(media.loader)},snapshot=on")


class PflashDecoder:
    """Stores to it are its own commands, which move no data to memory."""

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        return None

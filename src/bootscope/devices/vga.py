# SPDX-License-Identifier: Apache-2.0
"""A PC's graphics card with a frame buffer, like QEMU's `VGA`: firmware in its ROM sets the mode."""

from __future__ import annotations

from typing import ClassVar

from bootscope.core.settings import Setting
from bootscope.devices.model import MEMORY, DeviceEvent, Media, in_option


class Vga(Setting, frozen=True, tag="vga", tag_field="kind"):
    """The card. `base` is the address of its registers in memory, which software chooses."""

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int

    def decoder(self, name: str, medium_bytes: int) -> VgaDecoder:
        return VgaDecoder()

    def above_zero(self) -> dict[str, int]:
        return {}

    def firmware_arguments(self, media: Media) -> tuple[str, ...]:
        rom = f",romfile={in_option(media.video)}" if media.video else ""
        return ("-device", f"VGA{rom}")


class VgaDecoder:
    """Stores to it cost nothing and say nothing about the boot."""

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        return None

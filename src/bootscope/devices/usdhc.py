# SPDX-License-Identifier: Apache-2.0
"""NXP's controller of SD and MMC cards, uSDHC, with an SD card in it.

It is nearly that of the SD Association's specification, but a register of its own says what a command does
with its data. Source: i.MX 8M Plus Applications Processor Reference Manual, IMX8MPRM, chapter "Ultra Secured
Digital Host Controller".
"""

from __future__ import annotations

from bootscope.devices import sd_card
from bootscope.devices.model import CardClass, DeviceEvent, Media, in_option
from bootscope.devices.sdhci_pci import SdhciDecoder, SdhciPci


class Usdhc(SdhciPci, frozen=True, tag="usdhc", tag_field="kind"):
    """The controller. `bus`: which of the chip's controllers, from 0, has the card."""

    bus: int = 0

    def decoder(self, name: str, medium_bytes: int) -> UsdhcDecoder:
        return UsdhcDecoder(name, sd_card.byte_addressed(medium_bytes))

    def paced_line(self, number: int, medium: CardClass) -> str:
        return f"paced-card usdhc {number} {medium.timing}"

    def qemu_arguments(self, media: Media) -> tuple[str, ...]:
        card = f"format={media.card_format},file={in_option(media.card)},{media.writes}"
        return ("-drive", f"if=sd,bus={self.bus},{card}")


class UsdhcDecoder(SdhciDecoder):
    """A separate register holds the transfer modes: stores to the command register do not change them."""

    _MIXER = 0x48

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        if offset == self._MIXER:
            self._mode = value & 0xFFFF
            return None
        if offset == self._MODE:
            return self._command(index, value >> 16) if value >> 16 else None
        return super().store(index, offset, value)

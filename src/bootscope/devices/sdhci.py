# SPDX-License-Identifier: Apache-2.0
"""The SD host controller of the SD Association's specification as part of a chip, with an SD card in it."""

from __future__ import annotations

from bootscope.devices.model import CardClass, Media, in_option
from bootscope.devices.sdhci_pci import SdhciPci


class Sdhci(SdhciPci, frozen=True, tag="sdhci", tag_field="kind"):
    """The controller, at an address of its own. `slot`: which of the machine's slots the card is in."""

    slot: int = 0

    def paced_line(self, number: int, medium: CardClass) -> str:
        return f"paced-card sdhci {number} {medium.timing}"

    def qemu_arguments(self, media: Media) -> tuple[str, ...]:
        card = f"format={media.card_format},file={in_option(media.card)},{media.writes}"
        return ("-drive", f"if=sd,index={self.slot},{card}")

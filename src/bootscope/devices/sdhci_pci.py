# SPDX-License-Identifier: Apache-2.0
"""The SD host controller of the SD Association's specification, behind PCI, with an SD card in it.

Source: SD Host Controller Simplified Specification 3.00, chapter 2.
"""

from __future__ import annotations

from typing import ClassVar

from bootscope.core.settings import Setting
from bootscope.devices import sd_card
from bootscope.devices.model import (
    MEMORY,
    SECTOR_BYTES,
    CardClass,
    DeviceEvent,
    Media,
    StorageCommand,
    in_option,
)

DRIVERS = {"MMC_SDHCI_PCI": ("sdhci-pci", "sdhci_pci_probe"), "MMC_BLOCK": ("mmc_block", "mmc_blk_probe")}
"""What Linux needs for it: symbol of its configuration -> (module, a function of the driver)."""


class SdhciPci(Setting, frozen=True, tag="sdhci-pci", tag_field="kind"):
    """The controller. `base` is the address of its first memory region, which software chooses."""

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int

    def decoder(self, name: str, medium_bytes: int) -> SdhciDecoder:
        return SdhciDecoder(name, sd_card.byte_addressed(medium_bytes))

    def above_zero(self) -> dict[str, int]:
        return {}

    def cost_ns(self, size_bytes: int, medium: CardClass) -> int:
        return medium.random_read_ns(size_bytes)

    def event_ns(self, event: StorageCommand, medium: CardClass) -> int:
        return medium.command_ns(event)

    def qemu_arguments(self, media: Media) -> tuple[str, ...]:
        drive = f"id=card,if=none,format={media.card_format},file={in_option(media.card)},{media.writes}"
        return ("-drive", drive, "-device", "sdhci-pci", "-device", "sd-card,drive=card")


class SdhciDecoder:
    """A store to the command register starts what the other registers describe. Adjacent 16-bit registers may
    be stored to as one.

    `byte_addressed` cards take byte addresses, others sectors.
    """

    _BLOCK_SIZE, _BLOCKS, _ARGUMENT, _MODE, _COMMAND = 0x04, 0x06, 0x08, 0x0C, 0x0E
    _READS, _SEVERAL, _DATA = 1 << 4, 1 << 5, 1 << 5

    def __init__(self, name: str, byte_addressed: bool) -> None:
        self._name, self._byte_addressed = name, byte_addressed
        self._block_bytes = self._blocks = self._argument = self._mode = 0
        self._after_app_command = False
        self._place = sd_card.Place()

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        if offset == self._BLOCK_SIZE:
            self._block_bytes = value & 0xFFF
            if value >> 16:
                self._blocks = value >> 16
        elif offset == self._BLOCKS:
            self._blocks = value & 0xFFFF
        elif offset == self._ARGUMENT:
            self._argument = value
        elif offset == self._MODE:
            self._mode = value & 0xFFFF
            return self._command(index, value >> 16) if value >> 16 else None
        elif offset == self._COMMAND:
            return self._command(index, value)
        return None

    def _command(self, index: int, value: int) -> DeviceEvent | None:
        opcode = value >> 8 & 0x3F
        sector = None
        if opcode in sd_card.SECTOR_OPCODES and not self._after_app_command:
            sector = self._argument // SECTOR_BYTES if self._byte_addressed else self._argument
        self._after_app_command = opcode == sd_card.APP_COMMAND
        if not value & self._DATA:
            return None
        size = self._block_bytes * (self._blocks if self._mode & self._SEVERAL else 1)
        write = not self._mode & self._READS
        follows = self._place.goes_on(sector, size, write)
        return StorageCommand(index, self._name, opcode, sector, size, write, follows)

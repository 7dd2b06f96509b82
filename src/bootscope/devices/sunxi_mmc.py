# SPDX-License-Identifier: Apache-2.0
"""The SD/MMC host controller of Allwinner SoCs."""

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


class SunxiMmc(Setting, frozen=True, tag="sunxi-mmc", tag_field="kind"):
    """The controller, with an SD card in it."""

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int

    def decoder(self, name: str, medium_bytes: int) -> SunxiMmcDecoder:
        return SunxiMmcDecoder(name, sd_card.byte_addressed(medium_bytes))

    def above_zero(self) -> dict[str, int]:
        return {}

    def cost_ns(self, size_bytes: int, medium: CardClass) -> int:
        return medium.random_read_ns(size_bytes)

    def event_ns(self, event: StorageCommand, medium: CardClass) -> int:
        return medium.command_ns(event)

    def paced_line(self, number: int, medium: CardClass) -> str:
        return f"paced-card sunxi-mmc {number} {medium.timing}"

    def qemu_arguments(self, media: Media) -> tuple[str, ...]:
        return ("-drive", f"file={in_option(media.card)},format={media.card_format},if=sd,{media.writes}")


class SunxiMmcDecoder:
    """The command register starts what the other registers describe.

    `byte_addressed` cards take byte addresses, others sectors.
    """

    _BYTE_COUNT, _COMMAND, _ARGUMENT = 0x14, 0x18, 0x1C
    _START, _DATA, _WRITE = 1 << 31, 1 << 9, 1 << 10

    def __init__(self, name: str, byte_addressed: bool) -> None:
        self._name, self._byte_addressed = name, byte_addressed
        self._bytes = self._argument = 0
        self._after_app_command = False
        self._place = sd_card.Place()

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        if offset == self._BYTE_COUNT:
            self._bytes = value
        elif offset == self._ARGUMENT:
            self._argument = value
        elif offset == self._COMMAND and value & self._START:
            return self._command(index, value)
        return None

    def _command(self, index: int, value: int) -> DeviceEvent | None:
        opcode = value & 0x3F
        sector = None
        if opcode in sd_card.SECTOR_OPCODES and not self._after_app_command:
            sector = self._argument // SECTOR_BYTES if self._byte_addressed else self._argument
        self._after_app_command = opcode == sd_card.APP_COMMAND
        if not value & self._DATA:
            return None
        write = bool(value & self._WRITE)
        follows = self._place.goes_on(sector, self._bytes, write)
        return StorageCommand(index, self._name, opcode, sector, self._bytes, write, follows)

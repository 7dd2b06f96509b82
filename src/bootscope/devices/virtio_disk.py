# SPDX-License-Identifier: Apache-2.0
"""A virtio disk with memory-mapped registers, for which kernels for virtual machines have a driver.

No board has one. Its requests are complete before the guest goes on, and cost the same as a card's commands.
Source: Virtual I/O Device (VIRTIO) 1.2, chapters 4.2.2 and 5.2.
"""

from __future__ import annotations

from typing import ClassVar

from bootscope.core.settings import Setting
from bootscope.devices.model import (
    MEMORY,
    CardClass,
    DeviceEvent,
    Media,
    StorageCommand,
    in_option,
)
from bootscope.devices.sd_card import Place

DISK = "/dev/vda"
"""Linux's name of the only such disk."""
DRIVERS = {"VIRTIO_MMIO": ("virtio_mmio", "virtio_mmio_probe"), "VIRTIO_BLK": ("virtio_blk", "virtblk_probe")}
"""What Linux needs for it: symbol of its configuration -> (module, a function of the driver)."""


class VirtioDisk(Setting, frozen=True, tag="virtio-disk", tag_field="kind"):
    """The disk, in the first of the slots for such devices that QEMU's machine has."""

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int = 0x200

    def decoder(self, name: str, medium_bytes: int) -> VirtioDiskDecoder:
        return VirtioDiskDecoder(name, self.size)

    def above_zero(self) -> dict[str, int]:
        return {}

    def cost_ns(self, size_bytes: int, medium: CardClass) -> int:
        return medium.random_read_ns(size_bytes)

    def event_ns(self, event: StorageCommand, medium: CardClass) -> int:
        return medium.command_ns(event)

    def qemu_arguments(self, media: Media) -> tuple[str, ...]:
        drive = f"id=card,if=none,format={media.card_format},file={in_option(media.card)},{media.writes}"
        # Requests are processed at once where the guest makes them, not later by another thread.
        here = "virtio-mmio.ioeventfd=off"
        return (
            *("-drive", drive, "-global", here),
            *("-device", "virtio-blk-device,drive=card,bus=virtio-mmio-bus.0"),
        )


class VirtioDiskDecoder:
    """The plugin reads each request from the guest's memory and reports it at offsets behind the registers
    (native/plugin/virtio_disk.h)."""

    _WHAT, _SECTOR, _BYTES = 0, 8, 16
    _WRITE = 1

    def __init__(self, name: str, behind: int) -> None:
        self._name, self._behind = name, behind
        self._what = self._sector = 0
        self._place = Place()

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        match offset - self._behind:
            case self._WHAT:
                self._what = value
            case self._SECTOR:
                self._sector = value
            case self._BYTES if value:
                write = self._what == self._WRITE
                follows = self._place.goes_on(self._sector, value, write)
                return StorageCommand(index, self._name, self._what, self._sector, value, write, follows)
        return None

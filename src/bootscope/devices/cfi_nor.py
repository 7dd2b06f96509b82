# SPDX-License-Identifier: Apache-2.0
"""Parallel NOR flash that Linux reads as memory, with Intel's command set.

Source of the commands: JEDEC JEP137, command set 0001 (Intel), as Linux' drivers/mtd/chips/cfi_cmdset_0001.c
sends them.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from bootscope.core.settings import Setting, Sourced
from bootscope.devices.model import (
    MEMORY,
    SECTOR_BYTES,
    CardClass,
    DeviceEvent,
    Media,
    StorageCommand,
    in_option,
)

READ, PROGRAM, ERASE = 0, 1, 2
"""Opcodes of events: data read as memory, a buffer or a word programmed, a block erased."""


class SecondCache(Setting, frozen=True):
    """A cache of code and data behind the first ones, with their line size; on while the last value stored to
    the register at `control` has `bit`."""

    bytes: int
    ways: int
    control: int
    bit: int


class Caches(Setting, frozen=True):
    """A cache for code and another for data, of `bytes` each, which hold flash and nothing else. From virtual
    address `uncached_from` on, memory is mapped uncached. `region`: QEMU's name of the flash. `switched`:
    they are on only while the software has them on, for boards whose boot loader runs without. `second`:
    another one that software switches on.
    """

    bytes: int
    ways: int
    line_bytes: int
    uncached_from: int
    region: str
    switched: bool | msgspec.UnsetType = msgspec.UNSET
    second: SecondCache | msgspec.UnsetType = msgspec.UNSET

    def lines(self) -> tuple[str, ...]:
        """For the plugin (native/plugin/watch_flash.h)."""
        first = f"{self.bytes} {self.ways} {self.line_bytes} {self.uncached_from:#x} {self.region}"
        s, switched = self.second, ("flash-switched",) if self.switched is True else ()
        if not isinstance(s, SecondCache):
            return f"flash-cache {first}", *switched
        second = f"flash-second {s.bytes} {s.ways} {s.control:#x} {s.bit:#x}"
        return f"flash-cache {first}", *switched, second


class CfiNor(Setting, frozen=True, tag="cfi-nor", tag_field="kind"):
    """One bank of flash, `bus_bytes` wide. Reads of its data are recorded (`reads`).

    A program that reads in order pays a card class's `command_latency_ns` once and its bandwidth for each
    access, which moves the whole width of the bus.
    `unit`: which of the machine's banks it is. `caches`: those of the CPU, through which everything is read
    that Linux does not map as a device; without them all reads go to the bus as requested. `begins`: the
    CPU's first instruction is the flash's first word.
    """

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int
    bus_bytes: int
    erase_bytes: int
    program_byte_ns: Sourced
    erase_ns: Sourced
    unit: int = 0
    caches: Caches | None = None
    begins: bool | msgspec.UnsetType = msgspec.UNSET

    def decoder(self, name: str, medium_bytes: int) -> CfiNorDecoder:
        return CfiNorDecoder(name, self)

    def above_zero(self) -> dict[str, int]:
        return {"size": self.size, "bus_bytes": self.bus_bytes, "erase_bytes": self.erase_bytes}

    def cost_ns(self, size_bytes: int, medium: CardClass) -> int:
        return medium.cost_ns(size_bytes)

    def event_ns(self, event: StorageCommand, medium: CardClass) -> int:
        """The cost of an event: reads that continue where the previous one ended have no latency."""
        if event.opcode == PROGRAM:
            return event.size_bytes * self.program_byte_ns.value
        if event.opcode == ERASE:
            return self.erase_ns.value
        ns = medium.cost_ns(event.size_bytes)
        return ns if not event.follows else ns - medium.command_latency_ns.value

    def watch_lines(self) -> tuple[str, ...]:
        return self.caches.lines() if self.caches else ()

    @property
    def caches_are_switched(self) -> bool:
        return self.caches is not None and self.caches.switched is True

    def qemu_arguments(self, media: Media) -> tuple[str, ...]:
        flash = f"format={media.card_format},file={in_option(media.card)},{media.writes}"
        # QEMU has memory at the CPU's first address, where the board maps its flash.
        first = ("-device", f"loader,addr={self.base:#x},cpu-num=0") if self.begins is True else ()
        return ("-drive", f"if=pflash,unit={self.unit},{flash}", *first)


class CfiNorDecoder:
    """Stores are commands; both chips of a bank get each command, in the two halves of a word."""

    _ERASE, _CONFIRM, _WORD, _OTHER_WORD, _BUFFER = 0x20, 0xD0, 0x40, 0x10, 0xE8
    _STATE = (
        0x98,
        0x90,
        0x70,
        0xB0,
        0xC0,
        0x60,
        0x01,
        0x03,
        0x2F,
        _ERASE,
        _CONFIRM,
        _WORD,
        _OTHER_WORD,
        _BUFFER,
    )
    """After these, reads return the state of the chip; after all others, known or not, its data, as in QEMU's
    flash."""

    def __init__(self, name: str, flash: CfiNor) -> None:
        self._name, self._flash = name, flash
        self._pending = self._left = self._begin = self._size = 0
        self._next = -1
        self._array = True

    def read(self, index: int, offset: int, size_bytes: int, accesses: int) -> DeviceEvent:
        """The event of that many accesses, which read `size_bytes` in order."""
        follows, self._next = offset == self._next, offset + size_bytes
        moved = accesses * self._flash.bus_bytes
        # After such a command, reads return the chip's state, whatever the address.
        sector = offset // SECTOR_BYTES if self._array else None
        return StorageCommand(index, self._name, READ, sector, moved, False, follows)

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        command = value & 0xFF
        if self._pending == self._BUFFER:
            return self._buffered(index, offset, value)
        pending, self._pending = self._pending, 0
        self._array = command not in self._STATE and pending not in (self._WORD, self._OTHER_WORD)
        if pending == self._ERASE and command == self._CONFIRM:
            sector = offset // self._flash.erase_bytes * self._flash.erase_bytes // SECTOR_BYTES
            return StorageCommand(index, self._name, ERASE, sector, self._flash.erase_bytes, True)
        if pending in (self._WORD, self._OTHER_WORD):
            width = self._flash.bus_bytes
            return StorageCommand(index, self._name, PROGRAM, offset // SECTOR_BYTES, width, True)
        if command in (self._ERASE, self._WORD, self._OTHER_WORD):
            self._pending = command
        elif command == self._BUFFER:
            self._pending, self._left = command, -1
        return None

    def _buffered(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        """The number of words minus one; that many words; and the command that confirms them."""
        width = self._flash.bus_bytes
        if self._left < 0:
            if value & 0xFF == self._BUFFER:
                return None  # repeated because the chip was busy
            self._left, self._begin = (value & 0xFFFF) + 1, -1
            self._size = self._left * width
            return None
        if self._left:
            self._begin = offset if self._begin < 0 else self._begin
            self._left -= 1
            return None
        self._pending = 0
        if value & 0xFF != self._CONFIRM:
            return None
        return StorageCommand(index, self._name, PROGRAM, self._begin // SECTOR_BYTES, self._size, True)

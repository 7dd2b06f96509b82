# SPDX-License-Identifier: Apache-2.0
"""The interface of a device, and the events that devices cause. Each file beside this one implements it.

A device is a table of a board profile (``[devices.NAME]``, ``kind``), so its class is a Setting with a tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import msgspec

from bootscope.core.settings import Setting, Sourced

SECTOR_BYTES = 512
"""The unit in which storage is addressed, by controllers, partition tables and Linux alike."""


MEMORY, PORTS = "memory", "ports"
"""Address spaces of device registers: memory, or the I/O ports of architectures that have them."""


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """A command given to a device; `index` is that of the record in the stream."""

    index: int
    device: str


@dataclass(frozen=True, slots=True)
class ConsoleByte(DeviceEvent):
    """A byte given to the serial port, which needs `byte_ns` to put it on the line."""

    value: int
    byte_ns: int


@dataclass(frozen=True, slots=True)
class StorageCommand(DeviceEvent):
    """A command with data. `sector` is None for data that are not the medium's content.

    `follows`: it continues where the previous one of the medium ended.
    """

    opcode: int
    sector: int | None
    size_bytes: int
    write: bool
    follows: bool = False


@dataclass(frozen=True, slots=True)
class PinChange(DeviceEvent):
    """Output pins, by their names in the SoC's manual, went high and low."""

    high: tuple[str, ...]
    low: tuple[str, ...]


class Decoder(Protocol):
    """Turns the stores to one device into events. It sees nothing else, so a better decoder improves old
    recordings."""

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        """The event, if any, that record `index` causes: a store `offset` bytes into the device."""


@runtime_checkable
class MemoryDecoder(Decoder, Protocol):
    """For a device whose data are read as memory."""

    def read(self, index: int, offset: int, size_bytes: int, accesses: int) -> DeviceEvent:
        """The event of record `index`: `accesses` to the bus for `size_bytes` from `offset` on."""


class CardClass(Setting, frozen=True):
    """The cost of a storage command: latency_ns + bytes / bandwidth.

    Optional, for cards that were measured in more detail: `random_latency_ns` of a read that does not
    continue where the command before ended; `write_bandwidth_bytes_per_s`; `random_write_latency_ns` of such
    a write, with the time in which the card is busy afterwards.
    """

    title: str
    bandwidth_bytes_per_s: Sourced
    command_latency_ns: Sourced
    random_latency_ns: Sourced | msgspec.UnsetType = msgspec.UNSET
    write_bandwidth_bytes_per_s: Sourced | msgspec.UnsetType = msgspec.UNSET
    random_write_latency_ns: Sourced | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_plain(self) -> bool:
        """Whether all commands with as much data cost the same."""
        more = (self.random_latency_ns, self.write_bandwidth_bytes_per_s, self.random_write_latency_ns)
        return not any(isinstance(figure, Sourced) for figure in more)

    @property
    def timing(self) -> str:
        """Bandwidth and latency, for the plugin."""
        return f"{self.command_latency_ns.value} {self.bandwidth_bytes_per_s.value}"

    def cost_ns(self, size_bytes: int) -> int:
        """latency + bytes / bandwidth, rounded down to a nanosecond, of a read that continues another."""
        return self.command_latency_ns.value + _transfer_ns(size_bytes, self.bandwidth_bytes_per_s.value)

    def random_read_ns(self, size_bytes: int) -> int:
        """The same of a read anywhere on the medium."""
        latency_ns = _first(self.random_latency_ns, self.command_latency_ns)
        return latency_ns + _transfer_ns(size_bytes, self.bandwidth_bytes_per_s.value)

    def command_ns(self, command: StorageCommand) -> int:
        """The cost of a command. Data that are not on the medium (`sector` None) are never elsewhere."""
        elsewhere = command.sector is not None and not command.follows
        if not command.write:
            return self.random_read_ns(command.size_bytes) if elsewhere else self.cost_ns(command.size_bytes)
        rate = _first(self.write_bandwidth_bytes_per_s, self.bandwidth_bytes_per_s)
        latency_ns = self.command_latency_ns.value
        if elsewhere:
            latency_ns = _first(self.random_write_latency_ns, self.random_latency_ns, self.command_latency_ns)
        return latency_ns + _transfer_ns(command.size_bytes, rate)

    def figures(self) -> Iterator[tuple[str, int, bool]]:
        """(key, value, whether it is a rate) of each figure that the class has."""
        for key in self.__struct_fields__:
            figure = getattr(self, key)
            if isinstance(figure, Sourced):
                yield key, figure.value, key.endswith("bytes_per_s")


def _first(*figures: Sourced | msgspec.UnsetType) -> int:
    """The first figure that is set; the last one always is."""
    return next(figure.value for figure in figures if isinstance(figure, Sourced))


def _transfer_ns(size_bytes: int, bytes_per_s: int) -> int:
    return size_bytes * 1_000_000_000 // bytes_per_s


@dataclass(frozen=True, slots=True)
class Media:
    """What a board boots from: the image of a card, and files that QEMU may provide without a card.

    `loader`: a boot loader or firmware that is not on the card. `initramfs`: one that is not part of the
    kernel. `video`: firmware of the graphics card. `card_format`: QEMU's name for the format of the card's
    file. `has_card`: whether there is a card at all. `device_tree`: if the emulator makes none itself.
    `nand`: the content of the memory that stands for a NAND chip. `keeps`: the guest's writes stay in the
    card's file; else the file is only read. `memory`: a file that is the board's memory, of its size.
    """

    card: Path
    loader: Path | None = None
    kernel: Path | None = None
    initramfs: Path | None = None
    command_line: str = ""
    card_format: str = "raw"
    has_card: bool = True
    video: Path | None = None
    device_tree: Path | None = None
    nand: Path | None = None
    keeps: bool = False
    memory: Path | None = None

    @property
    def writes(self) -> str:
        """QEMU's options for the guest's writes to the card's file. Nothing waits for this computer's disk:
        the writes are in the file when the emulator ends."""
        return "snapshot=off,cache=unsafe" if self.keeps else "snapshot=on"


def in_option(path: Path) -> str:
    """A path in QEMU's option syntax: commas doubled."""
    return str(path).replace(",", ",,")


class Device(Protocol):
    """A device whose registers the plugin watches: `size` bytes from `base` on, a physical address or a
    port."""

    @property
    def address_space(self) -> str:
        """MEMORY or PORTS."""

    @property
    def base(self) -> int: ...
    @property
    def size(self) -> int: ...

    def decoder(self, name: str, medium_bytes: int) -> Decoder:
        """A decoder for the device called `name`; its medium, if any, holds `medium_bytes`."""

    def above_zero(self) -> Mapping[str, int]:
        """The settings used as divisors, with their keys: they must be above 0."""


@runtime_checkable
class Console(Device, Protocol):
    """A serial port that can be the board's console."""

    @property
    def data_offset(self) -> int:
        """The offset of the register to which bytes to be sent are stored."""

    @property
    def rate_key(self) -> str:
        """The setting with the largest influence on the line's rate."""

    @property
    def linux_name(self) -> str:
        """What Linux calls the first port of this kind."""

    @property
    def fifo_bytes(self) -> Sourced:
        """How many bytes the port holds. A byte more costs the wait for a free place (devices/serial.py)."""

    def at_rate(self, baud: int) -> tuple[int, int]:
        """(ns per byte, actual rate in baud) if a driver sets the rate closest to `baud`."""

    def with_rates(self, scaled: Callable[[Sourced], Sourced]) -> Self:
        """The port with another clock: each number that determines the line's rate is `scaled`."""

    def qemu_arguments(self) -> tuple[str, ...]:
        """QEMU's arguments for it."""


@runtime_checkable
class FirmwareStore(Device, Protocol):
    """Memory that holds the first program that the board runs."""

    def firmware_arguments(self, media: Media) -> tuple[str, ...]:
        """QEMU's arguments for it and its content: as a snapshot, so that no boot changes it."""


@runtime_checkable
class Storage(Device, Protocol):
    """A storage controller that the board can boot from."""

    def cost_ns(self, size_bytes: int, medium: CardClass) -> int:
        """The cost of a read of so many bytes somewhere on the medium, on the real board."""

    def event_ns(self, event: StorageCommand, medium: CardClass) -> int:
        """The cost of a command on the real board."""

    def qemu_arguments(self, media: Media) -> tuple[str, ...]:
        """QEMU's arguments for it and its content: as a snapshot, so that no boot changes it."""


@runtime_checkable
class Paced(Device, Protocol):
    """A serial port or a storage controller that can take its time in the guest's own clock."""

    def paced_line(self, number: int, medium: CardClass) -> str:
        """The line of the watch file for it as device `number`, with `medium` in it if it is a controller."""


@runtime_checkable
class MemoryStorage(Storage, Protocol):
    """Storage of `size` bytes whose data are read as memory, `bus_bytes` per access; `erase_bytes` are erased
    at a time."""

    @property
    def bus_bytes(self) -> int: ...
    @property
    def erase_bytes(self) -> int: ...
    @property
    def caches_are_switched(self) -> bool:
        """Whether reads through caches depend on what the software has switched on."""

    def watch_lines(self) -> tuple[str, ...]:
        """More lines for the plugin, about how it is read."""

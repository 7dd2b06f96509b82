# SPDX-License-Identifier: Apache-2.0
"""What stores to device registers mean: console bytes, storage commands, pin changes.

A decoder is fed the stores to one device in order and yields what they did. Decoders are pure: they
see registers only, so a better one improves old recordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from bootscope.boards.profile import Device, SunxiGpio, SunxiMmc, Uart
from bootscope.capture.stream import Io, Record

SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """Something a device was told to do; `index` is that of the record in the stream."""

    index: int
    device: str


@dataclass(frozen=True, slots=True)
class ConsoleByte(DeviceEvent):
    """A byte given to the serial port, which needs `byte_ns` to put it on the line."""

    value: int
    byte_ns: int


@dataclass(frozen=True, slots=True)
class StorageCommand(DeviceEvent):
    """A command with data. `sector` is None for data that are not the card's contents."""

    opcode: int
    sector: int | None
    size_bytes: int
    write: bool


@dataclass(frozen=True, slots=True)
class PinChange(DeviceEvent):
    """Output pins changed: `port` is 0 for PA and so on, `high` and `low` are bit masks."""

    port: int
    high: int
    low: int


class Decoder(Protocol):
    """Turns the stores to one device into events."""

    def store(self, index: int, io: Io) -> DeviceEvent | None:
        """The event this store causes, if any."""


_BITS_PER_BYTE = 10  # start, eight data, stop


def byte_ns(uart: Uart, divisor: int) -> int:
    """How long a byte is on the line of a port whose clock is divided by 16 times `divisor`."""
    return _BITS_PER_BYTE * 16 * divisor * 1_000_000_000 // uart.clock_hz.value


class UartDecoder:
    """16550: bytes are stores to the data register, unless the divisor latch or loopback is on."""

    _DATA, _INTERRUPT, _LINE, _MODEM = 0, 1, 3, 4
    _DIVISOR_LATCH, _LOOPBACK = 0x80, 0x10

    def __init__(self, name: str, uart: Uart) -> None:
        self._name, self._uart = name, uart
        self._line = self._modem = 0
        self._divisor = [0, 0]
        self._byte_ns = _BITS_PER_BYTE * 1_000_000_000 // uart.default_baud.value

    def _set_divisor(self, half: int, value: int) -> None:
        self._divisor[half] = value & 0xFF
        divisor = self._divisor[0] | self._divisor[1] << 8
        if divisor:
            self._byte_ns = byte_ns(self._uart, divisor)

    def store(self, index: int, io: Io) -> DeviceEvent | None:
        register = io.offset // self._uart.register_bytes
        if register == self._LINE:
            self._line = io.value
        elif register == self._MODEM:
            self._modem = io.value
        elif register in (self._DATA, self._INTERRUPT) and self._line & self._DIVISOR_LATCH:
            self._set_divisor(register, io.value)
        elif register == self._DATA and not self._modem & self._LOOPBACK:
            return ConsoleByte(index, self._name, io.value & 0xFF, self._byte_ns)
        return None


class SunxiMmcDecoder:
    """Allwinner's host controller: the command register starts what the others describe.

    `byte_addressed` cards (2 GiB and less) take byte addresses, larger ones sectors.
    """

    _BYTE_COUNT, _COMMAND, _ARGUMENT = 0x14, 0x18, 0x1C
    _START, _DATA, _WRITE = 1 << 31, 1 << 9, 1 << 10
    _SECTOR_OPCODES = frozenset({17, 18, 24, 25})
    _APP_COMMAND = 55

    def __init__(self, name: str, byte_addressed: bool) -> None:
        self._name, self._byte_addressed = name, byte_addressed
        self._bytes = self._argument = 0
        self._after_app_command = False

    def store(self, index: int, io: Io) -> DeviceEvent | None:
        if io.offset == self._BYTE_COUNT:
            self._bytes = io.value
        elif io.offset == self._ARGUMENT:
            self._argument = io.value
        elif io.offset == self._COMMAND and io.value & self._START:
            return self._command(index, io.value)
        return None

    def _command(self, index: int, value: int) -> DeviceEvent | None:
        opcode = value & 0x3F
        sector = None
        if opcode in self._SECTOR_OPCODES and not self._after_app_command:
            sector = self._argument // SECTOR_BYTES if self._byte_addressed else self._argument
        self._after_app_command = opcode == self._APP_COMMAND
        if not value & self._DATA:
            return None
        return StorageCommand(index, self._name, opcode, sector, self._bytes, bool(value & self._WRITE))


class SunxiGpioDecoder:
    """Allwinner's port controller: data registers at 0x10 in each port's 0x24 bytes."""

    _PORT_BYTES, _DATA, _PORTS = 0x24, 0x10, 9

    def __init__(self, name: str) -> None:
        self._name = name
        self._state: dict[int, int] = {}

    def store(self, index: int, io: Io) -> DeviceEvent | None:
        port, register = divmod(io.offset, self._PORT_BYTES)
        if register != self._DATA or port >= self._PORTS:
            return None
        before = self._state.get(port, 0)
        self._state[port] = io.value
        high, low = io.value & ~before, before & ~io.value
        return PinChange(index, self._name, port, high, low) if high or low else None


_BYTE_ADDRESSED_UP_TO = 2 << 30


def decoder_for(name: str, device: Device, card_bytes: int) -> Decoder:
    """The decoder for one device of a board profile, with a card of `card_bytes` in it."""
    match device:
        case Uart():
            return UartDecoder(name, device)
        case SunxiMmc():
            return SunxiMmcDecoder(name, card_bytes <= _BYTE_ADDRESSED_UP_TO)
        case SunxiGpio():
            return SunxiGpioDecoder(name)


def decode(records: list[Record], decoders: Mapping[int, Decoder]) -> Iterator[DeviceEvent]:
    """Events in stream order; `decoders` maps the device numbers of the watch file."""
    for index, record in enumerate(records):
        if isinstance(record, Io) and record.device in decoders:
            event = decoders[record.device].store(index, record)
            if event:
                yield event

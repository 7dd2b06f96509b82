# SPDX-License-Identifier: Apache-2.0
"""Arm's serial port PL011.

Source: PrimeCell UART (PL011) Technical Reference Manual, DDI 0183, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import msgspec

from bootscope.core.settings import Setting, Sourced
from bootscope.devices.model import MEMORY, ConsoleByte, DeviceEvent
from bootscope.devices.serial import BITS_PER_BYTE

_STEPS = 64
"""The unit of the divisor's fraction, in parts of 1."""


class Pl011(Setting, frozen=True, tag="pl011", tag_field="kind"):
    """A PL011."""

    address_space: ClassVar[str] = MEMORY

    data_offset: ClassVar[int] = 0
    rate_key: ClassVar[str] = "clock_hz"
    linux_name: ClassVar[str] = "ttyAMA0"

    base: int
    size: int
    clock_hz: Sourced
    fifo_bytes: Sourced
    default_baud: Sourced

    def decoder(self, name: str, medium_bytes: int) -> Pl011Decoder:
        return Pl011Decoder(name, self)

    def above_zero(self) -> dict[str, int]:
        keys = ("clock_hz", "fifo_bytes", "default_baud")
        return {f"{key}.value": getattr(self, key).value for key in keys}

    def byte_ns(self, divisor: int) -> int:
        """How long a byte is on the line if the clock is divided by 16 times `divisor` / 64."""
        return BITS_PER_BYTE * 16 * divisor * 1_000_000_000 // (_STEPS * self.clock_hz.value)

    def at_rate(self, baud: int) -> tuple[int, int]:
        clock_hz, sixteen = self.clock_hz.value, 16 * baud
        divisor = max(_STEPS, (_STEPS * clock_hz + sixteen // 2) // sixteen)
        return self.byte_ns(divisor), _STEPS * clock_hz // (16 * divisor)

    def with_rates(self, scaled: Callable[[Sourced], Sourced]) -> Self:
        return msgspec.structs.replace(
            self, clock_hz=scaled(self.clock_hz), default_baud=scaled(self.default_baud)
        )

    def qemu_arguments(self) -> tuple[str, ...]:
        """The port is unconnected: the plugin sees every byte, and a slow reader cannot delay the guest."""
        return ("-serial", "null")


class Pl011Decoder:
    """Bytes are stores to the data register, unless loopback is on. A store to the line control register
    applies the divisor."""

    _DATA, _INTEGER, _FRACTION, _LINE, _CONTROL = 0x00, 0x24, 0x28, 0x2C, 0x30
    _LOOPBACK = 0x80

    def __init__(self, name: str, port: Pl011) -> None:
        self._name, self._port = name, port
        self._control = self._integer = self._fraction = 0
        self._byte_ns = BITS_PER_BYTE * 1_000_000_000 // port.default_baud.value

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        if offset == self._DATA:
            if not self._control & self._LOOPBACK:
                return ConsoleByte(index, self._name, value & 0xFF, self._byte_ns)
        elif offset == self._INTEGER:
            self._integer = value & 0xFFFF
        elif offset == self._FRACTION:
            self._fraction = value & 0x3F
        elif offset == self._CONTROL:
            self._control = value
        elif offset == self._LINE and self._integer:
            # Firmware that does not know the port's clock stores a divisor of 0, which means none.
            self._byte_ns = self._port.byte_ns(self._integer * _STEPS + self._fraction)
        return None

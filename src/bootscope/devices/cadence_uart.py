# SPDX-License-Identifier: Apache-2.0
"""Cadence's serial port, of which Xilinx' Zynq-7000 has two.

Source: Zynq-7000 Technical Reference Manual, UG585, chapter 19 and appendix B.33.
"""

from __future__ import annotations

from typing import ClassVar

from bootscope.devices.model import CardClass, ConsoleByte, DeviceEvent
from bootscope.devices.serial import BITS_PER_BYTE, NumberedPort

_QUEUE_BYTES = 64
"""What the transmitter's queue holds."""
_SLOWEST, _LEAST, _MOST = 65535, 4, 255
"""The maximum of the generator's divisor, and the minimum and maximum of the divisor after it."""


class CadenceUart(NumberedPort, frozen=True, tag="cadence-uart", tag_field="kind"):
    """The port."""

    data_offset: ClassVar[int] = 0x30
    linux_name: ClassVar[str] = "ttyPS0"

    def decoder(self, name: str, medium_bytes: int) -> CadenceUartDecoder:
        return CadenceUartDecoder(name, self)

    def paced_line(self, number: int, _medium: CardClass) -> str:
        return self.paced("cadence", number, _QUEUE_BYTES)

    def byte_ns(self, divisor: int) -> int:
        """How long a byte is on the line if the clock is divided by `divisor`, both divisors in one."""
        return BITS_PER_BYTE * divisor * 1_000_000_000 // self.clock_hz.value

    def at_rate(self, baud: int) -> tuple[int, int]:
        clock_hz = self.clock_hz.value
        found = []
        for samples in range(_LEAST + 1, _MOST + 2):
            generator = min(_SLOWEST, max(1, (clock_hz + baud * samples // 2) // (baud * samples)))
            divisor = generator * samples
            found.append((abs(clock_hz // divisor - baud), divisor))
        divisor = min(found)[1]
        return self.byte_ns(divisor), clock_hz // divisor


class CadenceUartDecoder:
    """Bytes are stores to the FIFO, unless the port's mode is local loopback."""

    _MODE, _GENERATOR, _DIVIDER = 0x04, 0x18, 0x34
    _BY_EIGHT, _LOOPBACK_MASK, _LOOPBACK = 1, 3 << 8, 2 << 8

    def __init__(self, name: str, port: CadenceUart) -> None:
        self._name, self._port = name, port
        self._mode = self._generator = self._divider = 0
        self._byte_ns = BITS_PER_BYTE * 1_000_000_000 // port.default_baud.value

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        if offset == self._port.data_offset:
            if self._mode & self._LOOPBACK_MASK != self._LOOPBACK:
                return ConsoleByte(index, self._name, value & 0xFF, self._byte_ns)
            return None
        if offset == self._MODE:
            self._mode = value
        elif offset == self._GENERATOR:
            self._generator = value & 0xFFFF
        elif offset == self._DIVIDER:
            self._divider = value & 0xFF
        else:
            return None
        # A generator of 0 is off; a divider below 4 is invalid and ignored.
        if self._generator and self._divider >= _LEAST:
            divisor = self._generator * (self._divider + 1) * (8 if self._mode & self._BY_EIGHT else 1)
            self._byte_ns = self._port.byte_ns(divisor)
        return None

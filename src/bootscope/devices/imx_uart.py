# SPDX-License-Identifier: Apache-2.0
"""The serial port of NXP's i.MX chips.

Source: i.MX 8M Plus Applications Processor Reference Manual, IMX8MPRM, chapter "Universal Asynchronous
Receiver/Transmitter".
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from bootscope.devices.model import CardClass, ConsoleByte, DeviceEvent
from bootscope.devices.serial import BITS_PER_BYTE, NumberedPort

_SAMPLES = 16
"""Samples of a bit."""
_DIVIDERS = (6, 5, 4, 3, 2, 1, 7)
"""The clock's divisor, by the value of the field RFDIV."""
_QUEUE_BYTES = 32
"""What the transmitter's queue holds."""
_MOST = 1 << 16
"""The maximum of each of the two numbers whose ratio multiplies the clock."""


class ImxUart(NumberedPort, frozen=True, tag="imx-uart", tag_field="kind"):
    """The port."""

    data_offset: ClassVar[int] = 0x40

    @property
    def linux_name(self) -> str:
        """Boards of this family number their ports as the chip does."""
        return f"ttymxc{self.number}"

    def decoder(self, name: str, medium_bytes: int) -> ImxUartDecoder:
        return ImxUartDecoder(name, self)

    def paced_line(self, number: int, _medium: CardClass) -> str:
        return self.paced("imx", number, _QUEUE_BYTES)

    def byte_ns(self, divided_by: int, ratio: Fraction) -> int:
        """How long a byte is on the line: the clock is divided, and multiplied by `ratio`."""
        return int(BITS_PER_BYTE * _SAMPLES * divided_by * 1_000_000_000 / (self.clock_hz.value * ratio))

    def at_rate(self, baud: int) -> tuple[int, int]:
        clock_hz, sixteen = self.clock_hz.value, _SAMPLES * baud
        divided_by = min(max(_DIVIDERS), max(1, clock_hz // sixteen))
        wanted = Fraction(sixteen * divided_by, clock_hz)
        ratio = max(wanted.limit_denominator(_MOST), Fraction(1, _MOST))
        return self.byte_ns(divided_by, ratio), int(clock_hz * ratio / (_SAMPLES * divided_by))


class ImxUartDecoder:
    """Bytes are stores to the transmitter's register, unless the port loops them back."""

    _FIFO, _NUMERATOR, _DENOMINATOR, _TEST = 0x90, 0xA4, 0xA8, 0xB4
    _LOOPBACK = 1 << 12

    def __init__(self, name: str, port: ImxUart) -> None:
        self._name, self._port = name, port
        self._test = 0
        self._divided_by = _DIVIDERS[0]
        self._numerator = self._denominator = 0
        self._byte_ns = BITS_PER_BYTE * 1_000_000_000 // port.default_baud.value

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        if offset == self._port.data_offset:
            if self._test & self._LOOPBACK:
                return None
            return ConsoleByte(index, self._name, value & 0xFF, self._byte_ns)
        if offset == self._TEST:
            self._test = value
        elif offset == self._FIFO:
            field = value >> 7 & 7
            self._divided_by = _DIVIDERS[field] if field < len(_DIVIDERS) else self._divided_by
        elif offset == self._NUMERATOR:
            self._numerator = value & 0xFFFF
        elif offset == self._DENOMINATOR:
            # Both numbers take effect with this store.
            self._denominator = value & 0xFFFF
            ratio = Fraction(self._numerator + 1, self._denominator + 1)
            self._byte_ns = self._port.byte_ns(self._divided_by, ratio)
        return None

# SPDX-License-Identifier: Apache-2.0
"""Serial ports of the 16550 class."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Self

import msgspec

from bootscope.core.settings import Setting, Sourced
from bootscope.devices.model import CardClass, ConsoleByte, DeviceEvent
from bootscope.devices.serial import BITS_PER_BYTE


class Uart16550(Setting, frozen=True, omit_defaults=True, tag="uart16550", tag_field="kind"):
    """A 16550-class serial port with registers `register_bytes` apart, in memory or, as in PCs, at ports."""

    data_offset: ClassVar[int] = 0
    rate_key: ClassVar[str] = "clock_hz"
    linux_name: ClassVar[str] = "ttyS0"

    base: int
    size: int
    register_bytes: int
    clock_hz: Sourced
    fifo_bytes: Sourced
    default_baud: Sourced
    address_space: Literal["memory", "ports"] = "memory"

    def decoder(self, name: str, medium_bytes: int) -> Uart16550Decoder:
        return Uart16550Decoder(name, self)

    def above_zero(self) -> dict[str, int]:
        sourced = ("clock_hz", "fifo_bytes", "default_baud")
        numbers = {f"{key}.value": getattr(self, key).value for key in sourced}
        return {"register_bytes": self.register_bytes, **numbers}

    def byte_ns(self, divisor: int) -> int:
        """How long a byte is on the line if the clock is divided by 16 times `divisor`."""
        return BITS_PER_BYTE * 16 * divisor * 1_000_000_000 // self.clock_hz.value

    def paced_line(self, number: int, _medium: CardClass) -> str:
        byte_ns = BITS_PER_BYTE * 1_000_000_000 // self.default_baud.value
        clock_hz, queue_bytes = self.clock_hz.value, self.fifo_bytes.value
        return f"paced-port 16550 {number} {self.register_bytes} {clock_hz} {queue_bytes} {byte_ns}"

    def at_rate(self, baud: int) -> tuple[int, int]:
        clock_hz, sixteen = self.clock_hz.value, 16 * baud
        divisor = max(1, (clock_hz + sixteen // 2) // sixteen)
        return self.byte_ns(divisor), clock_hz // (16 * divisor)

    def with_rates(self, scaled: Callable[[Sourced], Sourced]) -> Self:
        return msgspec.structs.replace(
            self, clock_hz=scaled(self.clock_hz), default_baud=scaled(self.default_baud)
        )

    def qemu_arguments(self) -> tuple[str, ...]:
        """The port is unconnected: the plugin sees every byte, and a slow reader cannot delay the guest."""
        return ("-serial", "null")


class Uart16550Decoder:
    """Bytes are stores to the data register, unless the divisor latch or loopback is on."""

    _DATA, _INTERRUPT, _LINE, _MODEM = 0, 1, 3, 4
    _DIVISOR_LATCH, _LOOPBACK = 0x80, 0x10

    def __init__(self, name: str, uart: Uart16550) -> None:
        self._name, self._uart = name, uart
        self._line = self._modem = 0
        self._divisor = [0, 0]
        self._byte_ns = BITS_PER_BYTE * 1_000_000_000 // uart.default_baud.value

    def _set_divisor(self, half: int, value: int) -> None:
        self._divisor[half] = value & 0xFF
        divisor = self._divisor[0] | self._divisor[1] << 8
        if divisor:
            self._byte_ns = self._uart.byte_ns(divisor)

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        register = offset // self._uart.register_bytes
        if register == self._LINE:
            self._line = value
        elif register == self._MODEM:
            self._modem = value
        elif register in (self._DATA, self._INTERRUPT) and self._line & self._DIVISOR_LATCH:
            self._set_divisor(register, value)
        elif register == self._DATA and not self._modem & self._LOOPBACK:
            return ConsoleByte(index, self._name, value & 0xFF, self._byte_ns)
        return None

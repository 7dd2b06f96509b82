# SPDX-License-Identifier: Apache-2.0
"""The port controller of Allwinner SoCs: nine ports of 32 pins."""

from __future__ import annotations

from typing import ClassVar

from bootscope.core.settings import Setting
from bootscope.devices.model import MEMORY, DeviceEvent, PinChange


class SunxiGpio(Setting, frozen=True, tag="sunxi-gpio", tag_field="kind"):
    """The controller."""

    address_space: ClassVar[str] = MEMORY

    base: int
    size: int

    def decoder(self, name: str, medium_bytes: int) -> SunxiGpioDecoder:
        return SunxiGpioDecoder(name)

    def above_zero(self) -> dict[str, int]:
        return {}


class SunxiGpioDecoder:
    """Data registers lie at 0x10 in each port's 0x24 bytes."""

    _PORT_BYTES, _DATA, _PORTS = 0x24, 0x10, 9

    def __init__(self, name: str) -> None:
        self._name = name
        self._state: dict[int, int] = {}

    def store(self, index: int, offset: int, value: int) -> DeviceEvent | None:
        port, register = divmod(offset, self._PORT_BYTES)
        if register != self._DATA or port >= self._PORTS:
            return None
        before = self._state.get(port, 0)
        self._state[port] = value
        high, low = _names(port, value & ~before), _names(port, before & ~value)
        return PinChange(index, self._name, high, low) if high or low else None


def _names(port: int, mask: int) -> tuple[str, ...]:
    return tuple(f"P{chr(ord('A') + port)}{bit}" for bit in range(32) if mask >> bit & 1)

# SPDX-License-Identifier: Apache-2.0
"""The `[pins]` of a board file as options of the readers."""

from __future__ import annotations

from bootscope.boards.pins import Pins
from bootscope.readers.uart import Uart


def pin_options(pins: Pins, console_rate: int) -> dict[str, str]:
    """The readers' options that say what the channels are."""
    found = [
        f"{channel}={level}:{name}"
        for channel, edge in pins.edges.items()
        for level, name in (("high", edge.high), ("low", edge.low))
        if name
    ]
    values = {"pin": ",".join(found)} if found else {}
    if pins.uart:
        uart = Uart(pins.uart.channel, pins.uart.rate or console_rate, pins.uart.inverted)
        values["uart"] = uart.text
    return values

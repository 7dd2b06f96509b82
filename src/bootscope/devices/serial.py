# SPDX-License-Identifier: Apache-2.0
"""Serial lines, whatever the port: the time of a byte, and the queue in which bytes wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar, Self

import msgspec

from bootscope.core.settings import Setting, Sourced
from bootscope.devices.model import MEMORY

BITS_PER_BYTE = 10
"""Start, eight data, stop."""


class NumberedPort(Setting, frozen=True):
    """One port of a chip with several. `number`: its number, from 0; those before it are unconnected too."""

    address_space: ClassVar[str] = MEMORY
    rate_key: ClassVar[str] = "clock_hz"

    base: int
    size: int
    number: int
    clock_hz: Sourced
    fifo_bytes: Sourced
    default_baud: Sourced

    def paced(self, kind: str, number: int, queue_bytes: int) -> str:
        """The plugin's line for a port of this kind that takes its time, with registers of four bytes and a
        queue of so many."""
        byte_ns = BITS_PER_BYTE * 1_000_000_000 // self.default_baud.value
        return f"paced-port {kind} {number} 4 {self.clock_hz.value} {queue_bytes} {byte_ns}"

    def above_zero(self) -> dict[str, int]:
        keys = ("clock_hz", "fifo_bytes", "default_baud")
        return {f"{key}.value": getattr(self, key).value for key in keys}

    def with_rates(self, scaled: Callable[[Sourced], Sourced]) -> Self:
        return msgspec.structs.replace(
            self, clock_hz=scaled(self.clock_hz), default_baud=scaled(self.default_baud)
        )

    def qemu_arguments(self) -> tuple[str, ...]:
        """The port is unconnected: the plugin sees every byte, and a slow reader cannot delay the guest."""
        return ("-serial", "null") * (self.number + 1)


class LineQueue:
    """The bytes that a serial port holds, and when each leaves it.

    The line empties the queue, while the CPU works. A byte costs nothing while there is room; when the queue
    is full, it costs the wait for a free place.
    """

    def __init__(self, depth_bytes: int) -> None:
        self._leaves_ns: deque[int] = deque(maxlen=depth_bytes)
        self._depth = depth_bytes

    def put(self, now_ns: int, byte_ns: int) -> int:
        """Puts a byte in at board time `now_ns`; returns the wait for a free place."""
        leaves = self._leaves_ns
        full = len(leaves) == self._depth
        wait_ns = leaves[0] - now_ns if full and leaves[0] > now_ns else 0
        starts_ns = now_ns + wait_ns
        if leaves and leaves[-1] > starts_ns:
            starts_ns = leaves[-1]
        leaves.append(starts_ns + byte_ns)
        return wait_ns

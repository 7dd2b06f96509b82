# SPDX-License-Identifier: Apache-2.0
"""Serial lines, whatever the port: what a byte takes, and the queue that bytes wait in."""

from __future__ import annotations

from collections import deque

BITS_PER_BYTE = 10
"""Start, eight data, stop."""


class LineQueue:
    """The bytes that a serial port holds, and when each leaves it.

    The line empties the queue. A byte costs nothing while there is room; when the queue is full, it costs the
    wait for a place. So bytes drain while the CPU works.
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

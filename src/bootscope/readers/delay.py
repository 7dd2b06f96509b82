# SPDX-License-Identifier: Apache-2.0
"""How late a computer beside the board stamped a console's lines.

A stamp with six digits is not one that is right to a microsecond: the UART's FIFO, the USB adapter's timer,
the scheduler and the tool's own loop all come before it. The kernel's stamps in the same lines tell how much
that is, or the tool measured it; elsewhere the stamps' resolution is the least that they may be off by.
"""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.readers.base import Boot
from bootscope.readers.kernel_log import kernel_way


@dataclass(frozen=True, slots=True)
class Delay:
    """What a line's time may be off by, in ns; with `or_more` that is only the least."""

    error_ns: int
    or_more: bool = False


def delay(boot: Boot) -> Delay:
    """That of the lines of a boot, on its own clock."""
    resolution_ns = max(0, boot.clock.resolution_ns)
    if not boot.clock.delay_unmeasured:
        return Delay(resolution_ns)
    way = kernel_way(boot)
    return Delay(resolution_ns, True) if way.offset_ns is None else Delay(max(resolution_ns, way.error_ns))

# SPDX-License-Identifier: Apache-2.0
"""The amounts that make up a boot's time, and what each costs on a board.

A moment of a boot is a sum of amounts (:class:`Parts`); a board gives each kind of amount a rate
(:class:`Rates`). To calibrate is to find the rates from moments.
"""

from __future__ import annotations

from typing import NamedTuple

from bootscope.boards.profile import UNSCALED_PPM, Board
from bootscope.core.errors import UserError

CPU, COMMANDS, BYTES, LINE, EXTRA, MEMORY = range(6)
"""The kinds of amounts that have a rate, in the order of :class:`Rates`; MEMORY only on a core's model."""


class Rates(NamedTuple):
    """The time that a board needs per amount. Statistics are done on these, so they are floats.

    `cpu`: ns per ns that the emulator gives the CPU; `command_ns`, `byte_ns`: of storage; `line`: ns per ns
    that a byte takes on the emulator's serial line. `extra_ns`: additional time of each console line, for
    interrupts and stamping. No profile has that, but without it the other rates would absorb it. `memory`: ns
    per ns that a core's model waits for memory; `cpu` is then for its instructions.
    """

    cpu: float
    command_ns: float
    byte_ns: float
    line: float
    extra_ns: float = 0.0
    memory: float = 1.0


class Parts(NamedTuple):
    """The amounts up to a moment of a boot, on the path that determined it.

    `steady_ns` takes the same time on every board: sleeping, and loops that wait for a clock. `line_ns` is
    the wait for the serial line, at the emulator's line rate; `memory_ns` a core model's wait for memory, 0
    without one.
    """

    cpu_ns: int
    commands: int
    size_bytes: int
    line_ns: int
    steady_ns: int
    memory_ns: int = 0

    def at(self, rates: Rates) -> float:
        """The total time with these rates, in ns."""
        return (
            self.cpu_ns * rates.cpu
            + self.commands * rates.command_ns
            + self.size_bytes * rates.byte_ns
            + self.line_ns * rates.line
            + self.steady_ns
            + self.memory_ns * rates.memory
        )

    def since(self, before: Parts) -> Parts:
        """The amounts between an earlier moment and this one."""
        return Parts(*(now - then for now, then in zip(self, before, strict=True)))


def rates_of(board: Board) -> Rates:
    """The rates that a profile states. Raises UserError for a card with more figures than are fitted."""
    card = board.card
    if not card.is_plain:
        raise UserError(
            "calibrate fits one latency of a card, "
            f"and {card.title} has others for random commands or for writes",
            hint=f"choose a card with one: --board {board.name}:card=CLASS",
        )
    return Rates(
        board.cpu_scale_ppm.value / UNSCALED_PPM,
        card.command_latency_ns.value,
        1_000_000_000 / card.bandwidth_bytes_per_s.value,
        1.0,
    )

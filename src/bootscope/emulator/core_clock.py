# SPDX-License-Identifier: Apache-2.0
"""The guest's clock in the time of a core: plugin settings that make the clock advance with the core's time
for instructions and for all that it waits for. Timers, time-outs and loops that poll a clock see that
time."""

from __future__ import annotations

from pathlib import Path

from bootscope.boards.changed import clock_core_of
from bootscope.boards.profile import Board
from bootscope.core.errors import UserError
from bootscope.cores.price import price
from bootscope.cores.profile import Core
from bootscope.emulator import timing_pass

_UNUSED = "counts.bin"
"""The file that a counting pass would write; here it is never written."""


def core_for(board: Board) -> Core | None:
    """The core whose time the guest's clock follows; None where the clock counts instructions.

    Raises UserError for a board that cannot have such a clock.
    """
    core = clock_core_of(board)
    if core is None:
        return None
    timing_pass.control_of(board, core)
    if core.switched:
        phase = next(iter(core.switched))
        raise UserError(
            f"{board.name}: guest-clock=core follows the caches as the software switches them, "
            f"and cannot have one on or off in {phase}",
            hint="leave out guest-clock=core, and it is predicted from counts",
        )
    return core


def lines(board: Board, folder: Path, frame: tuple[int, int] | None) -> list[str]:
    """The lines of a watch file for a boot in `folder`; none where the clock counts instructions. `frame` is
    the address range of a frame buffer, which no cache holds. Raises what :func:`core_for` does."""
    core = core_for(board)
    if core is None:
        return []
    costs = price(core)
    uncached = [frame] if frame else []
    return [
        *timing_pass.lines(board, core, folder / _UNUSED, [], uncached),
        f"price {costs.instruction_ps} {' '.join(map(str, costs.event_ps))}",
    ]

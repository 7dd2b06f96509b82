# SPDX-License-Identifier: Apache-2.0
"""The guest's clock in the time of a whole board: plugin settings that make serial port and card take their
time while the boot runs. What the board does meanwhile goes on."""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.boards.changed import OF_BOARD, waits_for_devices
from bootscope.boards.profile import Board
from bootscope.core.errors import UserError
from bootscope.devices.model import MEMORY, Paced
from bootscope.devices.registry import device_kind


def check(board: Board) -> None:
    """Raises UserError for a board that cannot have such a clock, if it asks for one."""
    if not waits_for_devices(board):
        return
    if isinstance(board.qemu.cpus, int) and board.qemu.cpus > 1:
        raise UserError(
            f"{board.name}: guest-clock={OF_BOARD} is modelled for one CPU, "
            f"and this board has {board.qemu.cpus}",
            hint="record it with qemu.cpus = 1, or without guest-clock",
        )
    for name in (board.console, board.storage):
        _paced(board, name)
    if not board.card.is_plain:
        raise UserError(
            f"{board.name}: guest-clock={OF_BOARD} is modelled for cards whose commands all have the same "
            f"latency, and {board.card.title} has others for random commands or for writes",
            hint="choose another with card=CLASS, or leave guest-clock out",
        )


def lines(board: Board, devices: Mapping[int, str]) -> list[str]:
    """The lines of a watch file whose `devices` have these numbers; none for another clock. Raises what
    :func:`check` does."""
    check(board)
    if not waits_for_devices(board):
        return []
    timed = (board.console, board.storage)
    return [_paced(board, name).paced_line(n, board.card) for n, name in devices.items() if name in timed]


def _paced(board: Board, name: str) -> Paced:
    device = board.devices[name]
    if not isinstance(device, Paced) or device.address_space != MEMORY:
        raise UserError(
            f"{board.name}: guest-clock={OF_BOARD} is not modelled for {name}, a {device_kind(device)}",
            hint="leave it out: what devices take is added afterwards then",
        )
    return device

# SPDX-License-Identifier: Apache-2.0
"""Boards whose guest's clock passes with the time of their devices."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.boards.changed import clock_core_of, clock_words, core_of, same_clock, waits_for_devices
from bootscope.boards.profile import Board, load_board
from bootscope.core.errors import UserError
from bootscope.emulator import board_clock

CLOCK = "cubieboard:core=cortex-a8:guest-clock=board"
DEVICES = {1: "uart0", 2: "mmc0", 3: "pio"}


def test_serial_port_and_card_take_their_time() -> None:
    board = load_board(CLOCK)
    serial, card = board_clock.lines(board, DEVICES)
    # A byte at 115,200 baud takes 86.8 us.
    assert serial == "paced-port 16550 1 4 24000000 16 86805"
    assert card == "paced-card sunxi-mmc 2 500000 11300000"
    faster = load_board(f"{CLOCK}:card=2x")
    assert board_clock.lines(faster, DEVICES)[1].endswith(" 250000 22600000")


@pytest.mark.parametrize("name", ["cubieboard", "cubieboard:core=cortex-a8:guest-clock=core"])
def test_other_clocks_pass_without_devices(name: str) -> None:
    board = load_board(name)
    assert not waits_for_devices(board) and board_clock.lines(board, DEVICES) == []


def test_a_core_is_not_needed_but_used() -> None:
    board, plain = load_board(CLOCK), load_board("cubieboard:core=none:guest-clock=board")
    core = clock_core_of(board)
    assert core and core.name == "cortex-a8" and core_of(board) is None
    assert waits_for_devices(plain) and clock_core_of(plain) is None
    assert load_board(f"{CLOCK}:core=none").core is msgspec.UNSET
    assert len(board_clock.lines(plain, DEVICES)) == 2


def test_a_boot_is_of_one_card_and_one_core() -> None:
    board = load_board(CLOCK)
    assert same_clock(board, load_board(CLOCK))
    assert clock_words(load_board(f"{CLOCK}:card=2x")) != clock_words(board)
    for other in (f"{CLOCK}:card=2x", f"{CLOCK}:dram=2x", "cubieboard:core=cortex-a8:guest-clock=core"):
        assert not same_clock(board, load_board(other))
    assert clock_words(board) == (
        "the clock of core cortex-a8, of uart0 and of mmc0 with slow SD card (11.3 MB/s)"
    )


def _with_cpus(board: Board, cpus: int) -> Board:
    return msgspec.structs.replace(board, qemu=msgspec.structs.replace(board.qemu, cpus=cpus))


def test_what_cannot_be_had_is_refused_by_name() -> None:
    with pytest.raises(UserError, match="modelled for one CPU, and this board has 4"):
        board_clock.check(_with_cpus(load_board(CLOCK), 4))
    with pytest.raises(UserError, match=r"guest-clock=board is not modelled for \w+, a "):
        board_clock.check(load_board("q35:guest-clock=board"))

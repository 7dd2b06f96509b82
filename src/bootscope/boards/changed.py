# SPDX-License-Identifier: Apache-2.0
"""A board with another card, clock or core, as its name says: ``cubieboard:card=2x:clock=0.5x``."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.settings import Sourced
from bootscope.core.text import size
from bootscope.cores.changes import changed
from bootscope.cores.choice import NO_CORE
from bootscope.cores.profile import Core, core_names, load_core
from bootscope.devices.model import CardClass

if TYPE_CHECKING:
    from bootscope.boards.profile import Board

INSTRUCTIONS, OF_CORE, OF_BOARD = "instructions", "core", "board"
CLOCKS = INSTRUCTIONS, OF_CORE, OF_BOARD
"""What may drive the clock of an emulated board: its instructions; the time of its core for them, with all
waits for memory; or that and the time of its devices."""
APART = ":"
"""Separates the name of a board and each change."""
_FASTER = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,3}))?x")
_OF_CORE = ("dram", "l2", "dcache", "icache")
_CLOCKS = {"2x": -1, "4x": -2, "0.5x": 1, "0.25x": 2}
"""Clock -> the change of the exponent of two in ns per instruction."""
_SHIFTS = range(1, 11)
"""With 0 (1 ns), boots of QEMU 10.0 stay in their first stage: tried on cubieboard, 2026-11-26."""
_FILE = ".toml"


def parted(name: str) -> tuple[str, str]:
    """(a board's name or file, its changes): the second is empty for an unchanged board."""
    end = name.find(_FILE)
    start = end + len(_FILE) if end >= 0 else 0
    plain, _, changes = name[start:].partition(APART)
    return name[:start] + plain, changes


def asks_for_core(name: str) -> bool:
    """Whether the changes in a board's name need a core, so that times without one are not what is asked
    for."""
    changes = parted(name)[1].split(APART)
    pairs = (change.partition("=") for change in changes)
    return any(key in ("core", *_OF_CORE) and value != NO_CORE for key, _, value in pairs)


def clock_apart(name: str) -> tuple[str, Fraction]:
    """(a board's name without a change of its clock, the factor by which that change makes its clock faster).

    Raises UserError for a clock that is given as a rate: the original rate is a figure of the core.
    """
    plain, changes = parted(name)
    others, times = [], Fraction(1)
    for change in changes.split(APART) if changes else ():
        key, _, value = change.partition("=")
        if key != "clock":
            others.append(change)
        elif match := _FASTER.fullmatch(value):
            times *= Fraction(1000, max(1, _thousandths(match)))
        else:
            raise UserError(f"the board is told the rate of its clock, {printable(value)}")
    return APART.join([plain, *others]), times


def changed_board(board: Board, changes: str) -> Board:
    """The board with changes, applied in order: `card=CLASS` or `card=2x`, `clock=2x`, `core=NAME` or
    `core=none`, and those of the core's memory and caches that `what-if` knows, `guest-clock=core`. Its name
    includes them.

    Raises UserError for an invalid change, or one that this board cannot have.
    """
    name = board.name
    for change in changes.split(APART):
        key, _, value = change.partition("=")
        if key in _OF_CORE:
            board = _of_core(board, change)
        elif key in _CHANGES:
            board = _CHANGES[key](board, value)
        else:
            raise unknown("change of a board", key, [*_CHANGES, *_OF_CORE])
    return msgspec.structs.replace(board, name=f"{name}{APART}{changes}")


def core_of(board: Board) -> Core | None:
    """The core on which a board's boots are shown, from their counts; None where the board names none, or
    where the guest's clock is the core's already.

    Raises UserError for an unknown core, and for changes that it cannot have.
    """
    return _named_core(board) if board.guest_clock == INSTRUCTIONS else None


def clock_core_of(board: Board) -> Core | None:
    """The core whose time the guest's clock follows; None where the clock counts instructions. Raises what
    :func:`core_of` does."""
    return None if board.guest_clock == INSTRUCTIONS else _named_core(board)


def waits_for_devices(board: Board) -> bool:
    """Whether what its devices take is in its boots already, because the guest's clock passes with it."""
    return board.guest_clock == OF_BOARD


def without_core(board: Board) -> Board:
    """The board, where every instruction takes the same time. A clock that follows a core stays as it is."""
    if board.guest_clock != INSTRUCTIONS:
        return board
    return _coreless(board)


def _coreless(board: Board) -> Board:
    return msgspec.structs.replace(board, core=msgspec.UNSET, core_changes=msgspec.UNSET)


def same_clock(a: Board, b: Board) -> bool:
    """Whether the guest's clock works alike on two boards, so that boots of one can be viewed with the
    other's devices."""
    if a.tick_ns != b.tick_ns or a.guest_clock != b.guest_clock:
        return False
    if a.guest_clock == OF_BOARD and (a.card, a.devices) != (b.card, b.devices):
        return False
    return a.guest_clock == INSTRUCTIONS or (a.core, a.core_changes) == (b.core, b.core_changes)


def clock_words(board: Board) -> str:
    """What drives the guest's clock, in words."""
    core = clock_core_of(board)
    told = f"the clock of core {core.name}" if core else f"{board.tick_ns} ns an instruction"
    if waits_for_devices(board):
        rate = size(board.card.bandwidth_bytes_per_s.value)
        told += f", of {board.console} and of {board.storage} with {board.card.title} ({rate}/s)"
    return told


def _named_core(board: Board) -> Core | None:
    if not isinstance(board.core, str):
        return None
    core = load_core(board.core)
    for change in board.core_changes if isinstance(board.core_changes, tuple) else ():
        core = changed(core, (change,)).core
    return core


def with_card(board: Board, value: str) -> Board:
    """The board with another card: a class of its profile, or its own with bandwidth and latency changed by a
    factor (`2x`, `0.5x`). Raises UserError for anything else."""
    if not (match := _FASTER.fullmatch(value)):
        if value not in board.card_classes:
            raise unknown("card class", value, [*board.card_classes, "2x"])
        return msgspec.structs.replace(board, card_class=value)
    thousandths = _thousandths(match)
    if not thousandths:
        raise UserError("the speed factor of a card must be positive", hint="for example card=2x")
    classes = {**board.card_classes, "as said": _scaled(board.card, thousandths)}
    return msgspec.structs.replace(board, card_classes=classes, card_class="as said")


def _thousandths(match: re.Match[str]) -> int:
    return int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0"))


def _scaled(card: CardClass, thousandths: int) -> CardClass:
    """The card with rates so many thousandths, and latencies in inverse proportion."""
    scaled = {
        key: Sourced(
            value=max(1, value * thousandths // 1000) if is_rate else value * 1000 // thousandths,
            source="a requested change",
        )
        for key, value, is_rate in card.figures()
    }
    return msgspec.structs.replace(card, **scaled)


def _clock(board: Board, value: str) -> Board:
    """The emulator's time per instruction is a power of two in ns; a core has a figure for its clock."""
    if isinstance(board.core, str):
        return _of_core(board, f"clock={value}")
    now = board.qemu.icount_shift.value
    can = [clock for clock, step in _CLOCKS.items() if now + step in _SHIFTS]
    if value not in can:
        raise UserError(
            f"{board.name} cannot have clock={printable(value)}: without a core it can have {', '.join(can)}",
            hint=f"with a core any: {_with_a_core(board)}{APART}clock={printable(value)}; {_cores(board)}",
        )
    told = Sourced(value=now + _CLOCKS[value], source=f"{value} the clock of {board.name}")
    return msgspec.structs.replace(board, qemu=msgspec.structs.replace(board.qemu, icount_shift=told))


def _core(board: Board, value: str) -> Board:
    if value == NO_CORE:
        if board.guest_clock == OF_CORE:
            raise UserError(f"guest-clock={OF_CORE} needs a core: core={NO_CORE} cannot follow it")
        return _coreless(board)
    core = load_core(value)
    if core.architecture != board.architecture:
        raise UserError(
            f"core {printable(value)} is of architecture {core.architecture}, "
            f"board {board.name} of {board.architecture}",
            hint=f"for example {_with_a_core(board)}; {_cores(board)}",
        )
    return msgspec.structs.replace(board, core=value, core_changes=msgspec.UNSET)


def _with_a_core(board: Board) -> str:
    return f"{board.name}{APART}core=CORE"


def _cores(board: Board) -> str:
    """Which cores a board may have, for hints. Only its owner knows which one its processor has."""
    fit = [name for name in core_names() if load_core(name).architecture == board.architecture]
    return f"cores: {', '.join([*fit, 'FILE.toml'])}"


def _of_core(board: Board, change: str) -> Board:
    if not isinstance(board.core, str):
        raise UserError(
            f"{printable(change)} is a change of a core, and {board.name} is modelled without one",
            hint=f"name one first: {_with_a_core(board)}{APART}{printable(change)}; {_cores(board)}",
        )
    there = board.core_changes if isinstance(board.core_changes, tuple) else ()
    board = msgspec.structs.replace(board, core_changes=(*there, change))
    _named_core(board)  # rejects what the core cannot have, before any boot
    return board


def _guest_clock(board: Board, value: str) -> Board:
    if value not in CLOCKS:
        raise unknown("guest clock", value, list(CLOCKS))
    if value == OF_CORE and not isinstance(board.core, str):
        raise UserError(
            f"guest-clock={OF_CORE} needs a core, and {board.name} is modelled without one",
            hint=f"name one first: {_with_a_core(board)}{APART}guest-clock={OF_CORE}; {_cores(board)}",
        )
    return msgspec.structs.replace(board, guest_clock=value)


_CHANGES: dict[str, Callable[[Board, str], Board]] = {
    "card": with_card,
    "clock": _clock,
    "core": _core,
    "guest-clock": _guest_clock,
}

# SPDX-License-Identifier: Apache-2.0
"""Where the boots of a real board end, as the user requests it."""

from __future__ import annotations

import msgspec

from bootscope.boards.physical import RealBoard
from bootscope.boards.pins import edge_names
from bootscope.capture.measured import END_TEXT
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.text import visible
from bootscope.hardware.console_monitor import marker_of
from bootscope.hardware.stop_conditions import NS, End
from bootscope.readers.markers import MARKERS, said

DEFAULT_UNTIL = "login"
_PIN = "pin:"
"""Prefix of the name of an edge."""
_TIMEOUT_S = 120.0


class EndWish(msgspec.Struct, frozen=True, kw_only=True):
    """The requested end: one of a milestone or `pin:EDGE`, a text on the console, a silence, or a time since
    power-on, in s; if none, the board's `app-ready`, or `login`. `timeout_s`: when to give a boot up (None:
    120 s)."""

    until: str | None = None
    text: str | None = None
    silence_s: float | None = None
    time_s: float | None = None
    timeout_s: float | None = None


def end_of(board: RealBoard, wish: EndWish) -> End:
    """The requested end. Raises UserError for more than one, and for a milestone or edge that the board does
    not have."""
    given = [wish.until, wish.text, wish.silence_s, wish.time_s]
    if sum(value is not None for value in given) > 1:
        raise UserError("choose one end of a boot", hint="one of --until, --until-text, -silence and -time")
    timeout_ns = int((wish.timeout_s or _TIMEOUT_S) * NS)
    if wish.text is not None:
        if not wish.text:
            raise UserError("--until-text needs a text")
        words = f"'{visible(wish.text.encode())}'"
        return End(said(END_TEXT, wish.text), words, wish.text, timeout_ns=timeout_ns)
    if wish.silence_s is not None:
        silence_ns = int(wish.silence_s * NS)
        return End(None, f"a silence of {wish.silence_s:g} s", silence_ns=silence_ns, timeout_ns=timeout_ns)
    if wish.time_s is not None:
        after_ns = int(wish.time_s * NS)
        words = f"{wish.time_s:g} s after power on"
        return End(None, words, after_ns=after_ns, timeout_ns=after_ns + timeout_ns)
    return _at_milestone(board, wish.until, timeout_ns)


def _at_milestone(board: RealBoard, until: str | None, timeout_ns: int) -> End:
    texts = {name: milestone.console for name, milestone in board.milestones.items()}
    name = until or ("app-ready" if "app-ready" in texts else DEFAULT_UNTIL)
    named = edge_names(board.pins) if board.pins else {}
    marker = None if name.startswith(_PIN) else marker_of(name, texts)
    if marker is None and (name.startswith(_PIN) or name in named):
        return _at_pin(board, name.removeprefix(_PIN), timeout_ns)
    if marker is None:
        pins = (_PIN + known for known in named)
        raise unknown("milestone", name, [*texts, *(m.name for m in MARKERS), *pins])
    return End(marker, name, timeout_ns=timeout_ns)


def _at_pin(board: RealBoard, name: str, timeout_ns: int) -> End:
    """An end at an edge. Raises UserError where the analyser does not report edges as they come."""
    if board.pins is None:
        raise UserError(
            f"--until {_PIN}{printable(name)}: no pin is watched",
            hint="[pins] in a board file; see: bootscope help pins",
        )
    named = edge_names(board.pins)
    if name not in named:
        raise unknown("edge", name, list(named))
    if not board.pins.port:
        raise UserError(
            f"the edge '{printable(name)}' is known only after the boot: this analyser does not "
            "report edges live",
            hint="an Arduino or a Pico does so ([pins] port = ...); or end at a line, such as --until login",
        )
    return End(None, name, edge=named[name], timeout_ns=timeout_ns)

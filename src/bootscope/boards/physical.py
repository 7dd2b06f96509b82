# SPDX-License-Identifier: Apache-2.0
"""A real board: where its console is, how it is switched, what its milestones are.

Named on the command line (`serial:/dev/ttyUSB0`), or described in a TOML file. See docs/real-boards.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bootscope.boards import pins
from bootscope.boards.changed import parted
from bootscope.boards.profile import board_names
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.settings import Setting, load, read_toml
from bootscope.core.settings import expected as wrong
from bootscope.system.model import Milestone

SCHEMA = 1
DEFAULT_RATE = 115200
_SHORT = re.compile(r"(serial|tcp|telnet|rfc2217|pipe|command|labgrid):(.+)", re.DOTALL)
_TARGET = re.compile(r"\[?([A-Za-z0-9._:-]{1,253}?)\]?:([0-9]{1,5})", re.ASCII)
_PLACE = re.compile(r"(?P<place>[^@]+?)(?:@(?P<coordinator>[A-Za-z0-9._:\[\]-]{1,259}))?")
_HOST = re.compile(r"(?:[A-Za-z0-9._][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9:][A-Za-z0-9._:%-]{0,252}", re.ASCII)
AUTO = "auto"
"""The computer that the farm names."""
_KINDS = ("serial", "tcp", "telnet", "rfc2217", "pipe", "command", "labgrid")


class Console(Setting, frozen=True):
    """Where the console is.

    `kind`: ``serial`` (`port`: its path), ``tcp``, ``telnet`` or ``rfc2217`` (`host` and `port`), ``pipe``
    (`port`: the path of a pipe or pseudo terminal), ``command`` (`command`: its words, run without a shell),
    ``labgrid`` (`port`: the place, `host`: HOST:PORT of the coordinator; the farm says where the console is).
    `rate` is the line rate in baud, also for a line behind a network; 0 for none or unknown. `tap_host` is
    the computer that listens, over ssh, if not this one: the other values then refer to that computer.
    ``auto`` is the one that the farm names.
    """

    kind: str = "serial"
    port: str = ""
    host: str = ""
    command: tuple[str, ...] = ()
    rate: int = DEFAULT_RATE
    tap_host: str = ""


class PowerSetting(Setting, frozen=True):
    """How the board is switched: commands (lists of words, run without a shell), or `by_hand`.

    `off_s`: how long it stays off before a boot, so that capacitors discharge and modules lose their state.
    """

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    by_hand: bool = False
    off_s: float = 2.0


class RealBoard(Setting, frozen=True, kw_only=True):
    """A board on a desk. `left` is its state at the end: ``on`` or ``off``."""

    schema: int = SCHEMA
    name: str = "board"
    title: str = ""
    console: Console = Console()
    power: PowerSetting = PowerSetting()
    milestones: dict[str, Milestone] = {}
    pins: pins.Pins | None = None
    left: str = "on"


def is_real(name: str) -> bool:
    """Whether a `--board` names a real board: a short form, or a file with a console. An emulated one may be
    named with changes (`cubieboard:card=2x`).

    Raises UserError for a file that cannot be read, and for a short form of an unknown kind.
    """
    if _SHORT.fullmatch(name):
        return True
    plain, changes = parted(name)
    if changes and (plain in board_names() or plain.endswith(".toml")):
        return False
    if name.endswith(".toml"):
        return isinstance(read_toml(Path(name))[0].get("console"), dict)
    kind, colon, rest = name.partition(":")
    if "=" in rest:
        # Changes of an emulated board; no real board has them
        raise unknown("board", kind, board_names())
    if colon:
        raise unknown("kind of console", kind, list(_KINDS))
    return False


def real_board(name: str, rate: int | None = None, host: str | None = None) -> RealBoard:
    """The board that a short form or a file describes; `rate` overrides the line rate, and `host` the
    computer that listens.

    Raises UserError when it does not describe a board.
    """
    short = _SHORT.fullmatch(name)
    if short:
        board = RealBoard(name=_plain(short[2]), console=_console(short[1], short[2]))
    else:
        board = load(Path(name), RealBoard)
        for key, good, expected in _demands(board):
            if not good:
                raise wrong(Path(name), key, expected)
    console = board.console
    if rate is not None:
        console = msgspec.structs.replace(console, rate=rate)
    if host is not None:
        if host == AUTO and console.kind != "labgrid":
            raise UserError("--tap-host auto is for a labgrid farm", hint="--tap-host HOST takes a host name")
        console = msgspec.structs.replace(console, tap_host=checked_host(host) if host else "")
    return msgspec.structs.replace(board, console=console)


def checked_host(host: str) -> str:
    """The name of a computer, as ssh takes it. Raises UserError for an invalid name."""
    if not is_host(host):
        raise UserError(
            f"'{printable(host)}' is not a host name",
            hint="--tap-host lab1, or user@lab1, or an entry of ~/.ssh/config",
        )
    return host


def is_host(host: str) -> bool:
    """Whether this is a valid name of a computer."""
    return bool(_HOST.fullmatch(host))


def listening(console: Console) -> list[str]:
    """The arguments of the listening process (tapper.py)."""
    if console.kind == "serial":
        return ["serial", console.port, str(console.rate)]
    if console.kind in ("tcp", "telnet", "rfc2217"):
        rate = console.rate if console.kind == "rfc2217" else 0
        return ["tcp", console.host, console.port, str(rate), *(["telnet"] if speaks_telnet(console) else [])]
    if console.kind == "pipe":
        return ["file", console.port]
    return ["command", *console.command]


def speaks_telnet(console: Console) -> bool:
    """Whether the data include telnet's own bytes."""
    return console.kind in ("telnet", "rfc2217")


def _console(kind: str, where: str) -> Console:
    if kind in ("serial", "pipe"):
        return Console(kind=kind, port=where, rate=DEFAULT_RATE if kind == "serial" else 0)
    if kind == "command":
        return Console(kind=kind, command=tuple(where.split()), rate=0)
    if kind == "labgrid":
        place = _PLACE.fullmatch(where)
        if not place:
            raise UserError(
                f"'{printable(where)}' is no place", hint="labgrid:PLACE or labgrid:PLACE@HOST:PORT"
            )
        return Console(kind=kind, port=place["place"], host=place["coordinator"] or "", rate=0)
    match = _TARGET.fullmatch(where)
    if not match:
        raise UserError(f"'{printable(where)}' is not HOST:PORT", hint=f"for example {kind}:lab-pc:2000")
    return Console(kind=kind, host=match[1], port=match[2])


def _plain(text: str) -> str:
    """A name for the board, made from the text that describes its console."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text.rpartition("/")[2]).strip("-")[:40] or "board"


def _demands(board: RealBoard) -> Iterator[tuple[str, bool, str]]:
    """(key, whether its value is valid, what is expected there)."""
    c, p = board.console, board.power
    yield "schema", board.schema == SCHEMA, f"{SCHEMA}, got {board.schema}"
    yield "console.kind", c.kind in _KINDS, f"one of {', '.join(_KINDS)}"
    if c.kind in ("tcp", "telnet", "rfc2217"):
        yield "console", bool(c.host) and c.port.isdecimal(), 'a host and a port, such as port = "2000"'
    elif c.kind == "command":
        yield "console.command", bool(c.command), "a list of words"
    else:
        yield (
            "console.port",
            bool(c.port),
            "a place's name" if c.kind == "labgrid" else "a path, such as /dev/serial/by-id/...",
        )
    if c.tap_host == AUTO:
        yield "console.tap_host", c.kind == "labgrid", "a host name: only a farm can work out which one"
    elif c.tap_host:
        yield "console.tap_host", is_host(c.tap_host), "a host name, as ssh takes it"
    yield "console.rate", 0 <= c.rate <= 10_000_000, "a line rate in baud, or 0"
    yield "power", bool(p.on) == bool(p.off), "both on and off, or neither"
    yield "power", not (p.on and p.by_hand), "commands or by_hand, not both"
    yield "power.off_s", 0 <= p.off_s <= 3600, "0 to 3600 seconds"
    if board.pins:
        yield from pins.demands(board.pins, c.rate)
    yield "left", board.left in ("on", "off"), "on or off"

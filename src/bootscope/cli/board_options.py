# SPDX-License-Identifier: Apache-2.0
"""A real board as the options of a command line describe it: how its power is switched, when a boot ends."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from bootscope.boards.physical import DEFAULT_RATE, PowerSetting, RealBoard
from bootscope.cli.arguments import flag, option, several
from bootscope.cli.common import refuse
from bootscope.core.errors import UserError, printable
from bootscope.hardware import farm
from bootscope.hardware.ending import EndWish, end_of
from bootscope.hardware.measuring import Observer, Order
from bootscope.hardware.power import Already, ByHand, Commands, Power
from bootscope.hardware.stop_conditions import End

FARM = "labgrid"
"""The kind of console that a board of a farm has."""
MOST_BOOTS = 10
"""The default number of boots if the board can be switched."""


@contextlib.contextmanager
def ordered(
    board: RealBoard, args: argparse.Namespace, observer: Observer, *, deploy: bool = True
) -> Iterator[tuple[Order, farm.Place | None]]:
    """The order to measure, and the board's place in a farm, which is locked for us inside the block.

    Without `deploy` the farm's strategy is left to the caller. Raises UserError and BoardError.
    """
    if board.console.kind != FARM:
        refuse(args, FARM_OPTIONS, "is for a board of a labgrid farm", "--board labgrid:PLACE")
    board = told(board, args)
    end = end_of(board, end_wish(args))
    if board.console.kind == FARM:
        with farm.held(wish(board, args), observer.says, deploy=deploy) as place:
            yield _order(board, end, args.n, place), place
    else:
        yield _order(board, end, args.n, None), None


def add_trial_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for trying something on a real board."""
    group = parser.add_argument_group("imported systems on a real board (bootscope help real-boards)")
    option(group, "--board", "B", "the board (default: the one given at the import)")
    option(group, "-n", "N", "boots of each variant (default 10)", type=int)
    option(group, "--rounds", "N", "how often the board alternates between the variants", type=int)
    option(group, "--until", "MILESTONE", "where a boot ends (default: as record does)")
    option(group, "--timeout", "S", "host time limit for one boot, in seconds (default 120)", type=float)
    several(group, "--value", "NAME=TEXT", "the value of @NAME@ in a technique")
    add_options(parser)


FARM_OPTIONS = ("labgrid_client", "labgrid_env", "labgrid_state", "labgrid_port", "labgrid_wait")
REAL_OPTIONS = (
    "rate", "tap_host", "until_text", "until_silence", "until_time", "power_on", "power_off", "by_hand",
    "power_after", *FARM_OPTIONS,
)  # fmt: skip
"""Options for real boards only, by their names in the result of the parser."""
BOARD_OPTIONS = ("board", "n", "rounds", "until", "timeout", "value", *REAL_OPTIONS)
"""Options of trials that are for imported systems only."""


def refuse_trial_options(args: argparse.Namespace, system: str, but: Sequence[str] = ()) -> None:
    """Raises UserError if options of a real board were given for a system of the emulated one; the options
    `but` are allowed."""
    why = f"is for imported systems on a real board; {printable(system)} boots on an emulated one"
    names = [name for name in BOARD_OPTIONS if name not in but]
    refuse(args, names, why, "bootscope system import DIR")


def refuse_real_options(args: argparse.Namespace, system: str, but: Sequence[str] = ()) -> None:
    """The same for recording a system; the options `but` are allowed."""
    why = f"is for a real board; {printable(system)} boots on an emulated one"
    names = [name for name in REAL_OPTIONS if name not in but]
    refuse(args, names, why, "for a real board, leave out the system: --board serial:/dev/ttyUSB0")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for real boards only."""
    group = parser.add_argument_group("real boards (bootscope help real-boards)")
    option(group, "--rate", "BAUD", "line rate of the console (default 115200)", type=int)
    option(
        group,
        "--tap-host",
        "HOST",
        "read the console on the computer with the port, by ssh; auto: the computer that labgrid names",
    )
    option(group, "--until-text", "TEXT", "a boot ends with the first line that contains TEXT")
    option(group, "--until-silence", "S", "a boot ends when the console is silent for S seconds", type=float)
    option(group, "--until-time", "S", "a boot ends S seconds after power on", type=float)
    option(group, "--power-on", "CMD", "command that switches the board on (no shell)")
    option(group, "--power-off", "CMD", "command that switches it off")
    flag(group, "--by-hand", "you switch the board yourself when asked")
    places = parser.add_argument_group("boards of a labgrid farm (bootscope help farms)")
    option(places, "--labgrid-client", "PATH", "path of labgrid-client (default: from PATH)")
    option(places, "--labgrid-env", "FILE", "labgrid environment file, with drivers and strategy")
    option(places, "--labgrid-state", "STATE", "strategy state that the board is brought to first")
    option(places, "--labgrid-port", "NAME", "the console's port, where a place has several")
    option(places, "--labgrid-wait", "S", "wait up to S seconds for a place that is in use", type=float)
    states = ("on", "off")
    group.add_argument("--power-after", choices=states, help="the board's power after the boots (default on)")
    group.add_argument("--leave", dest="power_after", choices=states, help=argparse.SUPPRESS)


def _order(board: RealBoard, end: End, boots: int | None, place: farm.Place | None) -> Order:
    """The order to measure; `place` is the board's place in a farm."""
    power = _power(board)
    if place:
        place.console()
        if place.switches and isinstance(power, Already):
            power = place
    if boots is None:
        boots = 1 if isinstance(power, Already) else MOST_BOOTS
    if place:
        return Order(board, power, end, boots, place.console, place.instead)
    return Order(board, power, end, boots)


def wish(board: RealBoard, args: argparse.Namespace) -> farm.Wish:
    """The request to a farm."""
    env = str(Path(args.labgrid_env).absolute()) if args.labgrid_env else ""
    if env and not Path(env).is_file():
        raise UserError(f"there is no file {args.labgrid_env}")
    return farm.Wish(
        place=board.console.port,
        coordinator=board.console.host,
        client=args.labgrid_client or "",
        env=env,
        state=args.labgrid_state or "",
        wait_s=max(0.0, args.labgrid_wait or 0.0),
        port=args.labgrid_port or "",
        tap_host=board.console.tap_host,
        rate=0 if board.console.rate == DEFAULT_RATE and args.rate is None else board.console.rate,
    )


def told(board: RealBoard, args: argparse.Namespace) -> RealBoard:
    """The board with the settings from the command line."""
    if (args.power_on is None) != (args.power_off is None):
        raise UserError("--power-on and --power-off belong together", hint="give both, or --by-hand")
    if args.power_on is not None and args.by_hand:
        raise UserError("--by-hand and --power-on contradict each other")
    if args.power_on is not None:
        on, off = _command("--power-on", args.power_on), _command("--power-off", args.power_off)
        board = msgspec.structs.replace(board, power=PowerSetting(on=on, off=off))
    if args.by_hand:
        board = msgspec.structs.replace(board, power=PowerSetting(by_hand=True, off_s=0))
    return msgspec.structs.replace(board, left=args.power_after) if args.power_after else board


def _command(option_name: str, given: str) -> tuple[str, ...]:
    """A command as its words. Raises UserError when it is invalid."""
    try:
        words = tuple(shlex.split(given))
    except ValueError as error:
        raise UserError(f"{option_name}: {error}: {printable(given)}") from error
    if not words or not words[0].strip() or "\0" in given:
        raise UserError(f"{option_name}: expected a command")
    return words


def _power(board: RealBoard) -> Power:
    if board.power.on:
        commands = Commands(board.power.on, board.power.off)
        commands.check()
        return commands
    return ByHand(_ask) if board.power.by_hand else Already()


def _ask(text: str) -> None:
    print(f">>> {text}", file=sys.stderr, flush=True)
    if "Enter" in text and sys.stdin.isatty():
        sys.stdin.readline()


def end_wish(args: argparse.Namespace) -> EndWish:
    """Where boots end, according to the command line."""
    return EndWish(
        until=args.until,
        text=args.until_text,
        silence_s=args.until_silence,
        time_s=args.until_time,
        timeout_s=args.timeout,
    )

# SPDX-License-Identifier: Apache-2.0
"""bootscope debug: a recorded boot, stopped at a moment of board time: its registers, or a debugger."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from bootscope.cli.arguments import option
from bootscope.cli.common import add_build_options, runner
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.text import seconds, visible

if TYPE_CHECKING:
    from bootscope.analysis.moment import Moment
    from bootscope.analysis.views import View
    from bootscope.debugging.stopped import Stopped
    from bootscope.emulator.standstill import Standing
    from bootscope.search.bench import Bench

_LISTENS_AT = "127.0.0.1"
_IN_A_ROW = 4
_NO_PASSWORD = "no password: any user of this computer can attach, and then run programs as you"


class Debug(Verb):
    example = (
        "bootscope debug last --at 2.345s\nexample: bootscope debug stock --at kernel-entry "
        "--run 'info registers' --run 'x/8i $pc'"
    )

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("recording", metavar="run", help="run id or part of one, or RUN/BOOT")
        option(
            parser,
            "--at",
            "TIME|MILESTONE",
            "where to stop: board time (2.345s, 345ms, 12us), or a milestone of the boot",
            required=True,
        )
        option(
            parser,
            "--run",
            "COMMAND",
            "print gdb's answer to this command (bt, 'info registers', 'x/8i $pc'); repeatable",
            action="append",
            default=[],
        )
        what = "wait for debuggers at this port of this computer, without a password; prints how to attach"
        option(parser, "--listen", "PORT", what, type=int)
        what = "the debugger (default: gdb-multiarch, or gdb for a board like this computer)"
        option(parser, "--gdb", "PROGRAM", what)
        add_build_options(parser, "if the system must be built: compile N files at a time")

    def run(self, args: argparse.Namespace) -> int:
        if args.listen is not None and args.run:
            raise UserError("--run is for gdb as bootscope starts it: leave --listen out")
        if args.listen is not None and not 0 < args.listen < 1 << 16:
            raise UserError(f"--listen {args.listen}: a port is a number from 1 to 65535")
        if args.gdb and not (args.run or args.listen):
            raise UserError("--gdb goes with --run or --listen")
        if args.json and args.listen:
            raise UserError("--listen waits for debuggers, and has no JSON output")
        from bootscope.analysis.moment import moment
        from bootscope.cli.counting import system_of
        from bootscope.cli.show import view_of
        from bootscope.debugging.symbols import debugger

        v = view_of(open_store(), args.recording)
        at = moment(v.evidence, args.at)
        if args.run:
            args.gdb = debugger(v.evidence.arch, args.gdb)
        name = v.run.info.system.name
        loaded = system_of(v, "", f"bootscope system import FILES --as NAME, and record that, not {name}")
        listen = f"{_LISTENS_AT}:{args.listen}" if args.listen else ""
        with _bench(args).standing(v.run, v.boot, loaded, at.virtual_ns, listen) as machine:
            if listen:
                _wait(args.gdb, v, at, machine, listen)
            else:
                _look(args, v, at, machine)
        return 0


def _bench(args: argparse.Namespace) -> Bench:
    from bootscope.builder.cache import Cache
    from bootscope.cli.observers import Quiet
    from bootscope.cli.progress import progress
    from bootscope.core.paths import cache_dir
    from bootscope.search.bench import Bench

    watcher = progress(quiet=args.json)
    return Bench(open_store(), runner(args, Cache(cache_dir()), watcher), watcher, Quiet())


def _look(args: argparse.Namespace, v: View, at: Moment, machine: Standing) -> None:
    """Shows the machine's state, and gdb's output."""
    from bootscope.debugging.stopped import stopped
    from bootscope.debugging.symbols import answers

    found = stopped(v.evidence, at, machine)
    said = answers(args.gdb, v.evidence, found, machine, args.run) if args.run else ""
    if args.json:
        print_json("debug", _document(v, found, said))
        return
    out = terminal()
    out.print(Text(_moment_words(v, at, machine)))
    _print_cpus(found)
    if said:
        out.print(Text(_visible_lines(said)), soft_wrap=True)


def _wait(gdb: str | None, v: View, at: Moment, machine: Standing, where: str) -> None:
    """Prints how to attach, and waits until the machine ends."""
    from bootscope.debugging.symbols import EVERY, commands

    out = terminal()
    with tempfile.TemporaryDirectory(prefix="bootscope-") as folder:
        words = commands(v.evidence, at, Path(folder), where)
        told = " ".join(f"-ex {shlex.quote(word)}" for word in words)
        out.print(Text(_moment_words(v, at, machine)))
        out.print(Text(f"attach: {gdb or EVERY} {told}"), soft_wrap=True)
        out.print(Text(_NO_PASSWORD, "dim"))
        out.print(Text("`continue` in gdb runs the boot to its end; Ctrl-C here ends it", "dim"))
        machine.ended()


def _visible_lines(text: str) -> str:
    """gdb's output without control characters."""
    return "\n".join(visible(line.encode(), 2000) for line in text.splitlines())


def _moment_words(v: View, at: Moment, machine: Standing) -> str:
    inside = f", while the board waits for {at.inside}" if at.inside else ""
    from bootscope.analysis.moment import BEFORE

    if at.inside == BEFORE:
        inside = ", before the first instruction"
    about = "" if at.exact else " (interpolated: the profile scales the CPU)"
    return (
        f"boot {v.boot.info.boot_id} is stopped at {seconds(at.board_ns, 9)} s of board time, in "
        f"{v.evidence.phase_at(at.board_ns)}{inside}: {seconds(machine.at_ns, 9)} s of virtual time{about}\n"
        f"the same boot: {machine.events:,} of its events so far, each at the same nanosecond"
    )


def _print_cpus(found: Stopped) -> None:
    out = terminal()
    for cpu in found.cpus:
        out.print(Text(visible(f"CPU {cpu.number}: {cpu.where}, for {cpu.who}".encode(), 2000), "bold"))
        row = [f"{name:>8} {value:0{digits}x}" for name, value, digits in cpu.registers]
        for first in range(0, len(row), _IN_A_ROW):
            out.print(Text(" ".join(row[first : first + _IN_A_ROW])))


def _document(v: View, found: Stopped, said: str) -> dict[str, object]:
    return {
        "boot": v.boot.info.boot_id,
        "at_ns": found.moment.board_ns,
        "exact": found.moment.exact,
        "inside": found.moment.inside or None,
        "virtual_ns": found.at_ns,
        "phase": found.phase,
        "events": found.events,
        "cpus": [
            {
                "number": cpu.number,
                "where": cpu.where,
                "who": cpu.who,
                "registers": {name: value for name, value, _ in cpu.registers},
            }
            for cpu in found.cpus
        ],
        "gdb": said.splitlines(),
    }

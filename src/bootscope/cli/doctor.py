# SPDX-License-Identifier: Apache-2.0
"""bootscope doctor: what works on this computer, what is missing, in which version, and how to get it."""

from __future__ import annotations

import argparse

from rich.console import Console

from bootscope.boards.profile import board_names, load_board
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core import hints
from bootscope.core.errors import unknown
from bootscope.core.needs import PARTS, Check, State, state
from bootscope.core.paths import is_installed
from bootscope.core.tools import TOOLS
from bootscope.report.tables import make_table


class Doctor(Verb):
    example = "bootscope doctor emulated"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "part",
            nargs="*",
            help="only these parts, with their dependencies: "
            + ", ".join(f"{part.name} ({part.title})" for part in PARTS.values()),
        )

    def run(self, args: argparse.Namespace) -> int:
        for name in args.part:
            if name not in PARTS:
                raise unknown("part", name, list(PARTS))
        archs = list({board.architecture: board.arch for board in map(load_board, board_names())}.values())
        asked = [state(name, archs) for name in args.part or PARTS]
        states = _with_those_before(asked)
        good = all(one.good for one in asked)
        if args.json:
            print_json("doctor", _document(states, good))
        else:
            _show(states)
        return 0 if good else 3


def _with_those_before(asked: list[State]) -> list[State]:
    """Each part once, after the parts that it builds on."""
    found: dict[str, State] = {}
    for last in asked:
        one: State | None = last
        while one:
            found[one.part.name], one = one, one.before
    return [found[name] for name in PARTS if name in found]


def _document(states: list[State], good: bool) -> dict[str, object]:
    """For --json (docs/json.md)."""
    return {
        "good": good,
        "parts": [
            {
                "name": one.part.name,
                "title": one.part.title,
                "good": one.good,
                "missing": [check.name for check in one.missing],
                "commands": _commands(one),
            }
            for one in states
        ],
        "checks": [
            {
                "part": one.part.name,
                "name": check.name,
                "found": check.found,
                "good": check.good,
                "required": check.required,
                "hint": check.hint,
            }
            for one in states
            for check in one.checks
        ],
    }


def _commands(one: State) -> list[str]:
    """The commands that install what a part lacks on this computer. apt installs everything at once, except a
    QEMU that must come from elsewhere."""
    bad = {check.name: check for check in one.missing}
    special = [check for check in bad.values() if check.name in TOOLS and TOOLS[check.name].minimum]
    special = special if hints.newer_suite() else []
    plain = [check.package for check in bad.values() if check.package and check not in special]
    others = [check.hint for check in bad.values() if not check.package]
    return [
        *([hints.apt(plain)] if plain else []),
        *dict.fromkeys([*(check.hint for check in special), *others]),
    ]


def _mark(check: Check) -> str:
    return "[green]ok[/]" if check.good else "[red]no[/]" if check.required else "[yellow]--[/]"


def _show(states: list[State]) -> None:
    """All checks by part; at the end, where users look, what works and what to do."""
    out = terminal()
    for one in states:
        out.print(f"[bold]{one.part.title}[/] ({one.part.verbs})")
        table = make_table("=", "=", "", "", show_header=False)
        for check in one.checks:
            style = "" if check.good else "bold"
            table.add_row(_mark(check), check.name, check.found, check.purpose, style=style)
        out.print(table)
        for (purpose, hint), names in _optional(one).items():
            out.print(f"-- {', '.join(names)} ({purpose}):", markup=False)
            out.print(f"   {hint}", markup=False, soft_wrap=True)
        out.print()
    for one in states:
        _conclude(out, one)
    if not is_installed() and not all(one.good for one in states):
        out.print("or install everything with: make setup")


def _optional(one: State) -> dict[tuple[str, str], list[str]]:
    """What is missing and not required: purpose and how to get it -> names."""
    found: dict[tuple[str, str], list[str]] = {}
    for check in one.checks:
        if not check.good and not check.required:
            found.setdefault((check.purpose, check.hint), []).append(check.name)
    return found


def _conclude(out: Console, one: State) -> None:
    """Whether a part works, and if not, what to run."""
    out.print(f"[bold]{one.part.title}[/]: {_verdict(one)}")
    for command in _commands(one):
        out.print(f"    {command}", markup=False, soft_wrap=True)


def _verdict(one: State) -> str:
    if one.good:
        return "[green]works here[/]"
    if not one.missing:
        return f"[red]needs '{one.before.part.title}'[/]" if one.before else ""
    names = ", ".join(check.name for check in one.missing)
    return f"[red]{len(one.missing)} missing or too old[/]: {names}"

# SPDX-License-Identifier: Apache-2.0
"""bootscope techniques: the known ways to save boot time, as a list or one explained."""

from __future__ import annotations

import argparse

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.cli.arguments import option
from bootscope.cli.common import refuse
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import unknown
from bootscope.report.tables import make_table
from bootscope.techniques.model import DOCUMENTS, PHASES, Status, Technique, figures, measured_of, technique
from bootscope.techniques.model import techniques as all_techniques
from bootscope.techniques.words import figure_text, measured_text, saving

_SCHEMA = 2
"""Of `techniques ID --json`; in version 1 recipes were called `ways`."""
_COLOURS = {Status.RUNS: "green", Status.HARDWARE: "yellow", Status.OBSOLETE: "dim"}


class Techniques(Verb):
    example = "bootscope techniques uboot-bootdelay"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", help="the technique to explain (default: list all)")
        option(parser, "--phase", "P", f"only of this phase: {', '.join(PHASES)}")
        parser.add_argument(
            "--status", choices=[str(s) for s in Status], help="only techniques of this status"
        )

    def run(self, args: argparse.Namespace) -> int:
        if args.id:
            refuse(args, ("phase", "status"), "is for the list; leave out the technique")
            found = technique(args.id)
            if args.json:
                print_json("technique", _whole(found))
            else:
                explain(terminal(), found)
            return 0
        if args.phase and args.phase not in PHASES:
            raise unknown("phase", args.phase, list(PHASES))
        listed = [
            t
            for t in all_techniques().values()
            if args.phase in (None, t.phase) and args.status in (None, t.status)
        ]
        if args.json:
            print_json("techniques", {"techniques": [_short(t) for t in listed]})
        else:
            show_list(terminal(), listed)
        return 0


def _short(found: Technique) -> dict[str, object]:
    return {
        "id": found.id,
        "phase": found.phase,
        "status": found.status,
        "title": found.title,
        "saving": saving(found),
    }


def _whole(found: Technique) -> dict[str, object]:
    table: dict[str, object] = msgspec.to_builtins(found)
    return {
        **table,
        "schema": _SCHEMA,
        "saving": saving(found),
        "measured": [msgspec.to_builtins(row) for row in measured_of(found)],
        "figures": [msgspec.to_builtins(figures()[name]) for name in found.figures],
    }


def show_list(out: Console, listed: list[Technique]) -> None:
    """Prints a line for each technique."""
    table = make_table("=phase", "=technique", "what", "=here", spare=("here",), header_style="bold")
    for t in listed:
        table.add_row(t.phase, t.id, t.title, Text(t.status, _COLOURS[t.status]))
    out.print(table)
    counts = ", ".join(f"{sum(t.status == s for t in listed)} {s}" for s in Status)
    out.print(f"{len(listed)} techniques: {counts}")


def explain(out: Console, t: Technique) -> None:
    """Prints all that is known of a technique."""
    out.print(Text.assemble((t.title, "bold"), f"  ({t.id}; {t.phase}; {t.status})"))
    print_sections(
        out,
        ("", t.what),
        ("How to see whether it applies", t.detect),
        ("How to do it", t.apply),
        ("Risk", t.risk),
        ("Takes away", ", ".join(t.loses)),
        ("Licence", t.licence),
        ("Why not here" if t.status == Status.HARDWARE else "Why it is obsolete", t.status_why),
        ("See instead", ", ".join(t.replaced_by)),
        ("Not together with", ", ".join(t.conflicts)),
        ("Do first", ", ".join(t.after)),
    )
    if measured_of(t):
        out.print()
        out.print(Text("Measured alone on the reference system", "bold"))
    for row in measured_of(t):
        out.print(Text(f"  {measured_text(row)}"))
    _published(out, t)


def print_sections(out: Console, *sections: tuple[str, str]) -> None:
    """Prints heading and text of those that have a text, each after an empty line."""
    for head, text in sections:
        if text:
            out.print()
            if head:
                out.print(Text(head, "bold"))
            out.print(Text(" ".join(text.split())))


def _published(out: Console, t: Technique) -> None:
    if t.figures:
        out.print()
        out.print(Text("Published", "bold"))
    for name in t.figures:
        figure = figures()[name]
        kernel = figure.kernel_version and f"Linux {figure.kernel_version}"
        told = ", ".join(filter(None, (figure_text(figure), figure.board, kernel)))
        source = f"    {DOCUMENTS[figure.seed]}: {figure.slide_section}"
        out.print(Text(f"  {told}"), Text(source, "dim"), sep="\n")

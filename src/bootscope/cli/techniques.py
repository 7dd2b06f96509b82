# SPDX-License-Identifier: Apache-2.0
"""bootscope techniques: the known ways to save boot time, as a list or one explained."""

from __future__ import annotations

import argparse

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.arch.told import ARCHITECTURES
from bootscope.cli.arguments import option
from bootscope.cli.common import refuse
from bootscope.cli.verb import PROSE, Verb, print_json, terminal
from bootscope.core.errors import unknown
from bootscope.inventory.machine import INITS, KINDS, ROOTS
from bootscope.report.tables import make_table
from bootscope.techniques.model import (
    DOCUMENTS,
    PHASES,
    Source,
    Status,
    Technique,
    by_phase,
    figures,
    measured_of,
    technique,
)
from bootscope.techniques.model import techniques as all_techniques
from bootscope.techniques.words import figure_text, measured_text, only_for, saving

_MANY = 60
_SCHEMA = 2
"""Of `techniques ID --json`; in version 1 recipes were called `ways`."""
_MARKS = {Status.RUNS: " ", Status.HARDWARE: "*", Status.OBSOLETE: "-"}
_COLOURS = {Status.RUNS: "green", Status.HARDWARE: "yellow", Status.OBSOLETE: "dim"}


class Techniques(Verb):
    example = "bootscope techniques uboot-bootdelay"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", help="the technique to explain (default: list all)")
        option(parser, "--phase", "P", f"only of this phase: {', '.join(PHASES)}")
        option(
            parser,
            "--for",
            "KIND",
            f"only those that such a system can use, its own first: {', '.join(KINDS)}",
        )
        parser.add_argument(
            "--status", choices=[str(s) for s in Status], help="only techniques of this status"
        )

    def run(self, args: argparse.Namespace) -> int:
        if args.id:
            refuse(args, ("phase", "for", "status"), "is for the list; leave out the technique")
            found = technique(args.id)
            if args.json:
                print_json("technique", _whole(found))
            else:
                explain(terminal(PROSE), found)
            return 0
        if args.phase and args.phase not in PHASES:
            raise unknown("phase", args.phase, list(PHASES))
        kind = vars(args)["for"]
        if kind and kind not in KINDS:
            raise unknown("kind of system", kind, list(KINDS))
        listed = [
            t
            for t in all_techniques().values()
            if args.phase in (None, t.phase) and args.status in (None, t.status)
            if not kind or usable(t, kind)
        ]
        if kind:
            listed.sort(key=lambda t: (PHASES.index(t.phase), kind not in t.applies_to.names))
        if args.json:
            print_json("techniques", {"techniques": [_short(t) for t in listed]})
        else:
            show_list(terminal(), listed)
        return 0


def usable(t: Technique, kind: str) -> bool:
    """Whether a technique is for a system of that kind (one of KINDS), or for any."""
    scope = t.applies_to
    for all_of_them, wanted in (
        (ARCHITECTURES, scope.architectures),
        (INITS, scope.inits),
        (ROOTS, scope.roots),
    ):
        if kind in all_of_them:
            return not wanted or kind in wanted
    return True


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
    """Prints a line for each technique below the name of its phase."""
    for phase, found in by_phase(listed):
        out.print(Text.assemble((phase, "bold"), (f" ({len(found)})", "dim")))
        table = make_table("=technique", "what", show_header=False)
        for t in found:
            mark = (_MARKS[t.status], _COLOURS[t.status])
            table.add_row(Text.assemble(mark, " ", t.id), t.title)
        out.print(table)
    marks = "; ".join(f"{mark} {status}" for status, mark in _MARKS.items() if mark.strip())
    out.print(marks, style="dim")
    if len(listed) > _MANY:
        out.print("--phase P, --for KIND and --status S list some of them", style="dim")
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
        ("Only for", only_for(t)),
        ("Why not here" if t.status == Status.HARDWARE else "Why it is obsolete", t.status_why),
        ("See instead", ", ".join(t.replaced_by)),
        ("Not together with", ", ".join(t.conflicts)),
        ("Do first", ", ".join(t.after)),
        ("Ways to try it", "; ".join(_ways(t))),
    )
    if measured_of(t):
        out.print()
        out.print(Text("Measured alone, on the reference system where no other is named", "bold"))
    for row in measured_of(t):
        _indented(out, measured_text(row))
    _published(out, t)


def _ways(t: Technique) -> list[str]:
    """The name and title of each recipe, if there are several."""
    if len(t.recipes) < 2:
        return []
    named = {name: t.id if name == t.default else f"{t.id}={name}" for name in t.recipes}
    return [": ".join(filter(None, (named[name], way.title))) for name, way in t.recipes.items()]


def print_sections(out: Console, *sections: tuple[str, str]) -> None:
    """Prints the headings and texts that are not empty, each after an empty line."""
    for head, text in sections:
        if text:
            out.print()
            if head:
                out.print(Text(head, "bold"))
            out.print(Text(" ".join(text.split())))


def _published(out: Console, t: Technique) -> None:
    told = [source for source in t.sources if source.figure]
    if t.figures or told:
        out.print()
        out.print(Text("Published", "bold"))
    for name in t.figures:
        figure = figures()[name]
        kernel = figure.kernel_version and f"Linux {figure.kernel_version}"
        words = ", ".join(filter(None, (figure_text(figure), figure.board, kernel)))
        source = f"{DOCUMENTS[figure.seed]}: {figure.slide_section}"
        _indented(out, words)
        _indented(out, source, 4, "dim")
    for each in told:
        _cited(out, each, each.figure)
    rest = [source for source in t.sources if not source.figure]
    if rest:
        out.print()
        out.print(Text("Sources", "bold"))
    for each in rest:
        _cited(out, each)


def _cited(out: Console, source: Source, figure: str = "") -> None:
    """A source with its address; below it its figure, if it has one."""
    if figure:
        _indented(out, figure)
    _indented(out, source.words, 4 if figure else 2, "dim" if figure else "")
    if source.url:
        # A terminal wraps it too, and still copies it as one.
        out.print(Text(f"    {source.url}", "dim"), soft_wrap=True)


def _indented(out: Console, text: str, by: int = 2, style: str = "") -> None:
    for line in Text(text, style).wrap(out, max(1, out.width - by)):
        line.rstrip()
        out.print(Text(" " * by) + line, soft_wrap=True)

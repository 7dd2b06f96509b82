# SPDX-License-Identifier: Apache-2.0
"""bootscope pitfalls: what misleads or breaks while a boot is made shorter, as a list or one explained."""

from __future__ import annotations

import argparse

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.audit.pitfalls.model import KINDS, How, Pitfall, pitfall, pitfalls
from bootscope.cli.arguments import option
from bootscope.cli.common import refuse
from bootscope.cli.techniques import print_sections
from bootscope.cli.verb import PROSE, Verb, print_json, terminal
from bootscope.core.errors import unknown
from bootscope.report.tables import make_table

_COLOURS = {How.CHECKED: "green", How.ADVICE: "yellow"}
_WHY = {How.CHECKED: "What the audit checks", How.ADVICE: "Why it needs manual review"}


class Pitfalls(Verb):
    example = "bootscope pitfalls savings-overlap"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("id", nargs="?", help="the pitfall to explain (default: list all)")
        option(parser, "--kind", "K", f"only of this kind: {', '.join(KINDS)}")

    def run(self, args: argparse.Namespace) -> int:
        if args.id:
            refuse(args, ("kind",), "is for the list; leave out the pitfall")
            found = pitfall(args.id)
            if args.json:
                print_json("pitfall", as_json(args.id, found))
            else:
                explain(terminal(PROSE), args.id, found)
            return 0
        if args.kind and args.kind not in KINDS:
            raise unknown("kind", args.kind, list(KINDS))
        chosen = {name: p for name, p in pitfalls().items() if args.kind in (None, p.kind)}
        if args.json:
            print_json("pitfalls", {"pitfalls": [as_json(name, p) for name, p in chosen.items()]})
        else:
            _table(terminal(), chosen)
        return 0


def as_json(name: str, found: Pitfall) -> dict[str, object]:
    """A pitfall as the JSON of this verb has it."""
    table = {key: _plain(value) for key, value in msgspec.to_builtins(found).items()}
    # In all JSON documents `kind` is the kind of the document.
    table["about"] = table.pop("kind")
    return {"id": name, **table}


def _plain(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


def _table(out: Console, chosen: dict[str, Pitfall]) -> None:
    table = make_table("=kind", "=pitfall", "what", "=audit", spare=("audit",), header_style="bold")
    for name, p in chosen.items():
        table.add_row(p.kind, name, Text(p.title), Text(p.how, _COLOURS[p.how]))
    out.print(table)
    counts = ", ".join(f"{sum(p.how == how for p in chosen.values())} {how}" for how in How)
    out.print(f"{len(chosen)} pitfalls: {counts}")


def explain(out: Console, name: str, p: Pitfall) -> None:
    """Prints all that is known of a pitfall."""
    out.print(Text.assemble((p.title, "bold"), f"  ({name}; {p.kind}; {p.how})"))
    print_sections(
        out,
        ("", p.what),
        ("What to do", p.do),
        (_WHY[p.how], p.by),
        ("See also the techniques", ", ".join(p.covered_by)),
    )

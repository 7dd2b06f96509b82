# SPDX-License-Identifier: Apache-2.0
"""bootscope audit: which techniques apply to a boot or to files, what is each worth, what to beware of."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from bootscope.build.cache import Cache
from bootscope.capture.store import Store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.errors import printable
from bootscope.lab.audit import Audit, Finding
from bootscope.lab.beware import Beware, Warned
from bootscope.lab.looked import looked
from bootscope.lab.subject import Subject, subject
from bootscope.paths import cache_dir, store_dir
from bootscope.report.tables import make_table
from bootscope.report.text import cut, span

_LONGEST = 300
"""Of evidence on a terminal; lines of scripts may be of any length."""


class AuditVerb(Verb):
    name = "audit"
    summary = "which techniques apply to a boot, a system or files, what is each worth, what to beware of?"
    example = "bootscope audit stock; bootscope audit .config boot.log /path/to/rootfs"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "what",
            nargs="*",
            metavar="WHAT",
            help="a run, a system by name or .toml, files that belong together, or an imported system and "
            "recorded boots or files beside it (default: the last run)",
        )
        parser.add_argument("--all", action="store_true", help="also those that do not apply, and why")
        parser.add_argument(
            "--pitfalls",
            action="store_true",
            help="also advice that only a person can judge, and what was not looked at",
        )

    def run(self, args: argparse.Namespace) -> int:
        about = subject(Store(store_dir()), Cache(cache_dir()), args.what)
        both = looked(about)
        found, seen = both.audit, both.beware
        if args.json:
            print_json("audit", {**_json_about(about), **_json(found, seen)})
            return 0
        out = terminal()
        _print_about(out, about)
        if found.findings:
            _print(out, found.findings)
        _print_others(out, found, args.all)
        _print_beware(out, seen, args.pitfalls)
        return 0


def _json_about(about: Subject) -> dict[str, object]:
    files = [{"name": p.name, "kind": p.kind, "told": p.told, "notes": p.notes} for p in about.pieces]
    return {"boot": about.boot, "title": about.title, "files": files, "notes": about.notes}


def _print_about(out: Console, about: Subject) -> None:
    out.print(Text(about.title))
    for piece in about.pieces:
        out.print(Text(f"  {printable(piece.name)}: {piece.told}"))
    for note in about.notes:
        out.print(Text(f"note: {note}", "yellow"))


def _json(found: Audit, seen: Beware) -> dict[str, object]:
    return {
        "findings": [
            {
                "technique": f.spec,
                "phase": f.technique.phase,
                "title": f.technique.title,
                "saving_ns": f.saving_ns,
                "evidence": f.evidence,
                "assumptions": f.assumptions,
                "risk": " ".join(f.technique.risk.split()),
                "loses": f.technique.loses,
            }
            for f in found.findings
        ],
        "not_applicable": found.not_for_us,
        "unknown": found.unknown,
        "pitfalls": [_json_of(w) for w in seen.warnings],
        "advice": [_json_of(w) for w in seen.advice],
        "undecided": seen.undecided,
    }


def _json_of(warned: Warned) -> dict[str, object]:
    p = warned.pitfall
    return {
        "pitfall": warned.ident,
        "about": p.kind,
        "title": p.title,
        "evidence": warned.evidence,
        "technique": warned.technique,
        "do": " ".join(p.do.split()),
    }


def _print(out: Console, findings: tuple[Finding, ...]) -> None:
    # What is typed again must be whole, also on a narrow terminal.
    heads = (">predicted", "=technique", "what the boot shows", "takes away")
    table = make_table(*heads, header_style="bold")
    for f in findings:
        saving = Text("try it", "dim") if f.saving_ns is None else Text(span(f.saving_ns), "green")
        shown = _shown(f.evidence) or f.technique.title
        table.add_row(saving, f.spec, Text(shown), Text(", ".join(f.technique.loses), "dim"))
    out.print(table)


def _shown(evidence: str) -> str:
    return printable(cut(evidence, _LONGEST))


def _print_others(out: Console, found: Audit, everything: bool) -> None:
    if everything:
        for name, reason in (*found.not_for_us.items(), *_not_told(found.unknown)):
            out.print(Text(f"  {name}: {printable(reason)}", "dim"))
        return
    if found.not_for_us:
        out.print(f"{len(found.not_for_us)} others do not apply (--all says why)", style="dim")
    if found.unknown:
        out.print(
            f"of {len(found.unknown)} nobody can tell from this (--all says what is missing)", style="dim"
        )


def _not_told(unknown: dict[str, str]) -> Iterable[tuple[str, str]]:
    return ((name, f"cannot be told without: {missing}") for name, missing in unknown.items())


def _print_beware(out: Console, seen: Beware, everything: bool) -> None:
    # What the table above says already need not be said again.
    shown = [w for w in seen.warnings if everything or not w.technique]
    if shown:
        out.print()
        _warnings(out, "beware", shown, "yellow")
    if everything:
        if seen.advice:
            out.print()
            _warnings(out, "to be judged by a person", list(seen.advice), "cyan")
        for name, missing in seen.undecided.items():
            out.print(Text(f"  {name}: not looked at, it needs: {missing}", "dim"))
    if shown:
        out.print("bootscope pitfalls ID explains one", style="dim")


def _warnings(out: Console, head: str, warned: list[Warned], colour: str) -> None:
    table = make_table(f"={head}", "what shows it", header_style="bold")
    for w in warned:
        told = Text.assemble(w.pitfall.title, (": ", "dim"), (_shown(w.evidence), "dim"))
        table.add_row(Text(w.ident, colour), told)
    out.print(table)

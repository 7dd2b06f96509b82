# SPDX-License-Identifier: Apache-2.0
"""bootscope audit: which techniques apply to a recorded boot, what is each worth, and what to beware of."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bootscope.capture.store import Store
from bootscope.cli.show import view_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.errors import UserError, printable
from bootscope.lab.audit import Audit, Finding, audit
from bootscope.lab.beware import Beware, Warned, beware
from bootscope.lab.facts import facts
from bootscope.paths import store_dir
from bootscope.report.text import cut, seconds, span

_LONGEST = 300
"""Of evidence on a terminal; lines of scripts may be of any length."""


class AuditVerb(Verb):
    name = "audit"
    summary = "which techniques apply to a recorded boot, what is each worth, and what to beware of?"
    example = "bootscope audit stock"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", nargs="?", default="last", help="run id or part of one (default: last)")
        parser.add_argument("--all", action="store_true", help="also those that do not apply, and why")
        parser.add_argument(
            "--pitfalls",
            action="store_true",
            help="also advice that only a person can judge, and what was not looked at",
        )

    def run(self, args: argparse.Namespace) -> int:
        store = Store(store_dir())
        v = view_of(store, args.run)
        if not v.boot.info.complete:
            raise UserError(f"boot {v.boot.info.boot_id} did not reach its milestone: {v.boot.info.message}")
        known = facts(store, v)
        found = audit(known)
        seen = beware(known, found.findings)
        if args.json:
            print_json("audit", {"boot": v.boot.info.boot_id, **_json(found, seen)})
            return 0
        out = terminal()
        out.print(f"{v.boot.info.boot_id}: {v.run.info.until} after {seconds(v.timeline.total_ns)} s")
        _print(out, found.findings)
        _print_others(out, found, args.all)
        _print_beware(out, seen, args.pitfalls)
        return 0


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
        "kind": p.kind,
        "title": p.title,
        "evidence": warned.evidence,
        "technique": warned.technique,
        "do": " ".join(p.do.split()),
    }


def _print(out: Console, findings: tuple[Finding, ...]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    # What is typed again must be whole, also on a narrow terminal.
    table.add_column("predicted", justify="right", no_wrap=True)
    table.add_column("technique", no_wrap=True)
    for name in ("what the boot shows", "takes away"):
        table.add_column(name)
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
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(head, no_wrap=True)
    table.add_column("what shows it")
    for w in warned:
        told = Text.assemble(w.pitfall.title, (": ", "dim"), (_shown(w.evidence), "dim"))
        table.add_row(Text(w.ident, colour), told)
    out.print(table)

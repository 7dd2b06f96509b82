# SPDX-License-Identifier: Apache-2.0
"""bootscope audit: which techniques apply to a recorded boot, and what is each worth?"""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bootscope.capture.store import Store
from bootscope.cli.show import view_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.errors import UserError
from bootscope.lab.audit import Audit, Finding, audit
from bootscope.lab.facts import facts
from bootscope.paths import store_dir
from bootscope.report.text import seconds, span


class AuditVerb(Verb):
    name = "audit"
    summary = "which techniques apply to a recorded boot, and what is each worth?"
    example = "bootscope audit stock"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", nargs="?", default="last", help="run id or part of one (default: last)")
        parser.add_argument("--all", action="store_true", help="also those that do not apply, and why")

    def run(self, args: argparse.Namespace) -> int:
        store = Store(store_dir())
        v = view_of(store, args.run)
        if not v.boot.info.complete:
            raise UserError(f"boot {v.boot.info.boot_id} did not reach its milestone: {v.boot.info.message}")
        found = audit(facts(store, v))
        if args.json:
            print_json("audit", _json(v.boot.info.boot_id, found))
            return 0
        out = terminal()
        out.print(f"{v.boot.info.boot_id}: {v.run.info.until} after {seconds(v.timeline.total_ns)} s")
        _print(out, found.findings)
        if args.all:
            for name, reason in found.not_for_us.items():
                out.print(Text(f"  {name}: {reason}", "dim"))
        else:
            out.print(f"{len(found.not_for_us)} others do not apply (--all says why)", style="dim")
        return 0


def _json(boot: str, found: Audit) -> dict[str, object]:
    return {
        "boot": boot,
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
        shown = f.evidence or f.technique.title
        table.add_row(saving, f.spec, Text(shown), Text(", ".join(f.technique.loses), "dim"))
    out.print(table)

# SPDX-License-Identifier: Apache-2.0
"""bootscope audit: what takes the time of a boot, which techniques apply and pitfalls."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bootscope.audit.findings import Audit
from bootscope.audit.outlook import outlook, without_figure
from bootscope.audit.pitfalls.find import Warned
from bootscope.audit.result import AuditResult, run_audit
from bootscope.audit.subject import Subject, subject
from bootscope.builder.cache import Cache
from bootscope.cli.arguments import flag, option
from bootscope.cli.common import BUILD_OPTIONS, add_build_options, check_positive, refuse
from bootscope.cli.core_options import CORE_HELP, core_of
from bootscope.cli.named_image import bench as image_bench
from bootscope.cli.named_image import image_of
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import printable
from bootscope.core.paths import cache_dir
from bootscope.inventory.inventory import Part
from bootscope.report import audited as text
from bootscope.report import culprits

FINDINGS, ROWS = 5, 7
"""How many findings, and rows of techniques, are shown by default."""
MATTER = 10
"""How many rows are shown by default if only logs are known."""
_OF_IMAGE = ("board", *BUILD_OPTIONS)
"""Options for images, which are recorded first."""


class AuditVerb(Verb):
    example = "bootscope audit stock; bootscope audit .config boot.log /path/to/rootfs"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "what",
            nargs="*",
            metavar="WHAT",
            help="a run, a system (name or .toml), files of one system, or an imported system with "
            "recorded boots or files (default: the last run)",
        )
        flag(
            parser,
            "--all",
            "all techniques, with the capabilities they remove; also those that do not apply, and why",
        )
        flag(parser, "--losses", "also the capabilities that each technique removes")
        option(parser, "--board", "B", "the emulated board for an image: its files, or a build")
        option(parser, "--core", "C", CORE_HELP)
        option(parser, "--top", "N", f"number of findings and rows (default {FINDINGS} and {ROWS})", type=int)
        flag(
            parser,
            "--pitfalls",
            "the evidence for each pitfall; also advice for manual review, and what was not checked",
        )
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "top")
        args.what = _names(args)
        about = subject(open_store(), Cache(cache_dir()), args.what, core_of(args))
        found = run_audit(about)
        if args.json:
            print_json("audit", {**_json_about(about), **_json(found)})
            return 0
        _print(terminal(), args, about, found)
        return 0


def _names(args: argparse.Namespace) -> list[str]:
    """The subject's names; for an image that of its last recording, which is made if there is none."""
    record = image_of(args.what, args.board)
    if record is None:
        refuse(args, _OF_IMAGE, "is for an image that is built already", "bootscope help your-image")
        return list(args.what)
    from bootscope.cli.observers import observer

    made = image_bench(args, record, observer(args.json))
    return [made.measured(made.loaded).info.run_id]


def _print(out: Console, args: argparse.Namespace, about: Subject, found: AuditResult) -> None:
    _print_about(out, about)
    run = _run(args.what, about.boot)
    if not about.seen and _of_logs(about):
        _print_outlook(out, args, found, (args.what or ["last"])[0] if about.stored else "")
        return
    culprits.show(out, found.culprits, args.top or FINDINGS, _specs(found.audit), run)
    if found.audit.findings:
        out.print()
        top = None if args.all else args.top or ROWS
        text.techniques(out, text.ordered(found.groups), top, args.losses or args.all)
    text.counted(out, found.counted, run)
    text.others(out, found.audit, args.all)
    text.pitfalls(out, found.pitfalls, args.pitfalls)


def _of_logs(about: Subject) -> bool:
    """Whether all that is known comes from logs."""
    known = about.known
    return known.parts <= {Part.LOG, Part.COMMAND_LINE} and bool(known.log or about.trace)


def _print_outlook(out: Console, args: argparse.Namespace, found: AuditResult, run: str) -> None:
    """For logs: what matters, in one list, and how much more there is. `run` is their name for `show`."""
    rows = outlook(found)
    shown = len(rows) if args.all else args.top or MATTER
    culprits.show(out, rows, shown, _specs(found.audit), run, recorded=False)
    more = f"and {len(rows) - shown} smaller" if len(rows) > shown else ""
    rest = without_figure(found)
    untold = f"{rest} technique{'s' if rest > 1 else ''} without a figure: only `try` tells" if rest else ""
    if (more or untold) and not args.all:
        out.print(f"{'; '.join(filter(None, (more, untold)))} (--all)", style="dim")
    if args.all and found.audit.findings:
        out.print()
        text.techniques(out, text.ordered(found.groups), None, True)
    text.others(out, found.audit, args.all)
    text.pitfalls(out, found.pitfalls, args.pitfalls)


def _run(names: Sequence[str], boot: str | None) -> str:
    """The name of the recorded boot for `show`: as the user gave it, if that names a run; empty for none."""
    if not boot:
        return ""
    return (boot.removesuffix("/001") if names[0].endswith(".toml") else names[0]) if names else "last"


def _specs(found: Audit) -> dict[str, str]:
    """Applicable techniques, each with its best recipe."""
    return {f.technique.id: f.spec for f in reversed(found.findings)}


def _json_about(about: Subject) -> dict[str, object]:
    files = [{"name": p.name, "kind": p.kind, "told": p.told, "notes": p.notes} for p in about.pieces]
    return {"boot": about.boot, "title": about.title, "files": files, "notes": about.notes}


def _print_about(out: Console, about: Subject) -> None:
    out.print(Text(about.title))
    for piece in about.pieces:
        out.print(Text(f"  {printable(piece.name)}: {piece.told}"))
    for note in about.notes:
        out.print(Text(f"note: {note}", "yellow"))


def _json(looked_at: AuditResult) -> dict[str, object]:
    found, seen = looked_at.audit, looked_at.pitfalls
    instead = {f.spec: group[0].spec for group in looked_at.groups for f in group[1:]}
    return {
        "findings": culprits.document(looked_at.culprits, _specs(found)),
        "rows": culprits.document(outlook(looked_at), _specs(found)),
        "techniques": [
            {
                "technique": f.spec,
                "instead_of": instead.get(f.spec),
                "phase": f.technique.phase,
                "title": f.technique.title,
                "saving_ns": f.saving_ns,
                "evidence": f.evidence,
                "assumptions": f.assumptions,
                "risk": " ".join(f.technique.risk.split()),
                "loses": f.technique.loses,
                "made_on": f.made or None,
            }
            for f in found.findings
        ],
        "not_applicable": found.not_for_us,
        "unknown": found.unknown,
        "pitfalls": [_json_of(w) for w in seen.warnings],
        "advice": [_json_of(w) for w in seen.advice],
        "undecided": seen.undecided,
        "counted": looked_at.counted,
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

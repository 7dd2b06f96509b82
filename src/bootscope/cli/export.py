# SPDX-License-Identifier: Apache-2.0
"""bootscope export: a recorded boot as a file that other programs open."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from bootscope.analysis.uncertainty import brief, uncertainty
from bootscope.analysis.views import View
from bootscope.capture.store import Store
from bootscope.cli.arguments import flag, option, several
from bootscope.cli.common import refuse
from bootscope.cli.core_options import add_core_options, call_paths, core_of
from bootscope.cli.output import write_file
from bootscope.cli.source_lines import source_lines
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, to_stderr
from bootscope.core.text import size
from bootscope.export.base import BootRow, Exporter, Subject
from bootscope.export.registry import EXPORTERS, for_file, named
from bootscope.report.stored import boot_of
from bootscope.report.tables import make_table
from bootscope.runs.run import run_and_boot, sample_set
from bootscope.timeline.trace import Trace


def subject_of(boot_id: str, boot: View | Trace) -> Subject:
    """The subject of an export: a recorded or an imported boot."""
    if isinstance(boot, Trace):
        return Subject(boot, facts={"boot id": boot_id})
    info, ended = boot.run.info, boot.boot.info
    facts = {
        "boot id": boot_id,
        "system": info.system.name,
        "board": info.board.name,
        "build": info.build_id,
        "until": info.until,
    }
    if boot.core:
        facts["core"] = f"{boot.core.name}, total {brief(uncertainty(boot.timeline, boot.core))}"
    return Subject(boot.trace, "" if ended.complete else f"{ended.ended}: {ended.message}", facts)


def _others(store: Store, name: str | None, boot_id: str) -> str:
    """Which boot of its run is exported, in words, if the user named none and there are several."""
    if run_and_boot(name)[1] is not None:
        return ""
    run_id, _, number = boot_id.rpartition("/")
    boots = store.summary(run_id).boots
    return f"boot {int(number)} of {boots}, the only boot in this file" if boots > 1 else ""


def _rows(store: Store, boot_id: str) -> tuple[BootRow, ...]:
    """All boots of the run that a boot belongs to."""
    found = sample_set(store, boot_id.rpartition("/")[0])
    return tuple(
        BootRow(boot.boot_id, boot.why, {str(q): ns for q, ns in boot.times.items()}) for boot in found.boots
    )


class Export(Verb):
    example = "bootscope export last -o boot.pftrace"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="?", help="run id or part of one, or RUN/BOOT (default: the last run)"
        )
        option(parser, "--format", "F", "the format (default: from the file name)")
        option(parser, "-o --output", "FILE", "the file to write; - is standard output (text formats)")
        add_core_options(parser, "call paths show waits for memory, not time")
        what = "with lcov: a program with debug information (vmlinux, ...); repeatable"
        several(parser, "--debug", "FILE", what)
        flag(parser, "--formats", "list the formats")

    def run(self, args: argparse.Namespace) -> int:
        if args.formats:
            refuse(
                args, ("format", "output", "core", "stalls", "debug"), "writes a boot; --formats writes none"
            )
            return list_formats(args.json)
        exporter = chosen(args)
        if not exporter.sources:
            refuse(args, ("debug",), "is for the format lcov")
        store = open_store()
        boot_id, boot = boot_of(store, args.run, core_of(args))
        subject = subject_of(boot_id, boot)
        subject = replace(subject, trace=call_paths(subject.trace, args.stalls))
        if exporter.sources:
            subject = replace(subject, lines=source_lines(boot, args.debug))
        others = _others(store, args.run, boot_id)
        if exporter.whole_run:
            subject = replace(subject, boots=_rows(store, boot_id))
        elif others:
            to_stderr(f"{others}; name RUN/BOOT for another one, --format boots has all of them")
            subject = replace(subject, facts={**subject.facts, "boots": others})
        data = exporter.make(subject)
        if args.output == "-":
            sys.stdout.write(data.decode())
            return 0
        write_file(Path(args.output), data)
        if args.json:
            done = {"path": args.output, "bytes": len(data), "format": exporter.name}
            print_json("export", {**done, "boot": boot_id})
        else:
            words = (
                f"wrote {args.output} ({exporter.title}, {size(len(data))}); opens in: {exporter.opened_by}"
            )
            terminal().print(words, markup=False)
        return 0


def chosen(args: argparse.Namespace) -> Exporter:
    """The requested format. Raises UserError when it is ambiguous, or does not fit its destination."""
    if not args.output:
        raise UserError("where to?", hint="-o FILE, or -o - for standard output")
    if args.output == "-":
        if not args.format:
            raise UserError(
                "standard output has no name to derive the format from", hint="--format F; --formats"
            )
        if args.json:
            raise UserError("--json and -o - both write to standard output", hint="write to a file")
    exporter = named(args.format) if args.format else for_file(Path(args.output).name)
    if args.output == "-" and not exporter.text:
        raise UserError(f"{exporter.name} is a binary format", hint="-o FILE")
    return exporter


def list_formats(as_json: bool) -> int:
    """Prints the formats."""
    if as_json:
        rows = [
            {"name": e.name, "title": e.title, "suffixes": list(e.suffixes), "opened_by": e.opened_by}
            for e in EXPORTERS
        ]
        print_json("formats", {"formats": rows})
        return 0
    table = make_table("=format", "file name", "what it is", "opens in")
    for e in EXPORTERS:
        table.add_row(e.name, " ".join(e.suffixes) or "-", e.title, e.opened_by)
    terminal().print(table)
    return 0

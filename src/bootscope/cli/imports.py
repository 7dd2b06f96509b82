# SPDX-License-Identifier: Apache-2.0
"""bootscope import: makes a run of logs and traces that exist already."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bootscope.capture import labels
from bootscope.capture.imported import Answers, Raw, keep, safe_name
from bootscope.cli.arguments import flag, option, renamed, several
from bootscope.cli.common import refuse
from bootscope.cli.label import add_label_option
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.text import visible
from bootscope.importing.files import ALL, Understood, by_file, understand
from bootscope.readers import registry
from bootscope.readers.base import END_OF_LINE, FIRST_BYTE, PREVIOUS_NEWLINE
from bootscope.readers.sought import Missing, missing
from bootscope.readers.source import gather
from bootscope.report import imported as text
from bootscope.report import imported_json
from bootscope.runs.run import add_milestones

STAMPS = {name.replace(" ", "-"): name for name in (FIRST_BYTE, END_OF_LINE, PREVIOUS_NEWLINE)}
_OF_IMPORT = ("file", "format", "stamp", "option", "offset", "keep_going", "dry_run", "name", "label")
_OF_FILES = (*_OF_IMPORT[1:], "milestone", "run")
MAX_OFFSET_S = 1_000_000_000
_SECONDS = re.compile(r"([+-]?)(\d{1,10})(?:\.(\d{1,9}))?")


class Import(Verb):
    example = "bootscope import console.log dmesg.txt bootchart.tgz"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "file", nargs="*", metavar="FILE", help="a file, a folder, or - for standard input"
        )
        flag(parser, "--formats", "list the formats that can be read")
        several(parser, "--format", "[FILE=]F", "read as format F, without detection")
        several(parser, "--stamp", "[FILE=]S", "which moment of a line its stamp marks: " + ", ".join(STAMPS))
        several(parser, "--option", "NAME=VALUE", "a value that the file lacks (bootscope asks for it)")
        several(
            parser,
            "--offset",
            "FILE=SECONDS",
            "join FILE manually: its time 0 is this long after the first file's",
        )
        several(parser, "--milestone", "NAME=TEXT", "a milestone: the first line with TEXT")
        option(parser, "--run", "RUN", "add --milestone to a stored run; import nothing")
        flag(parser, "--keep-going", "skip files that cannot be read")
        flag(parser, "--dry-run", "keep nothing")
        option(parser, "--name", "NAME", "name of the run (default: the first file's)")
        renamed(parser, "-o --output", "name")
        add_label_option(parser)

    def run(self, args: argparse.Namespace) -> int:
        if args.formats:
            refuse(args, _OF_FILES, "applies to files; --formats reads none")
            return list_formats(args.json)
        if args.run is not None:
            return _name_milestones(args, by_name(args.milestone))
        if not args.file:
            raise UserError("import what?", hint="bootscope import FILE..., or --formats")
        answers, marks = answers_of(args), labels.parse(args.label)
        raws = gather(args.file)
        found = understand(raws, answers, strict=not args.keep_going)
        check_names(found, answers)
        lacking = missing(answers.milestones, found.logs())
        name = safe_name(args.name or Path(args.file[0]).resolve().name.split(".")[0])
        run_id = None if args.dry_run else store_run(name, raws, found, marks)
        if args.json:
            print_json("import", {**imported_json.understood(run_id, found), "missing": _missing(lacking)})
            return 0
        out = terminal()
        text.understood(out, found)
        text.failures(out, found)
        _warn(out, lacking)
        if run_id and any(one.everywhere for one in lacking):
            out.print(f"correct it: bootscope import --run {run_id} --milestone NAME=TEXT", markup=False)
        if run_id:
            out.print(f"stored as {run_id}; next: bootscope show {run_id}", markup=False)
        else:
            out.print("nothing was stored (--dry-run)")
        return 0


def list_formats(as_json: bool) -> int:
    """`bootscope import --formats`."""
    if as_json:
        print_json("import-formats", imported_json.formats(registry.readers()))
    else:
        text.formats(terminal(), registry.readers())
    return 0


def store_run(name: str, raws: list[Raw], found: Understood, marks: Mapping[str, str]) -> str:
    """Stores the files, labelled with `marks`; returns the run's id."""
    store = open_store(marks=marks)
    formats: dict[str, tuple[str, ...]] = {}
    for file in found.files:
        formats[file.raw] = tuple(dict.fromkeys((*formats.get(file.raw, ()), file.reader.name)))
    return keep(store.new_run(name), name, raws, formats, found.answers, found.boots).run_id


# ---- milestones ----


def _name_milestones(args: argparse.Namespace, milestones: dict[str, str]) -> int:
    """Adds milestones to consoles that are stored already.

    Raises UserError if there is nothing to add, or files are named as well.
    """
    others = [name.replace("_", "-") for name in _OF_IMPORT if getattr(args, name)]
    if others:
        raise UserError(
            f"--run is for a stored run; leave out {others[0]}",
            hint="bootscope import --run RUN --milestone NAME=TEXT",
        )
    if not milestones:
        raise UserError("--run needs a milestone", hint="--milestone NAME=TEXT: the first line with TEXT")
    store = open_store()
    run_id = store.find_id(args.run)
    found = add_milestones(store, run_id, milestones)
    if args.json:
        print_json(
            "import-milestones", {"run_id": run_id, "milestones": milestones, "missing": _missing(found)}
        )
        return 0
    out = terminal()
    _warn(out, found)
    out.print(f"{run_id} has {', '.join(milestones)}; next: bootscope show {run_id}", markup=False)
    return 0


def _warn(out: Console, found: list[Missing]) -> None:
    """Reports which milestones were not found, and which lines may have been meant."""
    for one in found:
        out.print(Text(one.words, "yellow"), soft_wrap=True)
        out.print(Text(f"  {one.hint}", "yellow"), soft_wrap=True)


def _missing(found: list[Missing]) -> list[dict[str, object]]:
    """The same as JSON."""
    return [
        {
            "name": visible(one.name.encode()),
            "text": visible(one.text.encode()),
            "boots": one.boots,
            "similar": [visible(line) for line in one.similar],
        }
        for one in found
    ]


# ---- the user's answers ----


def answers_of(args: argparse.Namespace) -> Answers:
    """The options as answers. Raises UserError for invalid ones."""
    formats = by_name(args.format, optional=True)
    for name in formats.values():
        registry.reader(name)
    stamps = by_name(args.stamp, optional=True)
    for stamp in stamps.values():
        if stamp not in STAMPS:
            raise unknown("stamp", stamp, list(STAMPS))
    return Answers(
        formats=formats,
        stamps={file: STAMPS[stamp] for file, stamp in stamps.items()},
        values=by_name(args.option),
        offsets_ns={file: nanoseconds(value) for file, value in by_name(args.offset).items()},
        milestones=by_name(args.milestone),
        keep_going=args.keep_going,
    )


def by_name(given: list[str], optional: bool = False) -> dict[str, str]:
    """`NAME=VALUE`... as a mapping; when `optional`, a value alone is for all files."""
    found: dict[str, str] = {}
    for item in given:
        name, equals, value = item.rpartition("=") if optional else item.partition("=")
        if not (value and (name or optional)) or (optional and equals and not name):
            raise UserError(f"not NAME=VALUE: '{printable(item)}'")
        found[name if equals else ALL] = value
    return found


def nanoseconds(text: str) -> int:
    """Seconds as text -> ns: `-1.5` -> -1500000000. Raises UserError for anything else."""
    match = _SECONDS.fullmatch(text)
    if not match or int(match[2]) > MAX_OFFSET_S:
        raise UserError(f"not a number of seconds: '{printable(text)}'", hint="such as 1.25 or -0.003")
    ns = int(match[2]) * 10**9 + int((match[3] or "").ljust(9, "0"))
    return -ns if match[1] == "-" else ns


def check_names(found: Understood, answers: Answers) -> None:
    """Raises UserError when an answer is about a file that was not given."""
    for said in (answers.formats, answers.stamps):
        for name in said:
            if name != ALL and not any(by_file({name: name}, f.name) for f in found.files):
                raise unknown("file", name, [printable(f.name) for f in found.files])

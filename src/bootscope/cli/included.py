# SPDX-License-Identifier: Apache-2.0
"""`bootscope system` for the systems that come with bootscope: listed, shown, and copied to be changed."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bootscope.buildtrees import keep
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError, printable, unknown
from bootscope.report.tables import make_table
from bootscope.system.copying import copy_system
from bootscope.system.load import load_system, system_names

EXAMPLE = "bootscope system copy stock my-product"


def rows() -> list[dict[str, object]]:
    """For --json."""
    return [_row(name) for name in system_names()]


def _row(name: str) -> dict[str, object]:
    found = load_system(name)
    system = found.system
    return {"name": name, "board": system.board, "title": system.title, "path": str(found.path)}


def listed(out: Console) -> None:
    """Prints them as a table, with what to do with them."""
    out.print("systems that come with bootscope, to record or to copy", style="bold")
    table = make_table("=name", "=board", "what it is", header_style="bold")
    for name in system_names():
        system = load_system(name).system
        table.add_row(name, system.board, Text(system.title))
    out.print(table)
    out.print(Text(f"a copy to change: {EXAMPLE}", "dim"))


def show(name: str, as_json: bool) -> int:
    """Prints one; returns the exit code."""
    row = _row(name)
    if as_json:
        print_json("system", {**row, "made_by": "bootscope"})
        return 0
    out = terminal()
    out.print(Text(f"{name} comes with bootscope: {row['title']}"))
    out.print(Text(f"board: {row['board']}"))
    out.print(Text(f"file: {row['path']}"), soft_wrap=True)
    out.print(
        Text(f"next: bootscope record {name}; a copy to change: bootscope system copy {name} my-product")
    )
    return 0


def copy(args: argparse.Namespace) -> int:
    """Copies one, as `args` say; returns the exit code."""
    if len(args.of) != 2:
        raise UserError("system copy needs the name of a system and a folder", hint=EXAMPLE)
    source, folder = args.of[0], Path(args.of[1])
    if source not in system_names():
        raise unknown("system", source, system_names())
    name = getattr(args, "as") or _name_for(folder)
    keep.check_name(name)
    file, *folders = copy_system(load_system(source), folder, name)
    if args.json:
        written = [str(path) for path in (file, *folders)]
        print_json("system-copy", {"system": source, "name": name, "path": str(file), "written": written})
        return 0
    out = terminal()
    wrote = ", ".join(printable(str(path)) for path in (file, *folders))
    out.print(Text(f"wrote {wrote}"))
    out.print(Text("bootscope help systems explains every key of the file", "dim"))
    out.print(Text(f"next: bootscope build {printable(str(file))} --plan", "dim"), soft_wrap=True)
    return 0


def _name_for(folder: Path) -> str:
    """A name for the copy in a folder: the folder's."""
    return re.sub(r"[^a-z0-9_.-]+", "-", folder.absolute().name.lower()).strip("-._") or "my-system"

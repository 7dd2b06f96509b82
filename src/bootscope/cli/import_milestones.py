# SPDX-License-Identifier: Apache-2.0
"""`bootscope import --run RUN --milestone NAME=TEXT`: milestones for consoles that are stored already."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bootscope.capture.store import Store
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.paths import store_dir
from bootscope.core.text import visible
from bootscope.readers.sought import Missing
from bootscope.runs.run import add_milestones

_ELSEWHERE = ("file", "format", "stamp", "option", "offset", "keep_going", "dry_run", "output")


def name_milestones(args: argparse.Namespace, milestones: dict[str, str]) -> int:
    """Carries it out. Raises UserError where there is nothing to add, or files are named too."""
    others = [name.replace("_", "-") for name in _ELSEWHERE if getattr(args, name)]
    if others:
        raise UserError(
            f"--run is for a stored run; leave out {others[0]}",
            hint="bootscope import --run RUN --milestone NAME=TEXT",
        )
    if not milestones:
        raise UserError("--run needs a milestone", hint="--milestone NAME=TEXT: the first line with TEXT")
    store = Store(store_dir())
    run_id = store.find_id(args.run)
    found = add_milestones(store, run_id, milestones)
    if args.json:
        print_json(
            "import-milestones", {"run_id": run_id, "milestones": milestones, "missing": document(found)}
        )
        return 0
    out = terminal()
    warn(out, found)
    out.print(f"{run_id} has {', '.join(milestones)}; next: bootscope show {run_id}", markup=False)
    return 0


def warn(out: Console, found: Sequence[Missing]) -> None:
    """Says which milestones were not found, and which lines may have been meant."""
    for one in found:
        out.print(Text(one.words, "yellow"), soft_wrap=True)
        out.print(Text(f"  {one.hint}", "yellow"), soft_wrap=True)


def document(found: Sequence[Missing]) -> list[dict[str, object]]:
    """The same for JSON."""
    return [
        {
            "name": visible(one.name.encode()),
            "text": visible(one.text.encode()),
            "boots": one.boots,
            "similar": [visible(line) for line in one.similar],
        }
        for one in found
    ]

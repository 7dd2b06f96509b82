# SPDX-License-Identifier: Apache-2.0
"""What takes the time of a boot, as text for a terminal and as JSON. Texts may come from a board."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from bootscope.audit.culprits.model import FAILURE, Culprit, Cure
from bootscope.core.errors import printable
from bootscope.core.text import span
from bootscope.report.jsondoc import fields
from bootscope.report.tables import make_table

Specs = Mapping[str, str]
"""Id of an applicable technique -> the name by which `bootscope try` takes its best recipe."""


def applying(cure: Cure, specs: Specs) -> str:
    """The first applicable technique of a cure; empty for none."""
    return next((specs[name] for name in cure.techniques if name in specs), "")


def show(
    out: Console, found: Sequence[Culprit], top: int, specs: Specs, run: str, *, recorded: bool = True
) -> None:
    """The `top` culprits: what, where, the view that shows it, what to do. `run` is the boot's name for
    `show`; empty if it cannot show the boot. No predictions are offered for a boot that was not
    `recorded`."""
    if not found:
        return
    seen = f" (bootscope show {run} --view ...{f'; what-if {run} ...' if recorded else ''})" if run else ""
    out.print(Text.assemble(("what takes the time", "bold"), (seen, "dim")))
    table = make_table(">", "", show_header=False)
    for culprit in found[:top]:
        table.add_row(_cost(culprit), _words(culprit, specs, run, recorded))
    out.print(table)


def _cost(culprit: Culprit) -> Text:
    if culprit.kind == FAILURE:
        return Text("fails", "bold red")
    return Text(f"{'up to ' if culprit.at_most else ''}{span(culprit.cost_ns)}", "green")


def _words(culprit: Culprit, specs: Specs, run: str, recorded: bool) -> Text:
    seen = f" ({culprit.seen_in.removeprefix('--view ')})" if run and culprit.seen_in else ""
    return Text.assemble(
        (printable(culprit.what), "bold"),
        f"\n{printable(culprit.where)}",
        (seen, "dim"),
        (f"\n{_cure(culprit.cure, specs, run, recorded)}", "cyan"),
    )


def _cure(cure: Cure, specs: Specs, run: str, recorded: bool) -> str:
    """What to do, and the commands that explain, try or predict it; the heading has the run's name. For a
    recorded boot the techniques are listed below."""
    listed = recorded and bool(run)
    found = "; ".join(commands(cure, specs, predicted=bool(run), explained=not listed))
    return f"-> {printable(cure.do)}" + (f": {printable(found)}" if found else "")


def commands(cure: Cure, specs: Specs, *, predicted: bool, explained: bool, run: str = "") -> list[str]:
    """The commands for a cure: to read about the best technique, if it cannot be tried and is to be
    `explained`; to try one; to predict it, if it can be `predicted`, with the `run`'s name if given."""
    best, spec = next(iter(cure.techniques), ""), applying(cure, specs)
    found = [f"techniques {best}"] if explained and best and best not in specs else []
    if spec:
        found.append(f"try {spec}")
    if predicted and cure.what_if:
        found.append(shlex.join(["what-if", *([run] if run else []), cure.what_if[0]]))
    return found


def document(found: Sequence[Culprit], specs: Specs) -> list[dict[str, object]]:
    """The same as JSON."""
    return [
        {
            "kind": c.kind,
            "what": printable(c.what),
            "where": printable(c.where),
            **fields(c, "cost_ns", "at_most", "start_ns", "end_ns"),
            "show": c.seen_in,
            "do": c.cure.do,
            "technique": applying(c.cure, specs) or None,
            "techniques": c.cure.techniques,
            "what_if": c.cure.what_if,
        }
        for c in found
    ]

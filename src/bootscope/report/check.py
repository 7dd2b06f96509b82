# SPDX-License-Identifier: Apache-2.0
"""A check as text for a terminal and as the JSON that docs/json.md documents."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.check.checked import Checked, all_kept
from bootscope.check.decide import MISSED, NONE, OK
from bootscope.check.message import told
from bootscope.core.text import seconds
from bootscope.report.boots import counted, named
from bootscope.report.tables import make_table

_COLOURS = {OK: "green", MISSED: "bold red"}
_UNSURE_COLOUR = "yellow"


def check(out: Console, checked: Checked) -> None:
    """The findings, one per line, below the product and the run."""
    outcome, boots = checked.outcome, checked.outcome.boots
    exact = ", exact" if boots.exact else ""
    run = f"{named(boots.run_id)}, {counted(len(boots.boots))}{exact}" if boots.run_id else "no verdict"
    out.print(Text(f"{named(checked.product)}: {run}" if checked.product else run, "bold"))
    table = make_table("=", "=checked", "=what", "=of", ">s", ">limit s", "", spare=("checked", "of", ""))
    for f in outcome.findings:
        table.add_row(
            Text("-" if f.status == NONE else f.status, _COLOURS.get(f.status, _UNSURE_COLOUR)),
            f.what,
            Text(named(f.name)),
            f.of or "-",
            "-" if f.value_ns is None else seconds(f.value_ns),
            "-" if f.limit_ns is None else seconds(f.limit_ns),
            Text(named(f.words, 300)),
        )
    out.print(table)
    for note in outcome.notes:
        out.print(Text(f"note: {named(note, 400)}", "yellow"))


def document(checked: Sequence[Checked]) -> dict[str, object]:
    """`bootscope check --json`: of one run, or of all products of a check file."""
    found = [msgspec.to_builtins(told(each.outcome)) for each in checked]
    if len(checked) == 1 and not checked[0].product:
        whole: dict[str, object] = found[0]
        return whole
    products = [{"product": named(each.product), **one} for each, one in zip(checked, found, strict=True)]
    return {"kept": all_kept(checked), "products": products}

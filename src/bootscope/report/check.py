# SPDX-License-Identifier: Apache-2.0
"""A check as text for a terminal and as the JSON that docs/json.md documents."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.check.decide import MISSED, NONE, OK, Outcome
from bootscope.check.message import told
from bootscope.core.text import seconds
from bootscope.report.boots import counted, named
from bootscope.report.tables import make_table

_COLOURS = {OK: "green", MISSED: "bold red"}
_UNSURE_COLOUR = "yellow"


def check(out: Console, outcome: Outcome) -> None:
    """The findings, one to a line."""
    boots = outcome.boots
    exact = ", exact" if boots.exact else ""
    out.print(Text(f"{named(boots.run_id)}, {counted(len(boots.boots))}{exact}", "bold"))
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


def document(outcome: Outcome) -> dict[str, object]:
    """`bootscope check --json`."""
    found: dict[str, object] = msgspec.to_builtins(told(outcome))
    return found

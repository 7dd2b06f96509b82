# SPDX-License-Identifier: Apache-2.0
"""Messages in a log, by how long their bytes take on the serial line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bootscope.audit.culprits.console import QUIET, SILENT
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.core.text import size
from bootscope.inventory.bootlog import LogLine, total_bytes
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.log_indicators import hidden_by_quiet


def find(known: Inventory) -> Iterator[Culprit]:
    """The kernel's messages and the boot loaders', where the log is one of a serial line."""
    log = known.log
    if log and log.timed:
        for who, lines, cure in (
            ("kernel messages", hidden_by_quiet(log), QUIET),
            ("boot loaders' messages", log.loader_lines, SILENT),
        ):
            if lines:
                yield _culprit(known, who, lines, cure)


def _culprit(known: Inventory, who: str, lines: Sequence[LogLine], cure: Cure) -> Culprit:
    count, (baud, why) = total_bytes(lines), known.baud
    return Culprit(
        kind="printed",
        what=f"{len(lines)} {who}, {size(count)}, over the serial line",
        where=f"at {baud} baud: {why}",
        cost_ns=known.line_ns(count),
        start_ns=lines[0].at_ns,
        end_ns=lines[-1].at_ns,
        seen_in="",
        cure=cure,
        at_most=True,
    )

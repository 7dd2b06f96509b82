# SPDX-License-Identifier: Apache-2.0
"""What logs alone show of what takes time: silences, messages on a serial line, initcalls with times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bootscope.analysis.nesting import Nested, nested
from bootscope.audit.culprits.calls import DRIVER
from bootscope.audit.culprits.console import QUIET, SILENT
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.core.text import size
from bootscope.inventory.bootlog import BootLog, LogLine, total_bytes
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.log_indicators import CONSOLE, hidden_by_quiet, serial_console
from bootscope.readers.base import BUFFERED
from bootscope.timeline.trace import Trace

KERNELS = "kernel messages"
_CALL = Cure("remove it or defer it", DRIVER)
_TIMED = {"initcall": "kernel: initcall", "probe": "kernel: probe of"}


def printed(known: Inventory) -> Iterator[Culprit]:
    """The messages of the kernel and of the boot loaders, if the log is of a serial line: by the time that
    their bytes take on it."""
    log = known.log
    if not log or not serial_console(known):
        return
    if log.timed and log.tool not in BUFFERED:
        yield from _by_the_line(known, log)
    else:
        yield from _by_the_kernel(known, log)


def _by_the_line(known: Inventory, log: BootLog) -> Iterator[Culprit]:
    for who, lines, cure in (
        (KERNELS, hidden_by_quiet(log), QUIET),
        ("boot loaders' messages", log.loader_lines, SILENT),
    ):
        if lines:
            yield _printed(known, log, who, lines, known.line_ns(total_bytes(lines)), cure)


def _by_the_kernel(known: Inventory, log: BootLog) -> Iterator[Culprit]:
    """By the kernel's own stamps: no message took longer than until the stamp of the next one, and messages
    from before the console went over the line when it appeared."""
    own = {id(line) for line in log.own}
    lines = [line for line in hidden_by_quiet(log) if id(line) in own]
    if not lines:
        return
    waits = [known.line_ns(line.bytes) for line in lines]
    gaps = [max(0, b.kernel_ns - a.kernel_ns) for a, b in pairwise(lines)] + [0]
    here = next((i for i, line in enumerate(lines) if CONSOLE.search(line.text)), 0)
    early = any("bootconsole" in line.text for line in lines[:here])
    at_once_ns = 0 if early else min(max(gaps[max(0, here - 1)], gaps[here]), sum(waits[:here]))
    cost_ns = at_once_ns + sum(map(min, gaps[here * (not early) :], waits[here * (not early) :]))
    yield _printed(known, log, KERNELS, lines, min(cost_ns, sum(waits)), QUIET)


def _printed(
    known: Inventory, log: BootLog, who: str, lines: Sequence[LogLine], cost_ns: int, cure: Cure
) -> Culprit:
    baud, why = known.baud
    first, last = (log.since_begin_ns(line) for line in (lines[0], lines[-1]))
    return Culprit(
        kind="printed",
        what=f"{len(lines)} {who}, {size(total_bytes(lines))}, over the serial line",
        where=f"at {baud} baud: {why}",
        cost_ns=cost_ns,
        start_ns=first,
        end_ns=last,
        cure=cure,
        at_most=True,
    )


def spans(trace: Trace) -> Iterator[Culprit]:
    """Initcalls and probes, each by its own time; the boot waited that long at most, since others may have
    run in parallel."""
    for found in nested(t for t in trace.tracks if t.kind in _TIMED):
        yield Culprit(
            kind="spans",
            what=f"{_TIMED[found.track.kind]} {found.span.name}",
            where=_in_what(found),
            cost_ns=found.own_ns,
            start_ns=found.span.start_ns,
            end_ns=found.span.end_ns,
            seen_in="--view initcalls",
            cure=_CALL,
            at_most=True,
        )


def _in_what(found: Nested) -> str:
    """The initcall that contains a probe, otherwise its track."""
    return f"in initcall {found.inside.span.name}" if found.inside else found.track.title

# SPDX-License-Identifier: Apache-2.0
"""systemd's units, its phases and its own work, with the lengths that logs or systemd-analyze report: each an
upper bound, since units start in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from bootscope.analysis.gaps import span_reason
from bootscope.analysis.nesting import nested
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.starting import Starting
from bootscope.core.text import listed
from bootscope.inventory.bootlog import BootLog
from bootscope.readers.systemd_units import BLAME_TITLE
from bootscope.timeline.trace import Trace

LONG_UNITS = "systemd-long-units"
_UNIT = Cure("does the application need it? defer or remove it", (LONG_UNITS,))
_PHASES = ("firmware", "loader", "initrd")
"""Phases of `systemd-analyze time` that get a row; for the others the rows of their parts tell more."""
_CRNG = r"random: crng init done"
_AT_ONCE_NS = 300_000_000
"""A unit that is ready this soon after random numbers are has waited for them."""
_LEAST_NS = 500_000_000
"""The shorter starts of units appear only as gaps of the log."""
_BESIDE = ("udev", "modules", "modem", "heavy-services")
"""Kinds that run in parallel with everything else."""
_MOST = 50
"""How many units of a log are examined: a log may be forged."""


def of_trace(trace: Trace) -> Iterator[Culprit]:
    """Units with their place in time, otherwise those listed by `systemd-analyze blame`; and long phases."""
    services = [t for t in trace.tracks if t.kind == "service" and _counts(t.title)]
    for found in nested(services):
        own = found.track.title.partition(" ")[0] == "systemd"
        name = f"{found.track.title}: {found.span.name}" if own else found.track.title
        key = found.span.name if own else found.track.title
        yield _culprit(name, key, found.own_ns, (found.span.start_ns, found.span.end_ns), found.span.name)
    if not services:
        yield from _blamed(trace)
    phases = (t for t in trace.tracks if t.kind == "phase" and t.ident.startswith("systemd"))
    for span in (span for track in phases for span in track.spans if span.name in _PHASES):
        told = "by systemd-analyze time"
        yield _culprit(span.name, span.name, span.duration_ns, (span.start_ns, span.end_ns), told, "phase")


def _counts(name: str) -> bool:
    # A device's unit is started when the kernel has found the device: systemd spends no time on it.
    return not name.endswith(".device")


def _blamed(trace: Trace) -> Iterator[Culprit]:
    """Their place in time is unknown, and no view shows them."""
    rows = (row for table in trace.tables if table.title == BLAME_TITLE for row in table.rows)
    for name, ns in ((str(name), int(ns or 0)) for name, ns in rows):
        if _counts(name):
            yield replace(_culprit(name, name, ns, (0, ns), "by systemd-analyze blame"), seen_in="")


def of_log(log: BootLog) -> dict[str, list[Culprit]]:
    """By the kind of reason: units known to wait or to work long while others print lines, from the line of
    their start to that of their end; also those that were ready as soon as random numbers were."""
    found: dict[str, list[Culprit]] = {}
    crng, units = log.index(_CRNG), Starting(log.own).through
    known = ((why, unit) for unit in units if (why := span_reason(unit[2])))
    for why, (first, last, name) in islice(known, _MOST):
        if why.kind not in _BESIDE and _in_company(log, first, last):
            place = _stretch(log, first, last)
            row = _culprit(name, name, place[1] - place[0], place, "from its first line to its last")
            found.setdefault(why.kind, []).append(row)
    over = islice((unit for unit in units if unit[0] < crng <= unit[1]), _MOST)
    waited = [unit for unit in over if _soon(log, crng, unit[1])]
    if waited and _in_company(log, min(first for first, _, _ in waited), crng):
        found["random"] = [_for_random(log, crng, waited)]
    return found


def _in_company(log: BootLog, first: int, last: int) -> bool:
    """Whether it took long, and others printed lines meanwhile: one long gap is listed as a gap instead."""
    start_ns, end_ns = _stretch(log, first, last)
    gaps = (ns for a, b, ns in log.steps() if a < last and first < b)
    return end_ns - start_ns >= _LEAST_NS and max(gaps, default=0) * 2 < end_ns - start_ns


def _soon(log: BootLog, crng: int, last: int) -> bool:
    start_ns, end_ns = _stretch(log, crng, last)
    return end_ns - start_ns <= _AT_ONCE_NS


def _for_random(log: BootLog, crng: int, waited: Sequence[tuple[int, int, str]]) -> Culprit:
    why = span_reason("random")
    start_ns, end_ns = _stretch(log, min(first for first, _, _ in waited), crng)
    named = listed([name for _, _, name in waited], 3)
    return Culprit(
        kind="spans",
        what=f"units wait for random numbers: {named}",
        where="they are ready at once after 'random: crng init done'",
        cost_ns=end_ns - start_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        cure=Cure(why.do.partition("; ")[0], why.techniques) if why else _UNIT,
        at_most=True,
    )


def _stretch(log: BootLog, first: int, last: int) -> tuple[int, int]:
    """The time from a line to a later one. Without a stamp, that of the last line before the first, or of the
    next line after the second."""
    start_ns = next((ns for i in range(first, -1, -1) if (ns := log.since_begin_ns(log.lines[i])) >= 0), 0)
    after = (ns for line in log.lines[last:] if (ns := log.since_begin_ns(line)) >= 0)
    return start_ns, max(start_ns, next(after, start_ns))


def _culprit(
    name: str, key: str, cost_ns: int, place: tuple[int, int], where: str, word: str = "unit"
) -> Culprit:
    """A unit or phase, with what is known of its kind."""
    why = span_reason(key)
    more = _UNIT.techniques if word == "unit" else ()
    return Culprit(
        kind="spans",
        what=f"{word} {name}",
        where=f"{where}: {why.words}" if why else where,
        cost_ns=cost_ns,
        start_ns=place[0],
        end_ns=place[1],
        seen_in="--view processes",
        cure=Cure(why.do.partition("; ")[0], (*why.techniques, *more)) if why else _UNIT,
        at_most=True,
    )

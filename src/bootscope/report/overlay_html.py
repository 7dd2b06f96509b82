# SPDX-License-Identifier: Apache-2.0
"""Boots drawn over each other for the report's page: their phases on one scale, and how the first total
becomes the last. Positions are percent of a drawing's width. Texts may come from a board; the template
escapes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bootscope.analysis.views import View
from bootscope.core.text import seconds, signed, span
from bootscope.export.text import plain
from bootscope.timeline.trace import LENGTH, Trace

MOST = 40
"""How many boots one picture shows at most."""
_COLOURS = 12
"""The colours of overlay.css: the boots of two boards together may have eleven phases."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A boot in the overlay: its phases as (name, start ns, end ns), and the milestones' ns."""

    name: str
    total_ns: int
    phases: tuple[tuple[str, int, int], ...]
    bounded: frozenset[str] = frozenset()
    """The phases for whose length only a bound is known, so that their change is unknown."""


def bar_of(name: str, boot: View | Trace) -> Bar | None:
    """A boot's bar; None if its log has no clock, or gives only a lower bound of its time."""
    if isinstance(boot, View):
        found = tuple((p.name, p.start_ns, p.end_ns) for p in boot.timeline.phases)
        return Bar(plain(name), boot.timeline.total_ns, found)
    if boot.known_total_ns is None:
        return None
    spans = boot.spans("phase")
    bounded = frozenset(plain(s.name) for s in spans if LENGTH in s.detail)
    found = tuple((plain(s.name), s.start_ns, s.end_ns) for s in spans)
    return Bar(plain(name), boot.total_ns, found, bounded)


def overlay(bars: Sequence[Bar | None]) -> dict[str, object] | None:
    """The page's data for two or more boots; None if fewer than two have a known length."""
    known = [bar for bar in bars if bar][:MOST]
    if len(known) < 2:
        return None
    whole_ns = max(bar.total_ns for bar in known) or 1
    names = list(dict.fromkeys(name for bar in known for name, _, _ in bar.phases))
    colour = {name: at % _COLOURS for at, name in enumerate(names)}
    return {
        "rows": [_row(bar, known[at - 1] if at else None, whole_ns, colour) for at, bar in enumerate(known)],
        "legend": [(name, colour[name]) for name in names],
        "ticks": [(10 * tenth, f"{seconds(whole_ns * tenth // 10, 2)} s") for tenth in range(0, 11, 2)],
        "falls": _fall(
            known[0].total_ns, steps_between(known), known[1].name if len(known) == 2 else "the last"
        ),
        "by": "phase" if len(known) == 2 else "boot",
        # Two boots have a table of their own that compares them.
        "beside": _beside(known, names) if len(known) > 2 else [],
    }


def _beside(known: Sequence[Bar], names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The length of each phase in each boot, and the totals, in s; phases with only a bound say so."""
    rows = []
    for name in names:
        cells = []
        for bar in known:
            lengths = [end - start for of, start, end in bar.phases if of == name]
            told = seconds(sum(lengths)) if lengths else "-"
            cells.append("only a bound" if name in bar.bounded else told)
        rows.append((name, cells))
    return [*rows, ("total", [seconds(bar.total_ns) for bar in known])]


def _row(bar: Bar, before: Bar | None, whole_ns: int, colour: dict[str, int]) -> dict[str, object]:
    return {
        "name": bar.name,
        "total": seconds(bar.total_ns),
        "change": signed(bar.total_ns - before.total_ns) if before else "",
        "better": bool(before and bar.total_ns < before.total_ns),
        "worse": bool(before and bar.total_ns > before.total_ns),
        "phases": [
            (name, 100 * start / whole_ns, 100 * (end - start) / whole_ns, colour[name], span(end - start))
            for name, start, end in bar.phases
        ],
    }


def steps_between(known: Sequence[Bar]) -> list[tuple[str, int]]:
    """What leads from the total of the first boot to that of the last, each with its change in ns: for two
    boots the phases and the time outside of phases, for more the boots after the first."""
    if len(known) != 2:
        return [(b.name, b.total_ns - a.total_ns) for a, b in pairwise(known)]
    a, b = (_lengths(bar) for bar in known)
    bounded = known[0].bounded | known[1].bounded
    changes = [(name, b.get(name, 0) - a.get(name, 0)) for name in {**a, **b} if name not in bounded]
    rest = known[1].total_ns - known[0].total_ns - sum(change for _, change in changes)
    name = "phases whose length is a bound" if bounded else "in no phase"
    return [*changes, *([(name, rest)] if rest else [])]


def _lengths(bar: Bar) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, start_ns, end_ns in bar.phases:
        found[name] = found.get(name, 0) + end_ns - start_ns
    return found


def _fall(first_ns: int, changes: Sequence[tuple[str, int]], last: str) -> list[dict[str, object]]:
    whole_ns, at_ns, highest = first_ns, first_ns, first_ns
    for _, change_ns in changes:
        whole_ns += change_ns
        highest = max(highest, whole_ns)
    scale = 100 / (highest or 1)
    rows: list[dict[str, object]] = [_bar("the first", 0, first_ns, scale, f"{seconds(first_ns)} s", "whole")]
    for name, change_ns in changes:
        if change_ns:
            kind = "saves" if change_ns < 0 else "costs"
            low = min(at_ns, at_ns + change_ns)
            rows.append(_bar(name, low, abs(change_ns), scale, signed(change_ns), kind))
        at_ns += change_ns
    return [*rows, _bar(last, 0, at_ns, scale, f"{seconds(at_ns)} s", "whole")]


def _bar(name: str, start_ns: int, length_ns: int, scale: float, words: str, kind: str) -> dict[str, object]:
    return {"name": name, "at": start_ns * scale, "width": length_ns * scale, "words": words, "kind": kind}

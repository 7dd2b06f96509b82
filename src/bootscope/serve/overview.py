# SPDX-License-Identifier: Apache-2.0
"""The content of the pages of the list and of the plot."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from bootscope.core.text import seconds, visible
from bootscope.runs.listing import Listed
from bootscope.serve import plot
from bootscope.serve.figures import Known
from bootscope.serve.pages import query
from bootscope.serve.rows import PAGE, Row, Wanted, chosen, row_of

_COLUMNS = {
    "run": "run",
    "time": "time",
    "ended": "ended",
    "day": "recorded",
    "kind": "kind",
    "system": "system",
    "board": "board",
}
_NEWEST_FIRST = ("day", "time")
_MOST_LISTED = 200
"""Rows of the table below a plot."""
_MOST_LABELS = 300
"""How many labels are offered to choose from; the search finds the others."""


def overview(found: Sequence[Known], asked: Mapping[str, str]) -> dict[str, object]:
    """The list of runs."""
    wanted = Wanted.of(asked)
    rows = [row_of(known) for known in found]
    matching = chosen(rows, wanted)
    begin = (wanted.page - 1) * PAGE
    filters = {"kind": wanted.kind, "system": wanted.system, "board": wanted.board, "label": wanted.label}
    kept = {"q": wanted.text, **filters}
    following = query({**kept, "sort": wanted.sort, "page": str(wanted.page + 1)})
    return {
        "rows": matching[begin : begin + PAGE],
        "count": len(matching),
        "all": len(rows),
        "pending": sum(known.pending for known in found),
        "wanted": wanted,
        "choices": _choices(rows),
        "columns": _columns(wanted, kept),
        "following": following if begin + PAGE < len(matching) else "",
        "plot": query(filters),
    }


def state_of(found: Sequence[Known], searches: Mapping[str, bool | None]) -> str:
    """A mark of everything that the list shows of runs and searches: it differs when any of that has
    changed."""
    told = [
        (each.run.run_id, each.run.boots, each.run.complete, each.run.ended, each.pending, dict(each.labels))
        for each in found
    ]
    return hashlib.sha256(msgspec.json.encode([told, searches])).hexdigest()[:16]


def _choices(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The existing values to filter by."""
    found = {
        name: sorted({value for row in rows if (value := getattr(row, name))})
        for name in ("kind", "system", "board")
    }
    return {**found, "label": sorted({label for row in rows for label in row.labels})[:_MOST_LABELS]}


def _columns(wanted: Wanted, kept: Mapping[str, str]) -> list[dict[str, str]]:
    """The headings: name, the address that sorts by it, its present sort order (`aria-sort`)."""
    result = []
    for key, words in _COLUMNS.items():
        down = f"-{key}"
        first, second = (down, key) if key in _NEWEST_FIRST else (key, down)
        state = {down: "descending", key: "ascending"}.get(wanted.sort, "")
        address = query({**kept, "sort": second if wanted.sort == first else first})
        result.append({"key": key, "words": words, "state": state, "address": address})
    return result


def fitting(found: Sequence[Known], asked: Mapping[str, str]) -> tuple[list[Listed], int]:
    """The requested runs, oldest first, with their figures; and how many of these are still being
    computed."""
    pairs = [(known, row_of(known)) for known in found]
    wanted = {row.run_id for row in chosen([row for _, row in pairs], Wanted.of(asked))}
    runs = [known for known, row in pairs if row.run_id in wanted]
    return [Listed(k.run, k.figure, k.labels) for k in runs], sum(k.pending for k in runs)


def plotted(found: Sequence[Known], asked: Mapping[str, str]) -> dict[str, object]:
    """A milestone over the days, for the requested runs."""
    wanted = Wanted.of(asked)
    pairs = [(known, row_of(known)) for known in found]
    fitting = {row.run_id for row in chosen([row for _, row in pairs], wanted)}
    runs = [known for known, row in pairs if row.run_id in fitting]
    names = plot.milestones(runs)
    about = asked.get("about", "") if asked.get("about", "") in names else next(iter(names), "")
    values = plot.values(runs, about)
    return {
        "wanted": wanted,
        "choices": _choices([row for _, row in pairs]),
        "milestones": [(name, visible(name, 80), count) for name, count in names.items()],
        "about": about,
        "about_shown": visible(about, 80),
        "plot": plot.plot(values),
        "width": plot.WIDTH,
        "height": plot.HEIGHT,
        "pending": sum(known.pending for known in runs),
        "history": query(
            {"about": about, "system": wanted.system, "board": wanted.board, "label": wanted.label}
        ),
        "values": [
            {
                "run_id": value.run_id,
                "shown": visible(value.run_id, 120),
                "day": value.day,
                "series": value.series,
                "median": seconds(value.median_ns),
                "low": seconds(value.low_ns),
                "high": seconds(value.high_ns),
            }
            for value in reversed(values[-_MOST_LISTED:])
        ],
        "more": max(0, len(values) - _MOST_LISTED),
    }

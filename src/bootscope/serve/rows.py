# SPDX-License-Identifier: Apache-2.0
"""The list of runs: the requested ones, in the requested order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bootscope.capture.record import BootEnd
from bootscope.capture.stored import BOARD, IMPORTED, RECORDED, RECORDING
from bootscope.core.text import seconds, span, visible
from bootscope.serve.figures import Known

KINDS = {RECORDED: "emulated board", BOARD: "real board", IMPORTED: "imported"}
PAGE = 1000
"""Rows of one page."""
_NAME = 120


@dataclass(frozen=True)
class Row:
    """A run as the list shows it; all texts but `run_id` are safe to show."""

    run_id: str
    shown: str
    day: str
    kind: str
    system: str
    board: str
    until: str
    time: str
    spread: str
    boots: str
    ended: str
    live: bool
    median_ns: int
    labels: tuple[str, ...] = ()


class Wanted(NamedTuple):
    """A request: a text in any name or label, a kind, a system, a board, a label; the sort key; the page."""

    text: str = ""
    kind: str = ""
    system: str = ""
    board: str = ""
    label: str = ""
    sort: str = "-day"
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """From the query of a page's address; invalid values are ignored."""
        sort, page = query.get("sort", ""), query.get("page", "")
        return cls(
            query.get("q", "")[:200].strip(),
            query.get("kind", ""),
            query.get("system", ""),
            query.get("board", ""),
            query.get("label", ""),
            sort if sort.removeprefix("-") in _KEYS else "-day",
            int(page) if page.isascii() and page.isdecimal() and 0 < len(page) < 7 and int(page) else 1,
        )


_KEYS: dict[str, Callable[[Row], tuple[str | int, ...]]] = {
    "day": lambda row: (row.day, row.run_id),
    "run": lambda row: (row.run_id,),
    "kind": lambda row: (row.kind,),
    "system": lambda row: (row.system.casefold(),),
    "board": lambda row: (row.board.casefold(),),
    "time": lambda row: (row.median_ns,),
    "ended": lambda row: (row.ended,),
}


def row_of(known: Known) -> Row:
    """A run with its figure, as in the list."""
    run, figure, labels = known.run, known.figure, known.labels
    spread, absent = "", "…" if known.pending else "failed" if known.failed else ""
    if figure:
        spread = "exact" if figure.exact else span(figure.spread_ns) if figure.boots > 1 else ""
    return Row(
        run_id=run.run_id,
        shown=visible(run.run_id, _NAME),
        day=visible(run.created[:19].replace("T", " "), 19),
        kind=KINDS.get(run.kind, visible(run.kind, 40)),
        system=visible(run.system, _NAME),
        board=visible(run.board, _NAME),
        until=visible(figure.what if figure else run.until, 60),
        time=f"{seconds(figure.median_ns)} s" if figure else absent,
        spread=spread,
        boots=str(run.boots) if run.complete == run.boots else f"{run.complete} of {run.boots}",
        ended="" if run.ended == BootEnd.MILESTONE else visible(run.ended, 60),
        live=run.ended == RECORDING,
        median_ns=figure.median_ns if figure else -1,
        labels=tuple(f"{key}={visible(value, _NAME)}" for key, value in labels.items()),
    )


def _searched(row: Row) -> str:
    """All texts of a row, in lower case, one per line."""
    texts = (row.shown, row.system, row.board, row.kind, row.ended, *row.labels)
    return "\n".join(texts).casefold()


def chosen(rows: Iterable[Row], wanted: Wanted) -> list[Row]:
    """The requested rows, sorted; when sorted by day, those being recorded come first."""
    text = wanted.text.casefold()
    found = [
        row
        for row in rows
        if (not text or text in _searched(row))
        and wanted.kind in ("", row.kind)
        and wanted.system in ("", row.system)
        and wanted.board in ("", row.board)
        and wanted.label in ("", *row.labels)
    ]
    key, down = wanted.sort.removeprefix("-"), wanted.sort.startswith("-")
    found.sort(key=_KEYS[key], reverse=down)
    if key == "time":  # rows without a time come last in both directions
        found.sort(key=lambda row: row.median_ns < 0)
    if wanted.sort == "-day":
        found.sort(key=lambda row: not row.live)
    return found

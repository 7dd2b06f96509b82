# SPDX-License-Identifier: Apache-2.0
"""Published tables beside our own results, in words: for the terminal and for docs/reproduced.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bootscope.analysis.compare import SPLIT
from bootscope.core.text import signed, size, span
from bootscope.published.agreement import Order, Pair, Verdict, pairs
from bootscope.published.reproduced import Result
from bootscope.published.tables import Compared, Table
from bootscope.published.work import FITTED, Judged, Work, work_of
from bootscope.techniques.model import DOCUMENTS, figures

HEADINGS = ("row", "what", "published", "change", "here", "change", "")
"""Headings of the cells of a pair."""
_KINDS = dict(zip(SPLIT, ("CPU", "card", "console", "idle", "ROM"), strict=True))
_LEAST = 0.1
"""A kind of time with less than this part of the largest change is omitted."""


def cells(table: Table, pair: Pair) -> tuple[str, ...]:
    """A published figure and our own, in the order of HEADINGS."""
    theirs, unit = pair.published, table.measures[pair.measure].unit
    told = ""
    if theirs.base is not None and theirs.value is not None:
        told = f"{amount(theirs.base, unit)} → {amount(theirs.value, unit)}"
    ours = ""
    if pair.own and pair.own_base:
        ours = f"{amount(pair.own_base.value, unit)} → {amount(pair.own.value, unit)}"
    row = pair.row if pair.against == table.reference else f"{pair.row} against {pair.against}"
    return (
        row,
        table.measures[pair.measure].title,
        told,
        _change(pair.is_relative, theirs.relative, theirs.change, unit),
        ours,
        _change(pair.is_relative, pair.own_relative, pair.own_change, unit),
        verdict(pair),
    )


def verdict(pair: Pair) -> str:
    """Whether a pair agrees, and why."""
    return str(pair.verdict) if pair.verdict is Verdict.NONE else f"{pair.verdict}: {pair.words}"


def amount(value: float, unit: str) -> str:
    """A time in ns or a size in bytes, with a unit that fits."""
    return span(round(value)) if unit == "ns" else size(round(value))


def _change(is_relative: bool, relative: float | None, change: float | None, unit: str) -> str:
    if is_relative:
        return "" if relative is None else f"{100 * relative:+.1f} %"
    if change is None:
        return ""
    return f"{'-' if change < 0 else '+'}{amount(abs(change), unit)}"


def split(pair: Pair) -> str:
    """Where our own change comes from, largest first: `CPU +1.012 s, card -52.0 ms`; empty where unknown."""
    if not (pair.own and pair.own_base and pair.own.split and pair.own_base.split):
        return ""
    parts = {key: ns - pair.own_base.split.get(key, 0) for key, ns in pair.own.split.items()}
    most = max(abs(ns) for ns in parts.values())
    shown = [(key, ns) for key, ns in parts.items() if ns and abs(ns) >= _LEAST * most]
    shown.sort(key=lambda item: -abs(item[1]))
    return ", ".join(f"{_KINDS[key]} {signed(ns)}" for key, ns in shown)


def summary(table: Table, found: Sequence[Pair], columns: Iterable[Order]) -> str:
    """How much of a table agrees, in one line: times, copies and sizes separately."""
    scores = tallied(found)
    told = [f"{scores[kind].words} {kind} agree" for kind in Compared if scores[kind].compared]
    boards = {order.board for order in columns}
    for order in columns:
        board = f" ({order.board})" if len(boards) > 1 else ""
        title = table.measures[order.measure].title
        told.append(f"{title}{board}: {order.same} of {order.pairs} pairs of rows in the same order")
    return "; ".join(told)


@dataclass(frozen=True)
class Tally:
    """How many published changes there are, and how many of them agree."""

    compared: int = 0
    agree: int = 0

    @property
    def words(self) -> str:
        """`3 of 4`."""
        return f"{self.agree} of {self.compared}"

    def plus(self, other: Tally) -> Tally:
        """The sum of both."""
        return Tally(self.compared + other.compared, self.agree + other.agree)


def tallied(found: Iterable[Pair]) -> dict[Compared, Tally]:
    """How many figures agree, by kind; every kind has an entry."""
    tallies = dict.fromkeys(Compared, Tally())
    for pair in found:
        one = Tally(1, int(pair.verdict is Verdict.AGREES))
        tallies[pair.compared] = tallies[pair.compared].plus(one)
    return tallies


def tallied_by_work(found: Iterable[tuple[Table, Pair]]) -> dict[Work, Tally]:
    """How many times agree, by whether the work is the same; only classes that occur have an entry."""
    tallies: dict[Work, Tally] = {}
    for table, pair in found:
        judged = work_of(table.id, pair.row, pair.measure)
        if judged and pair.compared is Compared.TIME:
            one = Tally(1, int(pair.verdict is Verdict.AGREES))
            tallies[judged.work] = tallies.get(judged.work, Tally()).plus(one)
    return {work: tallies[work] for work in Work if work in tallies}


def fitted_apart(found: Iterable[tuple[Table, Pair]]) -> tuple[Tally, Tally]:
    """How many times of the same work agree: those in columns to which a figure of a core was fitted, which
    prove little, and the others."""
    parts: dict[bool, list[tuple[Table, Pair]]] = {True: [], False: []}
    for table, pair in found:
        parts[(table.id, pair.measure) in FITTED].append((table, pair))
    fitted, others = (tallied_by_work(parts[key]).get(Work.SAME, Tally()) for key in (True, False))
    return fitted, others


def not_the_same(table: Table, found: Iterable[Pair]) -> Iterator[str]:
    """The times of a table that are not of the same work, and why: rows with one reason together."""
    by_reason: dict[Judged, list[str]] = {}
    for pair in found:
        judged = work_of(table.id, pair.row, pair.measure)
        if judged and judged.work is not Work.SAME and pair.compared is Compared.TIME:
            by_reason.setdefault(judged, []).append(f"{pair.row}, {table.measures[pair.measure].title}")
    for judged, whose in by_reason.items():
        yield f"{'; '.join(dict.fromkeys(whose))}: the work is {judged.work.words} ({judged.reason})"


def score(table: Table, found: Result | None) -> dict[Compared, Tally]:
    """How many of a table's figures agree, by kind."""
    return tallied(pairs(table, found or Result(table.id, "", "", {}, {})))


def published_on(table: Table) -> list[str]:
    """The sources of a table's figures: document, board, kernel."""
    found: dict[str, None] = {}
    for figure in (figures()[name] for name in table.figure_ids()):
        kernel = figure.kernel_version and f"Linux {figure.kernel_version}"
        board = ", ".join(filter(None, (figure.board, figure.cpu_mhz and f"{figure.cpu_mhz} MHz", kernel)))
        found[f"{DOCUMENTS[figure.seed]}: {figure.slide_section}{f' ({board})' if board else ''}"] = None
    return list(found)


def run_on(here: Mapping[str, str]) -> str:
    """What something was run on here, in words (see `here_of`)."""
    return "; ".join(
        text if name in ("board", "cpu", "card") else f"{name} {text}" for name, text in here.items()
    )


def one_line(text: str) -> str:
    """Text of a TOML file, on one line."""
    return " ".join(text.split())

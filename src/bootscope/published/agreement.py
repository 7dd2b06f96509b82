# SPDX-License-Identifier: Apache-2.0
"""Published figures beside our own, and whether they agree: by a rule, never by hand.

What is compared is the difference between a row and the row it is compared with. Where the value of that row
was published, both differences are taken relative to it, so that a slower board or a larger kernel does not
matter; otherwise they are compared in absolute terms.

They agree when they have the same sign and one is at most FACTOR times the other, or when both are too small
to mean anything: a tiny part of their base, or less than a document's own times vary from boot to boot. In a
column with three rows or more, the order of the rows is compared as well.

Only times show how accurate times are: sizes, and copies by a card whose rate was published as well, are
counted separately.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bootscope.core.settings import Sourced
from bootscope.published.figures import PERCENT, Published, amount, counterpart, is_change, published, unit
from bootscope.published.reproduced import Result, Value
from bootscope.published.tables import Compared, Row, Table
from bootscope.techniques.model import Figure, figures

FACTOR = 1.5
"""The largest ratio of two changes that agree."""
TINY = 0.01
"""A change below this part of the base means nothing."""
TINY_OF: dict[str, float] = {"ns": 1_000_000, "bytes": 1_000}
"""The same where no base is known: 1 ms, 1 kB."""
_BEYOND = 100
"""From this ratio on, a number only says that the other change is nothing."""


class Verdict(StrEnum):
    """Whether two figures agree."""

    AGREES = "agrees"
    SIZE = "other size"
    SIGN = "other direction"
    NONE = "no figure of our own"


@dataclass(frozen=True)
class Pair:
    """A published figure and our own."""

    row: str
    against: str
    measure: str
    compared: Compared
    figure: Figure
    published: Published
    own: Value | None
    own_base: Value | None
    noise_ns: int = 0
    """By how much the published times vary from boot to boot; 0 where that is not known."""

    @property
    def own_change(self) -> int | None:
        """Our own change in ns or bytes; negative for less."""
        return self.own.value - self.own_base.value if self.own and self.own_base else None

    @property
    def own_relative(self) -> float | None:
        """The same relative to the row it is compared with."""
        change, base = self.own_change, self.own_base
        return change / base.value if change is not None and base and base.value else None

    @property
    def is_relative(self) -> bool:
        """Whether the changes are compared relative to their bases."""
        return self.published.relative is not None

    @property
    def verdict(self) -> Verdict:
        """Whether the two agree."""
        return self._judged[0]

    @property
    def times(self) -> float | None:
        """Ratio of our own change to the published one; None where there is none."""
        return self._judged[1]

    @property
    def agrees_by_noise(self) -> bool:
        """Whether the two agree only because both are smaller than the published times vary."""
        changes = (self.published.change, self.own_change)
        small = all(change is not None and abs(change) < self.noise_ns for change in changes)
        return small and self._compared[0] in (Verdict.SIZE, Verdict.SIGN)

    @property
    def _judged(self) -> tuple[Verdict, float | None]:
        return (Verdict.AGREES, None) if self.agrees_by_noise else self._compared

    @property
    def _compared(self) -> tuple[Verdict, float | None]:
        if self.own_change is None:
            return Verdict.NONE, None
        if self.published.relative is not None:
            theirs, ours, least = self.published.relative, self.own_relative or 0.0, TINY
        elif self.published.change is not None:
            theirs, ours, least = self.published.change, self.own_change, TINY_OF[unit(self.figure)]
        else:
            return Verdict.NONE, None
        return judged(theirs, ours, abs(theirs) < least, abs(ours) < least)

    @property
    def words(self) -> str:
        """The reason for the verdict."""
        if self.agrees_by_noise:
            return "both within the published noise"
        if self.times is None:
            return "both next to nothing" if self.verdict is Verdict.AGREES else "nothing there"
        if not 1 / _BEYOND < abs(self.times) < _BEYOND:
            return f"next to nothing {'here' if abs(self.times) < 1 else 'there'}"
        return f"{abs(self.times):.2g} times as large"


@dataclass(frozen=True)
class Order:
    """How many pairs of rows have the same order in a published column and in our own.

    Pairs whose rows differ by almost nothing, in one of the two, do not count.
    """

    measure: str
    board: str
    same: int
    pairs: int


def judged(theirs: float, ours: float, tiny_theirs: bool, tiny_ours: bool) -> tuple[Verdict, float | None]:
    """The rule for two changes, and the ratio of our own to the published one."""
    if tiny_theirs and tiny_ours:
        return Verdict.AGREES, None
    if not theirs:
        return Verdict.SIZE, None
    times = ours / theirs
    if times < 0 or not ours:
        return (Verdict.SIGN if times < 0 else Verdict.SIZE), times
    return (Verdict.AGREES if 1 / FACTOR <= times <= FACTOR else Verdict.SIZE), times


def pairs(table: Table, result: Result) -> list[Pair]:
    """Every published figure of a table that shows a change, row by row."""
    return list(_pairs(table, result))


def _pairs(table: Table, result: Result) -> Iterator[Pair]:
    for name, row in table.rows.items():
        against = table.against(name)
        before = table.rows[against].published
        for measure, ids in row.published.items():
            own, own_base = (_value(result, at, measure) for at in (name, against))
            kind = table.measures[measure]
            counts_as, less, noise_ns = kind.compared, _amount(kind.less_ns), _amount(kind.noise_ns)
            others = [figures()[i] for i in before.get(measure, ()) if against != name]
            for figure in (figures()[i] for i in ids):
                told = published(figure, counterpart(figure, others), less, _alone(row, figure))
                # A row may stand for the same published row as the one that it is compared with.
                if told and figure not in others and (against != name or is_change(figure)):
                    yield Pair(name, against, measure, counts_as, figure, told, own, own_base, noise_ns)


def _amount(of: Sourced | None) -> int:
    return of.value if of else 0


def _alone(row: Row, figure: Figure) -> int:
    return row.less_ns[figure.id].value if figure.id in row.less_ns else 0


def _value(result: Result, row: str, measure: str) -> Value | None:
    found = result.rows.get(row)
    return found.values.get(measure) if found else None


def orders(table: Table, result: Result) -> list[Order]:
    """The order of the rows in every column of a published table that has three rows or more."""
    columns: dict[tuple[str, str, str, str], list[tuple[float, int]]] = {}
    for name, row in table.rows.items():
        for measure, ids in row.published.items():
            own = _value(result, name, measure)
            for figure in (figures()[i] for i in ids):
                counts = own and not is_change(figure) and figure.unit != PERCENT
                value = amount(figure.value, figure.unit) if counts else None
                if own and value is not None:
                    key = (measure, figure.board, figure.seed, figure.metric)
                    besides = _amount(table.measures[measure].less_ns) + _alone(row, figure)
                    columns.setdefault(key, []).append((value - besides, own.value))
    return [_order(key[0], key[1], column) for key, column in columns.items() if len(column) > 2]


def _order(measure: str, board: str, column: list[tuple[float, int]]) -> Order:
    counted = [
        (theirs - other, ours - another)
        for (theirs, ours), (other, another) in itertools.combinations(column, 2)
        if abs(theirs - other) >= TINY * max(theirs, other)
        and abs(ours - another) >= TINY * max(ours, another)
    ]
    return Order(measure, board, sum(a * b > 0 for a, b in counted), len(counted))

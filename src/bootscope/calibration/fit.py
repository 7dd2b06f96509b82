# SPDX-License-Identifier: Apache-2.0
"""The rates of a board from stretches between console lines.

Which waits make up a stretch depends on the rates (model.py), so the stretches are split with the rates found
so far until these converge. A rate that the boots hardly determine keeps the profile's value: a made-up
figure would be worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bootscope.calibration.rates import BYTES, COMMANDS, CPU, EXTRA, LINE, MEMORY, Rates
from bootscope.calibration.result import FITTED, KEPT, TOLD
from bootscope.calibration.robust import KnownFigure, Row, fit, known

_TURNS = 12
_SAME = 1e-5
_ALIKE = 1e-4
"""The share of a column's sum of squares that must be independent of other columns, to separate it from
them."""
_VAGUE = 0.5
"""A rate is undetermined if its interval reaches further than this share of it to either side."""
_BARELY = 1e-4
"""An amount below this share of the boot cannot be determined."""
_FEWEST = 1.5
"""A rate that rests on fewer stretches than this rests on one: its error is unknown."""
WORDS = {
    CPU: "the CPU's work",
    COMMANDS: "the storage commands",
    BYTES: "the bytes of storage",
    LINE: "the bytes on the line",
    EXTRA: "the lines",
    MEMORY: "the waits for memory",
}

Amounts = Callable[[Rates], Sequence[Row]]
"""The stretches, split with these rates; amounts in the order of :class:`Rates`."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate: its value for the profile, half of its 95 % interval, the number of stretches that it rests on,
    and its origin: FITTED, TOLD or KEPT, and `why`. `warning`: what is odd about it."""

    value: float
    half: float
    stretches: float
    how: str = FITTED
    why: str = ""
    warning: str = ""


@dataclass(frozen=True)
class Fitted:
    """The rates found, with the stretches split by them."""

    rates: Rates
    found: tuple[Rate, ...]
    rows: tuple[Row, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A rate that is known from elsewhere, to within `half`, and its source."""

    value: float
    half: float
    whence: str


def fitted(amounts: Amounts, before: Rates, told: Mapping[int, Told] | None = None) -> Fitted:
    """The rates that fit the stretches best; `before` are the profile's."""
    return _Fit(amounts, before, told or {}).done()


class _Fit:
    def __init__(self, amounts: Amounts, before: Rates, told: Mapping[int, Told]) -> None:
        self._amounts, self._before, self._told = amounts, before, told
        self._fixed: dict[int, tuple[float, float]] = {k: (t.value, t.half / 2) for k, t in told.items()}
        """Column -> its value, and its standard error."""
        self._why: dict[int, Rate] = {k: Rate(t.value, t.half, 0.0, TOLD, t.whence) for k, t in told.items()}
        self._rates = before
        self._rows: Sequence[Row] = amounts(before)
        self._columns = len(self._rows[0].amounts) if self._rows else MEMORY
        self._weights: list[float] = []

    def done(self) -> Fitted:
        certain: dict[int, KnownFigure] = {}
        while True:
            self._settle()
            free = self._free()
            if not free:
                break
            some = self._known(free)
            if some is None:
                # Of columns that the accepted stretches do not separate, the smallest is removed first.
                least = min(free, key=self._spent_ns)
                self._fix(least, f"too few stretches to determine what {WORDS[least]} take")
                continue
            certain = dict(zip(free, some, strict=True))
            vague = {c: self._vagueness(c, k) for c, k in certain.items() if c != EXTRA}
            worst = max(vague, key=lambda c: vague[c], default=EXTRA)
            if vague.get(worst, 0.0) <= _VAGUE:
                break
            self._fix(worst, self._vague_words(worst, certain[worst]))
            certain = {}
        rates = tuple(self._of(c, certain.get(c)) for c in range(self._columns))
        return Fitted(self._rates, rates, tuple(self._rows), tuple(self._weights))

    def _free(self) -> list[int]:
        return [c for c in range(self._columns) if c not in self._fixed]

    def _known(self, free: Sequence[int]) -> list[KnownFigure] | None:
        """How well the free columns are known, considering the errors of the fixed ones."""
        given = [
            (tuple(row.amounts[c] for row in self._rows), off)
            for c, (_, off) in sorted(self._fixed.items())
            if off
        ]
        return known(self._reduced(free), self._weights, tuple(self._rates[c] for c in free), given)

    def _settle(self) -> None:
        """Fits and splits until the rates converge; removes columns without information."""
        self._rates = Rates(*(self._fixed.get(c, (r, 0))[0] for c, r in enumerate(self._rates)))
        for _ in range(_TURNS):
            self._rows = self._amounts(self._rates)
            self._take_out_silent()
            free = self._free()
            if not free:
                self._weights = [1.0] * len(self._rows)
                return
            found, self._weights = fit(self._reduced(free), tuple(self._rates[c] for c in free))
            by_column = dict(zip(free, found, strict=True))
            last = self._rates
            self._rates = Rates(*(by_column.get(c, r) for c, r in enumerate(last)))
            if all(abs(a - b) <= _SAME * max(a, b) for a, b in zip(self._rates, last, strict=True)):
                return

    def _reduced(self, free: Sequence[int]) -> list[Row]:
        """The rows without the fixed columns."""
        return [
            Row(
                tuple(row.amounts[c] for c in free),
                row.wanted_ns - sum(row.amounts[c] * value for c, (value, _) in self._fixed.items()),
                row.took_ns,
                row.noise_ns,
            )
            for row in self._rows
        ]

    def _take_out_silent(self) -> None:
        """Fixes columns with next to no time in them, and those that depend on others."""
        whole_ns = sum(row.took_ns for row in self._rows)
        spent = {c: self._spent_ns(c) for c in self._free()}
        for column, ns in spent.items():
            if ns < _BARELY * whole_ns and column != EXTRA:
                self._fix(column, f"{WORDS[column]} take almost no time between these lines", off=False)
        # The larger ones first: a smaller column that depends on them leaves no remainder.
        basis: list[tuple[int, list[float]]] = []
        for column in sorted(self._free(), key=lambda c: -spent[c]):
            rest = [row.amounts[column] / max(row.took_ns, row.noise_ns) for row in self._rows]
            full = sum(x * x for x in rest)
            along = {}
            for other, direction in basis:
                shared = sum(x * y for x, y in zip(rest, direction, strict=True))
                along[other] = shared * shared
                rest = [x - shared * y for x, y in zip(rest, direction, strict=True)]
            left = sum(x * x for x in rest)
            if left < _ALIKE * full:
                most = max(along, key=lambda o: along[o])
                self._fix(column, f"{WORDS[column]} vary together with {WORDS[most]} in every stretch")
            else:
                basis.append((column, [x / left**0.5 for x in rest]))

    def _spent_ns(self, column: int) -> float:
        """The time of all stretches together that a column accounts for, by the larger of both rates."""
        return sum(row.amounts[column] for row in self._rows) * max(self._before[column], self._rates[column])

    def _fix(self, column: int, why: str, *, off: bool = True) -> None:
        before = self._before[column]
        self._fixed[column] = before, before if off else 0.0
        self._why[column] = Rate(before, 0.0, 0.0, KEPT, why)
        self._rates = self._rates._replace(**{self._rates._fields[column]: before})

    def _vagueness(self, column: int, k: KnownFigure) -> float:
        """The interval relative to the value, or to the value before where that is larger."""
        size = max(k.value, self._before[column])
        return k.half / size if size else float("inf")

    def _vague_words(self, column: int, k: KnownFigure) -> str:
        low, high = max(0.0, k.value - k.half), k.value + k.half
        before = self._before[column]
        scale = f"{low / before:.2g} to {high / before:.2g} times what it was" if before else "anything"
        return f"{WORDS[column]} are not conclusive: it may be {scale}"

    def _of(self, column: int, k: KnownFigure | None) -> Rate:
        if column in self._why:
            return self._why[column]
        assert k is not None
        lone = "rests on a single stretch, which may be unlike the emulator"
        return Rate(k.value, k.half, k.stretches, warning=lone if k.stretches < _FEWEST else "")

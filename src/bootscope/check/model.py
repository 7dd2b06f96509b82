# SPDX-License-Identifier: Apache-2.0
"""The check file: budgets, and how far a run may lie above its baseline.

milestone = "app-ready"                    # what the run is about; may be left out
[budget]
"app-ready" = "2.5 s"                      # the median of the boots
"phase kernel" = { limit = "900 ms", of = "worst" }
[baseline]
file = "boot-baseline.json"                # beside the check file
max_regression = "2 %"
[history]                                  # or instead of a baseline: the store's earlier runs
last = 10                                  # so many of them, or: segment = true
max_regression = "2 %"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from bootscope.core.errors import UserError, printable
from bootscope.core.settings import Setting, load
from bootscope.core.toml_lines import spot
from bootscope.statistics.describe import median, quantile

DEFAULT = Path("bootscope-check.toml")
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_NUMBER = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(s|ms|us|µs|ns|%)")
_PERCENTILE = re.compile(r"p([1-9]\d?)")
MEDIAN, WORST = "median", "worst"


class Limit(Setting, frozen=True):
    """A budget; `of` is `median`, `worst`, or a percentile such as `p95`."""

    limit: str
    of: str = MEDIAN


class BaselineTable(Setting, frozen=True):
    """Where the baseline is and what is allowed above it, in percent or as a time."""

    file: str
    max_regression: str
    quantities: tuple[str, ...] = ()


class HistoryTable(Setting, frozen=True):
    """The earlier runs of the same system and board as a baseline: the `last` ones, or with `segment` all
    since the last change point. `labels` are those whose values they share with the run."""

    max_regression: str
    last: int = 10
    segment: bool = False
    labels: tuple[str, ...] = ("product", "branch")
    quantities: tuple[str, ...] = ()


class CheckFile(Setting, frozen=True):
    """A check file as it stands."""

    budget: dict[str, str | Limit] = {}
    baseline: BaselineTable | None = None
    history: HistoryTable | None = None
    milestone: str = ""


_EXAMPLES = {
    "budget": '"first-frame" = "2.5 s"',
    "baseline": 'file = "boot-baseline.json"',
    "history": "last = 10",
    "milestone": 'milestone = "app-ready"',
}
"""Lines for whoever wrote a wrong one, by table."""


@dataclass(frozen=True, slots=True)
class Budget:
    """No more than `limit_ns` for the figure `of` the quantity called `name`."""

    name: str
    limit_ns: int
    of: str

    def figure(self, values: Sequence[int]) -> int:
        """The figure of a run's values in ns."""
        return figure_of(self.of)(values)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is allowed above a baseline: a part of it, or a time in ns."""

    part: Fraction | None
    ns: int
    words: str

    def of(self, baseline_ns: int) -> int:
        """That in ns, for a baseline of so many."""
        return self.ns if self.part is None else int(self.part * baseline_ns)


@dataclass(frozen=True)
class Check:
    """What a check file asks for. `baseline` is the path of the baseline's file, None where there is
    none; so is `history`."""

    path: Path
    budgets: tuple[Budget, ...] = ()
    baseline: Path | None = None
    allowance: Allowance = field(default_factory=lambda: Allowance(None, 0, "0"))
    quantities: tuple[str, ...] = ()
    milestone: str = ""
    history: HistoryTable | None = None


def figure_of(name: str) -> Callable[[Sequence[int]], int]:
    """What `median`, `worst` or `p95` makes of values. Raises UserError for another name."""
    match = _PERCENTILE.fullmatch(name)
    if match:
        part = int(match[1])
        return lambda values: quantile(values, part, 100)
    if name not in (MEDIAN, WORST):
        known = f"{MEDIAN}, {WORST}, or a percentile such as p95"
        raise UserError(f"'{printable(name)}' is not a statistic of several boots", hint=known)
    return median if name == MEDIAN else max


def read_check(path: Path) -> Check:
    """The check in a file. Raises UserError for what is wrong in it, naming the file and the key."""
    if not path.exists():
        raise UserError(f"there is no check file {path}", hint="bootscope help ci shows one; -f FILE")
    found = load(path, CheckFile, _EXAMPLES)
    if not (found.budget or found.baseline or found.history):
        raise UserError(
            f"{path}: nothing to check", hint="a [budget], a [baseline] or a [history]; bootscope help ci"
        )
    if found.baseline and found.history:
        raise UserError(f"{path}: [baseline] and [history] are both there", hint="one of them")
    budgets = tuple(_budget(path, name, given) for name, given in found.budget.items())
    if found.history:
        return _with_history(path, budgets, found.history, found.milestone)
    if found.baseline is None:
        return Check(path, budgets, milestone=found.milestone)
    base = found.baseline
    allowed = _allowance(path, "baseline", base.max_regression)
    return Check(path, budgets, path.parent / base.file, allowed, base.quantities, found.milestone)


def _with_history(path: Path, budgets: tuple[Budget, ...], table: HistoryTable, milestone: str) -> Check:
    if table.last < 1:
        where = spot(path, ("history", "last"))
        raise UserError(f"{where}: history.last: {table.last} is not a number of runs", hint="1 or more")
    allowed = _allowance(path, "history", table.max_regression)
    return Check(path, budgets, None, allowed, table.quantities, milestone, table)


def _budget(path: Path, name: str, given: str | Limit) -> Budget:
    limit = given if isinstance(given, Limit) else Limit(limit=given)
    where = f"{spot(path, ('budget', name))}: budget '{printable(name)}'"
    try:
        figure_of(limit.of)
    except UserError as error:
        raise UserError(f"{where}: {error.message}", hint=error.hint) from error
    number, unit = _parsed(where, limit.limit)
    if unit == "%":
        raise UserError(f"{where}: a budget is a time, not a part of one", hint="such as 2.5 s or 900 ms")
    return Budget(name, int(number * _UNITS[unit]), limit.of)


def _allowance(path: Path, table: str, text: str) -> Allowance:
    number, unit = _parsed(f"{spot(path, (table, 'max_regression'))}: {table}.max_regression", text)
    if unit == "%":
        return Allowance(number / 100, 0, f"{text.removesuffix('%').strip()} %")
    return Allowance(None, int(number * _UNITS[unit]), text)


def _parsed(where: str, text: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text.strip())
    if not match:
        units = ", ".join(_UNITS)
        hint = f"a number and its unit ({units}, or % of a baseline), such as 2.5 s"
        raise UserError(f"{where}: '{printable(text[:80])}' is no time", hint=hint)
    return Fraction(match[1]), match[2]


def known_names(check: Check) -> Mapping[str, str]:
    """All names that a check asks for -> where they stand in the file."""
    named = {budget.name: "budget" for budget in check.budgets}
    table = "history" if check.history else "baseline"
    named |= {name: f"{table}.quantities" for name in check.quantities}
    return named | ({check.milestone: "milestone"} if check.milestone else {})

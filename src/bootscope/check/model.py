# SPDX-License-Identifier: Apache-2.0
"""The check file: budgets, and how far a run may be above its baseline.

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

A file of several products has all of this below [product.NAME]:

[product.gateway]
labels = ["product=gw"]                    # which runs are of it; default: the label product=NAME
[product.gateway.budget]
"app-ready" = "2.5 s"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from bootscope.core.errors import UserError, printable
from bootscope.core.settings import Setting
from bootscope.statistics.describe import median, quantile

DEFAULT = Path("bootscope-check.toml")
_PERCENTILE = re.compile(r"p([1-9]\d?)")
MEDIAN, WORST = "median", "worst"


class Limit(Setting, frozen=True):
    """A budget; `of` is `median`, `worst`, or a percentile such as `p95`."""

    limit: str
    of: str = MEDIAN


class BaselineTable(Setting, frozen=True):
    """Where the baseline is, and the allowance above it, in percent or as a time."""

    file: str
    max_regression: str
    quantities: tuple[str, ...] = ()


class HistoryTable(Setting, frozen=True):
    """The earlier runs of the same system and board as a baseline: the `last` ones, or with `segment` all
    since the last change point. `labels` are the keys whose values they must share with the run."""

    max_regression: str
    last: int = 10
    segment: bool = False
    labels: tuple[str, ...] = ("product", "branch")
    quantities: tuple[str, ...] = ()


class CheckTable(Setting, frozen=True):
    """The check of one product."""

    budget: dict[str, str | Limit] = {}
    baseline: BaselineTable | None = None
    history: HistoryTable | None = None
    milestone: str = ""


class ProductTable(CheckTable, frozen=True):
    """The same with the selection of the product's runs: those with these `labels` (KEY=VALUE, or KEY), of
    this system, on this board."""

    labels: tuple[str, ...] = ()
    system: str = ""
    board: str = ""


class CheckFile(CheckTable, frozen=True):
    """A check file as written: for one product, or for several."""

    product: dict[str, ProductTable] = {}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs belong to a product."""

    labels: tuple[str, ...] = ()
    system: str = ""
    board: str = ""

    @property
    def words(self) -> str:
        """In words: `with product=gw, of system stock`."""
        told = [f"with {', '.join(map(printable, self.labels))}"] if self.labels else []
        told += [f"of system {printable(self.system)}"] if self.system else []
        told += [f"on board {printable(self.board)}"] if self.board else []
        return ", ".join(told)


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
    """The allowance above a baseline: a part of it, or a time in ns."""

    part: Fraction | None
    ns: int
    words: str

    def of(self, baseline_ns: int) -> int:
        """The allowance in ns for a baseline of `baseline_ns`."""
        return self.ns if self.part is None else int(self.part * baseline_ns)


@dataclass(frozen=True)
class Check:
    """The content of a check file. `baseline` is the path of the baseline's file, None if there is none; so
    is `history`. `product` is its name, `wanted` selects its runs; empty if the file has one product only."""

    path: Path
    budgets: tuple[Budget, ...] = ()
    baseline: Path | None = None
    allowance: Allowance = field(default_factory=lambda: Allowance(None, 0, "0"))
    quantities: tuple[str, ...] = ()
    milestone: str = ""
    history: HistoryTable | None = None
    product: str = ""
    wanted: Wanted = Wanted()


def figure_of(name: str) -> Callable[[Sequence[int]], int]:
    """The function for `median`, `worst` or `p95`. Raises UserError for another name."""
    match = _PERCENTILE.fullmatch(name)
    if match:
        part = int(match[1])
        return lambda values: quantile(values, part, 100)
    if name not in (MEDIAN, WORST):
        known = f"{MEDIAN}, {WORST}, or a percentile such as p95"
        raise UserError(f"'{printable(name)}' is not a statistic of several boots", hint=known)
    return median if name == MEDIAN else max


def known_names(check: Check) -> Mapping[str, str]:
    """All names that a check uses -> their places in the file."""
    inside = f"product.{check.product}." if check.product else ""
    named = {budget.name: f"{inside}budget" for budget in check.budgets}
    table = "history" if check.history else "baseline"
    named |= {name: f"{inside}{table}.quantities" for name in check.quantities}
    return named | ({check.milestone: f"{inside}milestone"} if check.milestone else {})

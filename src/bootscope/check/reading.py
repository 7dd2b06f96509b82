# SPDX-License-Identifier: Apache-2.0
"""Reads a check file (model.py describes its content), with errors that name the line."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from bootscope.capture import labels
from bootscope.check.model import (
    Allowance,
    Budget,
    Check,
    CheckFile,
    CheckTable,
    HistoryTable,
    Limit,
    ProductTable,
    Wanted,
    figure_of,
)
from bootscope.core.errors import UserError, printable
from bootscope.core.settings import load
from bootscope.core.toml_lines import spot

_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_NUMBER = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(s|ms|us|µs|ns|%)")
_PRODUCT = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,79}")
_EXAMPLES = {
    "budget": '"first-frame" = "2.5 s"',
    "baseline": 'file = "boot-baseline.json"',
    "history": "last = 10",
    "milestone": 'milestone = "app-ready"',
    "product": '[product.gateway.budget]  "first-frame" = "2.5 s"',
}
"""Valid lines to show to the author of a wrong one, by table."""
_HINT = "a [budget], a [baseline] or a [history]; bootscope help ci"
Place = tuple[str, ...]


def read_checks(path: Path) -> tuple[Check, ...]:
    """The checks in a file, one for each product. Raises UserError for mistakes, naming the file and the
    key."""
    if not path.exists():
        raise UserError(f"there is no check file {path}", hint="bootscope help ci shows one; -f FILE")
    found = load(path, CheckFile, _EXAMPLES)
    beside = [name for name in CheckTable.__struct_fields__ if getattr(found, name)]
    if not found.product:
        if not (found.budget or found.baseline or found.history):
            raise UserError(f"{path}: nothing to check", hint=_HINT)
        return (_check(path, (), found),)
    if beside:
        where = spot(path, (beside[0],))
        words = f"{where}: {beside[0]} stands beside products, and of which one it is cannot be told"
        raise UserError(words, hint=f"[product.NAME.{beside[0]}], or no products")
    return tuple(_product(path, name, table) for name, table in found.product.items())


def _product(path: Path, name: str, table: ProductTable) -> Check:
    place = ("product", name)
    where = spot(path, place)
    if not _PRODUCT.fullmatch(name):
        hint = "letters, digits, blanks, '.', '_' and '-', at most 80, a letter or digit first"
        raise UserError(f"{where}: '{printable(name[:80])}' is not a valid name of a product", hint=hint)
    if not (table.budget or table.baseline or table.history):
        raise UserError(f"{where}: nothing to check of product {name}", hint=_HINT)
    for label in table.labels:
        try:
            labels.parse([label if "=" in label else f"{label}=x"])
        except UserError as error:
            raise UserError(f"{spot(path, (*place, 'labels'))}: {error.message}", hint=error.hint) from error
    wanted = Wanted(table.labels, table.system, table.board)
    if wanted == Wanted():
        wanted = Wanted((f"product={name}",))
    return replace(_check(path, place, table), product=name, wanted=wanted)


def _check(path: Path, place: Place, found: CheckTable) -> Check:
    """The check that the table at `place` describes."""
    if found.baseline and found.history:
        raise UserError(
            f"{spot(path, (*place, 'history'))}: [baseline] and [history] are both there", hint="one of them"
        )
    budgets = tuple(_budget(path, (*place, "budget"), *given) for given in found.budget.items())
    if found.history:
        return _with_history(path, place, budgets, found.history, found.milestone)
    if found.baseline is None:
        return Check(path, budgets, milestone=found.milestone)
    base = found.baseline
    allowed = _allowance(path, (*place, "baseline"), base.max_regression)
    return Check(path, budgets, path.parent / base.file, allowed, base.quantities, found.milestone)


def _with_history(
    path: Path, place: Place, budgets: tuple[Budget, ...], table: HistoryTable, milestone: str
) -> Check:
    key = (*place, "history", "last")
    if table.last < 1:
        words = f"{spot(path, key)}: {_dotted(key)}: {table.last} is not a number of runs"
        raise UserError(words, hint="1 or more")
    allowed = _allowance(path, (*place, "history"), table.max_regression)
    return Check(path, budgets, None, allowed, table.quantities, milestone, table)


def _dotted(place: Place) -> str:
    return ".".join(map(printable, place))


def _budget(path: Path, place: Place, name: str, given: str | Limit) -> Budget:
    limit = given if isinstance(given, Limit) else Limit(limit=given)
    where = f"{spot(path, (*place, name))}: budget '{printable(name)}'"
    try:
        figure_of(limit.of)
    except UserError as error:
        raise UserError(f"{where}: {error.message}", hint=error.hint) from error
    number, unit = _parsed(where, limit.limit)
    if unit == "%":
        raise UserError(f"{where}: a budget is a time, not a part of one", hint="such as 2.5 s or 900 ms")
    return Budget(name, int(number * _UNITS[unit]), limit.of)


def _allowance(path: Path, place: Place, text: str) -> Allowance:
    key = (*place, "max_regression")
    number, unit = _parsed(f"{spot(path, key)}: {_dotted(key)}", text)
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

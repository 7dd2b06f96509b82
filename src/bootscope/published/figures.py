# SPDX-License-Identifier: Apache-2.0
"""Published figures as numbers: values in ns or bytes, and changes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bootscope.techniques.model import Figure

_SCALES = {
    "s": 1e9, "ms": 1e6, "us": 1e3,
    "byte": 1, "KB": 1e3, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1 << 20,
}  # fmt: skip
"""Units, in ns or bytes."""
PERCENT = "percent"
_NUMBER = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_CHANGES = ("_saving", "_change", "_diff", "_penalty")
"""Suffixes of metrics that give a change, not a value."""


@dataclass(frozen=True)
class Published:
    """A figure and its base of comparison, in ns or bytes; `change` is negative for less.

    `base` and `value` are None where only the change was published. `relative` is the change relative to the
    base, None where neither that nor a base was published; `change` is None where only `relative` was.
    """

    base: float | None
    value: float | None
    change: float | None
    relative: float | None


def is_change(figure: Figure) -> bool:
    """Whether the figure is a change, not a value."""
    return figure.metric.endswith(_CHANGES)


def unit(figure: Figure) -> str:
    """The unit of its numbers here: `ns`, `bytes` or `percent`; empty for anything else."""
    if figure.unit == PERCENT:
        return PERCENT
    return "ns" if figure.unit in ("s", "ms", "us") else "bytes" if figure.unit in _SCALES else ""


def amount(text: str, in_unit: str) -> float | None:
    """A number as printed, with its own unit or else `in_unit`, in ns, bytes or percent.

    None for a text that is not a number.
    """
    match = _NUMBER.match(text)
    if not match:
        return None
    scale = _SCALES.get(match[2]) or _SCALES.get(in_unit, 1)
    return float(match[1]) * scale


def published(figure: Figure, base: Figure | None, less: float = 0, alone: float = 0) -> Published | None:
    """A figure compared with that of another row, or with the one printed beside it; `less` (ns) is a part of
    both that is subtracted, `alone` a further part of this figure only.

    None for a figure that does not show a change.
    """
    if is_change(figure):
        change = amount(figure.delta, figure.unit)
        if figure.unit == PERCENT:
            return None if change is None else Published(None, None, None, change / 100)
        before = amount(base.value, base.unit) if base else None
        if change is None or not before:
            return None if change is None else Published(None, None, change, None)
        return Published(before, before + change, change, change / before)
    value = amount(figure.value, figure.unit)
    before = amount(base.value, base.unit) if base else amount(figure.baseline_value, figure.unit)
    if value is None or before is None:
        return None
    value, before = value - less - alone, before - less
    return Published(before, value, value - before, (value - before) / before if before else None)


def counterpart(figure: Figure, others: list[Figure]) -> Figure | None:
    """The figure among those of another row that measures the same thing on the same board.

    For a change, it is the value on the same page that the change is of: "it saves 10 ms on the same board
    and kernel", below a table.
    """
    if is_change(figure):
        page = (figure.seed, figure.board, figure.slide_section)
        values = (f for f in others if not is_change(f) and unit(f) == unit(figure) != PERCENT)
        return next((f for f in values if (f.seed, f.board, f.slide_section) == page), None)
    key = (figure.seed, figure.board, figure.metric)
    return next((f for f in others if (f.seed, f.board, f.metric) == key), None)

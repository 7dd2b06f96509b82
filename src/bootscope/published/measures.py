# SPDX-License-Identifier: Apache-2.0
"""Measures of published tables, taken from a recorded boot."""

from __future__ import annotations

from collections.abc import Callable

from bootscope.analysis.compare import SPLIT
from bootscope.analysis.views import View
from bootscope.core.errors import UserError
from bootscope.loaders.registry import PHASES
from bootscope.published.reproduced import Value
from bootscope.published.tables import END, Measure
from bootscope.timeline.model import Phase

_CPU = "cpu_ns"


def measured(measure: Measure, view: View) -> Value:
    """The value for a boot. Raises UserError when the boot lacks what is to be measured."""
    return _KINDS[measure.kind](measure, view)


def _until(m: Measure, view: View) -> Value:
    names = PHASES if m.until == END else PHASES[: PHASES.index(m.until)]
    if m.until != END and not any(p.name == m.until for p in view.timeline.phases):
        raise UserError(f"the boot has no phase {m.until}")
    return _together(m, view, [p for p in view.timeline.phases if p.name in names])


def _phases(m: Measure, view: View) -> Value:
    # A kernel that is not compressed has no phase for unpacking: that takes no time.
    return _together(m, view, [p for p in view.timeline.phases if p.name in m.phases])


def _together(m: Measure, view: View, phases: list[Phase]) -> Value:
    split = {key: sum(getattr(p, key) for p in phases) for key in SPLIT}
    for name in m.without:
        split[_CPU] -= _cpu_ns(view, name, {p.name for p in phases})
    return Value(sum(split.values()), split)


def _cpu_ns(view: View, function: str, phases: set[str]) -> int:
    """The CPU time of a function itself in some phases."""
    found = [c.ns for c in view.consumers if (c.kind, c.what) == ("cpu", function) and c.phase in phases]
    if not found:
        raise UserError(f"the boot has no CPU time of {function}")
    return sum(found)


def _reading(m: Measure, view: View) -> Value:
    found = [t.cost_ns for t in view.timeline.transfers if t.what == m.reading and not t.write]
    if not found:
        raise UserError(f"the boot does not read {m.reading}")
    return Value(sum(found))


def _function(m: Measure, view: View) -> Value:
    return Value(sum(stack.ns for stack in view.flame if m.function in stack.frames))


def _lines(m: Measure, view: View) -> Value:
    first, then = (text.encode() for text in m.lines)
    lines = iter(view.timeline.lines)
    begin = next((line for line in lines if first in line.data), None)
    end = next((line for line in lines if then in line.data), None)
    if not begin or not end:
        raise UserError(f"the console does not show '{m.lines[0]}' and then '{m.lines[1]}'")
    return Value(end.start_ns - begin.start_ns)


def _parts(m: Measure, view: View) -> Value:
    sizes = {part.name: part.size_bytes for part in view.run.info.parts}
    total = 0
    for names in m.parts:
        size = next((sizes[name] for name in names.split("|") if name in sizes), None)
        if size is None:
            raise UserError(f"there is no {names}")
        total += size
    return Value(total)


_KINDS: dict[str, Callable[[Measure, View], Value]] = {
    "until": _until,
    "phases": _phases,
    "reading": _reading,
    "function": _function,
    "lines": _lines,
    "parts": _parts,
}

# SPDX-License-Identifier: Apache-2.0
"""How well a core's model predicts what it was not fitted to: fitted on some rows of the published tables,
compared with the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from bootscope.cores.profile import Core, load_core
from bootscope.published.decompressors import Measured, Table, ours_ms, told_ms

_MILLICYCLES = range(500, 2501, 10)
CONSTANTS_MS = range(0, 1501, 5)
"""Candidates for the fitted constant."""
Times = dict[str, tuple[float, float]]
"""Row -> our time and the published one, in ms."""

ABOUT = """\
The fit sets the time per instruction and, on the AT91, also the constant. Fitted to half of the rows, a core
predicts the other half; errors are the median deviation of our times from the published ones. For the
BeagleBone, differences from gzip are compared here, so nothing is fitted to what is predicted; lz4 differs
from gzip by only 22 ms, of 1,221.
"""


@dataclass(frozen=True)
class Half:
    """Some rows of a table. `difference`: the row that is subtracted from all others, so that no constant is
    needed; empty where a constant is fitted together with the instruction's time."""

    table: Table
    names: tuple[str, ...]
    difference: str = ""

    @property
    def title(self) -> str:
        """The rows in words."""
        whole = len(self.names) + bool(self.difference) == len(self.table.figures)
        return self.table.title if whole else f"{self.table.title}: {', '.join(self.names)}"


@dataclass(frozen=True)
class Outcome:
    """What a core was fitted to, the result, and the errors of both halves: row -> ratio of our time to the
    published one."""

    fitted: Half
    predicted: Half
    instruction_millicycles: int
    constant_ms: float
    errors: tuple[dict[str, float], dict[str, float]]

    @property
    def medians(self) -> tuple[float, float]:
        """The median error of each half, relative to the published time."""
        fitted, predicted = (median(abs(r - 1) for r in ratios.values()) for ratios in self.errors)
        return fitted, predicted


def with_instruction(core: Core, millicycles: int) -> Core:
    """The core with another time per instruction."""
    figure = msgspec.structs.replace(core.costs.instruction_millicycles, value=millicycles)
    costs = msgspec.structs.replace(core.costs, instruction_millicycles=figure)
    return msgspec.structs.replace(core, costs=costs)


def _times(half: Half, measured: Measured, millicycles: int) -> Times:
    core = with_instruction(load_core(half.table.core), millicycles)
    names = (*half.names, *((half.difference,) if half.difference else ()))
    found = {n: (sum(ours_ms(half.table, n, measured, core)[:2]), told_ms(half.table, n)) for n in names}
    if not half.difference:
        return found
    ours, theirs = found.pop(half.difference)
    return {name: (mine - ours, told - theirs) for name, (mine, told) in found.items()}


def _ratios(times: Times, constant_ms: float) -> dict[str, float]:
    return {name: ours / (theirs - constant_ms) for name, (ours, theirs) in times.items()}


def _misfit(times: Times, constant_ms: float) -> float:
    """The sum of squared logarithms of the ratios; infinite where a sign is wrong."""
    if any(ours * (theirs - constant_ms) <= 0 for ours, theirs in times.values()):
        return math.inf
    return sum(math.log(ratio) ** 2 for ratio in _ratios(times, constant_ms).values())


def fit(times: Callable[[int], Times], constants_ms: Iterable[float]) -> tuple[int, float]:
    """The time per instruction, in thousandths of a cycle, and the constant contained in all published times,
    that fit best; `times` gives both times for a time per instruction."""
    best, constants = (math.inf, 0, 0.0), tuple(constants_ms)
    for millicycles in _MILLICYCLES:
        then = times(millicycles)
        for constant in constants:
            best = min(best, (_misfit(then, constant), millicycles, float(constant)))
    return best[1], best[2]


def constant(half: Half, measured: Measured, millicycles: int) -> float:
    """The constant, in ms, that fits best on a core with that time per instruction."""
    times = _times(half, measured, millicycles)
    return float(min(CONSTANTS_MS, key=lambda each: _misfit(times, each)))


def fitted_to(half: Half, measured: Measured) -> tuple[int, float]:
    """The result of :func:`fit` for some rows."""
    known = half.difference or not half.table.constant_ms
    return fit(lambda n: _times(half, measured, n), (0,) if known else CONSTANTS_MS)


def held_out(fitted: Half, predicted: Half, measured: Measured) -> Outcome:
    """Fits to one half and predicts the other."""
    millicycles, found_ms = fitted_to(fitted, measured)
    errors = tuple(
        _ratios(_times(half, measured, millicycles), found_ms if half.table is fitted.table else 0)
        for half in (fitted, predicted)
    )
    return Outcome(fitted, predicted, millicycles, found_ms, (errors[0], errors[1]))


def outcomes(tables: Sequence[Table], measured: Measured) -> Iterator[Outcome]:
    """Each table from the other one of its core; for a core with one table, each half from the other."""
    am335x, bbb, at91 = tables
    every = tuple(am335x.figures)
    differences = Half(bbb, every[1:], every[0])
    yield held_out(Half(am335x, every), differences, measured)
    yield held_out(differences, Half(am335x, every), measured)
    odd, even = Half(at91, every[::2]), Half(at91, every[1::2])
    yield held_out(odd, even, measured)
    yield held_out(even, odd, measured)

# SPDX-License-Identifier: Apache-2.0
"""How far a core's modelled times are from published ones, by kind of work.

accuracy.json is written by tools/accuracy_figures.py from the comparisons of docs/accuracy.md. The error of a
core or kind of work that is not in it is unknown.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from bootscope.core.settings import Setting

KEPT = Path(__file__).with_name("accuracy.json")
UNPACKING = "unpacking"
SCHEMA = 1


class Compared(Setting, frozen=True):
    """One published time and ours: `error_ppm` is how much longer ours is, in millionths of the published
    one. `fitted`: figures of the core were fitted to this table."""

    core: str
    kind: str
    table: str
    row: str
    published_us: int
    ours_us: int
    error_ppm: int
    memory_ppm: int
    fitted: bool


class Accuracy(Setting, frozen=True):
    """All comparisons, and the method."""

    schema: int
    command: str
    rows: tuple[Compared, ...]


class Validated(Setting, frozen=True):
    """A core's error with a kind of work: the largest and the median, in millionths either way; the number of
    published times, and the number that nothing was fitted to, with the largest error of these."""

    core: str
    kind: str
    worst_ppm: int
    median_ppm: int
    compared: int
    held_out: int
    held_out_worst_ppm: int | None


@cache
def kept() -> Accuracy:
    """All comparisons."""
    return msgspec.json.decode(KEPT.read_bytes(), type=Accuracy)


def validated(core: str, kind: str) -> Validated | None:
    """The error of a core, by its name, with a kind of work; None if that was never compared."""
    found = [row for row in kept().rows if (row.core, row.kind) == (core, kind)]
    if not found:
        return None
    errors = sorted(abs(row.error_ppm) for row in found)
    held_out = [abs(row.error_ppm) for row in found if not row.fitted]
    return Validated(
        core=core,
        kind=kind,
        worst_ppm=errors[-1],
        median_ppm=errors[len(errors) // 2],
        compared=len(errors),
        held_out=len(held_out),
        held_out_worst_ppm=max(held_out, default=None),
    )

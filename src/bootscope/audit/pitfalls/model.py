# SPDX-License-Identifier: Apache-2.0
"""A pitfall: what happens, what to do, and whether a machine can tell that a system is in it."""

from __future__ import annotations

import functools
from enum import StrEnum
from pathlib import Path

from bootscope.core.errors import UserError, unknown
from bootscope.core.settings import Setting, load, names_in

SCHEMA = 1
RECORDS = Path(__file__).parent / "records"
KINDS = (
    "measuring", "method", "order", "bootloader", "falcon", "kernel", "filesystem", "init", "application",
    "licence",
)  # fmt: skip


class How(StrEnum):
    """Who can tell that a system is in a pitfall."""

    CHECKED = "checked"
    ADVICE = "advice"


class Pitfall(Setting, frozen=True):
    """A pitfall. `by`: what the check looks at, or why only a person can tell. `covered_by`: techniques that
    say the same where they apply. `refs`: document:title, as in techniques."""

    title: str
    what: str
    do: str
    kind: str
    how: How
    by: str
    covered_by: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


class _Records(Setting, frozen=True):
    schema: int
    pitfall: dict[str, Pitfall]


@functools.cache
def pitfalls() -> dict[str, Pitfall]:
    """All pitfalls by id, in the order of their kinds, then by id."""
    found: dict[str, Pitfall] = {}
    for name in names_in(RECORDS):
        path = RECORDS / f"{name}.toml"
        records = load(path, _Records)
        if records.schema != SCHEMA:
            raise UserError(f"{path}: schema: expected {SCHEMA}, got {records.schema}")
        found.update(records.pitfall)
    return dict(sorted(found.items(), key=lambda item: (KINDS.index(item[1].kind), item[0])))


def pitfall(name: str) -> Pitfall:
    """The pitfall with that id. Raises UserError when there is none."""
    if name not in pitfalls():
        raise unknown("pitfall", name, list(pitfalls()), "bootscope pitfalls")
    return pitfalls()[name]

# SPDX-License-Identifier: Apache-2.0
"""Whether a published comparison measures the same work as ours: judged from the documents, not from results.

The rule, in this order; the last one that applies counts:

1. `same`: the document says what was changed, how much of it there was, and between which events the time was
   taken. The table changes the same thing in the same software, of any version, on a core modelled on the
   published one.
2. `version`: the changed thing itself has since been rewritten or merged, and is not set back.
3. `replaced`: what determines the difference is another program or device than the published one, or the core
   of the published board is not modelled.
4. `unknown`: the document does not say what determines the difference, such as the content of a script, which
   options were removed, or how many lines were printed. So nobody can repeat the work.

If a document's own figures split a difference, a part determines it if it is at least a quarter of it. A
printed amount that ours does not match is no reason by itself.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from bootscope.core.errors import UserError

FITTED = frozenset({("compression-2014-am335x", "decompress"), ("compression-2014-at91", "decompress")})
"""(table, measure) of the columns to which the time per instruction of a core was fitted (cores.d)."""
FILE = Path(__file__).with_name("work.toml")


class Work(StrEnum):
    """How the work of a published comparison relates to ours."""

    SAME = "same"
    VERSION = "version"
    REPLACED = "replaced"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        """What it is, after `the work is`."""
        return _WORDS[self]


_WORDS = {
    Work.SAME: "the same",
    Work.VERSION: "done by a rewritten version",
    Work.REPLACED: "done by another program or device",
    Work.UNKNOWN: "not described by the document",
}


@dataclass(frozen=True)
class Judged:
    """A class, and the reason for it in one sentence without its period."""

    work: Work
    reason: str


def work_of(table: str, row: str, measure: str) -> Judged | None:
    """The judgement of a comparison; None for one that is not judged, such as that of a size.

    Raises UserError when the file of judgements is damaged.
    """
    return _judgements().get((table, row, measure))


def all_judged() -> list[tuple[str, str, str]]:
    """(table, row, measure) of all judgements."""
    return list(_judgements())


@cache
def _judgements() -> dict[tuple[str, str, str], Judged]:
    return judgements(FILE.read_text())


def judgements(text: str) -> dict[tuple[str, str, str], Judged]:
    """(table, row, measure) -> what a file like work.toml says. Raises UserError for a damaged one."""
    try:
        return {
            (table, *_parted(key)): Judged(Work(work), reason)
            for table, entries in tomllib.loads(text).items()
            for key, (work, reason) in entries.items()
        }
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise UserError(f"{FILE.name}: {error}") from error


def _parted(key: str) -> tuple[str, str]:
    row, measure = key.split(" ")
    return row, measure

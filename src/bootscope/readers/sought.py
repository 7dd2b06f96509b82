# SPDX-License-Identifier: Apache-2.0
"""Texts that milestones are found by: which of them no line has, and which lines are like them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from bootscope.core.errors import printable
from bootscope.readers.base import Log
from bootscope.readers.markers import split_line

_MOST_LINES = 50_000
_LIKE, _NEAR = 0.4, 0.15
"""Which share of a text's letters in threes a line must have, and how near to the likest line it must be."""
_SHOWN = 3
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Missing:
    """The text of milestone `name` is in no line of the boots `boots` (from 1) of `of`.

    `similar` are lines that are like it, the likest first, without stamps; untrusted.
    """

    name: str
    text: str
    boots: tuple[int, ...]
    of: int
    similar: tuple[str, ...] = ()

    @property
    def everywhere(self) -> bool:
        """Whether no boot has it."""
        return len(self.boots) == self.of

    @property
    def shown(self) -> str:
        """Its text, for people."""
        return printable(self.text)

    @property
    def words(self) -> str:
        """What is wrong with the milestone, for people."""
        if self.everywhere:
            return f"milestone {printable(self.name)}: no line has '{self.shown}'"
        without = ", ".join(str(n) for n in self.boots[:10]) + (", ..." if len(self.boots) > 10 else "")
        return (
            f"milestone {printable(self.name)}: no line of boot {without} (of {self.of}) has '{self.shown}'"
        )

    @property
    def hint(self) -> str:
        """Which lines may have been meant."""
        lines = " | ".join(printable(line) for line in self.similar)
        return f"lines like it: {lines}" if lines else "no line is like it"


def missing(milestones: Mapping[str, str], boots: Sequence[Sequence[Log]]) -> list[Missing]:
    """The milestones whose text some boot has no line with; `boots` are the logs of each boot."""
    found = []
    for name, text in milestones.items():
        lacking = [n for n, logs in enumerate(boots, 1) if not any(_has(log, text) for log in logs)]
        if lacking:
            similar = tuple(_similar(text, boots[lacking[0] - 1]))
            found.append(Missing(name, text, tuple(lacking), len(boots), similar))
    return found


def _has(log: Log, text: str) -> bool:
    return next(log.lines_with(text.encode()), None) is not None


def _similar(text: str, logs: Iterable[Log]) -> Iterator[str]:
    wanted = _threes(text)
    lines = dict.fromkeys(
        split_line(line)[1][:_LONGEST] for log in logs for _, line in islice(log, _MOST_LINES)
    )
    scored = ((len(wanted & _threes(line)) / max(1, len(wanted)), line) for line in lines)
    best = heapq.nlargest(_SHOWN, scored, key=lambda item: item[0])
    for score, line in best:
        if score >= max(_LIKE, best[0][0] - _NEAR):
            yield line


def _threes(text: str) -> set[str]:
    """All sequences of three letters, whatever their case."""
    lower = text.lower()
    return {lower[at : at + 3] for at in range(max(1, len(lower) - 2))}

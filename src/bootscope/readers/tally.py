# SPDX-License-Identifier: Apache-2.0
"""Counting what was understood of a file, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from bootscope.readers.base import Boot, FormatError, Miss, Reading, Repair, Source
from bootscope.readers.lines import Lines, split

_SAMPLE_LINES = 200
MAX_BOOTS = 1_000
"""Boots that one file may hold; what lies behind the last is read as a part of it."""


class Tally:
    """Collects the figures of a :class:`Reading`, so that every line ends up in exactly one of them."""

    def __init__(self) -> None:
        self.understood = 0
        self.empty = 0
        self.missed: list[Miss] = []
        self.questions: list[str] = []
        self._repairs: dict[str, list[int]] = {}

    def line(self, number: int, text: str, understood: bool) -> None:
        """Counts a line (number from 1); one that was not understood is kept unless it is empty."""
        if understood:
            self.understood += 1
        elif text.strip():
            self.miss(number, text)
        else:
            self.empty += 1

    def lines(
        self, source: Source, reader: str, what: str, take: Callable[[int, str], bool], *, once: bool = True
    ) -> list[Repair]:
        """Hands every line of a source, with its number from 1, to `take`, and counts those it understood.

        Returns what :func:`split` repaired (which sees to `once`). Raises FormatError when no line was
        understood; `what` says what the file should have been.
        """
        lines = split(source.data, once=once)
        for number, text in enumerate(lines, 1):
            self.line(number, text, take(number, text))
        self.require(source, reader, lines, what)
        return lines.repairs

    def miss(self, line: int, text: str) -> None:
        """Keeps a line (number from 1) that was not understood."""
        self.missed.append(Miss(line, text))

    def repair(self, what: str, line: int, count: int = 1) -> None:
        """Counts a repair of the kind `what`, first met in `line`."""
        known = self._repairs.setdefault(what, [0, line])
        known[0] += count

    def ask(self, question: str) -> None:
        """Adds a question, once."""
        if question not in self.questions:
            self.questions.append(question)

    def reading(self, boots: list[Boot], before: list[Repair] | None = None) -> Reading:
        """The reading with all that was counted; `before` are repairs made while the lines were cut."""
        repairs = [Repair(what, count, line) for what, (count, line) in self._repairs.items()]
        return Reading(
            boots=boots,
            lines_total=self.understood + len(self.missed) + self.empty,
            lines_understood=self.understood,
            lines_empty=self.empty,
            missed=self.missed,
            repairs=[*(before or []), *repairs],
            questions=self.questions,
        )

    def require(self, source: Source, reader: str, lines: Lines, what: str) -> None:
        """Raises FormatError, naming the first line that does not fit, when nothing was understood."""
        if self.understood:
            return
        if self.missed:
            raise FormatError(source.name, reader, self.missed[0].line, f"it is not {what}")
        raise FormatError(source.name, reader, 1, f"the file has no {what}" if len(lines) else "it is empty")


def sample(source: Source) -> list[bytes]:
    """The first lines of a source that are not empty, for recognising a format; without a broken last."""
    lines = source.head.split(b"\n")
    if len(source.data) > len(source.head):
        lines = lines[:-1]
    return [line.rstrip(b"\r")[:4096] for line in lines if line.strip()][:_SAMPLE_LINES]


def share(lines: list[bytes], pattern: re.Pattern[bytes]) -> int:
    """How many of a hundred of `lines` begin with `pattern`; 0 for no lines."""
    if not lines:
        return 0
    return 100 * sum(1 for line in lines if pattern.match(line)) // len(lines)


class OneBoot(Protocol):
    """What a reader makes of the lines of a file that holds one boot or one run of a program."""

    def take(self, number: int, line: str) -> bool:
        """The next line, with its number from 1; whether it was understood."""

    def finish(self) -> Boot:
        """What all lines come to."""


def read_one(source: Source, reader: str, what: str, start: Callable[[Tally], OneBoot]) -> Reading:
    """Reads a file line by line, as :meth:`Tally.lines` does, into what `start` makes for a tally."""
    tally = Tally()
    file = start(tally)
    repairs = tally.lines(source, reader, what, file.take)
    return tally.reading([file.finish()], repairs)

# SPDX-License-Identifier: Apache-2.0
"""Which printk call wrote which console line.

The hook sees the format of every message, the console its text, both in the same order; some messages produce
no line of their own and some several. So the two lists are aligned: the matching pairs, in order, with the
most fixed text in common.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# A conversion of the kernel's printf; pointers have letters of their own (%pa, %pOF, %pI4).
_CONVERSION = re.compile(r"%[-+ #0]*\*?\d*(?:\.(?:\d+|\*))?(?:p[A-Za-z0-9]*|(?:hh|h|ll|l|L|z|t|j)?[A-Za-z%])")
BAND = 600
"""How many messages without a line, or lines without a message, may lie in between."""
_SKIP_LINE, _SKIP_MESSAGE, _PAIR = 0, 1, 2


class Format:
    """A parsed format: its `fixed` parts in order, and whether the line must begin with the first."""

    __slots__ = ("anchored", "empty", "fixed", "weight")

    def __init__(self, text: str) -> None:
        text = text.partition("\n")[0]
        parts = _CONVERSION.split(text)
        self.empty = not text
        self.anchored = bool(parts[0])
        self.fixed = [part for part in parts if part]
        if self.fixed:
            self.fixed[-1] = self.fixed[-1].rstrip()
        self.weight = 1 + sum(map(len, self.fixed))

    def fits(self, body: str) -> bool:
        """Whether a printed line may come from this format."""
        fixed = self.fixed
        if self.empty:
            return not body
        if self.anchored and not body.startswith(fixed[0]):
            return False
        at = 0
        for part in fixed:
            at = body.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return True


def align(bodies: Sequence[str], formats: Sequence[str]) -> dict[int, int]:
    """Number of a line -> number of the message that it came from, as far as known.

    Time and memory grow with the number of lines times BAND.
    """
    known: dict[str, Format] = {}
    parsed = [known.setdefault(text, Format(text)) for text in formats]
    width = 2 * BAND + 1
    before = [0] * (width + 2)
    choices: list[bytearray] = []
    offset = 0
    offsets: list[int] = []
    for number, body in enumerate(bodies):
        offset = max(0, min(number * len(formats) // max(1, len(bodies)), len(formats)) - BAND)
        moved = offset - (offsets[-1] if offsets else 0)
        before = before[moved:] + [before[-1]] * moved
        now, choice = _row(body, parsed, offset, width, before)
        offsets.append(offset)
        choices.append(choice)
        before = now
    return _trace_back(choices, offsets, len(formats))


def _row(
    body: str, parsed: list[Format], offset: int, width: int, before: list[int]
) -> tuple[list[int], bytearray]:
    """One line against the messages of the band: the best sums, and the choice for each."""
    now = [before[0]] * (width + 2)
    choice = bytearray(width + 2)
    for k in range(1, width + 1):
        best, what = before[k], _SKIP_LINE
        if now[k - 1] > best:
            best, what = now[k - 1], _SKIP_MESSAGE
        index = offset + k - 1
        if index < len(parsed) and before[k - 1] + parsed[index].weight > best and parsed[index].fits(body):
            best, what = before[k - 1] + parsed[index].weight, _PAIR
        now[k], choice[k] = best, what
    now[width + 1] = now[width]
    return now, choice


def _trace_back(choices: list[bytearray], offsets: list[int], count: int) -> dict[int, int]:
    found: dict[int, int] = {}
    line, message = len(choices) - 1, count
    while line >= 0:
        k = message - offsets[line]
        if k <= 0:
            line -= 1
            continue
        if k >= len(choices[line]) - 1:
            message = offsets[line] + len(choices[line]) - 2
            continue
        what = choices[line][k]
        if what == _PAIR:
            found[line] = message - 1
            line, message = line - 1, message - 1
        elif what == _SKIP_MESSAGE:
            message -= 1
        else:
            line -= 1
    return found

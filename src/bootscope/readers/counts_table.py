# SPDX-License-Identifier: Apache-2.0
"""The summary tables of `strace -c` and `ltrace -c`: a head, a rule of dashes, rows, a rule, a total."""

from __future__ import annotations

import re

from bootscope.readers.timespan import decimal_ns, whole
from bootscope.timeline.trace import Table

RULE = re.compile(r"-{6}[- ]*")
_HEAD = re.compile(r"\s*(?:% time|syscall\b|function\b|calls\b|seconds\b|errors\b|usecs/call\b)")
_S_NS, _US_NS = 1_000_000_000, 1_000
# Columns of times: what they are called here, and their unit.
_TIMES = {name: (f"{name} ns", _S_NS) for name in ("longest", "shortest", "max-time", "min-time")}
_TIMES |= {name: ("time ns", _S_NS) for name in ("seconds", "total-time")}
_TIMES |= {name: ("per call ns", _US_NS) for name in ("usecs/call", "avg-time")}
_WORD = re.compile(r"% time|\S+")


def is_head(line: str) -> bool:
    """Whether `line` names the columns of such a table."""
    return len(line) < 300 and bool(_HEAD.match(line)) and ("syscall" in line or "function" in line)


class CountsTable:
    """Takes the lines of one table, from the one after its head."""

    def __init__(self, head: str, title: str) -> None:
        self._names = _WORD.findall(head)
        self._title = title
        self._cuts: list[tuple[int, int]] = []
        self._rules = 0
        self._rows: list[tuple[str | int | None, ...]] = []
        self.done = False

    def take(self, line: str) -> bool:
        """Reads a line; False when it does not belong to the table."""
        if RULE.fullmatch(line):
            cuts = [m.span() for m in re.finditer("-+", line)]
            if len(cuts) != len(self._names):
                return False
            self._rules += 1
            self._cuts = cuts
            return True
        cells = self._cells(line) if self._rules else None
        if cells is None:
            return False
        if self._rules == 1:
            self._rows.append(cells)
        else:
            self.done = True
        return True

    def table(self) -> Table:
        """What was read; times in ns."""
        columns = tuple(_TIMES[name][0] if name in _TIMES else name for name in self._names)
        return Table(self._title, columns, tuple(self._rows))

    def _cells(self, line: str) -> tuple[str | int | None, ...] | None:
        words = self._cut(line) or self._split(line)
        if words is None:
            return None
        values = [_value(name, word) for name, word in zip(self._names, words, strict=True)]
        return None if any(v is None and w for v, w in zip(values, words, strict=True)) else tuple(values)

    def _cut(self, line: str) -> list[str] | None:
        """By column, as long as no figure is wider than its column."""
        if any(line[end : end + 1].strip() for _, end in self._cuts[:-1]):
            return None
        ends = [*self._cuts[1:], (len(line) + 1, 0)]
        words = [
            line[start : after - 1].strip() for (start, _), (after, _) in zip(self._cuts, ends, strict=True)
        ]
        return words if all(len(word.split()) < 2 for word in words[:-1]) else None

    def _split(self, line: str) -> list[str] | None:
        """By words: only the number of errors may be left out."""
        words = line.split()
        if len(words) == len(self._names) - 1 and "errors" in self._names:
            words.insert(self._names.index("errors"), "")
        return words if len(words) == len(self._names) else None


def _value(name: str, word: str) -> str | int | None:
    if name in _TIMES:
        return decimal_ns(word, _TIMES[name][1])
    if name in ("calls", "errors"):
        return whole(word, 19)
    return word

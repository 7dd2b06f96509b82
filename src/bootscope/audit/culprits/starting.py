# SPDX-License-Identifier: Apache-2.0
"""Which of systemd's units were starting at a line of a console: begun, and not yet reported as started."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bootscope.core.text import cut
from bootscope.inventory.bootlog import LogLine

_SYSTEMD = re.compile(r"systemd\[1\]: |^\[ {0,2}OK {0,2}\] (?:Reached|Started|Finished|Mounted|Created)")
_BEGINS = re.compile(r"(?:^|\s|\]: )(?:Starting|Mounting|Activating swap) (\S.{1,100}?)\.\.\.")
_ENDS = re.compile(
    r"(?:Started|Finished|Mounted|Activated swap|Failed to (?:start|mount)|Stopped|Skipped)"
    r" (\S.{1,100}?)\.? *$"
)
_EXPECTED = re.compile(r"(?:^|\s|\]: )Expecting device (\S.{1,100}?)\.\.\.")
_MISSING = re.compile(r"Timed out waiting for device (\S.{1,100}?)\.? *$")
_SLOW = re.compile(r"Rebuild|Generat|Docker|Container|Wait|Check|Expand|Grow|Resiz|hwdb")
_NAMED, _LONGEST = 3, 40
"""Units that are named, and characters of each name."""
_FAR = 150
"""Lines: if a unit began further back, the report of its end is taken for lost."""


class Starting:
    """The units of a log, by the lines that report their start and end."""

    def __init__(self, lines: Sequence[LogLine]) -> None:
        self._units: list[tuple[int, int, str]] = []
        texts = [line.text[:400].strip() for line in lines]
        first = next((index for index, text in enumerate(texts) if _SYSTEMD.search(text)), len(texts))
        begun: dict[str, int] = {}
        # Boot loaders use the same word for starting a kernel.
        for index, text in enumerate(texts[first:], first):
            if (started := _BEGINS.search(text)) and "[" not in started[1]:
                begun[_plain(started[1])] = index
            elif (ended := _ENDS.search(text)) and (name := _plain(ended[1])) in begun:
                self._units.append((begun.pop(name), index, name))
        self.through = (*self._units, *_missing(texts))
        """(first line, last line, name in words) of units whose start and end are both reported; and of
        devices that systemd waited for until the time-out."""
        self._units += [(at, min(len(texts), at + _FAR), name) for name, at in begun.items()]

    def during(self, first: int, last: int) -> tuple[str, ...]:
        """The units that were starting before line `first` and had started before line `last`: known slow
        ones first, then by their beginning. Then those that had not started by then, the latest first."""
        through = [u for u in self._units if u[0] <= first < u[1] < last]
        through.sort(key=lambda unit: (not _SLOW.search(unit[2]), unit))
        not_yet = sorted((u for u in self._units if u[0] < last <= u[1]), reverse=True)
        return tuple(dict.fromkeys(name for _, _, name in (*through, *not_yet)))[:_NAMED]


def _missing(texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    begun: dict[str, int] = {}
    for index, text in enumerate(texts):
        if expected := _EXPECTED.search(text):
            begun[_plain(expected[1])] = index
        elif (missing := _MISSING.search(text)) and (name := _plain(missing[1])) in begun:
            yield begun.pop(name), index, name


def _plain(name: str) -> str:
    """A unit in words: newer versions of systemd write its file name first."""
    return cut(name.partition(" - ")[2] or name, _LONGEST)

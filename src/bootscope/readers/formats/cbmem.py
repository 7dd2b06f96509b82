# SPDX-License-Identifier: Apache-2.0
"""coreboot's time stamps, as `cbmem -t`, `-T` and `-S` print them."""

from __future__ import annotations

import re

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.marks import place_marks
from bootscope.readers.tally import Tally, read_one, sample, share
from bootscope.timeline.trace import Stack

NAME = "cbmem"
_GROUPED = r"\d{1,3}(?:,\d{3}){0,5}"
_ENTRY = re.compile(rf" {{0,3}}(\d{{1,10}}):(\S.{{0,80}}?) {{0,50}}({_GROUPED})(?: \(({_GROUPED})\))?\s*")
# The first cbmem, of 2012, knew no names.
_NAMELESS = re.compile(rf" {{0,3}}(\d{{1,10}}):({_GROUPED})(?: \({_GROUPED}\))?\s*")
_TABBED = re.compile(r"(\d{1,10})\t(\d{1,15})\t(\d{1,15})\t(\S.{0,120})")
_RANGE = re.compile(r"TS_\w{1,60}(?: -> \w{1,60})?")
_AROUND = re.compile(rf"\d{{1,6}} entries total:|Total Time: {_GROUPED}")
_FITS = re.compile(
    rb" {0,3}\d{1,10}:\S.{0,80}[\d)]|\d{1,10}\t\d{1,15}\t\d{1,15}\t\S|TS_\w+(?: -> |;| \d)"
    rb"|\d{1,6} entries total:|Total Time: "
)
_TELLS = re.compile(rb"^(?:\d{1,6} entries total:\r?$|\d{1,10}\t\d{1,15}\t\d{1,15}\t\S|TS_\w+ -> )", re.M)


class _Stamps:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._marks: list[tuple[int, str]] = []
        self._stacks: dict[tuple[str, ...], int] = {}

    def take(self, number: int, line: str) -> bool:
        return len(line) < 400 and (self._mark(line) or bool(_AROUND.fullmatch(line.strip())))

    def _mark(self, line: str) -> bool:
        nameless, entry, tabbed = (form.fullmatch(line) for form in (_NAMELESS, _ENTRY, _TABBED))
        if nameless:
            self._marks.append((int(nameless[2].replace(",", "")) * 1_000, f"id {nameless[1]}"))
        elif entry:
            self._marks.append((int(entry[3].replace(",", "")) * 1_000, entry[2]))
        elif tabbed:
            self._marks.append((int(tabbed[2]) * 1_000, tabbed[4]))
        return bool(nameless or entry or tabbed) or self._stack(line)

    def _stack(self, line: str) -> bool:
        head, _, us = line.rstrip().rpartition(" ")
        path = tuple(name for name in head.split(";") if name)
        if not path or not (us.isascii() and us.isdigit() and len(us) < 16):
            return False
        if not all(_RANGE.fullmatch(name) for name in path):
            return False
        self._stacks[path] = self._stacks.get(path, 0) + int(us) * 1_000
        return True

    def finish(self) -> Boot:
        zero = "the counter's zero; coreboot's first stamp is the one called '1st timestamp'"
        clock = Clock("counter", zero, 1_000) if self._marks else Clock("none", "durations only", 1_000)
        boot = Boot(clock, facts={"tool": NAME, "firmware": "coreboot"})
        place_marks(boot, self._marks, "coreboot", "coreboot's stages", self._tally)
        boot.stacks = self._own_times()
        return boot

    def _own_times(self) -> list[Stack]:
        """cbmem gives each path all its time; a stack's time is what none inside it has."""
        own = dict(self._stacks)
        for path, ns in self._stacks.items():
            if path[:-1] in own:
                own[path[:-1]] = max(0, own[path[:-1]] - ns)
        return [Stack(path, ns) for path, ns in own.items() if path]


def _sure(source: Source) -> int:
    if not _TELLS.search(source.head):
        return 0
    return share(sample(source), _FITS) * 96 // 100


def _read(source: Source, _options: Options) -> Reading:
    return read_one(source, NAME, "output of cbmem -t", _Stamps)


READERS = (Reader(NAME, "time stamps of coreboot", "cbmem -t", _sure, _read),)

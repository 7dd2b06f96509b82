# SPDX-License-Identifier: Apache-2.0
"""The stages of a boot before Linux, in the order in which a console shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.loaders.console import WHICH, banner_of
from bootscope.loaders.model import Banner
from bootscope.readers.base import Log
from bootscope.readers.markers import split_line

MOST_LINES = 20_000
"""Of a log that are looked at: no chain says more before Linux."""


@dataclass(frozen=True, slots=True)
class StageLine:
    """The line with which a stage begins: its place, stamp and text (untrusted).

    `name`: the stage; the second of one name in a boot is called `spl-2`.
    """

    index: int
    at_ns: int
    name: str
    text: str


_STAGE = re.compile(WHICH)


def stage_lines(log: Log, end: int) -> list[StageLine]:
    """The beginnings of the stages in lines before `end`. What one stage says again is its own."""
    found: list[tuple[int, Banner]] = []
    for index in range(min(end, MOST_LINES, len(log))):
        match = _STAGE.match(split_line(log.text(index))[1])
        if match is None:
            continue
        stage = banner_of(match)
        if len(found) > 1 and _ran_inside(found[-1][1], found[-2][1], stage):
            found.pop()
        if not found or found[-1][1].milestone != stage.milestone:
            found.append((index, stage))
    return list(_named(log, found))


def _ran_inside(last: Banner, before: Banner, stage: Banner) -> bool:
    """Whether the last program ran inside the one before, which speaks again: a maker's code for the memory
    in coreboot's romstage says the words of the first loader that it was taken from."""
    return before.milestone == stage.milestone != last.milestone and last.order <= stage.order


def _named(log: Log, found: list[tuple[int, Banner]]) -> Iterator[StageLine]:
    count: Counter[str] = Counter()
    for index, stage in found:
        count[stage.milestone] += 1
        number = count[stage.milestone]
        name = stage.milestone if number == 1 else f"{stage.milestone}-{number}"
        yield StageLine(index, log.at_ns[index], name, log.text(index))

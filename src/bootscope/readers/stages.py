# SPDX-License-Identifier: Apache-2.0
"""The stages of a boot before Linux, in the order in which a console shows them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from bootscope.loaders.console import WHICH, banner_of
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
    found: list[StageLine] = []
    count: Counter[str] = Counter()
    last = ""
    for index in range(min(end, MOST_LINES, len(log))):
        text = log.text(index)
        match = _STAGE.match(split_line(text)[1])
        if match is None or banner_of(match).milestone == last:
            continue
        last = banner_of(match).milestone
        count[last] += 1
        name = last if count[last] == 1 else f"{last}-{count[last]}"
        found.append(StageLine(index, log.at_ns[index], name, text))
    return found

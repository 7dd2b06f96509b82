# SPDX-License-Identifier: Apache-2.0
"""The stages of a boot before Linux, in the order in which a console shows them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from bootscope.loaders.console import BANNERS
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


@cache
def _any() -> re.Pattern[str]:
    return re.compile("|".join(f"({banner.pattern})" for banner in BANNERS))


def banner_of(words: str) -> Banner | None:
    """The banner that a line without stamps begins with."""
    match = _any().match(words)
    return BANNERS[(match.lastindex or 1) - 1] if match else None


def stage_lines(log: Log, end: int) -> list[StageLine]:
    """The beginnings of the stages in lines before `end`. What one stage says again is its own."""
    found: list[StageLine] = []
    count: Counter[str] = Counter()
    last = ""
    for index in range(min(end, MOST_LINES, len(log))):
        text = log.text(index)
        banner = banner_of(split_line(text)[1])
        if banner is None or banner.milestone == last:
            continue
        last = banner.milestone
        count[last] += 1
        name = last if count[last] == 1 else f"{last}-{count[last]}"
        found.append(StageLine(index, log.at_ns[index], name, text))
    return found

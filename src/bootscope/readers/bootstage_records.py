# SPDX-License-Identifier: Apache-2.0
"""U-Boot's bootstage records, however they came, as one boot."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.readers.base import Boot, Clock, Options
from bootscope.readers.marks import place_marks
from bootscope.readers.tally import Tally
from bootscope.timeline.trace import Table

WRAP_US = 1 << 32
"""A record's time is a word of 32 bits in the device tree, and on 32-bit boards everywhere: it starts
anew after 71.6 minutes."""
_LARGEST_US = 1 << 52


@dataclass(frozen=True, slots=True)
class Record:
    """A mark (`time_us` since the timer's zero), or with `summed` a time that was added up."""

    name: str
    time_us: int
    summed: bool = False


def boot_of(records: list[Record], tally: Tally, options: Options) -> Boot:
    """One boot of `records` in the order in which U-Boot made them."""
    counter = options.values.get("counter_id", "")
    zero = "the zero of U-Boot's timer; its record 'reset' is set to it and is not the power-on"
    boot = Boot(Clock("counter", zero, 1_000, counter_id=counter), facts={"tool": "U-Boot bootstage"})
    if not counter:
        tally.ask(
            "which counter U-Boot's timer is: counter_id=arm-generic if it is ARM's generic counter "
            "(all 64-bit boards), so that TF-A's stamps are on the same clock"
        )
    marks = _unwrapped([r for r in records if not r.summed], tally)
    place_marks(boot, marks, "bootstage", "U-Boot's stages")
    summed = tuple((r.name, min(r.time_us, _LARGEST_US) * 1_000) for r in records if r.summed)
    if summed:
        boot.tables.append(Table("accumulated time", ("what", "time ns"), summed))
    return boot


def _unwrapped(marks: list[Record], tally: Tally) -> list[tuple[int, str]]:
    placed: list[tuple[int, str]] = []
    last_us = turns_us = 0
    for number, record in enumerate(marks, 1):
        time_us = min(record.time_us, _LARGEST_US)
        if time_us + turns_us < last_us - WRAP_US // 2 and time_us < WRAP_US and turns_us < _LARGEST_US:
            turns_us += WRAP_US
            tally.repair("the 32-bit timer wrapped after 71.6 minutes", number)
        elif time_us + turns_us < last_us:
            tally.repair("the clock went back", number)
        last_us = time_us + turns_us
        placed.append((last_us * 1_000, record.name))
    return placed

# SPDX-License-Identifier: Apache-2.0
"""The subject of a picture: boots as traces, with what the trace lacks, and the runs that they belong to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bootscope.analysis.rows import Rows
from bootscope.analysis.samples import SampleSet
from bootscope.core.errors import UserError
from bootscope.core.text import seconds
from bootscope.export.text import plain
from bootscope.timeline.trace import Trace

Tables = Callable[[str], tuple[Rows, ...]]
"""Makes the tables of a view of `bootscope show`. Raises UserError if a boot has no data for it."""


@dataclass(frozen=True)
class Boot:
    """A boot: its id, its title in a picture, its trace, and `tables`, which makes the tables of a view of
    `bootscope show`. `until` is the milestone that it was for, `failure` why it did not reach it, `recorded`
    whether by the emulator; `boots` are those of its run if there are several and they vary."""

    boot_id: str
    title: str
    trace: Trace
    tables: Tables
    until: str = ""
    failure: str = ""
    recorded: bool = False
    created: str = ""
    boots: SampleSet | None = None
    measured: bool = False
    """Whether it is a boot of a real board."""

    @property
    def name(self) -> str:
        """Its name beside other boots: its run, with the boot's number unless that is the first."""
        return plain(self.boot_id.removesuffix("/001") or self.title)

    @property
    def _end(self) -> tuple[str, int] | None:
        """The milestone that ends it, as in `show`: the one that it was for, or, without phases, the last
        one."""
        known = self.trace.known_milestones()
        if self.until in known:
            return self.until, known[self.until]
        if known and not self.trace.spans("phase"):
            return list(known.items())[-1]
        return next(((name, ns) for name, ns in known.items() if ns == self.trace.total_ns), None)

    @property
    def end_ns(self) -> int | None:
        """When the boot reached its end; None if its log has no clock."""
        if not self.trace.timed:
            return None
        return self._end[1] if self._end else self.trace.total_ns

    @property
    def known_ns(self) -> int | None:
        """:attr:`end_ns` if it is known exactly, not as a bound."""
        asked_for = self._end and (self._end[0] == self.until or not self.trace.spans("phase"))
        return self.end_ns if asked_for else self.trace.known_total_ns

    @property
    def took(self) -> str:
        """How long it took, in words: `10.652 s`, `≥ 3.200 s`, `no clock`."""
        if self.end_ns is None:
            return "no clock"
        return f"{'' if self.known_ns is not None else '≥ '}{seconds(self.end_ns)} s"

    @property
    def reached(self) -> str:
        """The milestone at the end; empty if there is none."""
        return plain(self._end[0], 60) if self._end else ""

    @property
    def headline(self) -> str:
        """The title of a picture: `stock on cubieboard: 10.652 s to first-frame`."""
        if self.failure:
            return f"{plain(self.title, 80)}: not complete after {self.took}"
        to = f" to {self.reached}" if self.reached else ""
        return f"{plain(self.title, 80)}: {self.took}{to}"

    @property
    def facts(self) -> list[str]:
        """Which boot it is and by which clock, in words."""
        count = f", one of {len(self.boots.boots)} boots" if self.boots else ""
        first = " · ".join(part for part in (plain(self.boot_id), plain(self.created[:10])) if part) + count
        failed = [f"It did not come to its end: {plain(self.failure, 160)}"] if self.failure else []
        return [part for part in (first, *failed) if part]

    @property
    def clock(self) -> str:
        """The clock of its times, in words."""
        return f"clock: {plain(self.trace.clock, 200)}"


@dataclass(frozen=True, eq=False)
class Subject:
    """The boots of a picture, in the order in which they were named. (Compared by identity, so that results
    about one can be cached.)"""

    boots: Sequence[Boot]

    def one(self, view: str) -> Boot:
        """The boot for a view that shows only one. Raises UserError if there are more."""
        if len(self.boots) > 1:
            raise UserError(
                f"--view {view} draws one boot, and {len(self.boots)} are named",
                hint="name one, or leave out --view for a comparison",
            )
        return self.boots[0]


_DATED = re.compile(r"^[0-9]{8}-[0-9]{6}-(?=.)")


def names_of(boots: Sequence[Boot]) -> list[str]:
    """The names of boots beside each other: their runs without date and time, if these are distinct."""
    short = [_DATED.sub("", boot.name) for boot in boots]
    return short if len(set(short)) == len(short) else [boot.name for boot in boots]

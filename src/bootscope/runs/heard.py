# SPDX-License-Identifier: Apache-2.0
"""Runs that the emulator did not record: boots of a real board, and imports."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from bootscope.analysis.ground import FIRST_LINE
from bootscope.analysis.samples import BootTimes, SampleSet, of_trace, of_traces, step_of
from bootscope.boards.pins import edge_names
from bootscope.capture.imported import IMPORT, read_import
from bootscope.capture.measured import MEASURED as DESCRIPTION
from bootscope.capture.record import write_json
from bootscope.capture.store import Store
from bootscope.capture.stored import MeasuredRun
from bootscope.core.errors import UserError
from bootscope.importing.files import Understood, of_boot, of_run
from bootscope.readers.base import Log
from bootscope.readers.markers import MARKERS
from bootscope.readers.sought import missing
from bootscope.runs.headline import Reached, reached, until_of
from bootscope.timeline.trace import Trace

MEASURED = "measured"


@dataclass(frozen=True)
class SeenBoot:
    """Boot `number` (from 1) of `boots`; `index` is its number in what was understood. `how` it was obtained,
    in a word; `message` says how it ended, if that is known."""

    run_id: str
    number: int
    boots: int
    how: str
    understood: Understood
    index: int
    message: str = ""
    until: str = ""
    """The milestone that ended it; empty if none did, or it is unknown which."""

    @property
    def boot_id(self) -> str:
        """The name of the boot on the command line."""
        return f"{self.run_id}/{self.number:03}"

    def reached(self, trace: Trace) -> Reached | None:
        """When the boot reached the milestone that it was for, by its own trace."""
        return reached(trace, self.until) if self.until else None

    def trace(self, *, lines: bool = True) -> Trace:
        """The boot as a trace; without `lines` it has no points for console lines."""
        found = self.understood.trace(self.index, lines=lines)
        # An import's files have meaningful names; a capture's are always the same.
        return replace(found, title=self.boot_id) if self.how == MEASURED else found


class Measured:
    """A run of a real board."""

    exact = False

    def __init__(self, stored: MeasuredRun) -> None:
        self.stored = stored
        self.run_id = stored.path.name

    def boot(self, number: int | None) -> SeenBoot:
        """Boot `number`, by default the first one that completed."""
        boots = {boot.info.number: boot.info for boot in self.stored.boots}
        good = next((info.number for info in boots.values() if info.complete), 1)
        chosen = _checked(self.run_id, number or good, len(boots))
        found, info = of_boot(self.stored, chosen), boots[chosen]
        until = until_of(self.stored.info) if info.complete else ""
        return SeenBoot(self.run_id, chosen, len(boots), MEASURED, found, 1, info.message, until)

    def times(self) -> SampleSet:
        """The boots; failed ones have the reason."""
        info = self.stored.info
        good = [boot.info.number for boot in self.stored.boots if boot.info.complete]
        understood = {number: of_boot(self.stored, number) for number in good}
        traces = {number: found.trace(1, lines=False) for number, found in understood.items()}
        # A boot may also end at a text or a silence, which is no milestone of its trace.
        until = info.until if any(info.until in trace.milestones() for trace in traces.values()) else ""
        seen = [
            _with_zero(of_trace(boot.info.boot_id, traces[n], until), traces[n], understood[n])
            if (n := boot.info.number) in traces
            else BootTimes(boot.info.boot_id, {}, False, f"{boot.info.ended}: {boot.info.message}")
            for boot in self.stored.boots
        ]
        facts = {"board": info.board.name, "power": info.power}
        facts |= {"techniques": ", ".join(info.techniques)} if info.techniques else {}
        pins = edge_names(info.board.pins) if info.board.pins else {}
        names = {until, *(m.name for m in MARKERS), *info.board.milestones, *info.milestones, *pins}
        step_ns = step_of(traces.values())
        # Phases are derived from the data, so any name may be one.
        return SampleSet(info.run_id, tuple(seen), False, until, step_ns, facts, possible=frozenset(names))

    def logs(self) -> list[list[Log]]:
        """The logs of each boot, in all files that saw it."""
        return [of_boot(self.stored, boot.info.number).logs()[0] for boot in self.stored.boots]

    def add_milestones(self, milestones: dict[str, str]) -> None:
        """Stores texts as milestones; the captures are not changed."""
        info = self.stored.info
        more = msgspec.structs.replace(info, milestones={**info.milestones, **milestones})
        write_json(self.stored.path / DESCRIPTION, more)


def _with_zero(boot: BootTimes, trace: Trace, found: Understood) -> BootTimes:
    """A boot of a real board, with the event that its times count from: after another system's lines, that
    is its own first line."""
    if trace.other_ns:
        return replace(boot, zero=FIRST_LINE, first_ns=0)
    log, way = found.log(1)
    first_ns = way.at(log.at_ns[0]) if len(log) else None
    return replace(boot, zero=found.zero(1), first_ns=first_ns)


class Imported:
    """An imported run. Its files are read on demand."""

    exact = False

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self.run_id = store, run_id

    def understood(self) -> Understood:
        """The content of all its files."""
        return of_run(self._store, self.run_id)[1]

    def boot(self, number: int | None) -> SeenBoot:
        """Boot `number`, by default the first complete one."""
        found = self.understood()
        chosen = _checked(self.run_id, number or found.shown, found.boots)
        return SeenBoot(self.run_id, chosen, found.boots, "imported", found, chosen)

    def times(self) -> SampleSet:
        """The boots, and the milestones that none of them has."""
        info, found = of_run(self._store, self.run_id)
        numbers = range(1, found.boots + 1)
        boots = [(f"{self.run_id}/{n:03}", found.trace(n, lines=False)) for n in numbers]
        lacking = missing(info.answers.milestones, found.logs())
        sought = {one.name: f"no line has '{one.shown}'; {one.hint}" for one in lacking if one.everywhere}
        return replace(of_traces(self.run_id, boots, facts={"name": info.name}), sought=sought)

    def logs(self) -> list[list[Log]]:
        return self.understood().logs()

    def add_milestones(self, milestones: dict[str, str]) -> None:
        path = self._store.runs / self.run_id
        info = read_import(path)
        answers = msgspec.structs.replace(info.answers, milestones={**info.answers.milestones, **milestones})
        write_json(path / IMPORT, msgspec.structs.replace(info, answers=answers))


HeardRun = Measured | Imported
"""A run that consists of stored consoles and files."""


def _checked(run_id: str, number: int, boots: int) -> int:
    if not boots:
        raise UserError(f"run {run_id} has no boot")
    if not 1 <= number <= boots:
        raise UserError(f"run {run_id} has no boot {number}", hint=f"it has 1 to {boots}")
    return number

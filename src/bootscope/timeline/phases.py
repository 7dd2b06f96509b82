# SPDX-License-Identifier: Apache-2.0
"""The phases of a boot, found from program addresses and from what is read off the card.

Nothing here looks at the console, so a silent system is split as well as a chatty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bootscope.capture.record import Extent, RunInfo
from bootscope.capture.stream import Hook, Idle, Record
from bootscope.devices.model import SECTOR_BYTES, DeviceEvent, StorageCommand
from bootscope.loaders.model import LOAD
from bootscope.timeline.costs import BoardClock, Cost
from bootscope.timeline.model import Phase

KERNEL_IMAGE = "kernel"
_APPLICATION = "application.start"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The record at which a phase begins, and how that is known."""

    phase: str
    index: int
    evidence: str


def touches(command: StorageCommand, extent: Extent) -> bool:
    """Whether a command reaches into an extent of the card."""
    if command.sector is None:
        return False
    end = command.sector + (command.size_bytes + SECTOR_BYTES - 1) // SECTOR_BYTES
    return command.sector < extent.sector + extent.sectors and extent.sector < end


def reads_kernel(event: DeviceEvent, run: RunInfo) -> bool:
    """Whether an event reads from the kernel image on the card."""
    return (
        isinstance(event, StorageCommand)
        and not event.write
        and any(e.name == KERNEL_IMAGE and touches(event, e) for e in run.system.extents)
    )


def _load(events: Iterable[DeviceEvent], run: RunInfo) -> Boundary | None:
    first = next((event for event in events if reads_kernel(event, run)), None)
    return Boundary(LOAD, first.index, "first read of the kernel image") if first else None


def hooks(records: Iterable[tuple[int, Record]], run: RunInfo, name: str) -> Iterator[tuple[int, Hook]]:
    """Index and record of every arrival at the hook called `name`, from (index, record) pairs."""
    numbers = {number for number, known in run.watch.hooks.items() if known == name}
    for index, record in records:
        if isinstance(record, Hook) and record.hook in numbers:
            yield index, record


def _application(arrivals: list[tuple[int, Record]], run: RunInfo) -> Boundary | None:
    name = run.system.application
    if not name:
        return None
    first = next(hooks(arrivals, run, _APPLICATION), None)
    return Boundary("application", first[0], f"program {name} started") if first else None


def boundaries(records: list[Record], events: list[DeviceEvent], run: RunInfo) -> list[Boundary]:
    """The starts of the phases that were reached after the first two, in order."""
    arrivals: list[tuple[int, Record]] = [(i, r) for i, r in enumerate(records) if isinstance(r, Hook)]
    ordered: list[Boundary] = []
    for stage in run.board.boot_loader.stages[2:]:
        if stage.phase == LOAD:
            boundary = _load(events, run)
        elif stage.hook == _APPLICATION:
            boundary = _application(arrivals, run)
        else:
            first = next(hooks(arrivals, run, stage.hook), None)
            boundary = Boundary(stage.phase, first[0], f"address of {stage.hook}") if first else None
        # A start that lies before the one of an earlier phase cannot be right, and is left out.
        if boundary and (not ordered or boundary.index > ordered[-1].index):
            ordered.append(boundary)
    return ordered


class _Split:
    """Sums of idle time and costs between two records."""

    def __init__(self, records: list[Record], found: list[Cost]) -> None:
        self._records, self._costs = records, found
        self._idles = [r for r in records if isinstance(r, Idle)]

    def cost_ns(self, kind: str, start: int, end: int) -> int:
        """Costs of records start <= index < end."""
        return sum(c.ns for c in self._costs if start <= c.index < end and c.kind == kind)

    def idle_ns(self, start_ns: int, end_ns: int) -> int:
        """Idle time inside a stretch of virtual time; idle stretches that reach over it are cut."""
        total = 0
        for idle in self._idles:
            begin = max(start_ns, idle.time_ns - idle.duration_ns)
            total += max(0, min(end_ns, idle.time_ns) - begin)
        return total


def phases(
    records: list[Record], found: list[Cost], clock: BoardClock, starts: list[Boundary], run: RunInfo
) -> tuple[Phase, ...]:
    """The phases in order; each ends where the next begins, the last at the last record."""
    power_on_ns = run.board.power_on_ns.value
    before, first, *_ = run.board.boot_loader.phases
    fixed = Phase(before, 0, power_on_ns, 0, 0, 0, 0, power_on_ns, "constant of the board profile")
    if not records:
        return (fixed,)
    split = _Split(records, found)
    begins = [Boundary(first, -1, "reset"), *starts]
    result = [fixed]
    for at, boundary in enumerate(begins):
        last = at + 1 == len(begins)
        end = len(records) if last else begins[at + 1].index
        # Virtual and board time at which it begins and ends; a last phase includes its last record.
        v0 = 0 if boundary.index < 0 else records[boundary.index].time_ns
        v1 = records[-1].time_ns if last else records[end].time_ns
        start_ns = power_on_ns if boundary.index < 0 else clock.before(boundary.index)
        end_ns = clock.after(len(records) - 1) if last else clock.before(end)
        idle_ns = split.idle_ns(v0, v1)
        result.append(
            Phase(
                name=boundary.phase,
                start_ns=start_ns,
                end_ns=end_ns,
                cpu_ns=v1 - v0 - idle_ns,
                storage_ns=split.cost_ns("storage", max(boundary.index, 0), end),
                console_ns=split.cost_ns("console", max(boundary.index, 0), end),
                idle_ns=idle_ns,
                fixed_ns=0,
                evidence=boundary.evidence,
            )
        )
    return tuple(result)

# SPDX-License-Identifier: Apache-2.0
"""The phases of a boot, from program addresses and from reads of the card.

The console is not used, so a silent system is split as well as a chatty one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bootscope.capture.record import Extent, RunInfo
from bootscope.capture.stream import Hook, Idle, Record
from bootscope.devices.model import SECTOR_BYTES, DeviceEvent, StorageCommand
from bootscope.loaders.model import LOAD
from bootscope.timeline.core_time import Spread
from bootscope.timeline.costs import BoardClock, Cost
from bootscope.timeline.model import Phase

KERNEL_IMAGE = "kernel"
_APPLICATION = "application.start"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The record at which a phase begins, and how that was found."""

    phase: str
    index: int
    evidence: str


def touches(command: StorageCommand, extent: Extent) -> bool:
    """Whether a command touches an extent of the card."""
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


def hooks(records: Iterable[tuple[int, Record]], run: RunInfo, name: str) -> Iterator[tuple[int, Hook]]:
    """Index and record of every arrival at the hook called `name`, from (index, record) pairs."""
    numbers = {number for number, known in run.watch.hooks.items() if known == name}
    for index, record in records:
        if isinstance(record, Hook) and record.hook in numbers:
            yield index, record


def boundaries(records: list[Record], events: list[DeviceEvent], run: RunInfo) -> list[Boundary]:
    """The starts of the phases that were reached after the first two, in order."""
    arrivals: list[tuple[int, Record]] = [(i, r) for i, r in enumerate(records) if isinstance(r, Hook)]
    ordered: list[Boundary] = []
    for stage in run.board.boot_loader.stages[2:]:
        if stage.phase == LOAD:
            index = next((e.index for e in events if reads_kernel(e, run)), None)
            evidence = "first read of the kernel image"
        else:
            index = next((at for at, _ in hooks(arrivals, run, stage.hook)), None)
            evidence = f"address of {stage.hook}"
        if stage.hook == _APPLICATION:
            index = index if run.system.application else None
            evidence = f"program {run.system.application} started"
        # A start before that of an earlier phase cannot be right, and is left out.
        if index is not None and (not ordered or index > ordered[-1].index):
            ordered.append(Boundary(stage.phase, index, evidence))
    return ordered


def _idle_ns(idles: Iterable[Idle], start_ns: int, end_ns: int) -> int:
    """Idle time inside a stretch of virtual time; idle stretches that cross its ends are cut."""
    return sum(
        max(0, min(end_ns, idle.time_ns) - max(start_ns, idle.time_ns - idle.duration_ns)) for idle in idles
    )


def _waited(up_to_ns: list[int] | None, first: int, last: int) -> int | None:
    """The waiting from one record to another, given the total up to each record."""
    if up_to_ns is None:
        return None
    return up_to_ns[last] - (up_to_ns[first] if first >= 0 else 0)


def phases(
    records: list[Record],
    found: list[Cost],
    clock: BoardClock,
    starts: list[Boundary],
    run: RunInfo,
    spread: Spread | None = None,
) -> tuple[Phase, ...]:
    """The phases in order; each ends where the next begins, the last at the last record. `spread`: the times
    of the records on a core, if one is modelled."""
    power_on_ns = run.board.power_on_ns.value
    before, first, *_ = run.board.boot_loader.phases
    memory_ns = spread.memory_ns if spread else None
    clocked_ns = spread.clocked_ns if spread else None
    none = None if spread is None else 0
    evidence = "constant of the board profile"
    fixed = Phase(before, 0, power_on_ns, 0, 0, 0, 0, power_on_ns, evidence, none, none)
    if not records:
        return (fixed,)
    idles = [r for r in records if isinstance(r, Idle)]
    begins = [Boundary(first, -1, "reset"), *starts]
    result = [fixed]
    for at, boundary in enumerate(begins):
        last = at + 1 == len(begins)
        end = len(records) if last else begins[at + 1].index
        # Virtual and board time of its start and end; a last phase includes its last record.
        v0 = 0 if boundary.index < 0 else records[boundary.index].time_ns
        v1 = records[-1].time_ns if last else records[end].time_ns
        start_ns = power_on_ns if boundary.index < 0 else clock.before(boundary.index)
        end_ns = clock.after(len(records) - 1) if last else clock.before(end)
        idle_ns = _idle_ns(idles, v0, v1)
        inside = [c for c in found if max(boundary.index, 0) <= c.index < end]
        result.append(
            Phase(
                name=boundary.phase,
                start_ns=start_ns,
                end_ns=end_ns,
                cpu_ns=v1 - v0 - idle_ns,
                storage_ns=sum(c.ns for c in inside if c.kind == "storage"),
                console_ns=sum(c.ns for c in inside if c.kind == "console"),
                idle_ns=idle_ns,
                fixed_ns=0,
                evidence=boundary.evidence,
                memory_ns=_waited(memory_ns, boundary.index, len(records) - 1 if last else end),
                clocked_ns=_waited(clocked_ns, boundary.index, len(records) - 1 if last else end),
            )
        )
    return tuple(result)

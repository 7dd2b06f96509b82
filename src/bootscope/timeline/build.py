# SPDX-License-Identifier: Apache-2.0
"""From the stored capture of one boot to its timeline: a pure function of the files on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from bootscope.boards.changed import waits_for_devices
from bootscope.boards.profile import Board
from bootscope.capture.record import FIRST_FRAME, FIRST_LIGHT, MILESTONE_TEXT, RunInfo
from bootscope.capture.stream import (
    Clock,
    Cpu,
    Cpus,
    Frame,
    Hook,
    Idle,
    Io,
    Light,
    Read,
    Record,
    Sample,
    Slept,
    StackSample,
    Text,
)
from bootscope.core.errors import UserError
from bootscope.devices.model import Decoder, DeviceEvent, MemoryDecoder, PinChange, StorageCommand
from bootscope.loaders.model import Hooked
from bootscope.timeline import console, phases
from bootscope.timeline.core_time import Timing, on_core
from bootscope.timeline.costs import BoardClock, Cost, costs, waits_for_transfers
from bootscope.timeline.cpu_time import at_cpu_speed
from bootscope.timeline.in_clock import split_waits
from bootscope.timeline.model import Phase, Sleep, Timeline, Transfer

Sparse = list[tuple[int, Record]]
_DENSE = (Io, Read, Sample, StackSample)


def decoders_of(run: RunInfo) -> dict[int, Decoder]:
    """The decoder of each device, by its number in the watch file."""
    size = run.system.card_bytes
    return {number: run.board.devices[name].decoder(name, size) for number, name in run.watch.devices.items()}


def decode(records: list[Record], decoders: Mapping[int, Decoder]) -> Iterator[DeviceEvent]:
    """Events in stream order; `decoders` maps the device numbers of the watch file."""
    memories = {number: d for number, d in decoders.items() if isinstance(d, MemoryDecoder)}
    for index, record in enumerate(records):
        if isinstance(record, Io) and record.device in decoders:
            event = decoders[record.device].store(index, record.offset, record.value)
            if event:
                yield event
        elif isinstance(record, Read) and (decoder := memories.get(record.device)):
            yield decoder.read(index, record.offset, record.size_bytes, record.accesses)


def events_of(records: list[Record], run: RunInfo) -> list[DeviceEvent]:
    """The commands given to the board's devices, in stream order."""
    for name in run.watch.devices.values():
        if name not in run.board.devices:
            raise UserError(
                f"board {run.board.name} has no device '{name}', which the recording has",
                hint="give a board with the devices of the one that it was recorded on",
            )
    return list(decode(records, decoders_of(run)))


@dataclass(frozen=True)
class Made:
    """A timeline with its inputs, for analyses that build on it.

    The virtual times of `records` are those of the board's CPU.
    """

    timeline: Timeline
    run: RunInfo
    records: list[Record]
    events: list[DeviceEvent]
    costs: list[Cost]
    clock: BoardClock
    memory_ns: list[int] | None = None
    """Time waited for memory up to each record; None if no core is modelled."""


def timeline(boot_id: str, records: list[Record], run: RunInfo, board: Board | None = None) -> Timeline:
    """The timeline of a boot; with `board`, as with that profile's devices."""
    return timeline_of(boot_id, records, run, board).timeline


def timeline_of(
    boot_id: str,
    records: list[Record],
    run: RunInfo,
    board: Board | None = None,
    timing: Timing | None = None,
) -> Made:
    """The same, with events, costs and clock; with `timing`, as on that core. `run` in the result contains
    the board used for the costs."""
    if board:
        run = msgspec.structs.replace(run, board=board)
    spread = on_core(records, run, timing) if timing else None
    records = spread.records if spread else at_cpu_speed(records, run)
    events = events_of(records, run)
    if waits_for_devices(run.board):
        records, found = split_waits(records, events, run)
    else:
        found = costs(records, events, run.board)
    clock = BoardClock(records, found, run.board.power_on_ns.value)
    split = phases.phases(records, found, clock, phases.boundaries(records, events, run), run, spread)
    # Only one record in ten is neither a sample nor a store to a device.
    sparse = [(i, r) for i, r in enumerate(records) if r.__class__ not in _DENSE]
    console_lines = console.lines(console.console_bytes(events, run.board.console), clock)
    quality = next((r for _, r in sparse if isinstance(r, Clock)), Clock(0, 0, 0))
    made = Timeline(
        boot_id=boot_id,
        total_ns=split[-1].end_ns,
        phases=split,
        milestones=_milestones(sparse, clock, split, run),
        lines=console_lines,
        transfers=_transfers(events, found, clock, run),
        sleeps=_sleeps(sparse, clock),
        execs=_execs(sparse, clock, run),
        pins=_pins(events, clock),
        disagreements=console.disagreements(split, console_lines, run.board.boot_loader),
        loader_offset=_loader_offset(sparse, run),
        kernel_image=_kernel_image(run),
        clock_syncs=quality.syncs,
        clock_worst_ns=quality.worst_ns,
        cpu_sleeps=_cpu_sleeps(sparse, clock),
    )
    return Made(made, run, records, events, found, clock, spread.memory_ns if spread else None)


def _milestones(records: Sparse, clock: BoardClock, split: Iterable[Phase], run: RunInfo) -> dict[str, int]:
    """Milestone -> board time in ns, in the order in which they were reached."""
    named = {stage.phase: stage.milestone for stage in run.board.boot_loader.stages if stage.milestone}
    found = {named[p.name]: p.start_ns for p in split if p.name in named}
    called = {
        number: name.removeprefix(MILESTONE_TEXT)
        for number, name in run.watch.hooks.items()
        if name.startswith(MILESTONE_TEXT)
    }
    for index, record in records:
        if isinstance(record, Frame) and record.whole and record.number == 0:
            found.setdefault(FIRST_FRAME, clock.before(index))
        elif isinstance(record, Light):
            found.setdefault(FIRST_LIGHT, clock.before(index))
        elif isinstance(record, Text):
            name = run.watch.texts.get(record.text, "")
            if name.startswith(MILESTONE_TEXT):
                found.setdefault(name.removeprefix(MILESTONE_TEXT), clock.after(index))
        elif isinstance(record, Hook) and record.hook in called:
            found.setdefault(called[record.hook], clock.before(index))
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _transfers(
    events: Sequence[DeviceEvent], found: Iterable[Cost], clock: BoardClock, run: RunInfo
) -> tuple[Transfer, ...]:
    cost_ns = waits_for_transfers(events, found)
    return tuple(
        Transfer(
            start_ns=clock.before(e.index),
            cost_ns=cost_ns.get(e.index, 0),
            sector=e.sector,
            size_bytes=e.size_bytes,
            write=e.write,
            what=_what(e, run),
        )
        for e in events
        if isinstance(e, StorageCommand)
    )


def _what(command: StorageCommand, run: RunInfo) -> str:
    """The most specific name of what a command reads: the smallest extent that it touches."""
    if command.sector is None:
        return "card registers"
    hit = [extent for extent in run.system.extents if phases.touches(command, extent)]
    return min(hit, key=lambda e: e.sectors).name if hit else "unassigned sectors"


def _sleeps(records: Sparse, clock: BoardClock) -> tuple[Sleep, ...]:
    return tuple(
        Sleep(clock.before(i) - r.duration_ns, clock.before(i)) for i, r in records if isinstance(r, Idle)
    )


def _cpu_sleeps(records: Sparse, clock: BoardClock) -> tuple[tuple[Sleep, ...], ...]:
    """When each of several CPUs slept, at full length; device time during a sleep comes before it."""
    found: list[list[Sleep]] = []
    cpu = 0
    for index, record in records:
        if isinstance(record, Cpus):
            found = [[] for _ in range(record.number)]
        elif isinstance(record, Cpu):
            cpu = record.cpu
        elif isinstance(record, Slept) and cpu < len(found):
            end_ns = clock.before(index)
            found[cpu].append(Sleep(end_ns - record.duration_ns, end_ns))
    return tuple(tuple(sleeps) for sleeps in found)


def _execs(records: Sparse, clock: BoardClock, run: RunInfo) -> tuple[tuple[int, str], ...]:
    """Start and name of every program; the hook also reports the kernel's own threads, which are left out."""
    return tuple(
        (clock.before(i), hook.text.decode("utf-8", "replace"))
        for i, hook in phases.hooks(records, run, "exec")
        if hook.registers and hook.registers[0]
    )


def _pins(events: Iterable[DeviceEvent], clock: BoardClock) -> tuple[tuple[int, str], ...]:
    return tuple(
        (clock.before(event.index), f"{name} {level}")
        for event in events
        if isinstance(event, PinChange)
        for names, level in ((event.high, "high"), (event.low, "low"))
        for name in names
    )


def _kernel_image(run: RunInfo) -> int:
    """How far the kernel's decompressor is from its link address: it is linked to 0, so the address of the
    image; 0 if it runs from where it is stored, to which it is linked then."""
    settings = run.system.settings
    if settings.get("kernel.config.ZBOOT_ROM") == "True":
        return 0
    found = (settings.get(f"kernel.{name}", "0") for name in ("uimage_address", "load_address"))
    return next((int(text) for text in found if text.isdigit() and int(text)), 0)


def _loader_offset(records: Sparse, run: RunInfo) -> int:
    """How far the boot loader relocated itself from its link address; 0 if it did not."""
    for program in run.board.boot_loader.programs:
        for _, hook in phases.hooks(records, run, program.hook(Hooked.RELOCATE)):
            if hook.registers:
                return hook.registers[0] - run.board.addresses[program.name]
    return 0

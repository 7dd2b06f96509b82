# SPDX-License-Identifier: Apache-2.0
"""What a set of changes does to a recorded boot, and what that saves.

Three kinds of things are removed: stretches of board time with all that happens in them, events of devices,
and shares of samples. What is removed twice counts once.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from bootscope.analysis import console_cost
from bootscope.analysis.critical import READY, Step, path
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks, seen
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.used_code import image_sizes
from bootscope.boards.changed import waits_for_devices
from bootscope.boards.profile import Board
from bootscope.builder.linkmap import Objects, read
from bootscope.capture import objects
from bootscope.capture.stream import Sample, StackSample
from bootscope.core.errors import UserError
from bootscope.devices.model import CardClass, ConsoleByte, DeviceEvent
from bootscope.timeline.costs import costs_ns

KERNEL_PHASES = ("kernel", "init", "application")


@dataclass
class Ground:
    """The common basis of all predictions of one boot; each part is computed on first use."""

    evidence: Evidence
    stacks: Stacks

    @cached_property
    def steps(self) -> list[Step]:
        """What the end of the recording waited for."""
        return path(self.evidence, self.stacks, self.evidence.timeline.total_ns)

    @cached_property
    def lines(self) -> list[console_cost.Line]:
        """The console's lines."""
        return console_cost.lines(self.evidence)

    @cached_property
    def counters(self) -> list[tuple[int, int, int]]:
        """(record, program counter, the time that it stands for, in ns) of the samples in kernel code."""
        phases = {p.name: p for p in self.evidence.timeline.phases if p.name in KERNEL_PHASES}
        counts = dict.fromkeys(phases, 0)
        found: list[tuple[int, int, str]] = []
        ends, kernel = iter(self.evidence.phase_ends()), self.evidence.arch.kernel.first_address
        end, phase = next(ends)
        for index, record in enumerate(self.evidence.records):
            while index >= end:
                end, phase = next(ends)
            if type(record) is Sample and phase in phases:
                counts[phase] += 1
                if record.pc >= kernel:
                    found.append((index, record.pc, phase))
        return [(index, pc, phases[phase].cpu_ns // counts[phase]) for index, pc, phase in found]

    @cached_property
    def events_ns(self) -> list[int]:
        """When each device event begins, in board time."""
        before = self.evidence.clock.before
        return [before(event.index) for event in self.evidence.events]

    @cached_property
    def content_bytes(self) -> int:
        """Bytes of the kernel's object files, without the padding between them, which compresses to nothing;
        0 if unknown."""
        linked = self.evidence.load(objects.KERNEL_OBJECTS).decode("utf-8", "replace")
        return sum(image_sizes(Objects(read(linked))).values()) or self.unpacked_bytes

    @cached_property
    def unpacked_bytes(self) -> int:
        """Bytes of the kernel as loaded into memory, without what is only reserved; 0 if unknown."""
        text = self.evidence.load(objects.KERNEL_SYMBOLS).decode("utf-8", "replace")
        ends = (re.search(rf"^([0-9a-f]{{1,16}}) \w {name}$", text, re.M) for name in ("_text", "_edata"))
        first, last = (int(match[1], 16) if match else 0 for match in ends)
        return max(0, last - first)

    @cached_property
    def stacked(self) -> list[tuple[int, str]]:
        """(record, phase) of the samples that have a stack; of all samples if none has."""
        evidence, records = self.evidence, self.evidence.records
        found = [
            (index, evidence.phase_at(evidence.clock.before(index)))
            for index in range(1, len(records))
            if isinstance(records[index], StackSample) and isinstance(records[index - 1], Sample)
        ]
        return found or [(s.index, s.phase) for s in seen(evidence)]

    @cached_property
    def addresses(self) -> dict[int, list[int]]:
        """Record of a stack sample -> possible code addresses in it, in ascending order."""
        found: dict[int, list[int]] = {}
        for index, _ in self.stacked:
            record = self.evidence.records[index]
            if isinstance(record, StackSample):
                found[index] = sorted((record.pc, record.lr, *record.words.values()))
        return found


@dataclass
class PerByte:
    """A part of the boot whose CPU time, `ns`, depends on the bytes of the kernel."""

    ns: int = 0
    less_ns: int = 0
    """What fewer bytes save; negative for more bytes."""
    share: Fraction = Fraction(1)
    """The factor by which another compression changes what is left then."""
    stretches: list[tuple[int, int]] = field(default_factory=list)
    """The board time that it is in, if known: what is `gone` of that saves nothing here."""

    def saved_ns(self, gone: Gone) -> int:
        """What all changes save together beside what is `gone`: never more than there is."""
        less_ns = min(self.ns, self.less_ns)
        saved_ns = less_ns + int((self.ns - less_ns) * (1 - self.share))
        whole_ns = sum(end - start for start, end in self.stretches)
        gone_ns = sum(gone.inside(start, end) for start, end in self.stretches)
        return int(saved_ns * Fraction(whole_ns - gone_ns, whole_ns)) if gone_ns else saved_ns


@dataclass
class Plan:
    """What a set of changes does to a recording: another board, bytes and stretches left out."""

    board: Board
    ground: Ground
    byte_ns: int | None = None
    rate_from: int = 0
    """The first record from which a console byte takes `byte_ns`."""
    dropped: set[int] = field(default_factory=set)
    gone: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of board time that do not happen."""
    kept: set[int] = field(default_factory=set)
    """Storage commands in `gone` that do happen."""
    assumptions: list[str] = field(default_factory=list)
    sampled: dict[int, int] = field(default_factory=dict)
    """Record of a sample -> ns of the CPU time that it stands for that are saved."""
    kernel_reads: set[int] = field(default_factory=set)
    kernel_share: Fraction = Fraction(1)
    """Of the storage commands that read the kernel: the factor by which their size changes."""
    copying: PerByte = field(default_factory=PerByte)
    """The CPU's part of reading the kernel."""
    unpacking: PerByte = field(default_factory=PerByte)
    counted_ns: int = 0
    """Other savings; negative for additions."""
    terminals: set[str] = field(default_factory=set)
    """Kernel symbols whose terminals have been removed already."""
    last: list[Callable[[], None]] = field(default_factory=list)
    """Changes that depend on all others: made after them, in this order."""

    def sample(self, index: int, ns: int) -> None:
        """Removes `ns` of what a sample stands for, unless more is removed already."""
        self.sampled[index] = max(ns, self.sampled.get(index, 0))

    def hide(self, lines: Iterable[console_cost.Line]) -> None:
        """Leaves out lines of the console."""
        clock = self.ground.evidence.clock
        for line in lines:
            for first, last in line.runs:
                self.dropped.update(range(first, last + 1))
            self.gone += [(clock.before(a), clock.after(b)) for a, b in line.runs]

    def letters_ns(self, count: int, lines: Iterable[console_cost.Line]) -> int:
        """The time that `count` more characters take on the console if lines like these are still printed; 0
        if none of them is."""
        printed = [n for n in lines if n.cost_ns and n.first not in self.dropped]
        size = sum(line.bytes for line in printed)
        if not size:
            return 0
        wait_ns = sum(line.wait_ns for line in printed) if self.byte_ns is None else self.byte_ns * size
        return count * (wait_ns + sum(line.cpu_ns for line in printed)) // size

    def assume(self, *texts: str) -> None:
        """Records assumptions, in words."""
        self.assumptions += texts


def on_path(steps: list[Step], tasks: set[Task], start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of the path between two moments that belong to the tasks."""
    return [
        (max(start, s.start_ns), min(end, s.end_ns))
        for s in steps
        if s.task in tasks and s.how != READY and s.start_ns < end and s.end_ns > start
    ]


def having(evidence: Evidence, steps: Iterable[Step], tasks: set[Task]) -> list[tuple[int, int]]:
    """The stretches of steps in which the tasks had the CPU; the first task has it when nothing else runs."""
    parted = [(parts, [part.start_ns for part in parts]) for parts in evidence.slices_of_cpus.values()]
    found: list[tuple[int, int]] = []
    for step in steps:
        for parts, starts in parted:
            at = max(0, bisect_right(starts, step.start_ns) - 1)
            for part in parts[at : bisect_left(starts, step.end_ns)]:
                if part.task in tasks:
                    found.append((max(part.start_ns, step.start_ns), min(part.end_ns, step.end_ns)))
    return found


def saved_ns(evidence: Evidence, plan: Plan) -> int:
    """What a plan saves."""
    gone = Gone(plan.gone)
    kernel_ns = plan.copying.saved_ns(gone) + plan.unpacking.saved_ns(gone)
    rest_ns = _virtual_saved(evidence, plan, gone) + plan.counted_ns
    return _devices_saved(evidence, plan, gone) + kernel_ns + rest_ns


def _devices_saved(evidence: Evidence, plan: Plan, gone: Gone) -> int:
    """What the devices save: the same events, costed by the changed board."""
    same_board = plan.board == evidence.run.board and plan.byte_ns is None
    if same_board and not (plan.dropped or gone.stretches):
        kernel = sum(cost.ns for cost in evidence.costs if cost.index in plan.kernel_reads)
        return int(kernel * (1 - plan.kernel_share))
    events = _happening(evidence, plan, gone)
    if plan.byte_ns is not None:
        events = (_at_rate(e, plan.byte_ns) if e.index >= plan.rate_from else e for e in events)
    if waits_for_devices(evidence.run.board):
        return _waits_saved(evidence, events)
    before = sum(cost.ns for cost in evidence.costs)
    after, kernel = 0, 0
    for index, ns in costs_ns(evidence.records, events, plan.board):
        after += ns
        if index in plan.kernel_reads:
            kernel += ns
    return before - after + int(kernel * (1 - plan.kernel_share))


def _waits_saved(evidence: Evidence, events: Iterable[DeviceEvent]) -> int:
    """The same for a boot whose clock contains the devices' time. No more can be saved than it waited for
    them; the time to read the kernel is counted with the loader's work."""
    every, board = evidence.events, evidence.run.board
    before, after = (sum(ns for _, ns in costs_ns(evidence.records, e, board)) for e in (every, events))
    return min(max(0, before - after), sum(cost.ns for cost in evidence.costs))


def _happening(evidence: Evidence, plan: Plan, gone: Gone) -> Iterator[DeviceEvent]:
    """The remaining events, in order."""
    stretches = iter([*gone.stretches, (sys.maxsize, sys.maxsize)])
    start, end = next(stretches)
    for event, now in zip(evidence.events, plan.ground.events_ns, strict=True):
        while now >= end:
            start, end = next(stretches)
        if event.index in plan.dropped or (now >= start and event.index not in plan.kept):
            continue
        yield event


def _at_rate(event: DeviceEvent, byte_ns: int) -> DeviceEvent:
    if isinstance(event, ConsoleByte):
        return ConsoleByte(event.index, event.device, event.value, byte_ns)
    return event


def _virtual_saved(evidence: Evidence, plan: Plan, gone: Gone) -> int:
    """What the CPU saves: the virtual time of the stretches, without device costs, and the shares of samples
    outside of them."""
    saved = sum(removed(plan, gone).values())
    for start, end in gone.stretches:
        first, last = evidence.index_at(start), evidence.index_at(end)
        storage, console = evidence.ledger.devices(first, last)
        saved += max(0, end - start - storage - console)
    return saved


def removed(plan: Plan, gone: Gone) -> dict[int, int]:
    """Record of a sample -> ns of it that are saved outside of `gone`.

    A sample with a stack also stands for those without one before it: what is saved of either counts once.
    """
    before, records = plan.ground.evidence.clock.before, plan.ground.evidence.records
    found = {index: ns for index, ns in plan.sampled.items() if before(index) not in gone}
    without = [index for index in found if not isinstance(records[index], StackSample)]
    stacked = [index for index, _ in plan.ground.stacked] if without else []
    parts = Counter[int]()
    for index in without:
        at = bisect_left(stacked, index)
        parts[stacked[at] if at < len(stacked) else index] += found.pop(index)
    return {index: max(found.get(index, 0), parts[index]) for index in found.keys() | parts.keys()}


class Gone:
    """Stretches that do not happen, merged if they overlap."""

    def __init__(self, stretches: list[tuple[int, int]]) -> None:
        self.stretches: list[tuple[int, int]] = []
        for start, end in sorted(stretches):
            if self.stretches and start <= self.stretches[-1][1]:
                self.stretches[-1] = (self.stretches[-1][0], max(end, self.stretches[-1][1]))
            elif end > start:
                self.stretches.append((start, end))
        self._starts = [start for start, _ in self.stretches]

    def inside(self, start_ns: int, end_ns: int) -> int:
        """How many ns of a stretch do not happen."""
        return sum(max(0, min(end, end_ns) - max(start, start_ns)) for start, end in self.stretches)

    def __contains__(self, time_ns: int) -> bool:
        at = bisect_right(self._starts, time_ns) - 1
        return at >= 0 and time_ns < self.stretches[at][1]


def check_plain(card: CardClass) -> None:
    """Raises UserError for a card on which it matters which commands are saved."""
    if not card.is_plain:
        raise UserError(
            f"what fewer or other commands save is not predicted for {card.title}, "
            "whose random commands or writes take longer than others",
            hint="try it on an emulated board with this card: bootscope try",
        )

# SPDX-License-Identifier: Apache-2.0
"""Everything that one recorded boot provides for the analyses, loaded and assembled once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from bootscope.analysis import pieces
from bootscope.analysis.blocks import BlockMap
from bootscope.analysis.cpu_accounting import Ledger, cpus_of
from bootscope.analysis.kernel_activity import Call, Scene, Slice, Task, Wait
from bootscope.analysis.names import Names, UserPrograms
from bootscope.analysis.replay import Replay
from bootscope.arch.model import Architecture
from bootscope.boards.profile import Board
from bootscope.capture import objects
from bootscope.capture.record import RunInfo
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.capture.stream import Cpu, Hook, Idle, Record, Slept
from bootscope.core.errors import UserError
from bootscope.devices.model import DeviceEvent
from bootscope.image.symbols import Symbols
from bootscope.loaders.model import ROM, Hooked
from bootscope.loaders.registry import program_of
from bootscope.timeline import phases
from bootscope.timeline.build import Made, timeline_of
from bootscope.timeline.core_time import Timing
from bootscope.timeline.costs import BoardClock, Cost
from bootscope.timeline.model import Timeline

_BEFORE_TASKS = {ROM.phase: "boot ROM", "decompress": "decompressor"}
_NO_DEEDS = (Cpu, Slept, Idle)
"""Records of a CPU that do not show that it did anything then."""

if TYPE_CHECKING:
    # The disassembler takes a tenth of a second to load, and few views need it.
    from bootscope.image.code import Code


@dataclass
class Evidence:
    """One boot. `levels` maps addresses of initcalls to their level.

    The virtual times of `records` are those of the board's CPU; those of `recorded` are the emulator's, as
    are all other counts of that run. The two are the same unless the board profile scales the CPU.
    """

    run: RunInfo
    records: list[Record]
    recorded: list[Record]
    timeline: Timeline
    events: list[DeviceEvent]
    costs: list[Cost]
    clock: BoardClock
    scene: Scene
    ledger: Ledger
    names: Names
    blocks: BlockMap
    levels: dict[int, str]
    scripts: dict[str, str]
    load: Callable[[str], bytes]
    """What was kept of the build, by its name in capture.objects; empty if it was not kept."""
    timing: Timing | None = None
    memory_ns: list[int] | None = None
    """Time waited for memory up to each record; None if no core is modelled."""

    @property
    def arch(self) -> Architecture:
        """The architecture of the board."""
        return self.run.board.arch

    def program(self, name: str) -> Code | None:
        """The code of a program that was kept; None if the recording lacks it.

        Raises UserError when what was kept is damaged.
        """
        from bootscope.image.code import Code

        data = self.load(name)
        try:
            return Code(data) if data else None
        except UserError as error:
            raise UserError(f"the {name} kept with run {self.run.run_id} is {error.message}") from error

    @cached_property
    def _phase_starts(self) -> list[int]:
        return [phase.start_ns for phase in self.timeline.phases]

    def phase_at(self, time_ns: int) -> str:
        """The phase that a moment lies in."""
        return self.timeline.phases[max(0, bisect_right(self._phase_starts, time_ns) - 1)].name

    def phase_of(self, hook: str) -> str:
        """The phase in which code with this hook begins to run; 'kernel' for a hook of Linux."""
        program = program_of(hook)
        return self.run.board.boot_loader.phases_of(program)[0] if program else "kernel"

    def phase_ends(self) -> list[tuple[int, str]]:
        """The index of the first record after each phase, and the phase; the last has no end."""
        indexes = range(len(self.records))
        ends = [bisect_left(indexes, start, key=self.clock.before) for start in self._phase_starts[1:]]
        names = [phase.name for phase in self.timeline.phases]
        return list(zip([*ends, len(indexes) + 1], names, strict=True))

    @cached_property
    def slices_of_cpus(self) -> dict[int, list[Slice]]:
        """The slices of each CPU, in order and without a gap."""
        found: dict[int, list[Slice]] = {0: []}
        for part in self.scene.slices:
            found.setdefault(part.cpu, []).append(part)
        return found

    @cached_property
    def _slice_starts(self) -> dict[int, list[int]]:
        return {cpu: [part.start_ns for part in parts] for cpu, parts in self.slices_of_cpus.items()}

    @cached_property
    def cpu_of_records(self) -> list[int]:
        """The CPU of each record; 0 for all if CPUs do not run concurrently."""
        return cpus_of(self.records, self.scene.cpus)

    def slice_at(self, time_ns: int, cpu: int | None = None) -> Slice:
        """The slice that contains a moment; a task's own slice begins with the switch to it. If several CPUs
        run concurrently, that of `cpu`, or of the one that acts next."""
        if self.scene.cpus == 1:
            cpu = 0
        elif cpu is None:
            index = min(self.index_at(time_ns), len(self.records) - 1)
            while index + 1 < len(self.records) and isinstance(self.records[index], _NO_DEEDS):
                index += 1
            cpu = self.cpu_of_records[index]
        starts = self._slice_starts.get(cpu) or self._slice_starts[0]
        parts = self.slices_of_cpus.get(cpu) or self.slices_of_cpus[0]
        return parts[max(0, bisect_right(starts, time_ns) - 1)]

    def who(self, task: Task, time_ns: int) -> str:
        """A task's usual name; before the kernel runs, the running program."""
        phase = self.phase_at(time_ns)
        if task.number == 0:
            program = self.run.board.boot_loader.program(phase)
            known = program.title if program else _BEFORE_TASKS.get(phase)
            return known or self._without_task(phase, time_ns)
        name = task.name_at(time_ns)
        if task.pid == 1 and name.startswith("swapper"):
            name = "kernel_init"
        return f"{name}[{task.pid}]"

    @cached_property
    def sees_tasks(self) -> bool:
        """Whether the recording shows which task had the CPU; the first recordings do not."""
        return "switch" in self.run.watch.hooks.values()

    def _without_task(self, phase: str, time_ns: int) -> str:
        if not self.sees_tasks:
            return "kernel" if phase == "kernel" else "kernel or programs"
        # The first task becomes the idle task once it has started the others.
        return "idle" if time_ns >= self._first_switch_ns else "kernel start"

    @cached_property
    def _first_switch_ns(self) -> int:
        return self.scene.slices[0].end_ns if len(self.scene.slices) > 1 else self.timeline.total_ns

    @cached_property
    def _calls_of(self) -> dict[Task, list[Call]]:
        found: dict[Task, list[Call]] = {}
        for call in sorted(self.scene.calls, key=lambda c: (c.first, -c.last)):
            found.setdefault(call.task, []).append(call)
        return found

    @cached_property
    def _less_deep_of(self) -> dict[Task, list[int]]:
        """The result of :func:`_less_deep` for the calls of each task."""
        return {task: _less_deep(calls) for task, calls in self._calls_of.items()}

    @cached_property
    def waits_of(self) -> dict[Task, list[Wait]]:
        """The waits of each task that has any, in order of their starts."""
        found: dict[Task, list[Wait]] = {}
        for wait in self.scene.waits:
            found.setdefault(wait.task, []).append(wait)
        return found

    @cached_property
    def idle_before(self) -> list[int]:
        """How long the CPU slept up to and including each record."""
        return list(accumulate(r.duration_ns if isinstance(r, Idle) else 0 for r in self.records))

    @cached_property
    def _record_times(self) -> list[int]:
        return [self.clock.before(index) for index in range(len(self.records))]

    def index_at(self, time_ns: int) -> int:
        """The first record that begins at or after a moment."""
        return bisect_left(self._record_times, time_ns)

    def virtual_ns(self, call: Call) -> int:
        """The length of a call by the virtual clock, which the target's own clocks follow."""
        last = min(call.last, len(self.records) - 1)
        return self.records[last].time_ns - self.records[call.first].time_ns

    def next_work(self, task: Task, time_ns: int) -> Call | None:
        """The first work that a worker thread begins at or after a moment."""
        calls = self._calls_of.get(task, [])
        return next((c for c in calls if c.kind == "work" and c.start_ns >= time_ns), None)

    def calls_of(self, task: Task) -> list[Call]:
        """All calls of a task, outer before inner, in order of their starts."""
        return self._calls_of.get(task, [])

    def calls_at(self, task: Task, index: int) -> list[Call]:
        """The calls of a task that were open at a record, outermost first."""
        calls = self._calls_of.get(task, [])
        number = bisect_right(calls, index, key=lambda c: c.first) - 1
        found: list[Call] = []
        depth = 1 << 30
        while number >= 0 and depth:
            call = calls[number]
            is_open = call.last > index
            if is_open and call.depth < depth:
                found.append(call)
                depth = call.depth
                # Calls in between are no less deep, so none of them encloses this one. Walking through them
                # takes minutes if a flash driver waits a hundred thousand times in a row.
                number = self._less_deep_of[task][number]
            elif call.depth == 0 and not is_open:
                break
            else:
                number -= 1
        return found[::-1]


def _less_deep(calls: list[Call]) -> list[int]:
    """For each call, in order of start: the index of the last earlier one that is less deep, or -1."""
    found, path = list[int](), list[int]()
    for number, call in enumerate(calls):
        while path and calls[path[-1]].depth >= call.depth:
            path.pop()
        found.append(path[-1] if path else -1)
        path.append(number)
    return found


def evidence_of(
    store: Store,
    run: StoredRun,
    boot: StoredBoot,
    board: Board | None = None,
    timing: Timing | None = None,
) -> Evidence:
    """Everything about one boot; with `board`, as with that profile's devices; with `timing`, as on that
    core.

    Raises UserError when the stream cannot be read. Whatever an older recording lacks is empty.
    """
    kept = run.info.system.symbols

    def load(name: str) -> bytes:
        return objects.unpacked(store.object(kept[name])) if name in kept else b""

    recorded = boot.records()
    made = timeline_of(boot.info.boot_id, recorded, run.info, board, timing)
    scene = Replay(made.records, made.run, made.clock, made.timeline.total_ns).scene
    tables = _symbols(made, load, kept)
    users = UserPrograms.parse(load(objects.PROGRAMS) or b"{}")
    return Evidence(
        run=made.run,
        records=made.records,
        recorded=recorded,
        timeline=made.timeline,
        events=made.events,
        costs=made.costs,
        clock=made.clock,
        scene=scene,
        ledger=Ledger(scene.slices, made.costs, cpus_of(made.records, scene.cpus)),
        names=Names(
            made.run.board.arch,
            {name: table for name, table in tables.items() if len(table)},
            run.info.board.boot_loader,
            made.timeline.loader_offset,
            users,
            made.timeline.kernel_image,
        ),
        blocks=BlockMap.make(run.info.system.extents, load(objects.BLOCKS).decode("utf-8", "replace")),
        levels=msgspec.json.decode(load(objects.INITCALLS) or b"{}", type=dict[int, str]),
        scripts=msgspec.json.decode(load(objects.SCRIPTS) or b"{}", type=dict[str, str]),
        timing=timing,
        memory_ns=made.memory_ns,
        load=load,
    )


def _symbols(made: Made, load: Callable[[str], bytes], kept: Container[str]) -> dict[str, Symbols]:
    """The symbols of programs, by name in capture.objects; those of pieces at their run-time addresses."""
    tables = {
        name: Symbols.parse(load(name).decode("utf-8", "replace"), made.run.board.arch)
        for name in objects.SYMBOL_TABLES
    }
    hooks = [(index, record) for index, record in enumerate(made.records) if isinstance(record, Hook)]
    for program in made.run.board.boot_loader.programs:
        if program.pieces in kept:
            known = msgspec.json.decode(load(program.pieces), type=objects.Pieces)
            told = phases.hooks(hooks, made.run, program.hook(Hooked.PLACE))
            tables[program.symbols] = pieces.table(known, (hook for _, hook in told))
    return tables

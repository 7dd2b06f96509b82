# SPDX-License-Identifier: Apache-2.0
"""Functions: where the CPU spent its time, from samples of the program counter and the stack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from bootscope.analysis.consumers import not_cpu
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.initcalls import name_of
from bootscope.analysis.kernel_activity import Call, Task
from bootscope.analysis.names import DECOMPRESSOR, NO_SYMBOL
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.capture import objects
from bootscope.capture.stream import Cpu, Sample, StackSample
from bootscope.loaders.model import Hooked
from bootscope.loaders.registry import PROGRAMS
from bootscope.timeline.cpu_time import DELAYS
from bootscope.timeline.model import Phase
from bootscope.timeline.trace import Stack, StackAt

if TYPE_CHECKING:
    # It loads the disassembler, which takes a tenth of a second and which few views need.
    from bootscope.analysis.unwind import Unwinder
    from bootscope.image.code import Function

CUT = "…"
# Where call paths begin: tasks, system calls, exceptions, and the programs themselves.
_ROOTS = frozenset(
    (
        *("ret_from_fork", "start_kernel", "vector_swi", "ret_fast_syscall", "local_restart", "__sys_trace"),
        *("__irq_svc", "__irq_usr", "__dabt_svc", "__dabt_usr", "__pabt_usr", "__und_usr"),
        *("call_with_stack", "_main", "_start"),
    )
)
_CONTEXTS = (Hooked.COMMAND, Hooked.INITCALL, Hooked.PROBE)
# Context -> the function in the call path from which on frames belong to it.
_FUNCTION_OF = {
    "initcall": "do_one_initcall",
    "probe": "really_probe",
    "work": "process_one_work",
    "irq": "__handle_irq_event_percpu",
    **{p.hook(what): name for p in PROGRAMS for what, name in p.functions.items() if what in _CONTEXTS},
}
_BRIEF = "code that ran too briefly to be sampled"
_TITLES = ("kernel", *(program.title for program in PROGRAMS))
COLUMNS = (
    Column("what", "function", "text"),
    Column("phase", "phase", "text"),
    Column("self_ns", "self ms", "ns"),
    Column("total_ns", "total ms", "ns"),
    Column("share_ppm", "share", "share"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a sample found the program counter, in words."""

    index: int
    phase: str
    name: str


def seen(evidence: Evidence) -> Iterator[Seen]:
    """Every sample of the program counter with its name, in order of time."""
    names, before, cpu = evidence.names, evidence.clock.before, 0
    slices = {cpu: iter(parts) for cpu, parts in evidence.slices_of_cpus.items()}
    now = {cpu: next(parts, None) for cpu, parts in slices.items()}
    ends = iter(evidence.phase_ends())
    end, phase = next(ends)
    for index, record in enumerate(evidence.records):
        if type(record) is not Sample:
            if record.__class__ is Cpu and record.cpu in slices:
                cpu = record.cpu
            continue
        while (part := now[cpu]) and index >= part.last:
            now[cpu] = next(slices[cpu], None)
        while index >= end:
            end, phase = next(ends)
        # There are very many samples, and for most the name depends on the address alone.
        name = names.fixed(phase, record.pc)
        if name is None:
            name = names.user(phase, record.pc, part.task if part else None, before(index))
        yield Seen(index, phase, name)


def self_times(evidence: Evidence) -> dict[tuple[str, str], int]:
    """(phase, function) -> CPU time in ns. The sum over a phase is exactly its CPU time."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    weight = _weights(evidence)
    for sample in seen(evidence):
        counts[sample.phase][sample.name] += weight(sample.index)
    found: dict[tuple[str, str], int] = {}
    for phase in evidence.timeline.phases:
        for name, ns in _shares(phase.cpu_ns, counts[phase.name] or {_BRIEF: 1}):
            found[phase.name, name] = ns
    return found


def _weights(evidence: Evidence) -> Callable[[int], int]:
    """The weight of a sample at a record: equal for all, or with a core's model the CPU time since the
    previous sample, since samples lie on a grid of virtual time."""
    if evidence.timing is None:
        return lambda index: 1
    last = 0

    def passed(index: int) -> int:
        nonlocal last
        cpu_ns = evidence.records[index].time_ns - evidence.idle_before[index]
        weight, last = cpu_ns - last, cpu_ns
        return max(1, weight)

    return passed


_Key = TypeVar("_Key", str, tuple[str, ...])


def _shares(total_ns: int, counts: dict[_Key, int]) -> Iterator[tuple[_Key, int]]:
    """Splits a time by counts; the largest share takes the rounding remainder."""
    whole = sum(counts.values())
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    shares = {name: total_ns * counts[name] // whole for name in ordered}
    shares[ordered[0]] += total_ns - sum(shares.values())
    return iter(shares.items())


class Stacks:
    """Call paths of one boot. Every query raises UserError when a program's kept code is damaged."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._loader = evidence.run.board.boot_loader
        self._unwinders: dict[str, list[Unwinder]] = {}

    def _of_program(self, name: str) -> list[Unwinder]:
        """The unwinders of a program, loaded for its first stack: many views need none."""
        if name not in self._unwinders:
            from bootscope.analysis.unwind import Unwinder

            moving = [p.code for p in self._loader.programs if p.moves]
            offsets = [0, self._evidence.timeline.loader_offset] if name in moving else [0]
            code = self._evidence.program(name)
            self._unwinders[name] = (
                [Unwinder(code, o, _ROOTS) for o in dict.fromkeys(offsets)] if code else []
            )
        return self._unwinders[name]

    def functions(self, sample: StackSample, phase: str) -> tuple[list[str], bool]:
        """Functions from the innermost outwards, and whether the path was cut."""
        found, cut = self._called(sample, phase)
        return [function.name for function in found], cut

    def addresses(self, sample: StackSample, phase: str) -> list[int]:
        """The start addresses of these functions in the program as linked."""
        return [function.address for function in self._called(sample, phase)[0]]

    def _called(self, sample: StackSample, phase: str) -> tuple[list[Function], bool]:
        program = self._loader.program(phase)
        for unwinder in self._of_program(program.code if program else objects.KERNEL):
            first = unwinder.function(sample.pc)
            if first:
                path = unwinder.path(sample)
                rest = [unwinder.function(a - 2) for a in path.addresses]
                return [first, *(f for f in rest if f)], path.cut
        return [], True

    @cached_property
    def sampled(self) -> tuple[StackAt, ...]:
        """Every stack sample in order of time, with its call path as in :meth:`all`."""
        found = []
        records = self._evidence.records
        for index, record in enumerate(records):
            if isinstance(record, StackSample) and isinstance(records[index - 1], Sample):
                at_ns = self._evidence.clock.before(index)
                phase = self._evidence.phase_at(at_ns)
                found.append(StackAt(at_ns, self._frames(record, index, phase)))
        return tuple(found)

    def all(self) -> list[Stack]:
        """The flame graph: phase > who > initcall, probe or command > functions, with CPU time in ns."""
        counts: dict[str, dict[tuple[str, ...], int]] = defaultdict(lambda: defaultdict(int))
        for sample in self.sampled:
            counts[sample.frames[0]][sample.frames] += 1
        found: list[Stack] = []
        for part in self._evidence.timeline.phases:
            found += _phase_stacks(part, counts[part.name] or self._flat(part))
        return found

    def _flat(self, phase: Phase) -> dict[tuple[str, ...], int]:
        """Without stack samples: the functions alone, by the program counter."""
        own = self._self_times.items()
        return {(phase.name, name): ns for (at, name), ns in own if at == phase.name and ns}

    @cached_property
    def _self_times(self) -> dict[tuple[str, str], int]:
        return self_times(self._evidence)

    def _frames(self, sample: StackSample, index: int, phase: str) -> tuple[str, ...]:
        evidence = self._evidence
        now = evidence.clock.before(index)
        part = evidence.slice_at(now)
        task = part.task
        contexts = [c for c in evidence.calls_at(task, index) if c.kind in _FUNCTION_OF]
        functions, cut = self.functions(sample, phase)
        if not functions:
            functions = [evidence.names.name(phase, sample.pc, task, now)]
        below = _inside(functions, contexts)
        marker = [CUT] if cut and len(below) == len(functions) and len(functions) > 1 else []
        labels = [label(c, evidence) for c in contexts]
        return (phase, evidence.who(task, now), *labels, *marker, *reversed(below))


def doing(evidence: Evidence, task: Task, index: int, at_ns: int, apart: Container[str] = DELAYS) -> str:
    """A task, and the innermost call open in it at a record, ignoring calls of the kinds `apart`."""
    calls = [c for c in evidence.calls_at(task, index) if c.kind not in apart]
    who = evidence.who(task, at_ns)
    return f"{who}: {label(calls[-1], evidence)}" if calls else who


def label(call: Call, evidence: Evidence) -> str:
    """A context in words, as a frame of the flame graph."""
    if call.kind == "irq":
        return f"irq {call.text or call.value}"
    if call.kind == "work":
        work = evidence.names.name("kernel", evidence.arch.code_address(call.value))
        return "work " + work.removeprefix("kernel ")
    return f"{call.kind.rpartition('.')[2]} {name_of(call, evidence)}"


def _inside(functions: list[str], contexts: list[Call]) -> list[str]:
    """The part of a path (innermost first) inside the innermost context."""
    if contexts:
        entry = _FUNCTION_OF[contexts[-1].kind]
        for at, name in enumerate(functions):
            if name.startswith(entry):
                return functions[:at]
    return functions


def _phase_stacks(phase: Phase, counts: dict[tuple[str, ...], int]) -> Iterator[Stack]:
    counts = counts or {(phase.name, _BRIEF): 1}
    found: list[tuple[tuple[str, ...], int]] = [
        *_shares(phase.cpu_ns, counts),
        ((phase.name, "waiting for storage"), phase.storage_ns),
        *(((phase.name, what), ns) for _, what, ns in not_cpu(phase)),
    ]
    return (Stack(frames, ns) for frames, ns in found if ns)


def view(evidence: Evidence, stacks: list[Stack]) -> Rows:
    """Functions by their own CPU time; `total` includes their callees."""
    own = self_times(evidence)
    total: dict[tuple[str, str], int] = defaultdict(int)
    loader = evidence.run.board.boot_loader
    for stack in stacks:
        phase = stack.frames[0]
        for name in set(stack.frames[2:]):
            program = loader.program(phase)
            called = f"{program.title if program else 'kernel'} {name}"
            total[phase, name if (phase, name) in own else called] += stack.ns
    whole = sum(own.values()) or 1
    rows: list[dict[str, Cell]] = []
    for phase, name in own.keys() | {key for key in total if _is_function(key[1])}:
        mine = own.get((phase, name), 0)
        rows.append(
            {
                "what": name,
                "phase": phase,
                "self_ns": mine,
                "total_ns": max(mine, total.get((phase, name), 0)),
                "share_ppm": mine * 1_000_000 // whole,
            }
        )
    rows.sort(key=lambda r: (-int(r["self_ns"] or 0), -int(r["total_ns"] or 0), str(r["what"])))
    # Names without a symbol or a process's program; the decompressor is one if it has no symbols.
    one_piece = () if evidence.names.has(DECOMPRESSOR) else (DECOMPRESSOR,)
    unnamed = (*(f"{title} {NO_SYMBOL}" for title in _TITLES), _BRIEF, "user programs", *one_piece)
    named = sum(ns for (_, name), ns in own.items() if name not in unnamed)
    return Rows(
        "functions",
        "Functions",
        COLUMNS,
        tuple(rows),
        "longest own CPU time first",
        ("Times are shares of samples: self from the program counter, total from the stack.",),
        {"cpu_ns": whole, "named_ns": named},
    )


def _is_function(name: str) -> bool:
    """Whether a frame is a function, not a context such as `initcall xyz`."""
    words = name.split(" ")
    return len(words) == 2 and words[1].replace("_", "a").replace(".", "a").isalnum()

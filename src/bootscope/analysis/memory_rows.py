# SPDX-License-Identifier: Apache-2.0
"""The view of a core's model: how CPU time divides into instructions and waiting for caches and memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.analysis.uncertainty import uncertainty, words
from bootscope.capture.counted import CountedBlock
from bootscope.core.errors import UserError
from bootscope.cores.counts import NONE, Count, Counts
from bootscope.cores.price import PARTS, Price
from bootscope.timeline.core_time import Timing

_TIMES = (
    Column("cpu_ns", "CPU ms", "ns"),
    Column("issue_ns", "issue ms", "ns"),
    Column("memory_ns", "memory ms", "ns"),
)
_TITLES = {
    "l2": "L2 ms", "read": "reads ms", "written": "writes ms", "walk": "walks ms", "uncached": "uncached ms",
    "device": "device ms",
}  # fmt: skip
_WHAT = tuple(Column(f"{part}_ns", _TITLES[part], "ns") for part in PARTS)
_COUNTED = (
    Column("l1_misses", "L1 misses", "count"),
    Column("reads", "from memory", "count"),
    Column("written", "lines written", "count"),
    Column("walks", "walks", "count"),
    Column("mispredicted", "mispredicted", "count"),
)
_LEFT_OUT = "Not modelled: prefetchers, walks that miss caches, overlap of waits, cleaning of single lines."
_BRIEF = "code that ran too briefly to be counted"


def view(evidence: Evidence, phase: str | None) -> tuple[Rows, ...]:
    """The tables by phase, by process and by function. Raises UserError if no core is modelled."""
    timing = evidence.timing
    if timing is None or evidence.memory_ns is None:
        raise UserError(
            "this view is of a core's caches and memory: name one",
            hint="bootscope show --core CORE --view memory, of a run recorded with --timing",
        )
    functions = _functions(evidence, timing)
    return _phases(evidence, functions), _processes(evidence, phase), _by_function(functions)


@dataclass(slots=True)
class _Sum:
    """The counts of a function or a phase, and the time that they amount to."""

    instructions: int = 0
    counts: list[int] = field(default_factory=lambda: list(NONE))
    issue_ns: int = 0
    memory_ns: int = 0

    def add(self, block: CountedBlock) -> None:
        self.instructions += block.instructions
        for kind, number in enumerate(block.counts):
            if number:
                self.counts[kind] += number

    def cells(self) -> dict[str, Cell]:
        c = self.counts
        return {
            "cpu_ns": self.issue_ns + self.memory_ns,
            "issue_ns": self.issue_ns,
            "memory_ns": self.memory_ns,
            "l1_misses": sum(c[k] for k in (*PARTS["l2"], *PARTS["read"])) - c[Count.LOAD_STREAM],
            "reads": c[Count.FETCH_MEMORY] + c[Count.LOAD_MEMORY] + c[Count.STORE_FILL],
            "written": c[Count.WRITTEN],
            "walks": c[Count.WALK_CODE] + c[Count.WALK_DATA],
            "mispredicted": c[Count.MISPREDICTED],
        }


_Key = TypeVar("_Key", str, tuple[str, ...])
_Functions = dict[str, dict[str, _Sum]]
"""Phase -> function -> its counts."""


def _functions(evidence: Evidence, timing: Timing) -> _Functions:
    """The counts by phase and function. Times of a phase add up to the phase exactly."""
    found: _Functions = {phase.name: {} for phase in evidence.timeline.phases}
    for phase, blocks in zip(timing.counted.info.phases, timing.counted.parts, strict=True):
        sums: dict[str, _Sum] = defaultdict(_Sum)
        for block in blocks:
            sums[_name(evidence, phase, block)].add(block)
        found[phase] = dict(sums)
    for phase_ in evidence.timeline.phases:
        sums = found[phase_.name]
        if not sums and phase_.cpu_ns:
            sums = found[phase_.name] = {_BRIEF: _Sum(1)}
        issue = shared(phase_.issue_ns, {n: _issue_weight(s, timing.price) for n, s in sums.items()})
        memory = shared(
            phase_.memory_ns or 0, {n: timing.price.memory_ps(_tuple(s)) for n, s in sums.items()}
        )
        for name, sum_ in sums.items():
            sum_.issue_ns, sum_.memory_ns = issue[name], memory[name]
    return found


def _issue_weight(sum_: _Sum, prices: Price) -> int:
    return sum_.instructions * prices.instruction_ps + prices.more_ps(_tuple(sum_))


def _tuple(sum_: _Sum) -> Counts:
    return tuple(sum_.counts)


def memory_of_functions(evidence: Evidence) -> dict[str, dict[str, int]]:
    """Phase -> function -> how long it waits for memory, in ns; empty if no core is modelled."""
    if evidence.timing is None:
        return {}
    found = _functions(evidence, evidence.timing)
    return {phase: {name: sum_.memory_ns for name, sum_ in sums.items()} for phase, sums in found.items()}


def shared(total_ns: int, weights: Mapping[_Key, int]) -> dict[_Key, int]:
    """Splits a time by weights, completely; the largest share takes the rounding remainder."""
    if not weights:
        return {}
    whole = sum(weights.values())
    if not whole:
        weights = dict.fromkeys(weights, 1)
        whole = len(weights)
    shares = {name: total_ns * weight // whole for name, weight in weights.items()}
    largest = max(sorted(weights), key=lambda name: weights[name])
    shares[largest] += total_ns - sum(shares.values())
    return shares


def _name(evidence: Evidence, phase: str, block: CountedBlock) -> str:
    """A block's function; in a process, that of the task that ran when the block was first reached."""
    known = evidence.names.fixed(phase, block.address)
    if known is not None:
        return known
    index = bisect_left(evidence.recorded, block.first_ns, key=lambda record: record.time_ns)
    now = evidence.clock.before(min(index, len(evidence.records) - 1))
    return evidence.names.user(phase, block.address, evidence.slice_at(now).task, now)


def _by_function(functions: _Functions) -> Rows:
    rows: list[dict[str, Cell]] = [
        {"what": name, "phase": phase, **sum_.cells()}
        for phase, sums in functions.items()
        for name, sum_ in sums.items()
    ]
    rows.sort(key=lambda row: (-int(row["memory_ns"] or 0), -int(row["cpu_ns"] or 0), str(row["what"])))
    return Rows(
        "memory-functions",
        "Functions: waiting for memory",
        (Column("what", "function", "text"), Column("phase", "phase", "text"), *_TIMES, *_COUNTED),
        tuple(rows),
        "longest wait for memory first",
        ("Counts are exact. Times of a phase are shared out by counts: their sum is that of the phase.",),
    )


def _phases(evidence: Evidence, functions: _Functions) -> Rows:
    timing = evidence.timing
    assert timing is not None
    rows: list[dict[str, Cell]] = []
    for phase in evidence.timeline.phases:
        columns = zip(NONE, *(s.counts for s in functions[phase.name].values()), strict=True)
        counts = [sum(column) for column in columns]
        parts = {part: timing.price.part_ps(tuple(counts), part) for part in PARTS}
        waits = shared(phase.memory_ns or 0, parts)
        rows.append(
            {
                "phase": phase.name,
                "cpu_ns": phase.cpu_ns,
                "issue_ns": phase.issue_ns,
                "memory_ns": phase.memory_ns or 0,
                **{f"{part}_ns": ns for part, ns in waits.items()},
            }
        )
    return Rows(
        "memory-phases",
        "Phases: CPU time is issue and memory",
        (Column("phase", "phase", "text"), *_TIMES, *_WHAT),
        tuple(rows),
        "in order of time",
        (
            f"Core: {timing.core.title}.",
            f"Off: {'; '.join(words(uncertainty(evidence.timeline, timing.core)))}.",
            timing.core.not_modelled or _LEFT_OUT,
        ),
        {name: sum(int(row[name] or 0) for row in rows) for name in ("cpu_ns", "issue_ns", "memory_ns")},
    )


def _processes(evidence: Evidence, phase: str | None) -> Rows:
    """CPU time by process, from the slices of tasks; a slice that spans phases is split at their ends."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for who, within, cpu_ns, memory_ns in _turns(evidence):
        if phase in (None, within):
            found[who][0] += cpu_ns
            found[who][1] += memory_ns
    rows: list[dict[str, Cell]] = [
        {"who": who, "cpu_ns": cpu, "issue_ns": cpu - memory, "memory_ns": memory}
        for who, (cpu, memory) in found.items()
        if cpu
    ]
    rows.sort(key=lambda row: (-int(row["cpu_ns"] or 0), str(row["who"])))
    return Rows(
        "memory-processes",
        "Processes",
        (Column("who", "process", "text"), *_TIMES),
        tuple(rows),
        "longest CPU time first",
    )


def _turns(evidence: Evidence) -> Iterator[tuple[str, str, int, int]]:
    """(who, phase, CPU time, of it waiting for memory) of each turn of a task on the CPU."""
    memory, records = evidence.memory_ns, evidence.records
    assert memory is not None
    idle = evidence.idle_before
    last = len(records) - 1
    ends = [end for end, _ in evidence.phase_ends()]
    # The first turn begins at power-on, before the first record.
    cpu_ns = [record.time_ns - slept for record, slept in zip(records, idle, strict=True)] + [0]
    memory = [*memory, 0]
    for part in evidence.scene.slices:
        first, stop = part.first if part.first > 0 else -1, min(part.last, last)
        inner = [end for end in ends if first < end < stop]
        for begin, end in zip([first, *inner], [*inner, stop], strict=True):
            at = evidence.clock.before(max(begin, 0))
            who, phase = _who(evidence, part.task, at), evidence.phase_at(at)
            yield who, phase, cpu_ns[end] - cpu_ns[begin], memory[end] - memory[begin]


def _who(evidence: Evidence, task: Task, at_ns: int) -> str:
    return evidence.who(task, at_ns)

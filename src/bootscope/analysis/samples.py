# SPDX-License-Identifier: Apache-2.0
"""The times of a run's boots: for each quantity those of all boots, from whatever source.

A boot that was recorded has a :class:`Timeline`, one that was imported or measured a :class:`Trace`; both
give :class:`BootTimes`, and a run's boots together are a :class:`SampleSet`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from bootscope.analysis.phase_order import in_one_order
from bootscope.core.errors import UserError, unknown
from bootscope.timeline.model import Timeline
from bootscope.timeline.trace import LENGTH, Trace

MILESTONE, PHASE, TOTAL = "milestone", "phase", "total"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A time that boots have: when a milestone was reached, how long a phase took, or the total."""

    kind: str
    name: str

    def __str__(self) -> str:
        """Its name on the command line and in files: `app-ready`, `phase kernel`, `total`."""
        return f"phase {self.name}" if self.kind == PHASE else self.name


WHOLE = Quantity(TOTAL, TOTAL)


def called(name: str) -> Quantity:
    """The quantity that a name denotes, without a boot to look it up in."""
    if name == TOTAL:
        return WHOLE
    kind, _, rest = name.partition(" ")
    return Quantity(PHASE, rest) if kind == PHASE and rest else Quantity(MILESTONE, name)


@dataclass(frozen=True)
class BootTimes:
    """One boot: quantity -> ns. One that is not `complete` did not reach its end; `why` says so.
    One whose end is not known, or only the earliest, has no total.

    `spans` are the stretches (start, end) of each phase, in ns; `bounded` are the phases of which only a
    bound of the length is known: they have neither time nor stretch. `order` are all phases in order of time,
    empty if all have a time, whose order that is then. `zero` says what happened at 0, empty
    if unknown; `first_ns` is when the first line came, None without lines.
    """

    boot_id: str
    times: Mapping[Quantity, int]
    complete: bool = True
    why: str = ""
    spans: Mapping[Quantity, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    bounded: tuple[str, ...] = ()
    zero: str = ""
    first_ns: int | None = None
    order: tuple[str, ...] = ()

    @property
    def phases(self) -> tuple[str, ...]:
        """The names of its phases in order of time, also of those with only a bound."""
        return self.order or tuple(q.name for q in self.times if q.kind == PHASE)


@dataclass(frozen=True)
class SampleSet:
    """The boots of a run. `exact` boots are the same to the nanosecond and need no statistics.

    `until` is the milestone that the run was made for (empty if unknown), `step_ns` the resolution of its
    stamps (0 if unknown), `facts` name what booted: label -> text.
    """

    run_id: str
    boots: tuple[BootTimes, ...]
    exact: bool = False
    until: str = ""
    step_ns: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)
    sought: Mapping[str, str] = field(default_factory=dict)
    """Milestone -> why it may never be found, in words: no line of the boots has its text."""
    possible: frozenset[str] = frozenset()
    """Names of quantities, as in :class:`Quantity`, that a boot of the run may have, even if none got that
    far; empty if unknown."""

    @property
    def complete(self) -> tuple[BootTimes, ...]:
        """The boots that reached their end."""
        return tuple(boot for boot in self.boots if boot.complete)

    def of(self, quantity: Quantity) -> tuple[BootTimes, ...]:
        """The complete boots that have a quantity, in order."""
        return tuple(boot for boot in self.complete if quantity in boot.times)

    def values(self, quantity: Quantity) -> list[int]:
        """The times of a quantity in ns, in the order of the boots."""
        return [boot.times[quantity] for boot in self.of(quantity)]

    def quantities(self) -> tuple[Quantity, ...]:
        """All that any complete boot has: milestones and phases in order of time, then the total."""
        found = dict.fromkeys(q for boot in self.complete for q in boot.times)
        milestones = [q for q in found if q.kind == MILESTONE]
        phases = [q for name in self.phases() if (q := Quantity(PHASE, name)) in found]
        return (*milestones, *phases, *(q for q in found if q.kind == TOTAL))

    def phases(self) -> tuple[str, ...]:
        """The phases of all boots in order of time, also those with only a bound."""
        return in_one_order([boot.phases for boot in self.boots])

    def named(self, name: str) -> Quantity:
        """The quantity called `name` (see :class:`Quantity`). Raises UserError when there is none."""
        for quantity in self.quantities():
            if str(quantity) == name:
                return quantity
        raise unknown(f"milestone or phase of {self.run_id}", name, [str(q) for q in self.quantities()])


def of_timeline(timeline: Timeline) -> BootTimes:
    """The times of a recorded boot that is complete."""
    times = {Quantity(MILESTONE, name): ns for name, ns in timeline.milestones.items()}
    times |= {Quantity(PHASE, phase.name): phase.duration_ns for phase in timeline.phases}
    spans = {Quantity(PHASE, phase.name): ((phase.start_ns, phase.end_ns),) for phase in timeline.phases}
    return BootTimes(timeline.boot_id, {**times, WHOLE: timeline.total_ns}, spans=spans)


def of_trace(boot_id: str, trace: Trace, until: str = "") -> BootTimes:
    """The times of an imported or measured boot, which is complete when it has the milestone `until`."""
    if trace.failure and trace.failure.ends:
        return BootTimes(boot_id, {}, complete=False, why=trace.failure.words)
    if trace.known_total_ns is None and trace.end_seen and trace.points:
        why = "only its earliest end is known" if trace.timed else "its log has no clock"
        return BootTimes(boot_id, {}, complete=False, why=why)
    times = {Quantity(MILESTONE, name): ns for name, ns in trace.known_milestones().items()}
    spans: dict[Quantity, tuple[tuple[int, int], ...]] = {}
    bounded: list[str] = []
    order: list[str] = []
    for track in trace.tracks:
        if track.kind == PHASE:
            order += (span.name for span in track.spans)
            bounded += (span.name for span in track.spans if LENGTH in span.detail)
            for span in (span for span in track.spans if LENGTH not in span.detail):
                phase = Quantity(PHASE, span.name)
                times[phase] = times.get(phase, 0) + span.duration_ns
                spans[phase] = (*spans.get(phase, ()), (span.start_ns, span.end_ns))
    complete = not until or Quantity(MILESTONE, until) in times
    why = "" if complete else f"{until} was not reached"
    if trace.known_total_ns is not None:
        times[WHOLE] = trace.known_total_ns
    ordered = tuple(dict.fromkeys(order))
    return BootTimes(boot_id, times, complete, why, spans, tuple(bounded), order=ordered)


def step_of(traces: Iterable[Trace]) -> int:
    """How finely traces are stamped in ns: what most of their milestones may be off by."""
    errors = [p.error_ns for trace in traces for p in trace.points if p.kind == MILESTONE]
    return int(median(errors)) if errors else 0


def of_traces(
    run_id: str, boots: Sequence[tuple[str, Trace]], until: str = "", facts: Mapping[str, str] | None = None
) -> SampleSet:
    """A run of boots that are not exact: (boot id, trace) of each, in the order in which they were made."""
    times = tuple(of_trace(boot_id, trace, until) for boot_id, trace in boots)
    return SampleSet(run_id, times, False, until, step_of(trace for _, trace in boots), facts or {})


def goal(sets: Sequence[SampleSet], name: str | None = None) -> Quantity:
    """The quantity that a verdict on these runs is about.

    That is the one called `name`, or the milestone that all were for, or the last milestone that at least
    half of the complete boots of each run reached, or else the total.
    Raises UserError when a run has no quantity of that name.
    """
    if name:
        found = [each.named(name) for each in sets]
        return found[0]
    untils = {each.until for each in sets}
    if len(untils) == 1 and untils != {""}:
        wanted = Quantity(MILESTONE, untils.pop())
        if all(each.of(wanted) for each in sets):
            return wanted
    return last_common(sets) or WHOLE


def last_common(sets: Sequence[SampleSet]) -> Quantity | None:
    """The last milestone that at least half of the complete boots of each run reached, else None."""
    milestones = [q for q in sets[0].quantities() if q.kind == MILESTONE]
    common = [q for q in milestones if all(_usual(each, q) for each in sets)]
    return max(common, key=lambda q: median(sets[0].values(q)), default=None)


def _usual(boots: SampleSet, quantity: Quantity) -> bool:
    return 2 * len(boots.of(quantity)) >= len(boots.complete) > 0


def single(boots: SampleSet, number: int) -> SampleSet:
    """Only boot `number` (from 1) of a run. Raises UserError when there is no such boot."""
    if not 1 <= number <= len(boots.boots):
        raise UserError(f"run {boots.run_id} has no boot {number}", hint=f"it has 1 to {len(boots.boots)}")
    return replace(boots, boots=(boots.boots[number - 1],))

# SPDX-License-Identifier: Apache-2.0
"""The result of a search on the emulated board: everything that a report shows, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bootscope.analysis import lower_bound
from bootscope.analysis.rows import Rows
from bootscope.analysis.views import View, view
from bootscope.loaders.registry import PHASES
from bootscope.search.emulated import EmulatedSearch
from bootscope.search.experiment import Experiment, Worth
from bootscope.search.outcome import Outcome
from bootscope.search.pareto import Point, loses
from bootscope.search.verdict import ExactVerdict


@dataclass(frozen=True)
class Step:
    """A step from the first system to the last one: the techniques added, those removed for them, the time
    before it in ns, and the outcome of the system after it. Steps follow each other without a gap."""

    came: tuple[str, ...]
    went: tuple[str, ...]
    before_ns: int
    after: Outcome

    @property
    def saving_ns(self) -> int:
        """What it saves."""
        return self.before_ns - self.after.total_ns


@dataclass(frozen=True)
class Result:
    """A finished search. `points` is the Pareto list, fastest first; `measured` is how many systems were
    built or booted now, the others being known before; `host_s` is how long it took."""

    search: EmulatedSearch
    base: Outcome
    final: Outcome
    last: View
    worths: tuple[Worth[ExactVerdict], ...]
    points: tuple[Point, ...]
    floor: Rows
    host_s: float
    measured: int
    beside: Result | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """From the first system to the last one."""
        found = _steps(self.search.experiments, self.worths)
        if self.search.given and self.search.first:
            # It began with techniques that another search had proven.
            found.insert(0, Step(self.search.given, (), self.base.total_ns, self.search.first.variant))
        return tuple(found)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Techniques in the final system, in the order in which they were accepted."""
        return tuple(self.search.accepted)

    @property
    def refused(self) -> tuple[Experiment[ExactVerdict], ...]:
        """The last experiment of each set of refused techniques; without those accepted at another time."""
        taken = {name for e in self.search.experiments if e.accepted for name in e.techniques}
        last = {e.techniques: e for e in self.search.experiments if not e.accepted and not e.halved}
        return tuple(e for names, e in last.items() if not taken & set(names))

    @property
    def lost(self) -> tuple[str, ...]:
        """The capabilities that the last system has lost."""
        return loses(self.accepted)

    @property
    def phases(self) -> tuple[tuple[str, int, int], ...]:
        """(name, ns in the first system, ns in the last one) of each phase."""
        a, b = self.base.phases, self.final.phases
        return tuple((name, a.get(name, 0), b.get(name, 0)) for name in PHASES if name in a or name in b)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes of systems seen on the way."""
        tried = [e.verdict for e in self.search.experiments]
        return tuple(v.variant for v in (*tried, *(w.verdict for w in self.worths)) if v)


def _steps(
    experiments: Iterable[Experiment[ExactVerdict]], worths: Iterable[Worth[ExactVerdict]]
) -> list[Step]:
    came = [(e.techniques, e.replaced, e.verdict) for e in experiments if e.accepted]
    went = [((), (w.technique,), w.verdict) for w in worths if w.dropped]
    return [Step(new, old, v.base.total_ns, v.variant) for new, old, v in (*came, *went) if v]


def result_of(
    search: EmulatedSearch,
    worths: Sequence[Worth[ExactVerdict]],
    points: Sequence[Point],
    host_s: float,
    beside: Result | None = None,
) -> Result:
    """The result of a finished search. Reads the last system's recording."""
    store = search.bench.scheduler.bench.store
    last = view(store, store.load(search.current.run_id))
    return Result(
        search,
        search.base,
        search.current,
        last,
        tuple(worths),
        tuple(points),
        lower_bound.view(last.evidence),
        host_s,
        search.bench.scheduler.measured_now,
        beside,
    )

# SPDX-License-Identifier: Apache-2.0
"""How far a build is, and how long it still takes at the pace that it has shown so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from bootscope.builder.workload import Bound, Work, Workload, bound_of

_PRIOR_NS = 20 * 10**9
"""For so much work the estimate is trusted before the build's own pace counts."""

_WINDOW_NS = 300 * 10**9
"""How much of the past makes the pace; it goes up to twice of it."""

_LAST_OBJECT = 970
"""Per mille of a step that is done with its last object. Linking comes after it, and the number of objects
may have been too low."""


@dataclass(frozen=True)
class Standing:
    """How far a build is. `number` of `steps` (0: a step that is in no plan), `units` of about `all_units`
    objects; `left_ns` is bounded as `bound` says."""

    number: int
    steps: int
    units: int
    all_units: int
    percent: int
    elapsed_ns: int
    left_ns: int
    bound: Bound


@dataclass
class Pace:
    """Follows a build through its workload. All times are of one clock, in ns; `begun_ns` is the first.

    What came before the step at work counts as done, whoever did it; the pace is taken only from work that
    was seen.
    """

    workload: Workload
    begun_ns: int
    _at: int = -1
    _units: int = 0
    _seen_ns: int = 0
    _work_seen_ns: int = 0
    _spent_ns: int = field(default=_PRIOR_NS)
    _done_ns: int = field(default=_PRIOR_NS)

    def begin(self, step: str, now_ns: int) -> bool:
        """A step begins; whether it is one of the workload."""
        names = [work.step for work in self.workload.works]
        self._at = names.index(step) if step in names else -1
        self._units, self._work_seen_ns, self._seen_ns = 0, 0, now_ns
        return self._at >= 0

    def update(self, units: int, now_ns: int) -> None:
        """So many objects of the step are there."""
        if self._at < 0:
            return
        self._units = units
        self._look(self._work_done_ns(), now_ns)

    def finish(self, now_ns: int) -> None:
        """The step has ended."""
        if self._at < 0:
            return
        work = self._work
        # From an upper bound, or from nothing, to what it truly was is no pace.
        if work.time_ns and not work.continued:
            self._look(work.time_ns, now_ns)
        self._units, self._work_seen_ns = work.units, work.time_ns

    def standing(self, now_ns: int) -> Standing:
        """How far it is now."""
        works, at = self.workload.works, self._at
        before = works[: max(at, 0)]
        done_ns = sum(work.time_ns for work in before) + self._work_seen_ns
        all_ns = self.workload.time_ns
        all_units = self.workload.units + max(0, self._units - self._work.units if at >= 0 else 0)
        return Standing(
            number=at + 1,
            steps=len(works),
            units=sum(work.units for work in before) + self._units,
            all_units=all_units,
            percent=min(99, 100 * done_ns // all_ns) if all_ns else 0,
            elapsed_ns=now_ns - self.begun_ns,
            left_ns=(all_ns - done_ns) * self._spent_ns // self._done_ns,
            bound=bound_of(works[max(at, 0) :]),
        )

    @property
    def _work(self) -> Work:
        return self.workload.works[self._at]

    def _work_done_ns(self) -> int:
        work = self._work
        if not work.units:
            return 0
        part = min(_LAST_OBJECT, _LAST_OBJECT * self._units // work.units)
        return work.time_ns * part // 1000

    def _look(self, work_done_ns: int, now_ns: int) -> None:
        """Takes the pace from what was done since the last look."""
        self._spent_ns += now_ns - self._seen_ns
        self._done_ns += work_done_ns - self._work_seen_ns
        self._seen_ns, self._work_seen_ns = now_ns, work_done_ns
        if self._spent_ns > 2 * _WINDOW_NS:
            self._spent_ns, self._done_ns = self._spent_ns // 2, max(1, self._done_ns // 2)

# SPDX-License-Identifier: Apache-2.0
"""How far a build is, and how long it still takes at its pace so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from bootscope.builder.workload import Bound, Work, Workload, bound_of

_PRIOR_NS = 20 * 10**9
"""The weight of the estimate, as work done as estimated, against the build's own pace."""

_WINDOW_NS = 300 * 10**9
"""The window of time that the pace is taken from; it grows up to twice that before it is halved."""

_LAST_OBJECT = 970
"""Per mille of a step that is done with its last object. Linking follows, and the number of objects
may have been too low."""


@dataclass(frozen=True)
class Standing:
    """How far a build is. `number` of `steps` (0: a step outside of the plan), `units` of about `all_units`
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

    Steps before the current one count as done, whoever did them; the pace is only taken from observed work.
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
        """Starts a step; returns whether it is part of the workload."""
        names = [work.step for work in self.workload.works]
        self._at = names.index(step) if step in names else -1
        self._units, self._work_seen_ns, self._seen_ns = 0, 0, now_ns
        return self._at >= 0

    def update(self, units: int, now_ns: int) -> None:
        """Notes that `units` objects of the step are done."""
        if self._at < 0:
            return
        self._units = units
        self._look(self._work_done_ns(), now_ns)

    def finish(self, now_ns: int) -> None:
        """Ends the step."""
        if self._at < 0:
            return
        work = self._work
        # An upper bound, or no figure, compared with the real time gives no pace.
        if work.time_ns and not work.continued:
            self._look(work.time_ns, now_ns)
        self._units, self._work_seen_ns = work.units, work.time_ns

    def standing(self, now_ns: int) -> Standing:
        """How far the build is now."""
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
        """Updates the pace with what was done since the last look."""
        self._spent_ns += now_ns - self._seen_ns
        self._done_ns += work_done_ns - self._work_seen_ns
        self._seen_ns, self._work_seen_ns = now_ns, work_done_ns
        if self._spent_ns > 2 * _WINDOW_NS:
            self._spent_ns, self._done_ns = self._spent_ns // 2, max(1, self._done_ns // 2)

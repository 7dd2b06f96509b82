# SPDX-License-Identifier: Apache-2.0
"""A baseline from the store: the earlier runs of the same system, board and labels."""

from __future__ import annotations

from collections.abc import Sequence

from bootscope.analysis.samples import MILESTONE, PHASE, BootTimes, Quantity, SampleSet
from bootscope.capture.store import Store
from bootscope.check.baseline import HISTORY
from bootscope.check.model import HistoryTable
from bootscope.core.errors import UserError, printable
from bootscope.core.text import visible
from bootscope.history.series import RUN, series
from bootscope.runs.listing import Figure, Listed, figure_of
from bootscope.runs.run import run_of


def history_baseline(
    store: Store, run_id: str, boots: SampleSet, asked: HistoryTable, about: str
) -> tuple[SampleSet, str]:
    """The runs before `run_id` that a check file asks for, as one sample, and a description of them.

    An exact run counts as one boot, by its figures; of other runs all boots count. `about` is the milestone
    whose change points end a segment; if empty, the one that each run was for. Raises UserError if no earlier
    run fits.
    """
    labels = store.labels_of(run_id)
    wanted = {key: labels.get(key, "") for key in asked.labels}
    runs = store.summaries()
    at = next(n for n, run in enumerate(runs) if run.run_id == run_id)
    fitting: list[Listed] = []
    for run in reversed(runs[:at]):
        if not asked.segment and len(fitting) == asked.last:
            break
        marks = store.labels_of(run.run_id)
        alike = (run.system, run.board, run.kind) == (runs[at].system, runs[at].board, runs[at].kind)
        if alike and all(marks.get(key, "") == value for key, value in wanted.items()):
            figure = figure_of(store, run, own=True)
            if figure and figure.exact == boots.exact:
                fitting.append(Listed(run, figure, marks))
    found = fitting[::-1]
    if not found:
        shared = ", ".join(f"{key}={printable(value)}" for key, value in wanted.items() if value)
        words = f"with {shared}" if shared else "of the same system and board"
        raise UserError(
            f"no earlier run {words} to compare {run_id} with",
            hint="bootscope list; bootscope label RUN KEY=VALUE",
        )
    found = _segment(found, about) if asked.segment else found
    words = "since the last change" if asked.segment else "before it"
    return _sample(store, found, boots), f"baseline: {_counted(found)} {words}, from {_ids(found)}"


def _segment(found: Sequence[Listed], about: str) -> list[Listed]:
    """The runs of the last segment between change points."""
    told = series(found, about or None, RUN)
    last = {i for point in told.points[told.segments[-1].first :] for i in point.run_ids}
    return [each for each in found if each.run.run_id in last]


def _counted(found: Sequence[Listed]) -> str:
    return f"the {len(found)} runs" if len(found) > 1 else "the run"


def _ids(found: Sequence[Listed]) -> str:
    first, last = (visible(each.run.run_id, 120) for each in (found[0], found[-1]))
    return first if first == last else f"{first} to {last}"


def _sample(store: Store, found: Sequence[Listed], boots: SampleSet) -> SampleSet:
    if boots.exact:
        of = tuple(BootTimes(each.run.run_id, _times(each.figure)) for each in found if each.figure)
        return SampleSet(HISTORY, of, True, boots.until, 0, boots.facts)
    for each in found:
        store.fetch(each.run.run_id)
    sets = [run_of(store, each.run.run_id).times() for each in found]
    every = tuple(boot for each in sets for boot in each.boots)
    return SampleSet(HISTORY, every, False, boots.until, max(each.step_ns for each in sets), sets[-1].facts)


def _times(figure: Figure) -> dict[Quantity, int]:
    milestones = {Quantity(MILESTONE, name): values[0] for name, values in figure.milestones.items()}
    return {**milestones, **{Quantity(PHASE, name): values[0] for name, values in figure.phases.items()}}

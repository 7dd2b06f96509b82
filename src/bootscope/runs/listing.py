# SPDX-License-Identifier: Apache-2.0
"""The list of runs with the time of each, which is computed once and stored beside the recording.

runs/RUN/figure.json    the figures for the list; computed again by another program, when boots were added,
                        and in a copy of the run, whose figures somebody else may have written
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from bootscope.analysis.ground import common_zero
from bootscope.analysis.samples import MILESTONE, PHASE, Quantity, SampleSet, goal
from bootscope.capture.imported import IMPORT
from bootscope.capture.measured import MEASURED
from bootscope.capture.program import program_id
from bootscope.capture.record import RUN, write_whole
from bootscope.capture.store import Store
from bootscope.capture.stored import Summary
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import BootscopeError
from bootscope.runs.run import sample_set
from bootscope.statistics.describe import describe, median

FIGURE = "figure.json"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """The time that `boots` boots of a run took to `what`, in ns: the median and the interquartile range.

    `exact` boots are the same to the nanosecond. `milestones`: name -> median, lowest and highest time of
    those boots that reached it, in ns from the same zero; `phases`: the same for their lengths. `complete` is
    how many boots were complete at the time of computing, `made_by` a hash of the program and of this copy of
    the run's description.
    """

    what: str
    median_ns: int
    spread_ns: int
    boots: int
    exact: bool
    complete: int
    made_by: str
    step_ns: int = 0
    milestones: dict[str, tuple[int, int, int]] = {}
    phases: dict[str, tuple[int, int, int]] = {}


class Listed(NamedTuple):
    """A run and its figures; None if no boot completed. Labels may contain any character."""

    run: Summary
    figure: Figure | None
    labels: Mapping[str, str] = MappingProxyType({})


def listed(store: Store, runs: Iterable[Summary], *, own: bool = False) -> list[Listed]:
    """These runs with their figures; `own` as for :func:`figure_of`."""
    return [Listed(run, figure_of(store, run, own=own), store.labels_of(run.run_id)) for run in runs]


def figure_of(store: Store, run: Summary, *, own: bool = False) -> Figure | None:
    """The figures of a run's boots; None if no boot completed, or they cannot be computed.

    A run on a server has the figures computed by whoever recorded it; with `own`, this program computes them,
    and may have to fetch the run for that. Raises ToolError if that fails.
    """
    if not run.usable:
        return None
    if not store.is_here(run.run_id):
        if sent := _sent_figure(store, run, own=own):
            return sent
        if not own:
            return None
        store.fetch(run.run_id)
    if kept := kept_figure(store, run):
        return kept
    made = None
    # A run that cannot be read must not hide the others.
    with contextlib.suppress(BootscopeError):
        made = _made(store, run, _made_by(store.runs / run.run_id))
    if made:
        with contextlib.suppress(OSError):
            write_whole(store.runs / run.run_id / FIGURE, msgspec.json.encode(made))
    return made


def _sent_figure(store: Store, run: Summary, *, own: bool) -> Figure | None:
    with contextlib.suppress(*DAMAGED):
        if text := store.sent_figure(run.run_id, own=own):
            return msgspec.json.decode(text, type=Figure)
    return None


def kept_figure(store: Store, run: Summary) -> Figure | None:
    """The same if it was computed before; None also if that would take a while."""
    path = store.runs / run.run_id
    with contextlib.suppress(OSError, *DAMAGED):
        kept = msgspec.json.decode((path / FIGURE).read_bytes(), type=Figure)
        made_by = _made_by(path)
        if kept.made_by == made_by and made_by and kept.complete == run.complete and run.usable:
            return kept
    return None


def _made_by(run: Path) -> str:
    """A hash of the program and of the run's description, which may get milestones, with the moment in which
    the file system says that this file came to be: a copy has another one, whoever made it. Empty if unknown.
    """
    described = [run / name for name in (RUN, MEASURED, IMPORT) if (run / name).exists()]
    program = program_id()
    with contextlib.suppress(OSError):
        parts = [part for path in described for part in (path.read_bytes(), _moment(path))]
        return hashlib.sha256(b"".join([program, *parts])).hexdigest() if program else ""
    return ""


def _moment(path: Path) -> bytes:
    # Unlike the time of a file's content, nobody can set this one.
    return str(path.stat().st_ctime_ns).encode()


def _made(store: Store, run: Summary, made_by: str) -> Figure | None:
    ground = common_zero((sample_set(store, run.run_id),))
    boots = ground.sets[0]
    what = goal((boots,))
    values = boots.values(what)
    if not values or ground.refused:
        return None
    d = describe(values, boots.step_ns)
    return Figure(
        what=str(what),
        median_ns=d.median_ns,
        spread_ns=d.spread_ns,
        boots=d.count,
        exact=boots.exact,
        complete=run.complete,
        made_by=made_by,
        step_ns=boots.step_ns,
        milestones={q.name: _range(boots, q) for q in boots.quantities() if q.kind == MILESTONE},
        phases={q.name: _range(boots, q) for q in boots.quantities() if q.kind == PHASE},
    )


def _range(boots: SampleSet, quantity: Quantity) -> tuple[int, int, int]:
    """Median, lowest and highest."""
    values = boots.values(quantity)
    return median(values), min(values), max(values)

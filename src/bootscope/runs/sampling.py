# SPDX-License-Identifier: Apache-2.0
"""From the store to samples: the times of all boots of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bootscope.analysis.samples import (
    PHASE,
    WHOLE,
    BootTimes,
    Quantity,
    SampleSet,
    of_timeline,
    of_trace,
    of_traces,
    single,
    step_of,
)
from bootscope.capture.record import RunInfo
from bootscope.capture.store import IMPORTED, RECORDED, MeasuredRun, Store, StoredRun
from bootscope.system.load import BUILT_IN_MILESTONES
from bootscope.timeline.build import timeline
from bootscope.timeline.model import PHASES

if TYPE_CHECKING:
    from bootscope.importing.files import Understood


def sample_set(store: Store, name: str | None, number: int | None = None) -> SampleSet:
    """The boots of the run called `name`, or of them only boot `number`.

    Raises UserError when there is no such run or boot, or its files are damaged.
    """
    run_id = store.find_id(name)
    kind = store.kind(run_id)
    if kind == RECORDED:
        found = recorded(store.load(run_id))
    else:
        found = _imported(store, run_id) if kind == IMPORTED else measured(store.load_measured(run_id))
    return single(found, number) if number is not None else found


def _imported(store: Store, run_id: str) -> SampleSet:
    # The readers are not loaded for a recording.
    from bootscope.importing.files import of_run
    from bootscope.runs.milestones import not_found, told

    info, found = of_run(store, run_id)
    numbers = range(1, found.boots + 1)
    boots = [(f"{run_id}/{n:03}", found.trace(n, lines=False)) for n in numbers]
    sought = {one.name: told(one) for one in not_found(found, info.answers.milestones) if one.everywhere}
    return replace(of_traces(run_id, boots, facts={"name": info.name}), sought=sought)


def measured(run: MeasuredRun) -> SampleSet:
    """The boots of a real board; those that did not come to their end say why.

    Raises UserError when a capture is damaged.
    """
    # The readers are not loaded for a recording.
    from bootscope.boards.pins import edge_names
    from bootscope.importing.files import of_boot
    from bootscope.readers.markers import MARKERS

    info = run.info
    good = {boot.info.number for boot in run.boots if boot.info.complete}
    understood = {number: of_boot(run, number) for number in good}
    traces = {number: found.trace(1, lines=False) for number, found in understood.items()}
    # What a boot was to come to may also be a text or a silence, which is no milestone of its trace.
    until = info.until if any(info.until in trace.milestones() for trace in traces.values()) else ""
    seen = [
        _with_zero(of_trace(boot.info.boot_id, traces[n], until), understood[n])
        if (n := boot.info.number) in good
        else BootTimes(boot.info.boot_id, {}, False, f"{boot.info.ended}: {boot.info.message}")
        for boot in run.boots
    ]
    facts = {"board": info.board.name, "power": info.power}
    facts |= {"techniques": ", ".join(info.techniques)} if info.techniques else {}
    pins = edge_names(info.board.pins) if info.board.pins else {}
    names = {until, *(m.name for m in MARKERS), *info.board.milestones, *info.milestones, *pins}
    step_ns = step_of(traces.values())
    # Phases follow from what there is to see, so that anything may be one.
    return SampleSet(info.run_id, tuple(seen), False, until, step_ns, facts, possible=frozenset(names))


def _with_zero(boot: BootTimes, found: Understood) -> BootTimes:
    """A boot of a real board with what its times count from."""
    log, way = found.log(1)
    first_ns = way.at(log.at_ns[0]) if len(log) else None
    return replace(boot, zero=found.zero(1), first_ns=first_ns)


def recorded(run: StoredRun) -> SampleSet:
    """The boots of a recorded run, which are exact unless two complete ones differ.

    Raises UserError when a stream cannot be read.
    """
    info = run.info
    seen: dict[str, BootTimes] = {}
    boots = []
    for boot in run.boots:
        if not boot.info.complete:
            why = f"{boot.info.ended}: {boot.info.message}"
            boots.append(BootTimes(boot.info.boot_id, {}, False, why))
            continue
        stream = boot.info.stream_sha256 or boot.info.boot_id
        if stream not in seen:  # boots of one stream are the same boot
            seen[stream] = of_timeline(timeline(boot.info.boot_id, boot.records(), info))
        boots.append(BootTimes(boot.info.boot_id, seen[stream].times))
    complete = [boot.times for boot in boots if boot.complete]
    facts = {"system": info.system.name, "board": info.board.name, "build": info.build_id}
    exact = all(times == complete[0] for times in complete)
    return SampleSet(info.run_id, tuple(boots), exact, info.until, 0, facts, possible=_possible(info))


def _possible(info: RunInfo) -> frozenset[str]:
    """The milestones and phases that a boot of a recorded system may have."""
    settings = (key.split(".") for key in info.system.settings)
    declared = {names[1] for names in settings if names[0] == "milestones" and len(names) > 2}
    phases = {str(Quantity(PHASE, name)) for name in PHASES}
    return frozenset({info.until, *BUILT_IN_MILESTONES, *declared, *phases, str(WHOLE)})

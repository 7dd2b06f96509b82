# SPDX-License-Identifier: Apache-2.0
"""The times of the boots of a run of the emulator."""

from __future__ import annotations

from bootscope.analysis.samples import PHASE, WHOLE, BootTimes, Quantity, SampleSet, of_timeline
from bootscope.analysis.timing import own_timing
from bootscope.capture.record import RunInfo
from bootscope.capture.stored import StoredRun
from bootscope.loaders.registry import PHASES
from bootscope.system.load import BUILT_IN_MILESTONES
from bootscope.timeline.build import timeline_of


def times(run: StoredRun) -> SampleSet:
    """The boots, which are exact unless two complete ones differ. Raises UserError when a stream cannot be
    read."""
    info = run.info
    seen: dict[str, BootTimes] = {}
    boots = []
    for boot in run.boots:
        if not boot.info.complete:
            why = f"{boot.info.ended}: {boot.info.message}"
            boots.append(BootTimes(boot.info.boot_id, {}, False, why))
            continue
        stream = boot.info.stream_sha256 or boot.info.boot_id
        if stream not in seen:  # boots with equal streams are the same boot
            timing = own_timing(run, boot)
            made = timeline_of(boot.info.boot_id, boot.records(), info, timing=timing)
            seen[stream] = of_timeline(made.timeline)
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

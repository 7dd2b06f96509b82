# SPDX-License-Identifier: Apache-2.0
"""What if the core, its caches or its memory were different? Predicted from the counts of a boot.

Counts are kept; the cost of each is computed anew, and with it the whole boot, as the same stream on another
core. Without a core only the clock can change: then all that the CPU computes scales, and waiting does not
(timeline/cpu_time.py). Other changes are predicted on top of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import msgspec

from bootscope.analysis.clocked import unscaled_ns
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.views import View
from bootscope.analysis.whatif import Extra, Prediction, planned, predict
from bootscope.boards.changed import clock_core_of
from bootscope.boards.profile import Board
from bootscope.core.errors import UserError, unknown
from bootscope.core.settings import Sourced
from bootscope.cores.changes import Changed, changed, clock_times, is_of_core
from bootscope.cores.profile import Core


@dataclass(frozen=True)
class CorePrediction:
    """The prediction; the same boot on the core as it is and as it would be. `changed` is None if no change
    concerns the core."""

    prediction: Prediction
    before: View
    after: View
    changed: Changed | None = None

    @property
    def core(self) -> Core | None:
        """The core without its changes."""
        return self.before.core


def predict_on_core(
    before: View,
    changes: Iterable[str],
    view_on: Callable[[Core], View],
    extra: Iterable[Extra] = (),
) -> CorePrediction:
    """The end of a boot, with a core or without, with `changes` made; `view_on` gives the same boot on
    another core.

    Raises UserError for a change that is unknown or impossible, or, from `view_on`, for caches that were not
    counted.
    """
    changes = list(dict.fromkeys(changes))
    of_core = [change for change in changes if is_of_core(change)]
    others = [change for change in changes if not is_of_core(change)]
    if not of_core:
        return CorePrediction(predict(before.evidence, before.stacks, others, extra), before, before)
    core = before.core
    if core is None and (times := clock_times(of_core)):
        return _at_clock(before, times, others, extra)
    if core is None:
        raise UserError(
            f"'{of_core[0]}' is a change of a core's model: no core is known",
            hint="--core CORE, of a run recorded with --timing (bootscope help cores)",
        )
    made = changed(core, of_core)
    _check_phases(made.core, before.evidence)
    after = view_on(made.core)
    found = predict(after.evidence, after.stacks, others, extra)
    now = before.evidence.timeline.total_ns
    assumptions = tuple(dict.fromkeys((*made.assumptions, *found.assumptions)))
    return CorePrediction(replace(found, now_ns=now, assumptions=assumptions), before, after, made)


def _at_clock(before: View, times: Fraction, others: list[str], extra: Iterable[Extra]) -> CorePrediction:
    """A boot without a core, with `others` made, and a clock `times` as fast."""
    if before.on_board is None:
        raise UserError("this boot cannot be looked at with another clock")
    if own := clock_core_of(before.evidence.run.board):
        raise UserError(
            f"this boot was recorded with the clock of core {own.name}, and how long it waited for memory "
            "was not counted: another clock cannot be predicted",
            hint="record it with the other clock, or without guest-clock=core",
        )
    after = before.on_board(_board_at_clock(before.evidence.run.board, times))
    extra = list(extra)
    found = predict(after.evidence, after.stacks, others, extra)
    stays_ns = unscaled_ns(before.ground, planned(before.ground, others, extra))
    found = replace(found, predicted_ns=found.predicted_ns + int(stays_ns * (1 - 1 / times)))
    told = (
        f"the CPU and its memory compute {float(times):g} times as fast all the time",
        "sleeps, loops that wait for a clock, card and console take as long as before",
        f"so do {stays_ns / 1e6:.1f} ms in which samples show that the boot waits for the time",
    )
    assumptions = tuple(dict.fromkeys((*told, *found.assumptions)))
    now = before.evidence.timeline.total_ns
    return CorePrediction(replace(found, now_ns=now, assumptions=assumptions), before, after)


def _board_at_clock(board: Board, times: Fraction) -> Board:
    scale = Sourced(value=round(board.cpu_scale_ppm.value / times), source="a requested change")
    return msgspec.structs.replace(board, cpu_scale_ppm=scale)


def _check_phases(core: Core, evidence: Evidence) -> None:
    """Raises UserError if caches are switched in a phase that is missing or has no counts."""
    timing = evidence.timing
    known = timing.counted.info.phases if timing else ()
    for phase in core.switched:
        if phase not in known:
            raise unknown("phase with counts", phase, list(known))

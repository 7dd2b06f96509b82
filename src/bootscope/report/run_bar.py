# SPDX-License-Identifier: Apache-2.0
"""A run of many boots as one bar of the overlay: the medians of its phases one after the other."""

from __future__ import annotations

from bootscope.analysis.ground import common_zero
from bootscope.analysis.samples import PHASE, SampleSet, goal
from bootscope.export.text import plain
from bootscope.report.overlay_html import Bar
from bootscope.statistics.describe import median

NOTE = (
    "A bar of a run is the medians of its boots, which need not add up to the median of the whole; "
    "how far two runs are apart is what the verdict says."
)


def of_run(run: SampleSet) -> Bar | None:
    """A run's bar, with the phases that all its complete boots have; None if these have no common zero or
    goal. If the medians of the phases add up to more than the median of the whole, the last phase is cut."""
    ground = common_zero((run,))
    boots = ground.sets[0]
    whole = boots.values(goal((boots,)))
    if ground.refused or not whole:
        return None
    total_ns, at_ns, phases = median(whole), 0, []
    for quantity in boots.quantities():
        values = boots.values(quantity) if quantity.kind == PHASE else []
        if len(values) == len(whole) and at_ns < total_ns:
            end_ns = min(total_ns, at_ns + median(values))
            phases.append((plain(quantity.name), at_ns, end_ns))
            at_ns = end_ns
    return Bar(plain(run.run_id), total_ns, tuple(phases))

# SPDX-License-Identifier: Apache-2.0
"""The boots of a run of a real board as text: how many completed, and how much they vary."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from bootscope.analysis.ground import common_zero
from bootscope.analysis.samples import MILESTONE, Quantity, SampleSet
from bootscope.core.text import seconds, span
from bootscope.report.boots import named
from bootscope.report.tables import make_table
from bootscope.statistics.describe import Description, describe

_MOST_FAILED = 5


def described(boots: SampleSet) -> list[tuple[Quantity, Description]]:
    """The description of each quantity that at least two complete boots have: milestones by time, then phases
    in the order of the boot."""
    found = [(q, boots.values(q)) for q in boots.quantities()]
    told = [(q, describe(values, boots.step_ns)) for q, values in found if len(values) > 1]
    milestones = [item for item in told if item[0].kind == MILESTONE]
    return [
        *sorted(milestones, key=lambda item: item[1].median_ns),
        *(x for x in told if x not in milestones),
    ]


def show(out: Console, boots: SampleSet) -> None:
    """The outcome of a run's boots; nothing for a run of one boot."""
    if len(boots.boots) < 2:
        return
    out.print(Text(f"{boots.run_id}: {len(boots.complete)} of {len(boots.boots)} boots completed", "bold"))
    failed = [boot for boot in boots.boots if not boot.complete]
    for boot in failed[:_MOST_FAILED]:
        out.print(
            Text(f"  {boot.boot_id.rpartition('/')[2]}: {named(boot.why, 200)}", "yellow"), soft_wrap=True
        )
    if len(failed) > _MOST_FAILED:
        out.print(Text(f"  ... and {len(failed) - _MOST_FAILED} more (bootscope list)", "yellow"))
    ground = common_zero((boots,))
    boots = ground.sets[0]
    for note in (*ground.notes, *([ground.refused] if ground.refused else [])):
        out.print(Text(f"note: {named(note, 400)}", "yellow"))
    rows = [] if ground.refused else described(boots)
    if rows:
        columns = ("=", ">boots", ">median s", ">spread (IQR)", ">fastest s", ">slowest s", "outlier boots")
        table = make_table(*columns, spare=("boots", "outlier boots"))
        for quantity, d in rows:
            far = ", ".join(str(at + 1) for at in d.outliers)
            figures = (seconds(d.median_ns), span(d.spread_ns), seconds(d.lowest_ns), seconds(d.highest_ns))
            table.add_row(named(quantity), str(d.count), *figures, far)
        out.print(table)
        for quantity, d in rows:
            if d.warm_up_ns:
                out.print(Text(f"note: {named(quantity)}: the first boot differs from the others", "dim"))
            if d.drift:
                each = span(abs(d.drift.per_boot_ns))
                way = "later" if d.drift.per_boot_ns > 0 else "sooner"
                out.print(Text(f"note: {named(quantity)}: {each} {way} from boot to boot", "dim"))
    out.print()

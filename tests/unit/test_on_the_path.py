# SPDX-License-Identifier: Apache-2.0
"""Whose the critical path is, and which initcalls the boot waited for."""

from __future__ import annotations

from .scenes import Story, evidence_of
from .test_views import MS, table, view


def test_the_path_is_summed_up_by_who_it_is_and_who_holds_it_up() -> None:
    story = Story().hook("kernel.start").work(1 * MS).switch(1).work(2 * MS).fork(2)
    story.sleep(2).work(5 * MS).wake(1).work(3 * MS).switch(1).work(4 * MS)
    who, path = view(evidence_of(story.sample().records), "critical-path")
    found = {row["who"]: (row["length_ns"], row["runs_ns"], row["ready_ns"]) for row in who.rows}
    assert found == {
        "task2": (8 * MS, 5 * MS, 3 * MS),  # for 3 ms task 1 was ready, and it had the CPU
        "task1": (6 * MS, 6 * MS, 0),
        "kernel start": (1 * MS, 1 * MS, 0),
        "boot ROM": (200 * MS, 200 * MS, 0),
    }
    assert [row["who"] for row in who.rows] == ["boot ROM", "task2", "task1", "kernel start"]
    whole = sum(int(row["length_ns"] or 0) for row in path.rows)
    assert sum(int(row["length_ns"] or 0) for row in who.rows) == whole == who.sums["total_ns"]


def test_initcalls_are_ranked_by_what_the_boot_waited_for() -> None:
    story = Story().hook("kernel.start").switch(1).enter("initcall", 0xC0100000).work(1 * MS).fork(2).fork(3)
    story.enter("probe", text=b"dev").hook("probe.driver", text=b"drv").work(2 * MS).leave("probe")
    story.sleep(2).enter("probe", text=b"late").hook("probe.driver", text=b"drv").work(3 * MS).leave("probe")
    # What task 3 does while task 1 waits for the card is in nobody's way.
    story.wake(1).switch(1).sleep(3).enter("probe", text=b"aside").hook("probe.driver", text=b"drv")
    story.work(9 * MS).interrupt(5, b"mmc0").wake(1).leave("irq").switch(1).work(1 * MS).leave("initcall")
    rows = table(story, "initcalls").rows
    waited = {str(row["what"]): row["path_ns"] for row in rows}
    outer = next(what for what in waited if "drv" not in what)
    assert waited == {outer: 11 * MS, "late (drv)": 3 * MS, "dev (drv)": 2 * MS, "aside (drv)": 0}
    assert list(waited) == [outer, "late (drv)", "dev (drv)", "aside (drv)"]

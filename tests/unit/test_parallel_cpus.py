# SPDX-License-Identifier: Apache-2.0
"""Several CPUs that work at once: whose time is what, and sums that do not lie."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from bootscope.analysis.all_views import rows_of
from bootscope.analysis.critical import path
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks, seen
from bootscope.core.errors import UserError
from tests.unit.builders import KERNEL_SECTOR
from tests.unit.scenes import KERNEL_CODE, Story, evidence_of


def two_at_once() -> Story:
    """Task 1 runs on CPU 0 for 100 ns, task 2 on CPU 1 from 10 to 60 ns; then CPU 1 sleeps to the end."""
    story = Story().several(2).switch(1).work(10).cpu(1).switch(2).work(20).cpu(0).sample(KERNEL_CODE)
    story.work(30).cpu(1).sleep(101, b"swapper/1").work(40).slept(40).cpu(0)
    return story.sample(KERNEL_CODE)


def cells(evidence: Evidence, view: str, key: str) -> dict[str, dict[str, Any]]:
    """The first table of a view: cell `key` -> its row."""
    return {str(row[key]): dict(row) for row in rows_of(view, evidence, Stacks(evidence))[0].rows}


def test_slices_of_cpus_overlap_and_each_cpu_has_no_gap() -> None:
    evidence = evidence_of(two_at_once().records)
    for parts in evidence.slices_of_cpus.values():
        assert all(a.end_ns == b.start_ns for a, b in pairwise(parts))
    (first,) = [p for p in evidence.scene.slices if p.task.pid == 1]
    (second,) = [p for p in evidence.scene.slices if p.task.pid == 2]
    assert (first.cpu, second.cpu) == (0, 1)
    assert second.end_ns - second.start_ns == 50
    assert first.start_ns < second.start_ns < second.end_ns < first.end_ns


def test_each_process_has_its_own_time() -> None:
    found = cells(evidence_of(two_at_once().records), "processes", "pid")
    assert (found["1"]["cpu_ns"], found["2"]["cpu_ns"]) == (100, 50)


def test_a_card_that_works_for_one_cpu_is_not_the_cpu_time_of_another() -> None:
    story = Story().several(2).switch(1).cpu(1).switch(2).work(10).cpu(0).read(0, 512).work(20)
    story.cpu(1).work(30)
    found = cells(evidence_of(story.sample().records), "processes", "pid")
    assert found["1"]["storage_ns"] == found["1"]["busy_ns"] - found["1"]["cpu_ns"] > 0
    assert (found["2"]["storage_ns"], found["2"]["cpu_ns"], found["2"]["runnable_ns"]) == (0, 60, 0)


def test_the_phases_count_the_time_in_which_at_least_one_works_and_cpus_what_each_did() -> None:
    evidence = evidence_of(two_at_once().idle(500).sample().records)
    phases = evidence.timeline.phases
    assert sum(p.idle_ns for p in phases) == 500
    assert all(
        p.cpu_ns + p.idle_ns + p.storage_ns + p.console_ns + p.fixed_ns == p.duration_ns for p in phases
    )
    found = cells(evidence, "cpus", "what")
    for row in found.values():
        assert row["busy_ns"] + row["asleep_ns"] + row["devices_ns"] == evidence.timeline.total_ns
    assert found["CPU 1"]["asleep_ns"] == 40
    assert found["at least one"]["busy_ns"] == sum(p.cpu_ns for p in phases) == 100


def test_a_moment_is_that_of_the_cpu_that_says_something_then() -> None:
    evidence = evidence_of(two_at_once().records)
    begin_ns = evidence.run.board.power_on_ns.value
    assert evidence.slice_at(begin_ns + 10 + 1, 0).task.pid == 1
    assert evidence.slice_at(begin_ns + 10 + 1, 1).task.pid == 2
    assert path(evidence, Stacks(evidence), evidence.timeline.total_ns)[-1].task.pid == 1


def test_samples_are_of_the_cpu_that_they_were_taken_on() -> None:
    story = Story().several(2).hook("uboot.start").read(KERNEL_SECTOR, 512).hook("kernel.start")
    story.hook("kernel.init")
    story.switch(1).cpu(1).switch(2).work(10).sample(0x1000).cpu(0).sample(0x1000)
    assert [s.name for s in seen(evidence_of(story.records))] == ["program task2", "program task1"]


def test_an_interrupt_that_wakes_the_idle_task_of_another_cpu_is_no_work_of_its_own() -> None:
    story = Story().several(2).switch(1).cpu(1).work(10)
    story.cpu(0).sleep(3).work(50).cpu(1).wake(1).work(5).cpu(0).switch(1).work(20).sample()
    evidence = evidence_of(story.records)
    steps = path(evidence, Stacks(evidence), evidence.timeline.total_ns)
    assert not [s for s in steps if s.how == "runs" and s.task.idles and s.task.number]


def test_the_view_of_cpus_is_of_several_only() -> None:
    with pytest.raises(UserError, match="not of several CPUs"):
        rows_of("cpus", evidence_of(Story().switch(1).work(5).sample().records), Stacks(evidence_of([])))

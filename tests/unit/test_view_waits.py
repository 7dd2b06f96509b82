# SPDX-License-Identifier: Apache-2.0
"""Where the CPU waited: in delay loops, and asleep."""

from __future__ import annotations

import time

from bootscope.analysis.all_views import rows_of
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.rows import Rows
from bootscope.image.symbols import Symbols

from .scenes import Story, evidence_of

MS = 1_000_000


def view(evidence: Evidence, name: str, phase: str | None = None) -> tuple[Rows, ...]:
    return rows_of(name, evidence, Stacks(evidence), phase)


def table(story: Story, name: str) -> Rows:
    tables = view(evidence_of(story.sample().records), name)
    return next(rows for rows in tables if rows.name == name)


def test_delay_loops_are_counted_once_and_named_by_who_asked() -> None:
    tables = {"kernel": Symbols([(0xC0100000, "slow_probe"), (0xC0200000, "end")])}
    story = Story().hook("kernel.start").switch(1).enter("initcall", 0xC0100000)
    story.enter("delay", 5, 0xC0100014).work(1 * MS).enter("delay", 5, 0xC0100024).work(2 * MS).leave("delay")
    story.leave("delay").work(1 * MS).leave("initcall").sample()
    (row,) = view(evidence_of(story.records, tables=tables), "waits")[0].rows
    assert (row["what"], row["kind"], row["wait_ns"], row["times"]) == ("slow_probe", "spinning", 3 * MS, 1)
    assert row["who"] == "task1[1]: initcall slow_probe"


def test_what_a_delay_prints_is_not_waited_for_a_clock() -> None:
    tables = {"kernel": Symbols([(0xC0100000, "slow_probe"), (0xC0200000, "end")])}
    story = Story().hook("kernel.start").switch(1).enter("initcall", 0xC0100000)
    story.enter("delay", 0, 0xC0100014).work(2 * MS).typed(b"Calibrating delay loop... 99 BogoMIPS\n")
    story.leave("delay").leave("initcall").sample()
    evidence = evidence_of(story.records, tables=tables)
    (call,) = evidence.scene.of("delay")
    (row,) = view(evidence, "waits")[0].rows
    assert call.end_ns - call.start_ns > 3 * MS
    assert (row["what"], row["wait_ns"]) == ("slow_probe", 2 * MS)


def test_what_another_cpu_prints_meanwhile_is_no_wait_either() -> None:
    """The model stops all CPUs for it."""
    tables = {"kernel": Symbols([(0xC0100000, "slow_probe"), (0xC0200000, "end")])}
    story = Story().several(2).hook("kernel.start").switch(1).enter("initcall", 0xC0100000)
    story.enter("delay", 0, 0xC0100014).work(2 * MS).cpu(1).switch(2).typed(
        b"from another CPU, 40 letters or so..\n"
    )
    story.cpu(0).leave("delay").leave("initcall").sample()
    (row,) = (
        r for r in view(evidence_of(story.records, tables=tables), "waits")[0].rows if r["kind"] == "spinning"
    )
    assert (row["what"], row["wait_ns"]) == ("slow_probe", 2 * MS)


def test_the_work_grows_with_the_number_of_delays() -> None:
    """A driver of NAND waits so often. The work once grew with the square of that number, to minutes."""
    tables = {"kernel": Symbols([(0xC0100000, "slow_probe"), (0xC0200000, "end")])}
    story = Story().hook("kernel.start").switch(1).enter("initcall", 0xC0100000)
    for _ in range(30_000):
        story.enter("delay", 5, 0xC0100014).work(1000).leave("delay")
    evidence = evidence_of(story.leave("initcall").sample().records, tables=tables)
    began_s = time.process_time()
    (row,) = view(evidence, "waits")[0].rows
    assert (row["who"], row["times"]) == ("task1[1]: initcall slow_probe", 30_000)
    assert time.process_time() - began_s < 10


def test_a_sleep_of_the_cpu_is_for_the_task_that_its_end_woke() -> None:
    story = Story().hook("kernel.start").work(1 * MS).switch(1).work(2 * MS).sleep(0).idle(6 * MS)
    story.interrupt(5, b"mmc0").wake(1).leave("irq").switch(1).work(4 * MS).sleep(0).idle(9 * MS)
    found = {(r["who"], r["kind"]): r["wait_ns"] for r in table(story, "waits").rows}
    assert found == {("task1[1]", "asleep"): 6 * MS, ("the kernel", "asleep"): 9 * MS}

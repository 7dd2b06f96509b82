# SPDX-License-Identifier: Apache-2.0
"""The views of a boot: on any boot they are whole and add up, and the critical path has no gaps."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.analysis import critical
from bootscope.analysis.all_views import rows_of
from bootscope.analysis.critical import READY, RUNS, SLEEPS, path
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks, self_times
from bootscope.analysis.rows import Rows
from bootscope.analysis.trace import trace
from bootscope.analysis.view_names import NAMES
from bootscope.capture import objects
from bootscope.capture.record import Extent
from bootscope.capture.stream import Record
from bootscope.core.errors import UserError
from bootscope.image.symbols import Symbols

from .builders import POWER_ON_NS
from .elf import Fn, arm, elf
from .scenes import Story, boots, evidence_of, run_of

MS = 1_000_000
FEW = settings(max_examples=40)


def view(evidence: Evidence, name: str, phase: str | None = None) -> tuple[Rows, ...]:
    return rows_of(name, evidence, Stacks(evidence), phase)


def table(story: Story, name: str) -> Rows:
    tables = view(evidence_of(story.sample().records), name)
    return next(rows for rows in tables if rows.name == name)


# ---- any boot ----


def assert_sane(rows: Rows, total_ns: int) -> None:
    for row in rows.rows:
        for key, value in row.items():
            assert value is None or isinstance(value, int | str), key
            assert not isinstance(value, int) or value >= 0, (rows.name, key, row)
        for key in ("start_ns", "end_ns"):
            assert int(row.get(key) or 0) <= total_ns
        missing = [c.key for c in rows.columns if c.key not in row]
        assert not missing, (rows.name, missing)
    assert all(value >= 0 for value in rows.sums.values())
    json.dumps([dict(row) for row in rows.rows])


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(records=boots())
def test_every_view_of_any_boot_is_sane(name: str, records: list[Record]) -> None:
    evidence = evidence_of(records)
    phases = [None, *(phase.name for phase in evidence.timeline.phases)]
    for phase in phases:
        for rows in view(evidence, name, phase):
            assert_sane(rows, evidence.timeline.total_ns)
            assert phase is None or all(row["phase"] == phase for row in rows.rows)


@FEW
@given(boots())
def test_the_functions_of_a_phase_take_its_cpu_time(records: list[Record]) -> None:
    evidence = evidence_of(records)
    own = self_times(evidence)
    for phase in evidence.timeline.phases:
        assert sum(ns for (name, _), ns in own.items() if name == phase.name) == phase.cpu_ns
    stacks = Stacks(evidence).all()
    assert sum(stack.ns for stack in stacks) == evidence.timeline.total_ns
    assert all(stack.frames and all(stack.frames) for stack in stacks)


@FEW
@given(boots())
def test_processes_and_sleep_take_all_the_time_of_the_boot_and_of_each_phase(records: list[Record]) -> None:
    evidence = evidence_of(records)
    timeline = evidence.timeline
    idle_ns = sum(s.end_ns - s.start_ns for s in timeline.sleeps)
    rows = view(evidence, "processes")[0].rows
    assert sum(int(row["busy_ns"] or 0) for row in rows) + idle_ns == timeline.total_ns
    for phase in timeline.phases:
        parts = view(evidence, "processes", phase.name)[0].rows
        assert sum(int(row["busy_ns"] or 0) for row in parts) + phase.idle_ns == phase.duration_ns
        assert sum(int(row["storage_ns"] or 0) for row in parts) == phase.storage_ns
        assert sum(int(row["console_ns"] or 0) for row in parts) == phase.console_ns
        for row in parts:
            sums = (row["cpu_ns"], row["storage_ns"], row["console_ns"])
            assert sum(int(ns or 0) for ns in sums) == row["busy_ns"]


@FEW
@given(boots())
def test_storage_and_console_of_the_phases_add_up_to_the_whole(records: list[Record]) -> None:
    evidence = evidence_of(records)
    for name in ("storage", "console"):
        whole = view(evidence, name)[0].sums
        parts = [view(evidence, name, phase.name)[0].sums for phase in evidence.timeline.phases]
        for key in ("storage_ns", "read_bytes", "bytes", "lines", "cost_ns"):
            assert whole.get(key, 0) == sum(part.get(key, 0) for part in parts)


@FEW
@given(boots())
def test_the_floor_lies_below_the_boot(records: list[Record]) -> None:
    rows = view(evidence_of(records), "floor")[0]
    for row in rows.rows:
        assert int(row["floor_ns"] or 0) <= int(row["today_ns"] or 0)
    assert rows.sums["floor_ns"] <= rows.sums["today_ns"]


@FEW
@given(boots())
def test_any_boot_is_a_trace_whose_spans_lie_in_it(records: list[Record]) -> None:
    evidence = evidence_of(records)
    stacks = Stacks(evidence)
    found = trace(evidence, stacks, tuple(stacks.all()))
    for track in found.tracks:
        starts = [(span.start_ns, -span.end_ns) for span in track.spans]
        assert starts == sorted(starts), track.ident
        for span in track.spans:
            assert 0 <= span.start_ns <= span.end_ns
            assert track.ident in ("storage", "console") or span.end_ns <= found.total_ns
    assert len({track.ident for track in found.tracks}) == len(found.tracks)


# ---- the critical path ----


def assert_no_gaps(evidence: Evidence, at_ns: int) -> None:
    now = 0
    for step in path(evidence, Stacks(evidence), at_ns):
        assert step.start_ns == now
        assert step.end_ns > step.start_ns
        now = step.end_ns
    assert now == at_ns


@FEW
@given(boots(80), st.integers(0, 100))
def test_the_path_to_any_moment_covers_all_time_before_it(records: list[Record], percent: int) -> None:
    evidence = evidence_of(records)
    assert_no_gaps(evidence, evidence.timeline.total_ns)
    assert_no_gaps(evidence, evidence.timeline.total_ns * percent // 100)


_CHATTER = st.sampled_from(
    [
        *(lambda s, p=p: s.sleep(p) for p in range(4)),
        *(lambda s, p=p: s.wake(p) for p in range(4)),
        *(lambda s, p=p: s.switch(p) for p in range(4)),
        *(lambda s, p=p: s.interrupt().wake(p).leave("irq") for p in range(4)),
        lambda s: s.exit().switch(1, 0x80),
        lambda s: s.idle(1000),
        lambda s: s.fork(3),
    ]
)


@given(st.lists(st.tuples(st.sampled_from([0, 0, 1, 1000, 5_000_000]), _CHATTER), max_size=120))
def test_the_path_ends_however_tasks_wake_each_other(steps: list) -> None:  # type: ignore[type-arg]
    """Also when much happens at the same nanosecond."""
    story = Story().hook("kernel.start").work(1000)
    for work_ns, step in steps:
        step(story.work(work_ns))
    evidence = evidence_of(story.work(1000).sample().records)
    assert_no_gaps(evidence, evidence.timeline.total_ns)
    rows = critical.view(evidence, Stacks(evidence)).rows
    assert sum(int(row["length_ns"] or 0) for row in rows) == evidence.timeline.total_ns


def steps_of(story: Story) -> list[tuple[int, str, int]]:
    """(pid, how, length) along the path, from the kernel's start on."""
    evidence = evidence_of(story.sample().records)
    found = path(evidence, Stacks(evidence), evidence.timeline.total_ns)
    return [
        (s.task.pid, s.how, s.end_ns - max(s.start_ns, POWER_ON_NS)) for s in found if s.end_ns > POWER_ON_NS
    ]


def test_the_path_goes_through_whoever_woke_the_sleeper() -> None:
    story = Story().hook("kernel.start").work(1 * MS).switch(1).work(2 * MS).fork(2)
    story.sleep(2).work(5 * MS).wake(1).work(3 * MS).switch(1).work(4 * MS)
    assert steps_of(story) == [
        (0, RUNS, 1 * MS), (1, RUNS, 2 * MS), (2, RUNS, 5 * MS), (1, READY, 3 * MS), (1, RUNS, 4 * MS),
    ]  # fmt: skip


def test_the_path_waits_with_the_sleeper_for_an_interrupt() -> None:
    story = Story().hook("kernel.start").work(1 * MS).switch(1).work(2 * MS)
    story.sleep(0).idle(6 * MS).interrupt(5, b"mmc0").wake(1).leave("irq").switch(1).work(4 * MS)
    assert steps_of(story) == [
        (0, RUNS, 1 * MS), (1, RUNS, 2 * MS), (1, SLEEPS, 6 * MS), (1, RUNS, 4 * MS),
    ]  # fmt: skip
    row = next(r for r in table(story, "critical-path").rows if r["how"] == SLEEPS)
    assert (row["who"], row["length_ns"]) == ("task1[1]", 6 * MS)
    assert "mmc0" in str(row["what"])


def test_what_others_did_meanwhile_is_not_on_the_path() -> None:
    story = Story().hook("kernel.start").work(1 * MS).switch(1).work(2 * MS).fork(3).sleep(3).work(3 * MS)
    story.interrupt(5, b"mmc0").wake(1).leave("irq").switch(1).work(4 * MS)
    assert steps_of(story)[1:] == [(1, RUNS, 2 * MS), (1, SLEEPS, 3 * MS), (1, RUNS, 4 * MS)]


def test_a_child_waits_for_the_cpu_from_its_birth() -> None:
    story = Story().hook("kernel.start").work(1 * MS).switch(1).work(2 * MS).fork(2).work(3 * MS)
    story.switch(2).work(4 * MS)
    assert steps_of(story)[1:] == [(1, RUNS, 2 * MS), (2, READY, 3 * MS), (2, RUNS, 4 * MS)]


# ---- initcalls ----


def test_self_time_is_without_the_calls_inside_and_without_sleep() -> None:
    story = Story().hook("kernel.start").switch(1).enter("initcall", 0xC0100000).work(1 * MS)
    story.enter("probe", text=b"dev").hook("probe.driver", text=b"drv").work(2 * MS).read(4096, 1000)
    story.sleep(0).idle(5 * MS).interrupt().wake(1).leave("irq").switch(1).leave("probe", 517)
    story.work(3 * MS).leave("initcall")
    rows = {row["what"]: row for row in table(story, "initcalls").rows}
    probe, outer = rows["dev (drv)"], next(row for what, row in rows.items() if what != "dev (drv)")
    assert (probe["self_ns"], probe["storage_ns"], probe["waiting_ns"]) == (2 * MS, 501_000, 5 * MS)
    assert (probe["total_ns"], probe["result"]) == (7 * MS + 501_000, "deferred")
    assert (outer["self_ns"], outer["storage_ns"], outer["waiting_ns"]) == (4 * MS, 0, 0)
    assert outer["total_ns"] == 11 * MS + 501_000
    assert outer["virtual_ns"] == 11 * MS


# ---- the floor ----

CARD = (Extent(name="kernel", sector=100, sectors=100), Extent(name="device tree", sector=200, sectors=8))


def test_the_floor_counts_each_needed_thing_once_and_no_delay() -> None:
    story = Story().work(5 * MS).enter("spl.delay", 1, 0).work(4 * MS).leave("spl.delay").hook("uboot.start")
    story.work(50 * MS).read(100, 100 * 512).read(100, 100 * 512).read(200, 512).hook("kernel.start").work(
        30 * MS
    )
    evidence = evidence_of(story.sample().records, run_of(extents=CARD))
    rows = {row["what"]: row for row in view(evidence, "floor")[0].rows}
    assert rows["reading kernel"]["floor_ns"] == 500_000 + 51_200
    assert rows["reading kernel"]["today_ns"] == 2 * (500_000 + 51_200)
    assert rows["running the spl phase"]["floor_ns"] == 5 * MS
    assert rows["running the kernel phase"]["floor_ns"] == 30 * MS


def test_things_read_in_one_command_do_not_need_a_latency_each() -> None:
    story = Story().work(MS).read(100, 108 * 512)
    rows = view(evidence_of(story.sample().records, run_of(extents=CARD)), "floor")[0]
    tree = next(row for row in rows.rows if row["what"] == "reading device tree")
    assert int(tree["floor_ns"] or 0) <= int(tree["today_ns"] or 0) < 500_000


# ---- names, and what they cannot be ----


def test_an_unknown_view_or_phase_names_those_there_are() -> None:
    evidence = evidence_of([])
    with pytest.raises(UserError, match="unknown view 'x'"):
        view(evidence, "x")
    with pytest.raises(UserError, match="unknown phase 'init'") as caught:
        view(evidence, "waits", "init")
    assert caught.value.hint == "there are: rom"


def test_a_process_has_the_name_that_it_had_last() -> None:
    story = (
        Story().hook("kernel.start").switch(1).fork(2, b"sh").sleep(2).work(1 * MS).exec(b"/bin/mount", b"-a")
    )
    story.work(2 * MS).wake(1).exit().switch(1, 0x80).work(1 * MS)
    assert {row["name"] for row in table(story, "processes").rows} >= {"mount[2]", "task1[1]"}


def test_scripts_are_named_by_the_line_that_started_a_program() -> None:
    script = "#!/bin/sh\n# mount is next\nmount -a\nfor f in $(ls); do\n  $f start\ndone\nmdev -s\n"
    story = Story().hook("kernel.start").switch(1).exec(b"/bin/sh", b"/etc/rc")
    for pid, arguments in ((2, (b"mount", b"-a")), (3, (b"mdev", b"-s"))):
        story.fork(pid).sleep(pid).exec(*arguments).work(MS).wake(1).exit().switch(1, 0x80)
    evidence = evidence_of(story.sample().records, scripts={"/etc/rc": script})
    rows = {row["command"]: row["started_by"] for row in view(evidence, "processes")[0].rows}
    assert rows["mount -a"] == "/etc/rc:3"
    assert rows["mdev -s"] == "/etc/rc:7"


def test_call_paths_are_cut_to_the_context_that_they_ran_in() -> None:
    outer = Fn("do_one_initcall", arm(0xE92D4010, 0xE12FFF33, 0xE8BD8010))
    init = Fn("my_init", arm(0xE92D4010, 0xEB000000, 0xE8BD8010))
    leaf = Fn("leaf", arm(0xE1A00000, 0xE12FFF1E))
    kept = {objects.KERNEL: elf(outer, init, leaf, base=0xC0100000)}
    tables = {
        "kernel": Symbols([(0xC0100000, "do_one_initcall"), (0xC010000C, "my_init"), (0xC0100018, "leaf")])
    }
    story = Story().hook("kernel.start").switch(1).enter("initcall", 0xC010000C).work(MS).sample(0xC010001C)
    story.stack(0xC010001C, 0xC0100014, {1: 0xC0100008}).work(MS).leave("initcall").sample(0xC0100018)
    evidence = evidence_of(story.records, tables=tables, kept=kept)
    frames = {stack.frames for stack in Stacks(evidence).all()}
    assert ("kernel", "task1[1]", "initcall my_init", "my_init", "leaf") in frames


def test_a_kept_program_that_is_damaged_is_named() -> None:
    story = Story().hook("kernel.start").sample(0xC0100000).stack(0xC0100000)
    evidence = evidence_of(story.records, kept={objects.KERNEL: b"\x7fELF and nothing else"})
    with pytest.raises(UserError, match=r"the kernel-program kept with run \S+ is no ELF file of a 32-bit"):
        Stacks(evidence).all()

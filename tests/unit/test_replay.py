# SPDX-License-Identifier: Apache-2.0
"""From hooks to what the kernel did: tasks, sleeps, calls, programs, requests, messages."""

from __future__ import annotations

import gzip
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.analysis.kernel_activity import Call, Scene, Task
from bootscope.capture import stream
from bootscope.capture.record import RunInfo, read_json
from bootscope.capture.stream import Record

from ..fixtures.stock_boot import FOLDER
from .builders import POWER_ON_NS, SPANS, hook
from .scenes import Story, address, assert_tiled, boots, evidence_of, scene_of

MS = 1_000_000


def task(scene: Scene, pid: int) -> Task:
    return [t for t in scene.tasks if t.pid == pid][-1]


def calls(scene: Scene) -> list[tuple[str, int, int]]:
    """(kind, start, end) in virtual time."""
    found = scene.of(*SPANS)
    return [(c.kind, c.start_ns - POWER_ON_NS, c.end_ns - POWER_ON_NS) for c in found]


# ---- tasks ----


def test_a_switch_gives_the_cpu_to_another_task() -> None:
    story = Story().work(10).switch(1).work(20).switch(0).work(5).switch(1).work(7).sample()
    evidence = evidence_of(story.records)
    assert_tiled(evidence)
    assert [(p.task.pid, p.start_ns, p.end_ns) for p in evidence.scene.slices] == [
        (0, 0, POWER_ON_NS + 10),
        (1, POWER_ON_NS + 10, POWER_ON_NS + 30),
        (0, POWER_ON_NS + 30, POWER_ON_NS + 35),
        (1, POWER_ON_NS + 35, POWER_ON_NS + 42),
    ]
    assert evidence.scene.waits == []


def test_each_cpu_goes_on_with_its_own_task() -> None:
    """Virtual time is the sum of all CPUs: they take turns, and each stretch of it belongs to one of them."""
    story = Story().switch(1).work(10).cpu(1).work(20).switch(2).work(30)
    story.cpu(0).work(5).cpu(1).work(7).sample()
    evidence = evidence_of(story.records)
    assert_tiled(evidence)
    found = [
        (p.task.names[-1][1], p.start_ns - POWER_ON_NS, p.end_ns - POWER_ON_NS) for p in evidence.scene.slices
    ]
    assert found[2:] == [("swapper/1", 10, 30), ("task2", 30, 60), ("task1", 60, 65), ("task2", 65, 72)]
    assert evidence.scene.waits == []


def test_a_task_sleeps_until_it_is_woken_and_runs_later() -> None:
    story = Story().switch(1).work(10).sleep(2).work(20).wake(1).work(30).switch(1).work(1).sample()
    (wait,) = scene_of(story.records).waits
    assert (wait.start_ns, wait.woken_ns, wait.end_ns) == (
        POWER_ON_NS + 10,
        POWER_ON_NS + 30,
        POWER_ON_NS + 60,
    )
    assert wait.waker
    assert (wait.task.pid, wait.waker.pid, wait.irq) == (1, 2, "")


@pytest.mark.parametrize(("name", "said"), [(b"mmc0", "mmc0"), (b"", "irq 7")])
def test_a_task_woken_in_an_interrupt_was_waiting_for_that(name: bytes, said: str) -> None:
    story = Story().switch(1).sleep(2).work(5).interrupt(7, name).wake(1).leave("irq").switch(1).sample()
    (wait,) = scene_of(story.records).waits
    assert wait.irq == said


def test_a_softirq_has_no_name_of_its_own() -> None:
    story = Story().switch(1).sleep(2).enter("softirq", 0).wake(1).leave("softirq").switch(1).sample()
    assert scene_of(story.records).waits[0].irq == "timer or softirq"


def test_the_first_wake_counts() -> None:
    story = Story().switch(1).sleep(2).work(5).wake(1).work(5).wake(1).switch(1).sample()
    assert scene_of(story.records).waits[0].woken_ns == POWER_ON_NS + 5


def test_a_task_that_lost_the_cpu_on_its_way_to_sleep_was_ready() -> None:
    """A kernel with preemption takes the CPU from a task that says already that it will sleep."""
    story = Story().switch(1).sleep(2).work(50).switch(1).work(5).wake(1).work(5).switch(2).sample()
    evidence = evidence_of(story.records)
    assert evidence.scene.waits == []
    assert_tiled(evidence)


def test_without_hooks_on_wakes_a_sleep_ends_when_the_task_runs() -> None:
    run = evidence_of([]).run
    hooks = {number: name for number, name in run.watch.hooks.items() if name != "wake"}
    fields = {name: getattr(run, name) for name in run.__struct_fields__}
    watch = type(run.watch)(devices=run.watch.devices, hooks=hooks, texts=run.watch.texts)
    story = Story().switch(1).sleep(2).work(50).switch(1).sample()
    (wait,) = evidence_of(story.records, type(run)(**{**fields, "watch": watch})).scene.waits
    assert (wait.woken_ns, wait.waker, wait.waker_index) == (POWER_ON_NS + 50, None, -1)


def test_a_sleep_may_last_to_the_end_of_the_recording() -> None:
    story = Story().switch(1).work(10).sleep(2).work(90).sample()
    evidence = evidence_of(story.records)
    assert_tiled(evidence)
    (wait,) = evidence.scene.waits
    assert wait.end_ns == wait.woken_ns == evidence.timeline.total_ns


def test_the_last_sleep_of_a_task_that_is_gone_is_no_wait() -> None:
    story = Story().switch(1).work(5).exit().work(5).switch(2, 0x80).work(100).sample()
    scene = scene_of(story.records)
    assert scene.waits == []
    assert task(scene, 1).end_ns == POWER_ON_NS + 5


def test_a_fork_tells_parent_kind_and_name() -> None:
    story = Story().switch(1).work(5).fork(7, b"sh").fork(8, b"kthread", kernel=True).sample()
    scene = scene_of(story.records)
    child, thread = task(scene, 7), task(scene, 8)
    assert child.parent
    assert (child.parent.pid, child.start_ns, child.kernel) == (1, POWER_ON_NS + 5, False)
    assert (child.name_at(child.start_ns), thread.kernel) == ("sh", True)


def test_an_address_that_is_used_again_is_another_task() -> None:
    story = Story().switch(1).fork(7).switch(7).work(10).exit().switch(1, 0x80).work(10)
    story.hook("fork", address(7), 9, 9, 0, text=b"next")
    story.hook("switch", address(1), address(7), 9, 9, 0, 1, text=b"next").work(4).sample()
    evidence = evidence_of(story.records)
    assert_tiled(evidence)
    old, new = task(evidence.scene, 7), task(evidence.scene, 9)
    assert old is not new
    assert old.end_ns == POWER_ON_NS + 10
    assert new.end_ns is None
    assert sum(p.end_ns - p.start_ns for p in evidence.ledger.slices(new)) == 4


def test_a_task_that_vanished_unseen_ends_where_its_address_is_used_again() -> None:
    story = Story().switch(7).enter("work", 1).work(10).sleep(1).work(10)
    story.hook("fork", address(7), 9, 9, 0, text=b"next").work(80).sample()
    evidence = evidence_of(story.records)
    assert_tiled(evidence)
    old = task(evidence.scene, 7)
    assert old.end_ns == POWER_ON_NS + 20
    assert [(w.start_ns, w.end_ns) for w in evidence.scene.waits] == [(POWER_ON_NS + 10, POWER_ON_NS + 20)]
    assert calls(evidence.scene) == [("work", 0, 20)]


# ---- programs ----


def test_an_exec_has_its_file_and_arguments() -> None:
    story = Story().switch(1).exec(b"/bin/busybox", b"-c", b"a b").sample()
    (run,) = task(scene_of(story.records), 1).execs
    assert (run.file, run.arguments) == ("/bin/busybox", ("/bin/busybox", "-c", "a b"))


def test_an_exec_that_failed_leaves_nothing_to_the_next() -> None:
    story = Story().switch(1)
    story.hook("execve", 0, text=b"ls\0-l").hook("execve.file", 0, text=b"/sbin/ls")
    story.hook("execve", 0, text=b"ls\0-l").hook("execve.file", 0, text=b"/bin/ls")
    story.hook("exec", 1, address(1), text=b"ls").hook("exec", 1, address(1), text=b"other").sample()
    first, second = task(scene_of(story.records), 1).execs
    assert (first.file, first.arguments) == ("/bin/ls", ("ls", "-l"))
    assert (second.file, second.arguments) == ("other", ("other",))


def test_a_renaming_is_no_program_and_may_be_of_another_task() -> None:
    story = Story().switch(1).fork(2).work(5).hook("exec", 0, address(2), text=b"kworker/0:9").work(5)
    story.hook("exec", 0, text=b"whose?").sample()
    scene = scene_of(story.records)
    assert task(scene, 2).names[-1] == (POWER_ON_NS + 5, "kworker/0:9")
    assert [name for _, name in task(scene, 1).names] == ["task1"]
    assert task(scene, 1).execs == []


def test_a_long_name_does_not_change_at_the_next_switch() -> None:
    story = Story().switch(1).exec(b"/bin/a-very-long-process-name").work(9).switch(2).work(9)
    story.switch(1, name=b"a-very-long-pro").sample()
    names = [name for _, name in task(scene_of(story.records), 1).names]
    assert names == ["task1", "a-very-long-pro"]


def test_a_name_counts_from_the_moment_it_was_given() -> None:
    story = Story().switch(1, name=b"sh").work(10).exec(b"/bin/ls").work(10).sample()
    found = task(scene_of(story.records), 1)
    assert [found.name_at(POWER_ON_NS + at) for at in (-5, 0, 9, 10, 99)] == ["sh", "sh", "sh", "ls", "ls"]


def test_files_mapped_executable_belong_to_the_program() -> None:
    story = Story().switch(1).hook("map", 1, 0x10000, 0x2000, 4, 3, text=b"/bin/a")
    story.hook("map", 1, 0x20000, 0x1000, 1, 0, text=b"/etc/data").hook("map", 0, 0x30000, 0x1000, 4, 0)
    (mapped,) = task(scene_of(story.sample().records), 1).maps
    assert (mapped.path, mapped.address, mapped.size, mapped.offset) == ("/bin/a", 0x10000, 0x2000, 0x3000)


def test_a_child_has_the_maps_of_its_parent_until_it_executes() -> None:
    story = Story().switch(1).hook("map", 1, 0x10000, 0x2000, 4, 0, text=b"/bin/a").fork(2).switch(2)
    assert [m.path for m in task(scene_of(story.records), 2).maps] == ["/bin/a"]
    story.work(1).exec(b"/bin/b").sample()
    child = task(scene_of(story.records), 2)
    assert child.maps == child.maps_at(POWER_ON_NS + 1) == []
    assert [m.path for m in child.maps_at(POWER_ON_NS)] == ["/bin/a"]
    assert [m.path for m in task(scene_of(story.records), 1).maps] == ["/bin/a"]


# ---- calls ----


def test_calls_nest() -> None:
    story = Story().switch(1).enter("initcall", 5).work(1).enter("probe").work(2).leave("probe", 3).work(4)
    scene = scene_of(story.leave("initcall").sample().records)
    assert calls(scene) == [("initcall", 0, 7), ("probe", 1, 3)]
    assert {c.kind: (c.depth, c.result, c.open) for c in scene.calls} == {
        "initcall": (0, 0, False),
        "probe": (1, 3, False),
    }


def test_what_was_left_unseen_ends_with_what_called_it() -> None:
    story = Story().switch(1).enter("initcall", 5).enter("probe").work(2).enter("delay", 1, 2).work(3)
    scene = scene_of(story.leave("initcall", (1 << 32) - 22).work(9).leave("probe").sample().records)
    assert calls(scene) == [("initcall", 0, 5), ("probe", 0, 5), ("delay", 2, 5)]
    assert {c.kind: c.result for c in scene.calls} == {"initcall": -22, "probe": 0, "delay": 0}


def test_an_end_without_a_beginning_is_nothing() -> None:
    story = Story().switch(1).enter("initcall", 5).leave("work").leave("probe").work(5)
    scene = scene_of(story.leave("initcall").sample().records)
    assert calls(scene) == [("initcall", 0, 5)]


def test_calls_belong_to_their_task_across_switches() -> None:
    story = Story().switch(1).enter("initcall", 1).work(1).sleep(2).enter("work", 2).work(1).wake(1)
    story.switch(1).leave("initcall").work(1).switch(2).leave("work").sample()
    found = {c.kind: (c.task.pid, c.depth) for c in scene_of(story.records).calls}
    assert found == {"initcall": (1, 0), "work": (2, 0)}


def test_what_is_still_going_on_at_the_end_is_open() -> None:
    story = Story().switch(1).enter("initcall", 1).work(5).sample()
    evidence = evidence_of(story.records)
    (call,) = evidence.scene.calls
    assert (call.open, call.end_ns, call.last) == (True, evidence.timeline.total_ns, len(story.records))


def test_a_boot_loaders_calls_end_where_it_jumps_into_the_next_program() -> None:
    story = Story().enter("spl.initcall", 1).work(5).hook("uboot.start").work(1)
    story.enter("uboot.command", 1, text=b"bootz\x001").work(5).hook("kernel.image").work(5).sample()
    scene = scene_of(story.records)
    assert calls(scene) == [("spl.initcall", 0, 5), ("uboot.command", 6, 11)]
    assert scene.calls[1].text == "bootz 1"


def test_a_module_names_the_initcall_that_follows() -> None:
    story = Story().switch(1).hook("module", text=b"ext4").enter("initcall", 0x100).work(5).leave("initcall")
    story.enter("initcall", 0x200).leave("initcall").sample()
    found: list[Call] = scene_of(story.records).of("initcall")
    assert [(c.value, c.detail) for c in found] == [(0x100, "ext4"), (0x200, "")]


def test_drivers_belong_to_the_initcall_that_registered_them() -> None:
    story = Story().switch(1).enter("initcall", 1).hook("driver", text=b"sunxi-mmc").leave("initcall")
    story.hook("driver", text=b"late").enter("probe", text=b"1c0f000.mmc").hook(
        "probe.driver", text=b"sunxi-mmc"
    )
    scene = scene_of(story.leave("probe").sample().records)
    assert {name: call.value for name, call in scene.drivers.items()} == {"sunxi-mmc": 1}
    (probe,) = scene.of("probe")
    assert (probe.text, probe.detail) == ("1c0f000.mmc", "sunxi-mmc")


# ---- requests and messages ----


def test_requests_have_a_task_and_a_direction() -> None:
    story = Story().switch(3).hook("bio", 1, 100, 4096, 0x800, 12, text=b"/bin/a")
    story.hook("bio", 1, 200, 512, 1, 0).hook("bio", 1, 0, 1 << 31, 3, 0).sample()
    found = [(b.task.pid, b.sector, b.size_bytes, b.write, b.path) for b in scene_of(story.records).bios]
    assert found == [(3, 100, 4096, False, "/bin/a"), (3, 200, 512, True, "")]


@pytest.mark.parametrize(
    ("argument", "said", "level", "form"),
    [
        (-1, b"\x016hello\n", 6, "hello\n"),
        (-1, b"plain", 4, "plain"),
        (-1, b"", 4, ""),
        (3, b"\x016hello", 3, "hello"),
        (-1, b"\x01chello", -1, "hello"),
        (5, b"\x01chello", -1, "hello"),
        (-1, b"\x01d\x012x", 2, "x"),
        (-1, b"\x01", 4, "\x01"),
        (-1, b"\x01\xc2\xb2two", 4, "two"),
        (-1, b"\x019nine", 4, "nine"),
        (-1, b"\x01\xff", 4, ""),
    ],
)
def test_the_level_of_a_message(argument: int, said: bytes, level: int, form: str) -> None:
    story = Story().switch(1).hook("printk", argument & 0xFFFFFFFF, 0xC0100000, text=said).sample()
    (message,) = scene_of(story.records).messages
    assert (message.level, message.format) == (level, form)


# ---- anything ----


@given(boots())
def test_any_boot_is_tiled_by_its_tasks(records: list[Record]) -> None:
    assert_tiled(evidence_of(records))


@given(boots(), st.integers(0, 120))
def test_a_boot_cut_anywhere_is_tiled_by_its_tasks(records: list[Record], cut: int) -> None:
    assert_tiled(evidence_of(records[:cut]))


@cache
def stock() -> list[Record]:
    data = gzip.decompress((FOLDER / "stream.bin.gz").read_bytes())
    return list(stream.Decoder().feed(stream.body(data)))


@settings(max_examples=5)
@given(st.integers(0, 20_000))
def test_a_real_boot_cut_anywhere_is_tiled_by_its_tasks(cut: int) -> None:
    assert_tiled(evidence_of(stock()[:cut], read_json(FOLDER / "run.json", RunInfo)))


def test_hooks_of_an_older_kind_with_fewer_values_are_passed_over() -> None:
    story = Story().switch(1)
    story.records += [
        hook(0, name) for name in ("switch", "fork", "bio", "map", "printk", "delay", "probe.end")
    ]
    assert len(scene_of(story.sample().records).tasks) == 2

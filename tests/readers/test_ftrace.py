# SPDX-License-Identifier: Apache-2.0
"""ftrace's text, on traces of booting kernels."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.formats.ftrace import READERS
from bootscope.timeline.trace import Span, Track

from .fuzzing import FIXTURES, check, damaged, read, source, survives

(FTRACE,) = READERS
FILES = sorted(path.name for path in (FIXTURES / "ftrace").glob("*.txt"))


def boot_of(name: str, **values: str) -> Boot:
    reading = read(FTRACE, "ftrace", name, **values)
    assert len(reading.boots) == 1
    return reading.boots[0]


def text(data: str, **values: str) -> Boot:
    reading = FTRACE.read(Source("x", data.encode()), Options(values=values))
    check(reading)
    assert len(reading.boots) == 1
    return reading.boots[0]


def track(boot: Boot, ident: str) -> Track:
    return next(t for t in boot.tracks if t.ident == ident)


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_understood(name: str) -> None:
    assert FTRACE.sure(source("ftrace", name)) >= 60
    assert read(FTRACE, "ftrace", name).missed == []


def test_initcalls_have_their_levels_and_lengths() -> None:
    boot = boot_of("boot-events.txt")
    levels = track(boot, "initcall-levels").spans
    assert [s.name for s in levels] == [
        "console", "early", "pure", "core", "postcore", "arch", "subsys", "fs", "device", "late",
    ]  # fmt: skip
    first = track(boot, "initcalls-0").spans[0]
    # initcall_start at 0.017777 and initcall_finish at 0.051166 of con_init
    assert first == Span(17_777_000, 51_166_000, "con_init", {"returned": "0"})
    assert len(track(boot, "initcalls-1").spans) == 637
    assert boot.clock.name == "kernel" and boot.clock.resolution_ns == 1_000


def test_processes_are_born_execute_and_end() -> None:
    boot = boot_of("clock-boot.txt")
    lives = {t.spans[-1].name: t for t in boot.tracks if t.kind == "process"}
    folder = lives["/bin/mkdir"]
    assert [s.name for s in folder.spans] == ["init (forked)", "/bin/mkdir"]
    assert folder.parent == "process-1"
    assert folder.spans[-1].detail["ended"] == "exited"
    assert [p.name for p in boot.points] == ["a mark of ours"]


def test_storage_requests_have_a_length() -> None:
    boot = boot_of("clock-boot.txt")
    spans = track(boot, "storage-254,0").spans
    assert [s.name for s in spans] == ["read 4,096 bytes", "read 16,384 bytes"]
    assert spans[0].detail["by"].startswith("dd (") and spans[0].duration_ns > 0  # type: ignore[union-attr]


def test_calls_nest_by_their_stamps() -> None:
    boot = boot_of("graph-abstime-proc.txt")
    calls = next(t for t in boot.tracks if t.ident == "functions-1")
    opened = next(s for s in calls.spans if s.name == "do_sys_openat2")
    inside = [s for s in calls.spans if opened.start_ns < s.start_ns < opened.end_ns]
    assert {"getname", "get_unused_fd_flags", "do_filp_open", "fd_install", "putname"} <= {
        s.name for s in inside
    }
    rows = {row[0]: row for row in boot.tables[-1].rows}
    assert rows["do_sys_openat2"][1] == 5
    stacks = {stack.frames[1:]: stack.ns for stack in boot.stacks}
    assert ("do_sys_openat2", "do_filp_open", "path_openat") in stacks


def test_calls_without_stamps_keep_their_lengths() -> None:
    reading = read(FTRACE, "ftrace", "graph.txt")
    assert "funcgraph-abstime" in reading.questions[0]
    boot = reading.boots[0]
    assert boot.clock.name == "none"
    first = next(s for s in track(boot, "functions-cpu-0").spans if s.name == "do_sys_openat2")
    assert first.duration_ns == 524_976
    # self times add up to the total of what is outermost
    outer = [s for t in boot.tracks for s in t.spans if s.name == "do_sys_openat2"]
    total = sum(stack.ns for stack in boot.stacks if "do_sys_openat2" in stack.frames)
    assert total == sum(s.duration_ns for s in outer)


def test_what_was_overwritten_in_the_buffer_is_told() -> None:
    boot = boot_of("boot-graph.txt")
    assert boot.facts["calls without a beginning"] == "1"
    assert track(boot, "functions-1").spans[0].name == "do_one_initcall"


def test_switches_inside_the_drawing_become_cpu_time() -> None:
    boot = boot_of("graph-events.txt")
    assert track(boot, "cpu-0").spans
    assert ("rcu_sched", 14) in {row[:2] for row in boot.tables[0].rows}


def test_functions_are_counted() -> None:
    assert boot_of("function.txt").tables[0].rows[0] == ("vfs_open", 7)


def test_stamps_of_other_clocks() -> None:
    boot = boot_of("clock-uptime.txt", trace_clock="uptime")
    assert boot.clock.resolution_ns == 10_000_000
    assert boot.points[0].at_ns == 4019 * 10_000_000
    reading = read(FTRACE, "ftrace", "clock-counter.txt")
    assert "trace_clock" in reading.questions[0] and reading.boots[0].clock.name == "none"
    boot = text("a-1 [000] .... 24000000: initcall_level: level=core\n", trace_clock_hz="24000000")
    assert track(boot, "initcall-levels").spans[0].start_ns == 1_000_000_000


@pytest.mark.parametrize("rate", ["0", "fast", "1" * 13])
def test_a_rate_that_is_none_is_asked_for_again(rate: str) -> None:
    given = Source("x", b"a-1 [000] .... 24000000: initcall_level: level=core\n")
    reading = FTRACE.read(given, Options(values={"trace_clock_hz": rate}))
    assert "trace_clock_hz=HZ" in reading.questions[0] and reading.boots[0].clock.name == "none"


def test_latency_format_counts_from_the_first_event() -> None:
    boot = boot_of("events-latency.txt")
    assert boot.facts["kernel"] == "6.1.0-56-cloud-arm64"
    irqs = track(boot, "irq-0").spans
    assert irqs[0] == Span(39_862_000, 40_010_000, "irq 11 arch_timer")
    # the same events, in the other format, are as far apart
    other = track(boot_of("events-tgid.txt"), "irq-0").spans
    assert [(s.name, s.start_ns - other[0].start_ns) for s in other[:2]] == [
        ("irq 11 arch_timer", 0), ("softirq 1 TIMER", 164_000),
    ]  # fmt: skip


def test_old_headers_without_flags_and_lost_events() -> None:
    reading = FTRACE.read(
        Source(
            "x",
            b"# tracer: nop\n"
            b"     sh-42    [001]  10.000001: sched_switch: prev_comm=sh prev_pid=42 prev_prio=120 "
            b"prev_state=S ==> next_comm=my app next_pid=43 next_prio=120\n"
            b"CPU:1 [LOST 17 EVENTS]\n"
            b"  my app-43   [001]  10.500001: sched_switch: prev_comm=my app prev_pid=43 prev_prio=120 "
            b"prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120\n",
        ),
        Options(),
    )
    (boot,) = reading.boots
    assert boot.tracks[0].spans[-1] == Span(
        10_000_001_000, 10_500_001_000, "my app", {"pid": 43, "then": "X"}
    )
    assert "LOST 17 EVENTS" in reading.repairs[0].what


def test_a_second_trace_with_an_earlier_clock_is_another_boot() -> None:
    one = "# tracer: nop\n  a-1 [000] .... 5.000000: initcall_start: func=f+0x0/0x1\n"
    two = "# tracer: nop\n  a-1 [000] .... 1.000000: initcall_start: func=f+0x0/0x1\n"
    reading = FTRACE.read(Source("x", (one + two).encode()), Options())
    assert len(reading.boots) == 2
    assert reading.repairs[0].what.startswith("a second trace")


def test_something_else_is_refused() -> None:
    with pytest.raises(UserError, match="line 1"):
        FTRACE.read(Source("x", b"hello\n"), Options())


ALL = b"".join(source("ftrace", name).data[:12_000] for name in FILES)


@settings(max_examples=120, deadline=None)
@given(st.one_of(damaged(ALL), st.binary(max_size=300)))
def test_damage_is_survived(data: bytes) -> None:
    survives(FTRACE, data)

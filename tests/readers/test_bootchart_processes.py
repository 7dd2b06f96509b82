# SPDX-License-Identifier: Apache-2.0
"""Processes of bootchart archives: what their samples become."""

from __future__ import annotations

from bootscope.readers.bootchart_log import Logs, command_lines, stat_line, task_line
from bootscope.timeline.trace import Span

from .test_bootchart import MS, of_logs, track


def stat(pid: int, name: str, ppid: int, state: str, cpu: int, start: int) -> str:
    """A line of /proc/PID/stat; times in 1/100 s."""
    return f"{pid} ({name}) {state} {ppid} 1 1 0 -1 64 0 0 0 0 {cpu} 0 0 0 20 0 1 0 {start} 0 0"


def sampled(*samples: tuple[int, list[str]]) -> bytes:
    return "".join(f"{at}\n" + "".join(f"{x}\n" for x in lines) + "\n" for at, lines in samples).encode()


def test_states_and_programs_become_spans() -> None:
    logs = sampled(
        (100, [stat(5, "sh", 1, "S", 2, 90)]),
        (110, [stat(5, "sh", 1, "D", 2, 90)]),
        (120, [stat(5, "sh", 1, "D", 2, 90)]),
        (130, [stat(5, "ls", 1, "S", 7, 90)]),
        (140, [stat(5, "ls", 1, "R", 8, 90)]),
        (150, []),
    )
    (boot,) = of_logs(proc_ps__log=logs).boots
    assert track(boot, "process:5").spans == (
        Span(900 * MS, 1000 * MS, "running", {"program": "sh", "cpu_ns": 20 * MS}),
        Span(1000 * MS, 1200 * MS, "waiting for storage", {"program": "sh"}),
        Span(1200 * MS, 1400 * MS, "running", {"program": "ls", "cpu_ns": 60 * MS}),
    )


def test_a_process_that_begins_at_its_first_sample() -> None:
    logs = sampled((100, [stat(5, "sh", 1, "S", 0, 100)]), (110, [stat(5, "sh", 1, "R", 3, 100)]))
    (boot,) = of_logs(proc_ps__log=logs).boots
    assert [(s.name, s.start_ns, s.end_ns) for s in track(boot, "process:5").spans] == [
        ("running", 1000 * MS, 1100 * MS),
        ("sleeping", 1000 * MS, 1000 * MS),
    ]


def test_a_process_id_used_again_is_another_process() -> None:
    logs = sampled(
        (100, [stat(1, "init", 0, "S", 1, 0), stat(9, "a", 1, "S", 1, 90)]),
        (120, [stat(1, "init", 0, "S", 1, 0), stat(9, "b", 1, "S", 1, 115), stat(10, "c", 9, "S", 0, 118)]),
    )
    (boot,) = of_logs(proc_ps__log=logs).boots
    titles = {t.title: t for t in boot.tracks}
    assert titles["a (9)"].ident != titles["b (9)"].ident
    assert titles["c (10)"].parent == titles["b (9)"].ident
    assert titles["b (9)"].spans[0].start_ns == 1150 * MS


def test_names_with_brackets_and_spaces() -> None:
    found = stat_line(stat(7, "a) R (b c", 1, "S", 3, 4).encode())
    assert found and (found.pid, found.name, found.state, found.cpu_ns) == (7, b"a) R (b c", "S", 30 * MS)
    task = task_line(b"12 1 tmux: server 4000000 12 3")
    assert task and (task.name, task.cpu_ns, task.blocked_ns) == (b"tmux: server", 4 * MS, 15)


def test_taskstats_leave_out_who_sleeps() -> None:
    logs = sampled(
        (100, ["3 1 x 5000000 0 0"]),
        (110, []),
        (120, []),
        (130, ["3 1 x 9000000 2000000 0"]),
        (140, ["3 1 x 9000000 3000000 0"]),
    )
    (boot,) = of_logs(taskstats__log=logs).boots
    assert [(s.name, s.start_ns, s.end_ns) for s in track(boot, "process:3").spans] == [
        ("sleeping", 1000 * MS, 1200 * MS),
        ("running", 1200 * MS, 1300 * MS),
        ("waiting for storage", 1300 * MS, 1400 * MS),
    ]


def test_paternity_knows_better_than_the_last_parent() -> None:
    logs = sampled(
        (100, [stat(1, "init", 0, "S", 1, 0), stat(4, "rcS", 1, "S", 0, 80), stat(8, "d", 1, "S", 1, 90)])
    )
    (boot,) = of_logs(proc_ps__log=logs, paternity__log=b"8 7\n7 4\n").boots
    assert track(boot, "process:8").parent == "process:4"


def test_processes_that_are_each_others_parents_do_not_hang_it() -> None:
    logs = sampled((100, [stat(4, "a", 5, "S", 1, 80), stat(5, "b", 4, "S", 1, 80)]))
    (boot,) = of_logs(proc_ps__log=logs, paternity__log=b"4 5\n5 4\n").boots
    parents = {t.ident: t.parent for t in boot.tracks}
    assert sorted(parents.values()) in (["", "process:4"], ["", "process:5"])


def test_command_lines() -> None:
    tally = Logs()
    data = b"5\n:/bin/busybox\n:ls\0-l\0/tmp\0\n\nnonsense\n\n6\n:/bin/sh\n:\n\n"
    assert command_lines(data, tally) == {5: "ls -l /tmp", 6: "/bin/sh"}
    assert [miss.text for miss in tally.missed] == ["cmdline2.log: nonsense"]


def test_a_clock_that_goes_back_is_told() -> None:
    logs = sampled(
        (100, ["cpu  1 0 1 98 0 0 0 0"]), (90, ["cpu  2 0 1 98"]), (120, ["cpu  11 0 6 103 0 0 0"])
    )
    reading = of_logs(proc_stat__log=logs)
    assert [r.what for r in reading.repairs] == ["proc_stat.log: clock went back: samples left out"]
    assert track(reading.boots[0], "cpu").spans[0].name == "75 % busy"

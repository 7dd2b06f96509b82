# SPDX-License-Identifier: Apache-2.0
"""Joined boots as traces: phases and milestones by console lines, everything on one clock from 0."""

from __future__ import annotations

from array import array
from dataclasses import replace

from bootscope.readers.base import Boot, Log
from bootscope.readers.fit import Map
from bootscope.readers.join import File, Group, Joined, Member, join
from bootscope.readers.markers import MARKERS, marker_lines, said, split_line
from bootscope.readers.trace_of import trace_of
from bootscope.timeline.trace import Point, Span, Table, Trace, Track

from .import_builders import HOST, KERNEL, MS, S, boot, file, kernel_lines, on_console
from .test_import_join import OFFSET_NS, files_of_one_boot


def trace(files: list[File], number: int = 0, lines: bool = True, **own: str) -> Trace:
    return trace_of(files, join(files, {}), number, [said(*item) for item in own.items()], lines=lines)


def phases(found: Trace) -> list[tuple[str, int, int]]:
    track = found.track("phases")
    return [(s.name, s.start_ns, s.end_ns) for s in track.spans] if track else []


def test_a_console_log_has_phases_and_milestones() -> None:
    said_lines = [(at_ns, words) for at_ns, words in on_console(kernel_lines(), OFFSET_NS, stamps=False)]
    found = trace([file("console.log", "x", boot(HOST, said_lines))])
    run_ns = next(at_ns for at_ns, words in said_lines if words.startswith("Run "))
    assert phases(found) == [
        ("spl", 0, 100 * MS),
        ("bootloader", 100 * MS, 3_700 * MS),
        ("decompress+early-kernel", 3_700 * MS, 4_200 * MS),
        ("kernel", 4_200 * MS, run_ns),
        ("init", run_ns, 9 * S),
        ("application", 9 * S, 9 * S),
    ]
    assert list(found.milestones()) == ["spl", "bootloader", "kernel-start", "kernel-entry", "init", "login"]
    assert found.total_ns == 9 * S
    assert sum(p.kind == "line" for p in found.points) == len(said_lines)


def test_a_joined_dmesg_puts_the_kernels_start_where_it_was() -> None:
    """The console started 200 ms late; the dmesg tells, and with what error."""
    found = trace(files_of_one_boot(True))
    kernel = next(p for p in found.points if p.name == "kernel-entry")
    assert abs(kernel.at_ns - OFFSET_NS) <= kernel.error_ns < 2 * MS
    assert dict((name, start) for name, start, _ in phases(found))["kernel"] == kernel.at_ns
    assert found.title == "console.log, dmesg.txt"
    assert len(found.notes) == 2


def test_a_line_in_two_logs_is_there_once() -> None:
    files = files_of_one_boot(True)
    files[1].reading.boots[0].log.add(4 * S, "only in the dmesg")
    lines = [p.name for p in trace(files).points if p.kind == "line"]
    assert len(lines) == len(set(lines)) == 208
    assert "only in the dmesg" in lines
    assert not [p for p in trace(files, lines=False).points if p.kind == "line"]


def test_the_users_milestones_are_the_first_line_with_their_text() -> None:
    found = trace(files_of_one_boot(True), shell="board login", driver="driver7:", never="not there")
    assert found.milestones()["shell"] == OFFSET_NS + 5 * S
    assert "driver" in found.milestones()
    assert "never" not in found.milestones()


def test_a_calendar_begins_with_the_first_thing_seen() -> None:
    wall = replace(HOST, name="wall", zero="1970-01-01")
    start_ns = 1_790_000_000 * S
    found = trace([file("a", "x", boot(wall, [(start_ns, "U-Boot 2025.01"), (start_ns + S, "done")]))])
    assert (found.total_ns, phases(found)) == (S, [("bootloader", 0, S)])
    assert found.clock == "wall clock of a, 0 is the first thing seen"


def test_nothing_lies_before_the_beginning() -> None:
    """The chip's counter began 0.9 s before the host saw the first byte."""
    console = files_of_one_boot(False)[0]
    stages = Boot(KERNEL, points=[Point(1_000 * MS, "bootloader", "milestone"), Point(0, "reset")])
    found = trace([console, file("s", "y", stages)])
    assert min(p.at_ns for p in found.points) == 0
    assert found.milestones()["bootloader"] == 1_000 * MS
    assert found.total_ns == 9_900 * MS


def test_without_a_word_about_init_the_end_of_the_kernel_is_its_start() -> None:
    lines = [(0, "Linux version 4.4.0"), (S, "Freeing unused kernel memory: 1024K"), (2 * S, "hello")]
    assert phases(trace([file("a", "x", boot(KERNEL, lines))])) == [("kernel", 0, S), ("init", S, 2 * S)]


def test_lines_before_any_marker_are_a_phase_of_their_own() -> None:
    lines = [(0, "a vendor's first words"), (S, "U-Boot 2025.01 (x)"), (2 * S, "x")]
    assert phases(trace([file("a", "x", boot(HOST, lines))])) == [("earlier", 0, S), ("bootloader", S, 2 * S)]


def test_a_marker_out_of_order_begins_no_phase() -> None:
    lines = [
        (0, "U-Boot 2025.01"),
        (S, "Run /init as init process"),
        (2 * S, "Linux version 6.12"),
        (3 * S, "x"),
    ]
    assert [name for name, _, _ in phases(trace([file("a", "x", boot(HOST, lines))]))] == [
        "bootloader",
        "kernel",
    ]


def test_a_log_without_markers_has_no_phases() -> None:
    assert phases(trace([file("a", "x", boot(HOST, [(0, "hello"), (S, "world")]))])) == []


def test_tracks_of_two_files_keep_apart_and_move_to_the_joined_clock() -> None:
    spans = (Span(S, 2 * S, "a"), Span(S, S, "b"))
    track = Track("p1", "process", "sh", spans)
    child = Track("p2", "process", "ls", spans, parent="p1")
    console, dmesg = files_of_one_boot(True)
    dmesg.reading.boots[0].tracks += [track, child]
    third = file("third", "z", Boot(KERNEL, tracks=[track, child], tables=[Table("t", ("a",), ((1,),))]))
    found = trace([console, dmesg, third])
    assert [(t.ident, t.parent) for t in found.tracks[1:]] == [
        ("p1", ""),
        ("p2", "p1"),
        ("3.p1", ""),
        ("3.p2", "3.p1"),
    ]
    moved = found.tracks[1].spans
    assert abs(moved[0].start_ns - OFFSET_NS - S) < 2 * MS
    assert abs(moved[0].duration_ns - S) <= 1
    assert moved[1].duration_ns == 0


def test_each_boot_of_a_file_is_a_trace() -> None:
    twice = file("a", "x", *(boot(HOST, [(0, "U-Boot 2025.01"), (n * S, "x")]) for n in (1, 2)))
    assert [trace([twice], n).total_ns for n in (0, 1)] == [S, 2 * S]
    assert trace([twice], 1).title == "a (boot 2)"


def test_a_boot_with_nothing_in_it_is_an_empty_trace() -> None:
    found = trace([file("a", "x", Boot(HOST))])
    assert (found.total_ns, found.tracks, found.points) == (0, (), ())


# ---- markers ----


def test_kernel_stamps_levels_and_callers_are_taken_off() -> None:
    for text, expected in [
        ("[    1.234567] Run /init", (1_234_567_000, "Run /init")),
        ("<6>[    1.234567] Run /init", (1_234_567_000, "Run /init")),
        ("[    1.234567][    T1] Run /init", (1_234_567_000, "Run /init")),
        ("[123456.000001] x", (123_456_000_001_000, "x")),
        ("[ C0] x", (-1, "x")),
        ("kernel: Run /init", (-1, "Run /init")),
        ("  plain [1.2] words ", (-1, "plain [1.2] words")),
        ("", (-1, "")),
    ]:
        assert split_line(text) == expected, text


def test_markers_far_into_a_log_are_found_with_their_place() -> None:
    lines = [(n, "driver: Linux version of the driver") for n in range(3_000)]
    lines[2_500] = (2_500, "[    0.000000] Linux version 6.12.0 (gcc)")
    lines[2_999] = (2_999, "[    9.000000] Run /sbin/init as init process")
    found = marker_lines(boot(HOST, lines).log, MARKERS)
    assert {name: hit.index for name, hit in found.items()} == {"kernel-entry": 2_500, "init": 2_999}


def test_lines_with_a_text_are_found_once_each_and_within_their_log_only() -> None:
    blob = b"<x ab ab>\n<x none>\nab<x ab>\n<y ab>\n"
    starts, ends = array("q", [1, 11, 22, 29]), array("q", [8, 17, 26, 33])
    numbers = array("q", range(4))
    first = Log.of_columns(
        blob, starts[:3], ends[:3], numbers[:3], array("b", [-1] * 3), numbers[:3], bytearray(3)
    )
    assert [first.text(n) for n in range(3)] == ["x ab ab", "x none", "x ab"]
    assert list(first.lines_with(b"ab")) == [0, 2]
    second = Log.of_columns(
        blob, starts[3:], ends[3:], numbers[:1], array("b", [-1]), numbers[:1], bytearray(1)
    )
    assert list(second.lines_with(b"ab")) == [0]
    assert list(second.lines_with(b"x")) == []
    assert list(Log().lines_with(b"x")) == []


def four_boots() -> File:
    """A file on one clock of the host, on which a boot of 3 s begins every 100 s."""
    lines = [(0, "U-Boot SPL 2025.01"), (S, "Starting kernel ..."), (3 * S, "board login: ")]
    starts = [n * 100 * S for n in range(4)]
    return file("four.log", "x", *(boot(HOST, [(at + ns, words) for ns, words in lines]) for at in starts))


def test_a_later_boot_of_a_file_begins_with_its_own_first_line() -> None:
    """All that came before it in the file was its phase `earlier`, and part of its length."""
    first, second = (trace([four_boots()], number) for number in (0, 1))
    assert (first.other_ns, first.bounds) == (0, ())
    assert (second.other_ns, second.known_total_ns) == (100 * S, 3 * S)
    assert (phases(second), second.milestones()) == (phases(first), first.milestones())
    assert second.bounds == (
        "this boot begins with 'spl' at 100.000 s of the file's clock; "
        "earlier boots of the file came before: not part of this boot",
    )


def test_a_trace_has_nothing_of_the_system_that_ran_before() -> None:
    lines = [
        (0, "reboot: Restarting system"),
        (10 * S, "U-Boot SPL 2025.01"),
        (12 * S, "Starting kernel ..."),
    ]
    found = boot(HOST, lines)
    found.points.append(Point(5 * S, "old", "milestone"))
    spans = (Span(S, 2 * S, "before"), Span(9 * S, 11 * S, "both"), Span(11 * S, 12 * S, "after"))
    found.tracks += [Track("x", "other", "x", spans), Track("y", "process", "y", spans[:1])]
    seen = trace([file("a.log", "x", found)])
    assert (seen.other_ns, seen.total_ns, seen.milestones()) == (
        10 * S,
        2 * S,
        {"spl": 0, "kernel-start": 2 * S},
    )
    assert [p.name for p in seen.points if p.kind == "line"] == [words for _, words in lines[1:]]
    track = seen.track("x")
    assert track and not seen.track("y")
    assert [(s.name, s.start_ns, s.end_ns) for s in track.spans] == [("both", 0, S), ("after", S, 2 * S)]


def test_what_another_file_saw_before_a_later_boot_may_be_of_that_boot() -> None:
    pins = file("pins.csv", "y", Boot(HOST, points=[Point(99 * S, "power", "pin")]))
    members = (Member(0, 1, Map(), 0), Member(1, 0, Map(), 0))
    files = [four_boots(), pins]
    found = trace_of(files, Joined((Group(members, ()),), ()), 0)
    assert (found.other_ns, found.bounds) == (0, ())

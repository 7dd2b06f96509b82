# SPDX-License-Identifier: Apache-2.0
"""Several files of one boot on one clock: what proves that it is one, and what is said when it is not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bootscope.core.errors import UserError
from bootscope.readers import link as on
from bootscope.readers.base import WHEN_LOGGED, Boot, Clock
from bootscope.readers.join import File, Joined, join
from bootscope.readers.join_words import clock_words, link_words, refusal_words
from bootscope.readers.link import Link
from bootscope.timeline.trace import Point, Stack

from .import_builders import HOST, KERNEL, MS, S, boot, file, kernel_lines, on_console

OFFSET_NS = 4 * S
COUNTER = Clock("counter", "reset", 42, WHEN_LOGGED, "arm-generic")
NO_CLOCK = Clock("none", "", 0)


def only_link(files: list[File], offsets: dict[str, int] | None = None) -> tuple[Link, Joined]:
    """The join of files that are one boot."""
    joined = join(files, offsets or {})
    (group,) = joined.groups
    (found,) = group.links
    assert joined.refusals == ()
    return found, joined


def files_of_one_boot(stamps: bool, ppm: int = 0) -> list[File]:
    said = kernel_lines()
    console = boot(HOST, on_console(said, OFFSET_NS, stamps=stamps, ppm=ppm))
    return [file("console.log", "grabserial", console), file("dmesg.txt", "dmesg", boot(KERNEL, said))]


# ---- what is joined ----


@pytest.mark.parametrize(("stamps", "how"), [(True, on.SAME_STAMPS), (False, on.LINES)])
@pytest.mark.parametrize("ppm", [0, 300])
def test_a_console_log_and_its_dmesg_are_joined_by_their_lines(stamps: bool, how: int, ppm: int) -> None:
    found, joined = only_link(files_of_one_boot(stamps, ppm))
    assert (found.how, found.matched) == (how, 203)
    for at_ns in (0, S, 3 * S):
        truth_ns = OFFSET_NS + at_ns + at_ns * ppm // 1_000_000
        assert abs(found.map.at(at_ns) - truth_ns) <= found.error_ns < 2 * MS
    assert [(m.file, m.error_ns) for m in joined.groups[0].members] == [(0, 0), (1, found.error_ns)]


def test_the_order_of_the_files_does_not_matter() -> None:
    one = join(files_of_one_boot(True), {}).groups[0].members
    two = join(files_of_one_boot(True)[::-1], {}).groups[0].members
    assert [(m.file, m.error_ns) for m in two] == [(1 - m.file, m.error_ns) for m in one]
    assert abs(two[1].map.at(S) - one[1].map.at(S)) <= 2


def test_a_trace_on_the_kernels_clock_joins_a_console_by_the_stamps_inside_its_lines() -> None:
    events = Boot(KERNEL, points=[Point(2 * S, "something")])
    found, _ = only_link([files_of_one_boot(True)[0], file("trace.txt", "ftrace", events)])
    assert found.how == on.STAMPS
    assert abs(found.map.at(2 * S) - OFFSET_NS - 2 * S) <= found.error_ns


def test_two_files_on_one_counter_need_no_fit() -> None:
    pmf, stage = Boot(COUNTER, points=[Point(5 * MS, "bl2")]), Boot(COUNTER, points=[Point(S, "main_loop")])
    found, joined = only_link([file("pmf.txt", "tf-a", pmf), file("stage.txt", "bootstage", stage)])
    assert (found.how, found.map.at(77), found.error_ns) == (on.COUNTER, 77, 84)
    assert "arm-generic" in link_words(
        [file("a", "x", pmf), file("b", "y", stage)], joined.groups[0].links[0]
    )


def test_files_without_a_line_in_common_are_joined_by_events() -> None:
    console = files_of_one_boot(False)[0]
    stages = Boot(
        COUNTER,
        points=[Point(S, "bootloader", "milestone"), Point(S + 3600 * MS, "kernel-start", "milestone")],
    )
    found, _ = only_link([console, file("stage.txt", "bootstage", stages)])
    # Seen by the host at 0.1 s and 3.7 s.
    assert (found.how, found.matched, found.map.at(S)) == (on.EVENTS, 2, 100 * MS)
    assert found.error_ns == 1_042


def test_one_event_is_not_enough_to_know_the_error() -> None:
    console = files_of_one_boot(False)[0]
    stages = Boot(COUNTER, points=[Point(S, "bootloader", "milestone")])
    found, _ = only_link([console, file("stage.txt", "bootstage", stages)])
    assert found.error_ns == 100 * MS + 1_042


def test_three_files_hang_together_and_their_errors_add_up() -> None:
    console, dmesg = files_of_one_boot(True)
    trace = file("trace.txt", "ftrace", Boot(KERNEL, points=[Point(2 * S, "x")]))
    (group,) = join([trace, dmesg, console], {}).groups
    assert [m.file for m in group.members] == [2, 0, 1]
    by_file = {m.file: m for m in group.members}
    assert by_file[0].map.at(S) == by_file[1].map.at(S)
    assert by_file[0].error_ns > by_file[1].error_ns > 0


def test_what_the_user_tells_goes_before_everything() -> None:
    found, joined = only_link(files_of_one_boot(True), {"dmesg.txt": 7 * S})
    assert (found.how, found.map.at(S), found.error_ns) == (on.TOLD, 8 * S, 0)
    assert "by --offset; its 0 is at +7.000000 s; error as told" in link_words(
        files_of_one_boot(True), joined.groups[0].links[0]
    )


def test_offsets_count_from_the_first_stamp_of_a_calendar() -> None:
    wall = replace(HOST, name="wall", zero="1970")
    a = file("a", "x", boot(wall, [(1_700_000_000 * S, "first line")]))
    b = file("b", "y", boot(KERNEL, [(0, "other line")]))
    found, _ = only_link([a, b], {"b": 2 * S})
    assert found.map.at(0) == 1_700_000_002 * S


def test_logs_with_calendar_stamps_that_overlap_are_taken_to_agree() -> None:
    wall = replace(KERNEL, name="wall", zero="1970")
    a = file("a", "strace", boot(wall, [(1_700_000_000 * S, "open"), (1_700_000_009 * S, "close")]))
    b = file("b", "journal", boot(wall, [(1_700_000_005 * S, "started")]))
    found, _ = only_link([a, b])
    assert (found.how, found.error_ns) == (on.CALENDAR, S + 2_000)


def test_figures_without_a_clock_belong_to_the_only_boot() -> None:
    profile = file("perf.txt", "perf", Boot(NO_CLOCK, stacks=[Stack(("main",), 5)]))
    files = [profile, *files_of_one_boot(True)]
    (group,) = join(files, {}).groups
    assert [m.file for m in group.members] == [1, 0, 2]
    assert "perf.txt onto console.log: it has no stamps and is shown separately" in [
        link_words(files, x) for x in group.links
    ]


def test_a_dmesg_that_counts_from_its_first_line_is_the_same_boot() -> None:
    said = kernel_lines()
    late = [(at_ns - said[20][0], words) for at_ns, words in said[20:]]
    anew = replace(KERNEL, zero="the first line of the log")
    files = [file("dmesg.txt", "dmesg", boot(KERNEL, said)), file("e.txt", "dmesg", boot(anew, late))]
    found, _ = only_link(files)
    assert (found.how, found.map.at(0)) == (on.SAME_STAMPS, said[20][0])
    # The same stamps, all a little later, by the kernel's own clock: an emulated boot with another setting.
    moved = [(at_ns and at_ns + 13_000, words) for at_ns, words in said]
    joined = join([files[0], file("other.txt", "dmesg", boot(KERNEL, moved))], {})
    assert (len(joined.groups), joined.refusals[0].certain) == (2, True)


def test_a_third_file_does_not_join_what_is_known_to_be_two_boots() -> None:
    """Calendar stamps without the kernel's: they would fit either boot."""
    mine = kernel_lines()
    other = [(at_ns and at_ns + 13_000, words) for at_ns, words in mine]
    wall = replace(KERNEL, name="wall", resolution_ns=S)
    dates = [(at_ns + 1_700_000_000 * S, words) for at_ns, words in mine]
    files = [
        file("1", "dmesg", boot(KERNEL, mine)),
        file("2", "dmesg", boot(KERNEL, other)),
        file("3", "x", boot(wall, dates)),
    ]
    joined = join(files, {})
    assert len(joined.groups) == 2
    assert {m.file for g in joined.groups for m in g.members} == {0, 1, 2}


# ---- what is not joined ----


def test_a_dmesg_of_another_boot_is_not_joined() -> None:
    console = files_of_one_boot(True)[0]
    other = [
        (at_ns + (at_ns and 7_000 + n * 11_000), words) for n, (at_ns, words) in enumerate(kernel_lines())
    ]
    files = [console, file("dmesg.txt", "dmesg", boot(KERNEL, other))]
    joined = join(files, {})
    assert len(joined.groups) == 2
    (refusal,) = joined.refusals
    why = "202 lines are the same but their kernel stamps differ: two boots"
    assert refusal_words(files, refusal) == f"dmesg.txt and console.log are not joined: {why}"


def test_two_console_logs_without_kernel_stamps_are_taken_for_two_boots() -> None:
    files = [replace(files_of_one_boot(False)[0], name=name) for name in ("1.log", "2.log")]
    joined = join(files, {})
    assert len(joined.groups) == 2
    assert "may be two boots" in joined.refusals[0].why


def test_a_dmesg_finds_its_boot_among_two_in_one_file() -> None:
    mine = kernel_lines()
    other = [(at_ns and at_ns + 13_000, words) for at_ns, words in mine]
    console = [boot(HOST, on_console(said, OFFSET_NS, stamps=True)) for said in (other, mine)]
    joined = join(
        [file("console.log", "grabserial", *console), file("dmesg.txt", "dmesg", boot(KERNEL, mine))], {}
    )
    assert [[(m.file, m.boot) for m in g.members] for g in joined.groups] == [[(0, 0)], [(0, 1), (1, 0)]]


def test_what_could_belong_to_either_of_two_boots_is_joined_to_none() -> None:
    console = [boot(HOST, on_console(kernel_lines(), OFFSET_NS, stamps=False)) for _ in range(2)]
    files = [
        file("console.log", "grabserial", *console),
        file("dmesg.txt", "dmesg", boot(KERNEL, kernel_lines())),
    ]
    joined = join(files, {})
    assert [len(g.members) for g in joined.groups] == [1, 1, 1]
    assert {r.why for r in joined.refusals} == {"it matches several boots in the other file"}
    assert refusal_words(files, joined.refusals[0]).startswith("dmesg.txt and console.log (boot 1) are not")


def test_files_with_nothing_in_common_stay_apart() -> None:
    a, b = boot(HOST, [(0, "one thing")]), boot(COUNTER, [(0, "another")])
    assert len(join([file("a", "x", a), file("b", "y", b)], {}).groups) == 2


def test_an_offset_cannot_choose_among_boots() -> None:
    console = files_of_one_boot(True)[0]
    twice = file("two.log", "x", *(boot(KERNEL, [(0, "x")]) for _ in range(2)))
    with pytest.raises(UserError, match=r"two\.log holds 2 boots: --offset cannot say which"):
        join([console, twice], {"two.log": 0})
    with pytest.raises(UserError, match="--offset must be against another file"):
        join([console], {"console.log": 0})


# ---- words ----


def test_a_link_tells_what_it_rests_on() -> None:
    files = files_of_one_boot(True, 300)
    found, joined = only_link(files)
    words = link_words(files, found)
    pattern = (
        r"dmesg\.txt onto console\.log: 203 identical lines, with the same kernel stamps; "
        r"its 0 is at \+(3\.9999|4\.0000)\d\d s; drift \+3[01]\d\.\d ppm; "
        r"1\d\d of them within the error; error [34]\d\d\.\d µs"
    )
    assert re.fullmatch(pattern, words), words
    assert (
        clock_words(files, joined.groups[0], False) == "host clock of console.log, 0 is first byte received"
    )


def test_what_has_no_clock_says_so_and_no_more() -> None:
    files = [file("graph.txt", "x", boot(replace(HOST, name="none", zero="durations only"), [(0, "a")]))]
    words = clock_words(files, join(files, {}).groups[0], False)
    assert words == "no clock: durations only, of graph.txt"


def test_hostile_names_are_harmless() -> None:
    files = [replace(f, name="\x1b[31m" + f.name) for f in files_of_one_boot(True)]
    found, _ = only_link(files)
    assert link_words(files, found).isprintable()

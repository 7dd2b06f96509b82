# SPDX-License-Identifier: Apache-2.0
"""The console: bytes to lines, and markers in them as a second opinion."""

from __future__ import annotations

from itertools import repeat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bootscope.capture.stream import Record
from bootscope.core.text import visible
from bootscope.devices.model import ConsoleByte
from bootscope.loaders.uboot import UBOOT
from bootscope.timeline.build import events_of
from bootscope.timeline.console import console_bytes, disagreements, lines, marker_times
from bootscope.timeline.costs import BoardClock
from bootscope.timeline.model import Line, Phase

from .builders import run_info, typed

MS = 1_000_000
STEP_NS = 10


def split(text: bytes) -> list[Line]:
    """The lines of a text whose bytes come STEP_NS apart and cost nothing."""
    records: list[Record] = typed(text, 0, STEP_NS)
    run = run_info()
    found = console_bytes(events_of(records, run), "uart0")
    return list(lines(found, BoardClock(records, [], 0)))


def test_lines_end_at_the_line_feed_and_lose_their_line_end() -> None:
    assert [line.data for line in split(b"one\r\ntwo\nthree\r\n")] == [b"one", b"two", b"three"]


def test_a_line_is_stamped_from_its_first_byte_to_its_last() -> None:
    assert [(line.start_ns, line.end_ns) for line in split(b"ab\ncd")] == [(0, 20), (30, 40)]


def test_a_text_without_a_final_line_end_keeps_its_last_line() -> None:
    assert [line.data for line in split(b"one\nlogin: ")] == [b"one", b"login: "]


def test_empty_lines_are_lines_and_no_text_has_none() -> None:
    assert [line.data for line in split(b"\n\r\n\n")] == [b"", b"", b""]
    assert split(b"") == []


def test_a_bare_carriage_return_ends_no_line() -> None:
    assert [line.data for line in split(b"10%\r20%\r\n")] == [b"10%\r20%"]


def test_bytes_of_other_ports_are_left_out() -> None:
    other = ConsoleByte(0, "uart1", 65, 1)
    assert console_bytes([other, ConsoleByte(1, "uart0", 66, 1)], "uart0") == [ConsoleByte(1, "uart0", 66, 1)]


@pytest.mark.parametrize("text", [b"\0\0a\0\n", b"\xff\xfe\n\x80", b"\x1b[2J\x07\n", bytes(range(256))])
def test_any_byte_may_stand_in_a_line(text: bytes) -> None:
    *whole, last = text.split(b"\n")
    expected = [part.rstrip(b"\r") for part in whole] + ([last] if last else [])
    assert [line.data for line in split(text)] == expected


@given(st.binary(max_size=200))
@example(b"\r\0")
def test_every_byte_is_in_exactly_one_line(text: bytes) -> None:
    found = split(text)
    edges = [0, *(at + 1 for at, byte in enumerate(text) if byte == 0x0A)]
    parts = [text[a:b] for a, b in zip(edges, [*edges[1:], len(text)], strict=True)]
    parts = [part for part in parts if part]
    assert len(found) == len(parts)
    for line, part in zip(found, parts, strict=True):
        assert part.startswith(line.data)
        assert not part[len(line.data) :].strip(b"\r\n")
        # A CR at the beginning is of those who end lines with LF and CR.
        words = part.lstrip(b"\r\n") if part.startswith(b"\r") else part
        assert line.end_ns - line.start_ns == (len(words or part) - 1) * STEP_NS


def test_a_line_of_ten_megabytes_is_one_line() -> None:
    records = typed(b"x")
    clock = BoardClock(records, [], 0)
    (line,) = lines(repeat(ConsoleByte(0, "uart0", 0x78, 1), 10_000_000), clock)
    assert line.data == b"x" * 10_000_000
    assert marker_times([line], UBOOT) == {}
    assert len(visible(line.data)) < 450


# ---- markers ----


def phase(name: str, start_ns: int) -> Phase:
    return Phase(name, start_ns, start_ns, 0, 0, 0, 0, 0, "test")


def line(start_ns: int, data: bytes) -> Line:
    return Line(start_ns, start_ns, data)


ANNOUNCED = {
    "spl": b"U-Boot SPL 2025.01 (Jan 01 2026)",
    "bootloader": b"U-Boot 2025.01 (Jan 01 2026) Allwinner",
    "decompress": b"Starting kernel ...",
    "kernel": b"[    0.000000] Booting Linux on physical CPU 0x0",
    "init": b"[    1.2] Run /sbin/init as init process",
}


@pytest.mark.parametrize("name", ANNOUNCED)
def test_a_marker_near_the_start_of_its_phase_agrees(name: str) -> None:
    found = [line(1_000 * MS, ANNOUNCED[name])]
    assert marker_times(found, UBOOT) == {name: (1_000 * MS, ANNOUNCED[name].decode())}
    assert disagreements([phase(name, 1_000 * MS)], found, UBOOT) == ()


@pytest.mark.parametrize("name", ANNOUNCED)
@pytest.mark.parametrize("off_ms", [-101, 101])
def test_a_marker_far_from_the_start_of_its_phase_disagrees(name: str, off_ms: int) -> None:
    marker_ns = (1_000 + off_ms) * MS
    (found,) = disagreements([phase(name, 1_000 * MS)], [line(marker_ns, ANNOUNCED[name])], UBOOT)
    assert (found.phase, found.address_ns, found.marker_ns) == (name, 1_000 * MS, marker_ns)
    assert found.marker == ANNOUNCED[name].decode()
    assert found.reason


@pytest.mark.parametrize(("late_ms", "agrees"), [(-1, False), (0, True), (50, True), (51, False)])
def test_the_kernels_marker_may_be_late_but_not_early(late_ms: int, agrees: bool) -> None:
    announced = [line((100 + late_ms) * MS, ANNOUNCED["kernel"])]
    found = disagreements([phase("kernel", 100 * MS)], announced, UBOOT)
    assert (found == ()) == agrees


def test_the_first_of_several_markers_counts() -> None:
    found = [line(1, b"Linux version 6.12"), line(2, b"Linux version 6.12")]
    assert marker_times(found, UBOOT)["kernel"][0] == 1


def test_a_marker_without_its_phase_or_a_phase_without_its_marker_is_no_disagreement() -> None:
    assert disagreements([], [line(0, ANNOUNCED["kernel"])], UBOOT) == ()
    assert disagreements([phase("kernel", 0)], [line(0, b"hello")], UBOOT) == ()


def test_a_marker_in_bytes_that_are_no_text_is_found_and_can_be_shown() -> None:
    found = marker_times([line(5, b"\xff\xfe Linux version 6.12 \x1b[31m")], UBOOT)
    assert found["kernel"][0] == 5
    assert found["kernel"][1].encode()

# SPDX-License-Identifier: Apache-2.0
"""Bytes to clean lines: what is mended, what is told, what is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.readers.lines import Lines, split


def told(lines: Lines) -> list[tuple[str, int, int]]:
    return [(r.what.split(" (")[0].split(",")[0], r.count, r.first_line) for r in lines.repairs]


def test_clean_text_is_left_alone() -> None:
    lines = split(b"one\ntwo\n\nfour\n")
    assert list(lines) == ["one", "two", "", "four"]
    assert lines.repairs == []


@pytest.mark.parametrize("end", [b"\r\n", b"\n\r", b"\r\r\n", b"\n"])
def test_any_line_end(end: bytes) -> None:
    lines = split(end.join([b"one", b"", b"three", b""]))
    assert list(lines) == ["one", "", "three"]
    assert lines.repairs == []


def test_mixed_line_ends_are_told() -> None:
    lines = split(b"spl\n\rboot\r\nkernel\nshell\r\n")
    assert list(lines) == ["spl", "boot", "kernel", "shell"]
    assert told(lines) == [("mixed line ends", 4, 1)]


def test_only_carriage_returns() -> None:
    lines = split(b"one\rtwo\rthree\r")
    assert list(lines) == ["one", "two", "three"]
    assert told(lines) == [("carriage returns taken as line ends", 3, 1)]


def test_a_progress_display_is_one_line() -> None:
    lines = split(b"start\r\n 10%\r 20%\r 30%\r\nend\r\n" + b"more\r\n" * 5)
    assert lines.text(1) == " 10%\r 20%\r 30%"
    assert told(lines) == [("carriage returns inside lines kept", 2, 2)]


@pytest.mark.parametrize(
    "code",
    [b"\x1b[1;32m", b"\x1b[?25h", b"\x1b]0;title\x07", b"\x1b]0;t\x1b\\", b"\x1b(B", b"\x1b7", b"\x1bc"],
)
def test_escape_codes_go(code: bytes) -> None:
    lines = split(b"first\na" + code + b"b\n")
    assert lines.text(1) == "ab"
    assert told(lines) == [("terminal escape codes removed", 1, 2)]


def test_an_unfinished_escape_costs_no_text() -> None:
    assert split(b"\x1b]nothing ends this\nnext\n").text(0) == "\x1b]nothing ends this"


def test_nuls_and_wrong_encodings() -> None:
    lines = split(b"ok\n\0\0gr\xfc\xdfe\nna\xc3\xafve\n")
    assert list(lines) == ["ok", "gr\\xfc\\xdfe", "naïve"]
    assert told(lines) == [("NUL bytes removed", 2, 2), ("lines that are not UTF-8", 1, 2)]


def test_breaking_off() -> None:
    lines = split(b"one\ntw")
    assert list(lines) == ["one", "tw"]
    assert told(lines) == [("the file ends in the middle of a line", 1, 2)]


@pytest.mark.parametrize("times", [2, 3, 4])
def test_a_file_joined_to_itself(times: int) -> None:
    text = b"".join(b"[%5d.000001] line number %d of the log\n" % (n, n) for n in range(40))
    lines = split(text * times)
    assert lines.blob == text
    assert [(r.what, r.count, r.first_line) for r in lines.repairs] == [
        (f"the file repeats the same text {times} times, read once", times - 1, 41)
    ]
    assert split(text * times + b"more\n").repairs == []


def test_a_board_that_repeats_itself_is_not_a_joined_file() -> None:
    assert len(split(b"waiting for a root device, please be patient\n" * 100)) == 100


def test_offsets_and_bytes_of_lines() -> None:
    lines = split(b"a\nbb\nccc\n")
    assert list(lines.starts) == [0, 2, 5]
    assert lines.raw(1) == b"bb"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"\r", b"\n", b"\0", b"\x1b[", b"m", b"\x1b]", b"\x07", b"\xff", b"text "])))
def test_any_bytes(parts: list[bytes]) -> None:
    lines = split(b"".join(parts))
    assert len(list(lines)) == len(lines)
    assert lines.blob.count(b"\n") == len(lines)
    assert all(lines.text(i) == text for i, text in enumerate(lines))
    assert all(r.count > 0 and r.first_line > 0 for r in lines.repairs)

# SPDX-License-Identifier: Apache-2.0
"""Bytes from a target made harmless, and numbers with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.core.errors import printable
from bootscope.core.text import between, cut_beside, seconds, setting, signed, size, span, visible


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain text", "plain text"),
        ("gr\u00fc\u00df dich \u2713".encode(), "gr\u00fc\u00df dich \u2713"),
        (b"\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        (b"\x9b31m", "\\x9b31m"),
        (b"a\0b\x08c\x7f", "a\\x00b\\x08c\\x7f"),
        (b"10%\r20%\n", "10%\\r20%\\n"),
        ("\u009b31m".encode(), "\\x9b31m"),
        ("abc\u202edcba\u2066".encode(), "abc\\u202edcba\\u2066"),
        ("zero\u200bwidth\ufeff".encode(), "zero\\u200bwidth\\ufeff"),
        ("line\u2028end".encode(), "line\\u2028end"),
        ("tag\U000e0041".encode(), "tag\\U000e0041"),
        (b"\xff\xfe bad", "\\xff\\xfe bad"),
        (b"\xc3(", "\\xc3("),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"a\tb", "a       b"),
        (b"", ""),
    ],
)
def test_what_a_terminal_might_act_on_is_made_visible(data: bytes, expected: str) -> None:
    assert visible(data) == expected


@given(st.binary(max_size=500), st.integers(1, 80))
def test_any_bytes_become_one_line_of_printable_text(data: bytes, limit: int) -> None:
    shown = visible(data, limit)
    assert shown.isprintable()
    assert len(shown) <= limit + len(f"… ({len(data):,} bytes)")


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=80))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert visible(text.encode()) == text


def test_a_long_line_is_cut_and_says_how_long_it_was() -> None:
    assert visible(b"x" * 400) == "x" * 400
    assert visible(b"x" * 401) == "x" * 400 + "… (401 bytes)"
    assert visible(b"x" * 1_234_567, 10) == "x" * 10 + "… (1,234,567 bytes)"


def test_a_line_is_not_cut_for_being_long_in_bytes_only() -> None:
    assert visible("\U0001f427".encode() * 10, 10) == "\U0001f427" * 10


def test_a_character_that_is_cut_in_the_middle_does_no_harm() -> None:
    assert visible(b"x" + "\u20ac".encode() * 20, 5).startswith("x\u20ac\u20ac\u20ac\u20ac… (")


def test_names_in_error_messages_are_harmless_too() -> None:
    assert printable("a\x1b[31mb\n\udcff\u202e") == "a\\x1b[31mb\\n\\udcff\\u202e"


@pytest.mark.parametrize(
    ("ns", "digits", "expected"),
    [
        (0, 3, "0.000"),
        (1_234_567_890, 3, "1.235"),
        (1_234_500_000, 3, "1.235"),
        (1_234_499_999, 3, "1.234"),
        (999_999_999, 3, "1.000"),
        (1_000, 6, "0.000001"),
        (1, 9, "0.000000001"),
        (-1_234_500_000, 3, "-1.235"),
        (-1, 3, "0.000"),
        (12_345_678_901_234_567_890, 9, "12345678901.234567890"),
    ],
)
def test_seconds_are_rounded_half_away_from_zero(ns: int, digits: int, expected: str) -> None:
    assert seconds(ns, digits) == expected


@given(st.integers(-(10**18), 10**18))
def test_seconds_with_nine_digits_lose_nothing(ns: int) -> None:
    assert int(seconds(ns, 9).replace(".", "")) == ns


@pytest.mark.parametrize(
    ("ns", "expected"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.0 µs"),
        (45_000, "45.0 µs"),
        (12_340_000, "12.3 ms"),
        (1_234_567_890, "1.235 s"),
        (-2_500_000, "-2.5 ms"),
        (999_999_999, "1.000 s"),
        (999_999, "1.0 ms"),
    ],
)
def test_a_span_has_the_unit_that_fits(ns: int, expected: str) -> None:
    assert span(ns) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (812_345, "812.3 kB"),
        (5_300_000, "5.3 MB"),
        (30 << 30, "32.2 GB"),
        (999_999, "1.0 MB"),
    ],
)
def test_a_size_has_the_unit_that_fits(count: int, expected: str) -> None:
    assert size(count) == expected


@pytest.mark.parametrize(
    ("low_ns", "high_ns", "expected"),
    [
        (-144_000_000, -80_000_000, "-144.0 to -80.0 ms"),
        (-48_000_000, 20_000_000, "-48.0 to +20.0 ms"),
        (0, 2_500_000_000, "0 to +2.500 s"),
        (-999_950_000, 5, "-1.000 to +0.000 s"),
        (-3, 4, "-3 to +4 ns"),
        (0, 0, "0"),
    ],
)
def test_a_range_of_changes_has_one_unit(low_ns: int, high_ns: int, expected: str) -> None:
    assert between(low_ns, high_ns) == expected


def test_a_change_has_its_sign() -> None:
    assert [signed(ns) for ns in (12_300_000, -8, 0)] == ["+12.3 ms", "-8 ns", "0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("()", "none"),
        ("('/etc/inittab',)", "/etc/inittab"),
        ("['a', 'b']", "a, b"),
        ("{'a': 1}", "a: 1"),
        ("None", "none"),
        ("True", "yes"),
        ("console=ttyS0 (a", "console=ttyS0 (a"),
        ("(not a list", "(not a list"),
    ],
)
def test_a_setting_is_told_without_what_python_writes_around_it(text: str, expected: str) -> None:
    assert setting(text) == expected


@given(st.text(max_size=120), st.text(max_size=120), st.text(max_size=120), st.integers(10, 60))
def test_two_texts_that_differ_still_differ_when_they_are_cut(same: str, a: str, b: str, limit: int) -> None:
    a, b = same + a, same + b
    first, second = cut_beside(a, b, limit)
    assert max(len(first), len(second)) <= limit
    assert (first == second) == (a == b)

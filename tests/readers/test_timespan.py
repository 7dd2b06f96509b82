# SPDX-License-Identifier: Apache-2.0
"""Time spans and decimals, exactly."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.readers.timespan import LONGEST_NS, decimal_ns, leading_span, span_ns

S = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1min 9.608s", 69_608_000_000),
        ("857ms", 857_000_000),
        ("123us", 123_000),
        ("1.234s", 1_234_000_000),
        ("1min", 60 * S),
        ("1h 2min", 3_720 * S),
        ("2d 3h 4min 5.006s", (2 * 86_400 + 3 * 3_600 + 4 * 60 + 5) * S + 6_000_000),
        ("1y 2month 3w", (31_557_600 + 2 * 2_629_800 + 3 * 604_800) * S),
        ("0", 0),
        (" 5ms ", 5_000_000),
        ("5", None),
        ("s", None),
        ("", None),
        ("5 s", None),
        ("1s 2min", None),
        ("9999999y", None),
        ("٣s", None),
    ],
)
def test_spans(text: str, ns: int | None) -> None:
    assert span_ns(text) == ns


def test_a_unit_that_looks_like_a_span_is_none() -> None:
    assert leading_span("1min 2.5s 5s.service") == (62_500_000_000, "5s.service")
    assert leading_span("12ms 5s") == (12_000_000, "5s")
    assert leading_span("0 x.service") == (0, "x.service")


@given(st.integers(0, 10**15))
def test_spans_as_systemd_writes_them_come_back(us: int) -> None:
    """Written the way systemd does, down to the microsecond."""
    parts, rest = [], us
    for unit, size in (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000)):
        if rest >= size:
            parts.append(f"{rest // size}{unit}")
            rest %= size
    if rest or not parts:
        parts.append(f"{rest // 1_000_000}.{rest % 1_000_000:06}s")
    assert span_ns(" ".join(parts)) == us * 1_000


@given(st.decimals(min_value=-(10**8), max_value=10**8, allow_nan=False, places=9))
def test_decimals_are_exact(value: Decimal) -> None:
    assert decimal_ns(f"{value:f}") == int(value * S)


@pytest.mark.parametrize("text", ["", ".", "1e", "1.2.3", "0x1", "nan", "1e999", "1" * 21, "--1", "1e40"])
def test_what_is_no_decimal(text: str) -> None:
    assert decimal_ns(text) is None


def test_scientific_notation() -> None:
    assert decimal_ns("1.5e-05") == 15_000
    assert decimal_ns("-2E3", 1) == -2_000
    assert decimal_ns(str(LONGEST_NS), 1) == LONGEST_NS
    assert decimal_ns(str(LONGEST_NS + 1), 1) is None

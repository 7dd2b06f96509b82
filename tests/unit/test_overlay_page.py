# SPDX-License-Identifier: Apache-2.0
"""Boots over each other: bars on one scale, and the way from the first total to the last adds up."""

from __future__ import annotations

from typing import Any

import pytest

from bootscope.report.html import render
from bootscope.report.overlay_html import Bar, bar_of, overlay
from bootscope.timeline.trace import Point, Span, Trace, Track

S = 1_000_000_000
A = Bar("a", 10 * S, (("spl", 0, 2 * S), ("kernel", 2 * S, 6 * S), ("init", 6 * S, 10 * S)))
B = Bar("b", 7 * S, (("spl", 0, 2 * S), ("kernel", 2 * S, 3 * S), ("init", 3 * S, 7 * S)))
C = Bar("c", 12 * S, (("spl", 0, 2 * S), ("kernel", 2 * S, 12 * S)))


def test_all_bars_are_on_one_scale() -> None:
    found = overlay([A, B])
    assert found
    rows: Any = found["rows"]
    first, second = rows
    assert [(name, at, width) for name, at, width, _, _ in first["phases"]] == [
        ("spl", 0, 20), ("kernel", 20, 40), ("init", 60, 40),
    ]  # fmt: skip
    assert [(name, at, width) for name, at, width, _, _ in second["phases"]] == [
        ("spl", 0, 20), ("kernel", 20, 10), ("init", 30, 40),
    ]  # fmt: skip
    assert (second["total"], second["change"], second["better"]) == ("7.000", "-3.000 s", True)


@pytest.mark.parametrize("bars", [[A, B], [B, A], [A, C], [A, B, C], [C, B, A, B]])
def test_the_way_from_the_first_to_the_last_adds_up(bars: list[Bar]) -> None:
    found = overlay(bars)
    assert found
    falls = found["falls"]
    assert isinstance(falls, list)
    scale = falls[0]["width"] / bars[0].total_ns
    at = falls[0]["width"]
    for fall in falls[1:-1]:
        edges = fall["at"], fall["at"] + fall["width"]
        before, after = edges if fall["kind"] == "costs" else edges[::-1]
        assert before == pytest.approx(at)
        at = after
    assert falls[-1]["width"] == pytest.approx(at) == pytest.approx(bars[-1].total_ns * scale)
    assert all(fall["at"] >= 0 and fall["at"] + fall["width"] <= 100.0001 for fall in falls)


def test_more_than_two_have_their_phases_side_by_side() -> None:
    bounded = Bar("d", 8 * S, (("spl", 0, S), ("kernel", S, 8 * S)), frozenset({"kernel"}))
    found = overlay([A, B, bounded])
    assert found
    assert found["beside"] == [
        ("spl", ["2.000", "2.000", "1.000"]),
        ("kernel", ["4.000", "1.000", "only a bound"]),
        ("init", ["4.000", "4.000", "-"]),
        ("total", ["10.000", "7.000", "8.000"]),
    ]
    two = overlay([A, B])
    assert two
    assert two["beside"] == []


def test_time_in_no_phase_is_a_step_of_its_own() -> None:
    found = overlay([A, Bar("d", 11 * S, A.phases)])
    assert found
    falls: Any = found["falls"]
    assert [(f["name"], f["words"]) for f in falls][1:-1] == [("in no phase", "+1.000 s")]


def test_boots_without_a_known_length_are_left_out() -> None:
    no_clock = Trace("x", "none", 0, points=(Point(0, "a line", "line"),))
    later = Trace("y", "c", 5 * S, total_or_later=True)
    assert (bar_of("x", no_clock), bar_of("y", later)) == (None, None)
    assert overlay([A, None]) is None
    assert overlay([A, None, B]) is not None


def test_hostile_names_stay_text() -> None:
    phases = (Span(0, S, '"><script>alert(1)</script>'), Span(S, 2 * S, "\u202eevil"))
    bad = Trace("<b>t</b>", "c", 2 * S, (Track("p", "phase", "p", phases),))
    page = render([bad, bad])
    assert "over each other" in page
    assert "<script>alert" not in page
    assert "<b>t</b>" not in page
    assert "\u202e" not in page

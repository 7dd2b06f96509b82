# SPDX-License-Identifier: Apache-2.0
"""Pictures of boots: well-formed whatever names hold, of bounded size, with the figures that `show` tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings

from bootscope.analysis.rows import Cell, Rows
from bootscope.core.errors import UserError
from bootscope.core.text import seconds, signed, span
from bootscope.pictures.axis import Axis
from bootscope.pictures.draw import VIEWS, picture
from bootscope.pictures.measure import fit, fit_middle, width
from bootscope.pictures.subject import Subject
from bootscope.pictures.theme import DARK, LIGHT, Theme, contrast
from bootscope.timeline.trace import Point, Span, Table, Trace, Track

from .drawn import BOUNDED, MS, S, boot, drawn, phases, run, see
from .traces import HOSTILE, HOSTILE_TRACE, SMALL, traces

ONE = phases(("spl", 150), ("kernel", 2780), ("init", 3200))
OTHER = phases(("spl", 150), ("kernel", 1280), ("init", 3300))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("trace", [HOSTILE_TRACE, SMALL], ids=["hostile", "small"])
def test_a_picture_is_well_formed_whatever_names_hold(view: str, trace: Trace) -> None:
    boots = [boot(trace, HOSTILE[0]), boot(SMALL, HOSTILE[2])]
    try:
        svg = picture(
            Subject(boots if view in ("compare", "overlay", "waterfall") else boots[:1]), DARK, view
        ).svg
    except UserError:
        return
    seen = see(svg)
    assert "<script" not in svg
    assert "onload=" not in re.sub(r">[^<]*<", "><", svg)
    assert all(text.isprintable() for text in (*seen.texts, *seen.titles))
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", re.sub(r">[^<]*<", "><", svg))


@settings(max_examples=30)
@given(traces)
def test_any_trace_is_drawn_or_refused_in_words(trace: Trace) -> None:
    for view in ("phases", "timeline", "flame", "compare"):
        try:
            seen = see(picture(Subject([boot(trace)] * (2 if view == "compare" else 1)), LIGHT, view).svg)
        except UserError as refused:
            assert refused.message
        else:
            assert seen.texts[-1].startswith("bootscope ")


def test_a_timeline_of_50_000_spans_stays_a_picture_and_says_what_is_left_out() -> None:
    spans = tuple(Span(n * 200_000, n * 200_000 + 150_000, f"s{n}") for n in range(50_000))
    tracks = [Track("i", "initcall", "initcalls", spans)]
    tracks += [Track(f"p{n}", "process", f"p{n}", (Span(0, S, "running"),)) for n in range(300)]
    seen = drawn("timeline", boot(Trace("t", "c", 10 * S, tuple(tracks))))
    assert seen.size < 300_000
    assert seen.height < 1000
    assert any("50,000 spans narrower than a pixel" in text for text in seen.texts)
    assert any("282 processes that took less are not drawn" in text for text in seen.texts)


def test_rows_that_change_at_every_pixel_are_drawn_coarser() -> None:
    spans = tuple(
        Span(n * 6 * MS, (n + 1) * 6 * MS, f"s{n}", {"state": ("running", "sleeping")[n % 2]})
        for n in range(1700)
    )
    tracks = tuple(Track(f"p{n}", "process", f"p{n}", spans) for n in range(18))
    seen = drawn("timeline", boot(Trace("t", "c", 10 * S, tracks)), width=1200)
    assert seen.size < 700_000
    assert any("pixels are drawn together" in text for text in seen.texts)


def test_long_names_are_shortened_and_kept_whole_in_a_title() -> None:
    name = "systemd-" + "x" * 100 + "-tail.service"
    seen = drawn("phases", boot(phases((name, 100), ("kernel", 900))))
    shown = next(text for text in seen.texts if text.startswith("systemd-"))
    assert shown.endswith("-tail.service")
    assert "…" in shown
    assert width(shown, 14) <= 0.3 * 1200
    assert name in seen.titles


def test_megabytes_of_text_do_not_make_a_large_picture() -> None:
    seen = drawn("phases", boot(phases(("a<b>&\u202e" * 500_000, 100), title="T" * 3_000_000)))
    assert seen.size < 10_000


def test_the_figures_of_phases_are_those_of_show() -> None:
    seen = drawn("phases", boot(ONE))
    for name, ms in (("spl", 150), ("kernel", 2780), ("init", 3200)):
        at = seen.texts.index(name)
        assert seen.texts[at + 1 : at + 3] == [seconds(ms * MS), f"{100 * ms / 6130:.1f} %"]
    assert seen.texts[0] == "board.log: 6.130 s to app-ready"


def test_the_figures_of_a_view_are_those_of_its_table() -> None:
    seen = drawn("initcalls", boot(SMALL))
    (table,) = boot(SMALL).tables("initcalls")
    for row in table.rows:
        at = seen.texts.index(str(row["what"]))
        assert seen.texts[at + 1 : at + 3] == [span(int(row[key] or 0)) for key in ("self_ns", "total_ns")]


def test_known_bounded_and_unknown_are_drawn_apart() -> None:
    seen = drawn("phases", boot(BOUNDED))
    assert [text for text in seen.texts if text[0] in "≤≥" or text == "not known"] == [
        "≤ 0.500", "not known", "≥ 0.200",
    ]  # fmt: skip
    assert {"url(#hatch-phase)", "url(#open-phase)"} <= set(seen.fills)
    legend = "fading: at least so long; hatched: at most so long; dashed: length not known"
    assert legend in seen.texts
    assert "≥ 1.700 s" in seen.texts[0]
    assert not [fill for fill in drawn("phases", boot(ONE)).fills if fill.startswith("url")]


def test_a_bounded_phase_has_no_figure_in_a_waterfall() -> None:
    known = replace(BOUNDED, total_or_later=False)
    seen = drawn("waterfall", boot(ONE, "a/001"), boot(known, "b/001"))
    assert "phases whose length is a bound" in seen.texts
    assert "kernel" not in seen.texts


def test_a_comparison_tells_the_way_from_the_first_total_to_the_last() -> None:
    seen = drawn(None, boot(ONE, "20260101-000000-a/001"), boot(OTHER, "20260101-000001-b/001"))
    assert seen.texts[0] == f"1.400 s shorter ({100 * 1400 / 6130:.1f} %): 6.130 s to 4.730 s"
    for name, change in (("kernel", -1500 * MS), ("init", 100 * MS)):
        at = [n for n, text in enumerate(seen.texts) if text == name][-1]
        assert seen.texts[at + 1] == signed(change)
    assert LIGHT["good"] in seen.fills
    assert LIGHT["bad"] in seen.fills


def test_runs_of_many_boots_are_a_dot_each_with_median_and_interval() -> None:
    times = [5000, 5010, 5020, 5030, 5040, 5050, 5060, 5070, 5080, 5090]
    svg = picture(Subject([run("a", *times)]), LIGHT).svg
    seen = see(svg)
    assert seen.texts[0] == "10 boots to app-ready: median 5.045 s"
    assert [f"{seconds(ms * MS)} s" for ms in times] == [
        t for t in seen.texts if re.fullmatch(r"5\.\d{3} s", t)
    ]
    assert svg.count("<circle") == 10
    two = see(picture(Subject([run("a", *times), run("b", *(t - 400 for t in times))]), LIGHT).svg)
    assert two.texts[0].startswith("B is 400.0 ms faster at app-ready")


def test_a_run_of_which_no_boot_ended_is_drawn_as_its_first_boot() -> None:
    failed = run("a", 100, 200)
    assert failed.boots
    boots = tuple(replace(b, times={}, complete=False, why="panic") for b in failed.boots.boots)
    seen = drawn(None, replace(failed, boots=replace(failed.boots, boots=boots)))
    assert "kernel" in seen.texts


def test_hundreds_of_boots_are_a_strip() -> None:
    seen = drawn("boots", run("a", *range(5000, 5300)))
    assert seen.height < 600


@pytest.mark.parametrize("wide", [480, 1200, 4000])
@pytest.mark.parametrize("view", ["phases", "timeline", "flame", "initcalls"])
def test_no_text_leaves_the_picture(view: str, wide: int) -> None:
    svg = picture(Subject([boot(SMALL)]), LIGHT, view, wide).svg
    found = re.findall(
        r'<text x="([\d.]+)" y="[\d.]+" font-size="([\d.]+)"([^>]*)>(?:<title>.*?</title>)?([^<]*)<', svg
    )
    assert found
    for x, size, more, words in found:
        room = width(words.replace("&amp;", "&"), float(size), "font-weight" in more)
        share = {"end": 1.0, "middle": 0.5}.get(next(iter(re.findall(r'anchor="(\w+)"', more)), ""), 0.0)
        left = float(x) - share * room
        assert left >= 0
        assert left + room <= wide


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_can_be_told_from_the_ground_and_texts_read(theme: Theme) -> None:
    for name in ("ink", "quiet", "mark", "good", "bad"):
        assert contrast(theme[name], theme["paper"]) >= 4.5, name
    bars = set(theme.colours) - {"paper", "line"}
    for name in bars:
        assert contrast(theme[name], theme["paper"]) >= 3, name
        assert contrast(theme.on(name), theme[name]) >= 4.5, name


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0, 10 * S, ["0 s", "2 s", "4 s"]),
        (0, 700 * MS, ["0 ms", "200 ms", "400 ms"]),
        (4900 * MS, 5100 * MS, ["4.90 s", "4.95 s", "5.00 s"]),
        (0, 900, ["0 ns", "200 ns", "400 ns"]),
        (-150 * MS, 10 * MS, ["-150 ms", "-100 ms", "-50 ms"]),
    ],
)
def test_marks_of_an_axis_are_round_and_have_units(low: int, high: int, words: list[str]) -> None:
    marks = [words for _, words in Axis(low, high, 0, 600).marks()]
    assert marks[:3] == words
    assert len(marks) <= 7


def test_names_are_fitted_at_their_end_or_in_their_middle() -> None:
    assert fit("kernel", 1000, 14) == "kernel"
    assert fit("kernel", 30, 14).endswith("…")
    assert fit("kernel", 1, 14) == ""
    middle = fit_middle("dev-disk-by-uuid-1234-part1.device", 120, 14)
    assert middle.startswith("dev-")
    assert middle.endswith(".device")
    assert width(middle, 14) <= 120.1


def test_units_of_which_only_the_length_is_known_are_ranked() -> None:
    rows = (("slow.service", 9 * S), ("fast.service", 1 * S))
    trace = Trace("blame.txt", "no clock", 0, tables=(Table("Units", ("unit", "ns"), rows),))
    seen = drawn(None, boot(trace))
    assert seen.texts.index("slow.service") < seen.texts.index("fast.service")
    assert "9.000 s" in seen.texts
    assert "lengths only: it is not known when each began" in seen.texts


def test_waiting_for_devices_does_not_hide_units_that_work() -> None:
    names = ("dev-sda.device", "ssh.service")
    tracks = tuple(Track(n, "service", n, (Span(0, (9 - at) * S, "starting"),)) for at, n in enumerate(names))
    seen = drawn("units", boot(Trace("t", "c", 10 * S, tracks)))
    assert "ssh.service" in seen.texts
    assert "dev-sda.device" not in seen.texts
    assert "1 units that wait for a device are not drawn" in seen.texts
    timeline = drawn("timeline", boot(Trace("t", "c", 10 * S, tracks)))
    assert "1 units that wait for a device are not drawn" in timeline.texts


@pytest.mark.parametrize(
    ("view", "count", "words"),
    [
        ("flame", 1, "no call paths"), ("boots", 1, "none is named"), ("phases", 2, "draws one boot"),
        ("waterfall", 1, "needs two boots"), ("nonsense", 1, "unknown view"), ("units", 1, "no units"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(view: str, count: int, words: str) -> None:
    with pytest.raises(UserError, match=words):
        drawn(view, *[boot(ONE)] * count)


def test_a_log_without_a_clock_has_no_time_to_draw() -> None:
    trace = Trace("t", "no clock", 0, points=(Point(0, "x", "line"),))
    for view in ("phases", "timeline", "overlay"):
        with pytest.raises(UserError, match="clock"):
            drawn(view, boot(trace))


@pytest.mark.parametrize("wide", [479, 4001, 0])
def test_a_width_is_within_bounds(wide: int) -> None:
    with pytest.raises(UserError, match="pixels wide"):
        drawn("phases", boot(ONE), width=wide)


def test_rows_are_chosen_by_weight_where_a_view_is_in_order_of_time() -> None:
    rows: tuple[Mapping[str, Cell], ...] = tuple(
        {"who": f"t{n}", "what": "w", "start_ns": n * MS, "length_ns": n * MS} for n in range(60)
    )
    table = Rows("critical-path", "t", (), rows, "in order of time", weight="length_ns")
    seen = drawn("critical-path", replace(boot(ONE), tables=lambda _: (table,)))
    assert "t59: w" in seen.texts
    assert "t10: w" not in seen.texts
    assert "35 more are not drawn" in seen.texts

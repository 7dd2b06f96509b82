# SPDX-License-Identifier: Apache-2.0
"""Whether figures agree: the rule at its edges, published numbers as printed, the order of rows."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.published.agreement import FACTOR, Pair, Verdict, judged, orders, pairs
from bootscope.published.figures import Published, amount, counterpart, published, unit
from bootscope.published.reproduced import Result, RowResult, Value
from bootscope.published.tables import Compared, Table, table, table_ids
from bootscope.report import reproduced as words
from bootscope.techniques.model import Figure, figures

MS = 1_000_000


def came_to(t: Table, **rows: dict[str, int] | str) -> Result:
    """A result with these values, or with an error; a `-` in a row's name is written `_`."""
    made = {}
    for name, values in rows.items():
        if isinstance(values, str):
            made[name.replace("_", "-")] = RowResult("", values)
        else:
            told = {key: Value(value) for key, value in values.items()}
            made[name.replace("_", "-")] = RowResult(f"run-{name}", "", told)
    return Result(t.id, "2026-11-21", "", {}, made)


def figure(name: str = "000:313", **fields: str) -> Figure:
    return msgspec.structs.replace(figures()[name], **fields)


# ---- published numbers ----


@pytest.mark.parametrize(
    ("text", "in_unit", "expected"),
    [
        ("1.451", "s", 1.451e9), ("83", "ms", 83e6), ("544", "us", 544e3), ("2350336", "byte", 2_350_336),
        ("4.94", "MB", 4.94e6), ("152 KB", "MB", 152e3), ("-188 KB", "KB", -188e3),
        ("+19544", "byte", 19_544),
        ("-52 ms", "s", -52e6), ("-11 % kernel size", "percent", -11), ("2.2", "MiB", 2.2 * (1 << 20)),
        ("several", "s", None), ("N/A", "byte", None), ("", "ms", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_they_are_printed(text: str, in_unit: str, expected: float | None) -> None:
    assert amount(text, in_unit) == (pytest.approx(expected) if expected is not None else None)


@pytest.mark.parametrize(
    ("name", "base", "expected"),
    [
        # A value beside that of another row, and beside the one printed with it.
        ("001:532", "001:528", (945e6, 947e6, 2e6, 2 / 945)),
        ("000:425", None, (3_452_681_000, 3_191_228_000, -261_453_000, -261_453 / 3_452_681)),
        ("003:780", None, (152e3, 12e6, 11_848e3, 11_848 / 152)),
        # Savings, penalties and changes have a sign of their own.
        ("000:359", None, (None, None, -83e6, None)),
        ("000:389", None, (None, None, 107e6, None)),
        ("001:503", "001:499", (7_878e6, 7_868e6, -10e6, -10 / 7_878)),
        ("000:360", None, (None, None, -188e3, None)),
        ("000:65", None, (None, None, None, -0.02)),
        ("000:452", None, (None, None, None, -0.11)),
    ],
)
def test_a_change_is_made_of_what_was_published(
    name: str, base: str | None, expected: tuple[float | None, ...]
) -> None:
    found = published(figures()[name], figures()[base] if base else None)
    assert found
    told = (found.base, found.value, found.change, found.relative)
    assert told == tuple(value if value is None else pytest.approx(value) for value in expected)


def test_what_a_figure_alone_holds_besides_is_taken_off_it_only() -> None:
    found = published(figures()["000:425"], None, alone=480 * MS)
    assert found
    assert (found.base, found.value) == (3_452_681_000, 2_711_228_000)
    assert found.change == -741_453_000
    both = published(figures()["000:425"], None, less=100 * MS, alone=480 * MS)
    assert both
    assert (both.base, both.value, both.change) == (3_352_681_000, 2_611_228_000, -741_453_000)


def test_it_is_taken_off_where_a_table_says_so() -> None:
    rows = {"uboot": {"total": 8_600 * MS}, "raw": {"total": 7_300 * MS}, "files": {"total": 7_300 * MS}}
    found = {
        pair.figure.id: pair.published.change
        for pair in pairs(table("falcon"), came_to(table("falcon"), **rows))
    }
    assert found == {"000:425": -741_453_000, "000:428": -1_200 * MS, "000:429": -1_050 * MS}


@pytest.mark.parametrize("name", ["000:343", "001:629", "000:385"])
def test_a_figure_without_a_base_or_a_number_tells_of_no_change(name: str) -> None:
    assert published(figures()[name], None) is None


def test_the_counterpart_is_of_the_same_thing_on_the_same_board() -> None:
    others = [figures()[name] for name in ("001:531", "001:541", "001:533", "000:246")]
    assert counterpart(figures()["001:529"], others) == figures()["001:533"]
    assert counterpart(figures()["001:537"], others) == figures()["001:541"]
    assert counterpart(figures()["001:536"], others) is None


def test_the_counterpart_of_a_change_is_the_value_on_the_same_page() -> None:
    """The slide says that naming the file system saves 10 ms "on the same board and kernel"."""
    others = [figures()[name] for name in ("001:531", "000:470", "001:499")]
    assert counterpart(figures()["001:503"], others) == figures()["001:499"]
    assert counterpart(figures()["000:461"], others) is None, "another change is no value"
    assert counterpart(figures()["000:464"], [figures()["000:61"]]) is None, "percent of something else"


def test_units_are_times_sizes_or_parts() -> None:
    assert [unit(figures()[name]) for name in ("000:313", "000:311", "000:452", "000:357")] == [
        "ns", "bytes", "percent", "",
    ]  # fmt: skip


# ---- the rule ----


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict"),
    [
        (-0.24, -0.24, Verdict.AGREES),
        (-0.24, -0.1601, Verdict.AGREES),
        (-0.24, -0.3599, Verdict.AGREES),
        (-0.24, -0.1599, Verdict.SIZE),
        (-0.24, -0.3601, Verdict.SIZE),
        (-0.24, 0.24, Verdict.SIGN),
        (0.24, -0.001, Verdict.SIGN),
        (0.24, 0.0, Verdict.SIZE),
        (0.0, 0.24, Verdict.SIZE),
        (0.009, -0.009, Verdict.AGREES),
        (0.0, 0.0, Verdict.AGREES),
        (0.009, 0.02, Verdict.SIZE),
        (0.011, -0.009, Verdict.SIGN),
    ],
)
def test_changes_agree_by_sign_and_size(theirs: float, ours: float, verdict: Verdict) -> None:
    assert judged(theirs, ours, abs(theirs) < 0.01, abs(ours) < 0.01)[0] is verdict


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.sampled_from([-1, 1]))
def test_it_does_not_matter_which_of_two_figures_was_published(a: float, b: float, sign: int) -> None:
    there, back = judged(a, sign * b, False, False), judged(sign * b, a, False, False)
    near = any(abs(ratio - FACTOR) < 1e-9 for ratio in (a / b, b / a))
    assert there[0] is back[0] or near
    assert there[1]
    assert back[1]
    assert there[1] * back[1] == pytest.approx(1)


# ---- pairs ----


def test_a_change_a_hundred_times_as_large_says_that_the_other_is_nothing() -> None:
    t = table("compression-2024-a1-sd")
    result = came_to(t, gzip={"userspace": 1_000 * MS}, lz4={"userspace": 870 * MS})
    lz4 = next(pair for pair in pairs(t, result) if (pair.row, pair.measure) == ("lz4", "userspace"))
    assert words.verdict(lz4) == "other direction: next to nothing there"
    result = came_to(t, gzip={"userspace": 1_000_000}, lzma={"userspace": 1_000_001})
    lzma = next(pair for pair in pairs(t, result) if (pair.row, pair.measure) == ("lzma", "userspace"))
    assert words.verdict(lzma) == "other size: next to nothing here"


def test_a_row_is_not_compared_with_its_own_published_figure() -> None:
    t = table("falcon")
    found = pairs(t, came_to(t))
    assert {pair.row for pair in found} == {"raw", "files"}
    assert next(pair for pair in found if pair.row == "raw").published.relative


def test_no_published_figure_is_used_twice() -> None:
    used = Counter(pair.figure.id for t in map(table, table_ids()) for pair in pairs(t, came_to(t)))
    assert [name for name, times in used.items() if times > 1] == []


def test_sizes_and_copies_are_no_times() -> None:
    t = table("compression-2024-a1-sd")
    kinds = {(pair.measure, pair.compared) for pair in pairs(t, came_to(t))}
    assert kinds == {("size", Compared.SIZE), ("copy", Compared.COPY), ("userspace", Compared.TIME)}
    told = words.summary(t, pairs(t, came_to(t)), [])
    assert told == "0 of 4 times agree; 0 of 4 copies agree; 0 of 4 sizes agree"


def test_what_a_published_time_holds_besides_is_taken_off() -> None:
    """Unpacking took 687 ms there even for a kernel that is not compressed."""
    t = table("compression-2014-am335x")
    lzma = next(p for p in pairs(t, came_to(t)) if (p.row, p.measure) == ("lzma", "decompress"))
    assert lzma.published.base == pytest.approx((945 - 687) * MS)
    assert lzma.published.relative == pytest.approx((2329 - 945) / (945 - 687))


def test_relative_changes_are_compared_where_a_base_was_published() -> None:
    """A boot twice as long, in which everything takes twice as long, agrees."""
    t = table("quiet")
    result = came_to(t, messages={"kernel": 4704 * MS}, quiet={"kernel": 2570 * MS},
                     small={"total": 10_000 * MS}, small_quiet={"total": 9_600 * MS})  # fmt: skip
    kernel, pxa = pairs(t, result)
    assert (kernel.figure.id, pxa.figure.id) == ("000:354", "002:661")
    assert (kernel.verdict, kernel.is_relative) == (Verdict.AGREES, True)
    assert kernel.times == pytest.approx(1, abs=0.001)
    assert kernel.own_relative == pytest.approx(-1067 / 2352, abs=0.0001)
    # 300 ms was published without a base: 400 ms is 1.3 times that.
    assert (pxa.verdict, pxa.is_relative, pxa.own_change) == (Verdict.AGREES, False, -400 * MS)
    assert pxa.times == pytest.approx(4 / 3)
    assert words.cells(t, pxa) == (
        "small-quiet against small", "the whole boot", "", "-300.0 ms", "10.000 s → 9.600 s", "-400.0 ms",
        "agrees: 1.3 times as large",
    )  # fmt: skip
    assert words.cells(t, kernel)[2:6] == ("2.352 s → 1.285 s", "-45.4 %", "4.704 s → 2.570 s", "-45.4 %")


def test_a_value_with_a_base_of_its_own_is_compared_with_that() -> None:
    t = table("product-2009")
    result = came_to(t, messages={"total": 10_000 * MS}, quiet={"total": 9_600 * MS})
    at91 = next(pair for pair in pairs(t, result) if pair.figure.id == "003:789")
    # 6.6 to 6.3 s are 4.5 %.
    assert (at91.verdict, at91.is_relative) == (Verdict.AGREES, True)
    assert at91.times == pytest.approx(0.04 / (0.3 / 6.6))


def test_next_to_nothing_without_a_base_is_a_millisecond() -> None:
    t = table("uboot-scripts")
    judged_as = [
        pairs(t, came_to(t, script={"total": 10_000 * MS}, flat={"total": 10_000 * MS - saved}))[0].verdict
        for saved in (56 * MS, 38 * MS, 37 * MS, 0, -56 * MS)
    ]
    agrees, size, sign = Verdict.AGREES, Verdict.SIZE, Verdict.SIGN
    assert judged_as == [agrees, agrees, size, size, sign]


@pytest.mark.parametrize(
    ("theirs_ms", "ours_ms", "noise_ms", "verdict", "by_noise"),
    [
        (14, 2, 0, Verdict.SIZE, False),
        (14, 2, 19, Verdict.AGREES, True),
        (14, -2, 19, Verdict.AGREES, True),
        (14, 25, 19, Verdict.SIZE, False),  # ours cannot be noise: nothing here varies
        (25, 2, 19, Verdict.SIZE, False),
        (14, 13, 19, Verdict.AGREES, False),
        (60, 50, 19, Verdict.AGREES, False),
    ],
)
def test_changes_below_what_published_times_vary_by_agree(
    theirs_ms: int, ours_ms: int, noise_ms: int, verdict: Verdict, by_noise: bool
) -> None:
    base = Value(400 * MS)
    told = Published(400e6, (400 + theirs_ms) * 1e6, theirs_ms * 1e6, theirs_ms / 400)
    own = Value(base.value + ours_ms * MS)
    pair = Pair("a", "b", "m", Compared.TIME, figure(), told, own, base, noise_ms * MS)
    assert (pair.verdict, pair.agrees_by_noise) == (verdict, by_noise)
    assert ("within the published noise" in pair.words) == by_noise


@pytest.mark.parametrize("other", ["it panicked", {"kernel": 5}])
def test_a_row_that_failed_has_published_figures_only(other: dict[str, int] | str) -> None:
    t = table("quiet")
    found = pairs(t, came_to(t, messages={"kernel": 4704 * MS}, quiet=other))
    assert [pair.figure.id for pair in found] == ["000:354", "002:661"]
    missing = [pair for pair in found if pair.verdict is Verdict.NONE]
    assert len(missing) == (2 if isinstance(other, str) else 1)
    for pair in missing:
        assert pair.times is None
        assert words.cells(t, pair)[4:] == ("", "", "no figure of our own")


def test_a_row_may_be_compared_with_another_one_than_the_reference() -> None:
    t = table("uboot-image")
    result = came_to(
        t, cached_zimage={"total": 10_000 * MS}, cached={"total": 10_170 * MS},
        moved_and_checked={"bootm": 1433 * MS},
        in_place={"bootm": 583 * MS}, in_place_unchecked={"bootm": 60 * MS},
    )  # fmt: skip
    found = {pair.figure.id: pair for pair in pairs(t, result)}
    assert list(found) == ["001:580", "001:582", "000:449"]
    assert {pair.against for pair in found.values()} == {"cached-zimage", "moved-and-checked", "in-place"}
    assert all(pair.times == pytest.approx(1, abs=0.001) for pair in found.values())
    assert words.cells(t, found["001:582"])[0] == "in-place-unchecked against in-place"


def test_what_a_change_went_into_is_told_largest_first() -> None:
    t = table("uboot-scripts")
    split = ({"cpu_ns": 70 * MS, "storage_ns": 30 * MS, "console_ns": 0}, {"cpu_ns": 50 * MS, "storage_ns": 0,
             "console_ns": 1 * MS})  # fmt: skip
    rows = {
        name: RowResult("r", "", {"total": Value(sum(parts.values()), parts)})
        for name, parts in zip(("script", "flat"), split, strict=True)
    }
    (pair,) = pairs(t, Result(t.id, "", "", {}, rows))
    assert words.split(pair) == "card -30.0 ms, CPU -20.0 ms"
    bare = msgspec.structs.replace(rows["flat"], values={"total": Value(51 * MS)})
    (pair,) = pairs(t, Result(t.id, "", "", {}, {**rows, "flat": bare}))
    assert words.split(pair) == ""


# ---- order ----


def test_the_order_of_rows_is_compared_pair_by_pair() -> None:
    t = table("compression-2024-slow-sd")
    # Published: lzo 1.416, gzip 1.451, lz4 1.462, xz 1.999, lzma 2.167; gzip and lz4 are a tie.
    ns = {"lzo": 1, "lz4": 2, "gzip": 3, "lzma": 4, "xz": 5}
    result = came_to(t, **{name: {"userspace": value * MS} for name, value in ns.items()})
    (order,) = orders(t, result)
    assert (order.measure, order.same, order.pairs) == ("userspace", 8, 9)
    same = came_to(t, **{name: {"userspace": 5 * MS} for name in ns})
    assert [(o.same, o.pairs) for o in orders(t, same)] == [(0, 0)]
    assert "8 of 9 pairs of rows in the same order" in words.summary(t, pairs(t, result), [order])


def test_columns_with_two_rows_or_without_values_have_no_order() -> None:
    t = table("quiet")
    assert orders(t, came_to(t, messages={"kernel": 2, "total": 9}, quiet={"kernel": 1, "total": 8})) == []
    assert orders(table("compression-2024-slow-sd"), came_to(t)) == []


def test_every_board_has_an_order_of_its_own() -> None:
    t = table("filesystems-2024")
    rows = {name: {"init": n * MS, "total": -n * MS} for n, name in enumerate(t.rows, start=1)}
    found = orders(t, came_to(t, **rows))
    assert [o.measure for o in found] == ["init", "total"]
    assert isinstance(found[0].board, str)
    assert Published(None, None, None, None).relative is None

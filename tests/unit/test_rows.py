# SPDX-License-Identifier: Apache-2.0
"""Rows of a view on a terminal and as JSON."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from bootscope.analysis.rows import Cell, Column, Rows, most, sort
from bootscope.core.errors import UserError
from bootscope.report.rows import cell, document, show

HOSTILE = "\x1b[31m[red]\x07\u202e<b>\nnext\x9b0m\udce9"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("ns", 1_234_567, "1.235"),
        ("ns", 499, "0.000"),
        ("ns", 999, "0.001"),
        ("ns", -1_500_000, "-1.500"),
        ("ns", -500_000, "-0.500"),
        ("ns", 0, "-"),
        ("ns", None, "-"),
        ("change", -1_500_000, "-1.500"),
        ("change", 2_000_000, "+2.000"),
        ("at", 1_234_567_891, "1.234568"),
        ("at", 0, "0.000000"),
        ("share", 123_456, "12.3 %"),
        ("bytes", 1_234_567, "1,234,567"),
        ("bytes", 0, "-"),
        ("count", 7, "7"),
        ("text", "plain", "plain"),
        ("text", "", ""),
    ],
)
def test_a_cell_is_shown_in_the_unit_of_its_column(kind: str, value: Cell, text: str) -> None:
    assert cell(Column("x", "x", kind), value) == text


def shown(rows: Rows, top: int = 10) -> str:
    out = io.StringIO()
    show(Console(file=out, width=200, force_terminal=True, color_system=None), rows, top)
    return out.getvalue()


def table(*rows: dict[str, Cell], title: str = "Things", notes: tuple[str, ...] = ()) -> Rows:
    columns = (Column("what", "what", "text"), Column("size", "bytes", "bytes"), Column("gone", "gone", "ns"))
    return Rows("things", title, columns, rows, "largest first", notes, {"all": 3})


def test_columns_without_anything_in_them_are_left_out() -> None:
    text = shown(table({"what": "a", "size": 1000, "gone": 0}, {"what": "b", "size": None}))
    assert "1,000" in text
    assert "gone" not in text


NARROW = (
    *(Column(key, key, "ns") for key in ("start_ns", "length_ns", "cpu_ns", "storage_ns", "console_ns")),
    *(Column("phase", "phase", "text"), Column("who", "who", "text"), Column("what", "what", "text")),
)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_where_there_is_no_room_columns_go_before_texts_do(width: int) -> None:
    row: dict[str, Cell] = {c.key: 123_456_789 for c in NARROW if c.kind == "ns"}
    row |= {"phase": "application", "who": "kworker/u4:0[12]: probe 1c18000.sata", "what": "a " * 20}
    out = io.StringIO()
    rows = Rows("critical-path", "Path", NARROW, (row,), "in order")
    show(Console(file=out, width=width, color_system=None), rows, 5)
    head = out.getvalue().splitlines()[1]
    order = ["console_ns", "storage_ns", "cpu_ns", "phase"]
    gone = [key for key in order if key not in head.split()]
    said = f"not shown: {', '.join(gone)}; a wider terminal or --json has them"
    assert not any("…" in line for line in out.getvalue().splitlines()[1:])
    assert gone == order[: len(gone)]
    assert (said in " ".join(out.getvalue().split())) == bool(gone) == (width < 120)
    assert {"start_ns", "length_ns", "who", "what"} <= set(head.split())


def test_what_is_not_shown_is_counted() -> None:
    things: list[dict[str, Cell]] = [{"what": f"thing {n}", "size": n} for n in range(12)]
    text = shown(table(*things), top=5)
    assert "thing 4" in text
    assert "thing 5" not in text
    assert "... and 7 more: --top 12" in text
    assert "nothing" in shown(table())


def test_nothing_from_a_target_acts_on_the_terminal() -> None:
    text = shown(table({"what": HOSTILE, "size": 1}, title=HOSTILE, notes=(HOSTILE,)))
    assert not any(c in text for c in "\x1b\x07\x9b\u202e")
    assert text.count("[red]") == 3
    assert text.count("\\x1b[31m") == 3


def test_json_holds_every_row_unless_fewer_are_asked_for() -> None:
    rows = table({"what": HOSTILE}, {"what": "b"}, notes=("n",))
    (whole,) = document((rows,), None)
    assert json.loads(json.dumps(whole))["rows"][0]["what"] == HOSTILE
    assert (whole["rows_total"], whole["sums"], whole["notes"]) == (2, {"all": 3}, ("n",))
    (less,) = document((rows,), 1)
    assert (less["rows_total"], less["rows"]) == (2, ({"what": HOSTILE},))


STEPS = Rows(
    "path",
    "Path",
    (Column("at_ns", "at", "at"), Column("length_ns", "length", "ns")),
    tuple({"at_ns": n * 1000, "length_ns": n % 5 * 1_000_000} for n in range(1, 10)),
    "in order of time",
    weight="length_ns",
)


def test_of_a_list_in_order_of_time_the_longest_are_shown_in_that_order() -> None:
    assert [row["at_ns"] for row in most(STEPS, 4)] == [3000, 4000, 8000, 9000]
    assert most(STEPS, 99) == STEPS.rows
    (found,) = document((STEPS,), 4)
    assert [row["at_ns"] for row in found["rows"]] == [3000, 4000, 8000, 9000]  # type: ignore[attr-defined]
    text = shown(STEPS, top=4)
    assert "5 shorter rows take 6.0 ms in all: --top 9" in text
    assert "shorter" not in shown(STEPS, top=9)


def test_text_that_is_too_long_is_cut_without_more_ado_and_a_long_word_goes_on_below() -> None:
    long = "/etc/init.d/S30seed:8"
    assert cell(Column("what", "what", "text"), "x" * 59) == "x" * 57 + "…"
    out = io.StringIO()
    show(Console(file=out, width=16, color_system=None), table({"what": long, "size": 123_456}), 5)
    assert long in "".join(line.strip() for line in out.getvalue().splitlines())


RANKED = Rows(
    "calls",
    "Calls",
    (
        Column("what", "what", "text"),
        Column("start_ns", "start s", "at"),
        Column("total_ns", "total ms", "ns"),
        Column("change_ns", "change ms", "change"),
    ),
    (
        {"what": "b", "start_ns": 3, "total_ns": 5, "change_ns": -9},
        {"what": "C", "start_ns": 1, "total_ns": None, "change_ns": 0},
        {"what": "a", "start_ns": 2, "total_ns": 7, "change_ns": 4},
    ),
    "in some order",
    weight="total_ns",
)


@pytest.mark.parametrize(
    ("column", "order"),
    [
        ("total", "abC"),
        ("total_ns", "abC"),
        ("total ms", "abC"),
        ("Total", "abC"),
        ("start", "Cab"),
        ("what", "abC"),
        ("change", "baC"),
    ],
)
def test_a_view_is_ranked_by_the_column_that_is_named_as_it_is_shown(column: str, order: str) -> None:
    (found,) = sort((RANKED,), column)
    assert "".join(str(row["what"]) for row in found.rows) == order
    assert found.order.startswith(f"by {column.lower().split('_')[0].split(' ')[0]}, ")
    assert most(found, 1) == found.rows[:1]


def test_of_several_tables_those_that_have_the_column_are_ranked_and_a_wrong_one_is_answered() -> None:
    other = table({"what": "x", "size": 1}, {"what": "y", "size": 2})
    first, second = sort((RANKED, other), "size")
    assert first is RANKED
    assert [row["what"] for row in second.rows] == ["y", "x"]
    with pytest.raises(UserError, match="unknown column 'totl'") as wrong:
        sort((RANKED, other), "totl")
    assert wrong.value.hint == "did you mean total? there are: bytes, change, gone, start, total, what"


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_what_a_console_printed_is_one_line_each_where_a_terminal_has_room_for_some_of_it(width: int) -> None:
    columns = (Column("start_ns", "at s", "at"), Column("cost_ns", "cost ms", "ns"))
    text = "[    1.722584] Loaded X.509 cert 'Build time autogenerated kernel key: cb775a0e06e2' of 117 bytes"
    rows = Rows(
        "console",
        "Lines",
        (*columns, Column("who", "written by", "text"), Column("text", "text", "text")),
        ({"start_ns": 1, "cost_ns": 1_000_000, "who": "kernel_init[1]: " + "x" * 30, "text": text},),
        "most expensive first",
    )
    out = io.StringIO()
    show(Console(file=out, width=width, color_system=None), rows, 5)
    lines = out.getvalue().splitlines()
    (at,) = (n for n, line in enumerate(lines) if "[    1.722584] Loaded" in line)
    line, *after = lines[at:]
    # A figure that has no room is left out, not cut.
    assert line.rstrip().endswith("…") == (width < 120)
    assert not any(part in line for part in ("11…", "cb77…"))
    assert after[0].startswith("not shown: ")
    assert ("the rest of text" in " ".join(" ".join(after).split())) == (width < 120)

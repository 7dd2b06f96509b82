# SPDX-License-Identifier: Apache-2.0
"""What is shown on terminals of any width can be read."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from bootscope.analysis.all_views import rows_of
from bootscope.analysis.compare import End
from bootscope.analysis.compare import compare as compare_timelines
from bootscope.analysis.views import View, view
from bootscope.boards.profile import load_board
from bootscope.capture.store import Store
from bootscope.capture.stored import Summary
from bootscope.core.text import seconds, span
from bootscope.report import rows
from bootscope.report.terminal import BAR_CELLS, compare, runs, show
from bootscope.runs.listing import Listed, listed

from ..fixtures.stock_boot import unpack
from .scenes import Story, evidence_of, run_of, stacks_of

_BAR = re.compile("[█▓▒░·]+")


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> View:
    store = Store(tmp_path_factory.mktemp("stock") / "store")
    return view(store, store.find(unpack(store)))


def shown(stock: View, width: int) -> list[str]:
    out = io.StringIO()
    show(Console(file=out, width=width, color_system=None), stock, 5)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 84, 88, 92, 100, 120, 200])
def test_no_phase_is_cut_and_bars_are_as_long_as_their_phases(stock: View, width: int) -> None:
    lines = shown(stock, width)
    longest = max(stock.timeline.phases, key=lambda p: p.duration_ns)
    bars = {}
    for phase in stock.timeline.phases:
        line = next(line for line in lines if re.match(rf"{phase.name} +[0-9.]+ +[0-9.]+ +[0-9.]+ %", line))
        assert "…" not in line
        bars[phase.name] = sum(map(len, _BAR.findall(line)))
    cells = bars[longest.name]
    assert cells <= BAR_CELLS
    assert cells == (BAR_CELLS if width >= 110 else cells)
    for phase in stock.timeline.phases:
        assert abs(bars[phase.name] - cells * phase.duration_ns / longest.duration_ns) <= 0.5


def test_a_narrow_terminal_has_no_bars_and_no_legend(stock: View) -> None:
    assert not any("█" in line for line in shown(stock, 80))
    assert "█ cpu  ▓ storage  ▒ console  ░ idle  · fixed" in map(str.strip, shown(stock, 120))


def test_the_name_of_a_run_is_whole_however_narrow_the_terminal(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    run_id = unpack(store)
    store.index(run_id)
    out = io.StringIO()
    runs(Console(file=out, width=80, color_system=None), listed(store, store.summaries()))
    row = next(line.split() for line in out.getvalue().splitlines() if run_id in line)
    assert row[0] == run_id
    assert {"1", "10.629", "exact"} <= set(row)


def shown_view(stock: View, name: str, phase: str | None = None) -> str:
    out = io.StringIO()
    for table in rows_of(name, stock.evidence, stock.stacks, phase):
        rows.show(Console(file=out, width=200, color_system=None), table, 2)
    return out.getvalue()


def test_the_floor_is_told_as_one_figure_however_few_rows_are_shown(stock: View) -> None:
    (table,) = rows_of("floor", stock.evidence, stock.stacks)
    floor_ns = sum(int(row["floor_ns"] or 0) for row in table.rows)
    assert table.sums["floor_ns"] == floor_ns
    said = f"the whole boot: at least {span(floor_ns)}, today 10.629 s, 6.1 times as long"
    for phase in (None, "kernel"):
        assert said in shown_view(stock, "floor", phase)


def test_the_console_says_what_quiet_would_be_worth(stock: View) -> None:
    assert "with quiet the kernel would suppress 293 of 352 lines, 1.901 s of 1.994 s" in shown_view(
        stock, "console"
    )
    assert "quiet" not in shown_view(stock, "console", "rom")


def end(stock: View, ended: str, **run: str) -> View:
    """The boot as if it had ended otherwise."""
    info = msgspec.structs.replace(stock.boot.info, ended=ended, message=f"{ended} at 1 s \x1b[31m")
    made = replace(stock, boot=replace(stock.boot, info=info))
    return replace(made, run=replace(stock.run, info=msgspec.structs.replace(stock.run.info, **run)))


def compared(a: View, b: View) -> str:
    out = io.StringIO()
    ends = [End(v.run.info.until, "" if v.boot.info.complete else "it hung \x1b[31m") for v in (a, b)]
    found = compare_timelines(a.timeline, b.timeline, (), True, (ends[0], ends[1]))
    compare(Console(file=out, width=200, color_system=None), a, b, found, 5)
    return out.getvalue()


def test_a_boot_that_did_not_get_there_gets_no_verdict(stock: View) -> None:
    text = compared(end(stock, "hang"), stock)
    assert "first-frame, not reached (A), first-frame (B); both are cut at first-frame" in text
    for verdict in ("faster", "slower", "the same to"):
        assert verdict not in text
    assert "the same to the nanosecond" in compared(stock, stock)


def test_boots_that_end_at_different_milestones_are_cut_at_the_last_that_both_reached(stock: View) -> None:
    """The shorter recording of two equal boots was told to be faster."""
    at_ns = stock.timeline.milestones["init"]
    phases = tuple(p for p in stock.timeline.phases if p.end_ns <= at_ns)
    reached = {name: ns for name, ns in stock.timeline.milestones.items() if ns <= at_ns}
    tl = replace(stock.timeline, total_ns=at_ns, phases=phases, milestones=reached)
    shorter = end(stock, "milestone", until="init")
    shorter = replace(shorter, understand=lambda: replace(stock.evidence, timeline=tl))
    text = compared(stock, shorter)
    assert "first-frame (A), init (B); both are cut at init, the last common one" in text
    assert "the same to the nanosecond at init" in text
    assert "faster" not in text
    assert not re.search(r"^(application|init) ", text, re.MULTILINE)
    assert re.search(rf"^until init +({re.escape(seconds(at_ns))}) +\1 +=", text, re.MULTILINE)


def test_a_path_leads_to_the_milestone_only_if_the_boot_got_there() -> None:
    story = Story().hook("uboot.start").work(5).hook("kernel.start").work(5)
    for reached in (False, True):
        run = msgspec.structs.replace(run_of(), until="kernel-entry" if reached else "first-frame")
        evidence = evidence_of(story.records, run)
        _, table = rows_of("critical-path", evidence, stacks_of(evidence))
        goal = "kernel-entry" if reached else "the end of the recording"
        assert table.title == f"Critical path to {goal}"


def test_another_boards_costs_are_said_beside_the_board(store: Store) -> None:
    other = view(store, store.find(unpack(store)), board=load_board("cubieboard:card=2x"))
    text = "\n".join(shown(other, 100))
    assert "board cubieboard, with the costs of cubieboard:card=2x, build " in text


HOSTILE = "[/b]\x1b]0;x\x07"


def test_runs_of_other_computers_are_text_in_the_list() -> None:
    run = Summary(
        run_id=HOSTILE, created=HOSTILE, system=HOSTILE, board=HOSTILE, build_id=HOSTILE, until=HOSTILE,
        boots=1, complete=0, ended=HOSTILE, kind=HOSTILE,
    )  # fmt: skip
    out = io.StringIO()
    runs(Console(file=out, width=400, force_terminal=True, color_system=None), [Listed(run, None, {})])
    text = out.getvalue()
    assert text.replace("\n", "").isprintable()
    # As run, until, ended, board, kind and build.
    assert text.count(r"[/b]\x1b]0;x\x07") == 6

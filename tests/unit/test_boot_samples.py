# SPDX-License-Identifier: Apache-2.0
"""Times of all boots of a run: exact ones, imported ones, and two runs against each other."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bootscope.analysis.samples import (
    MILESTONE,
    PHASE,
    WHOLE,
    BootTimes,
    Quantity,
    SampleSet,
    goal,
    of_traces,
    single,
)
from bootscope.analysis.significance import FASTER, NOT_SHOWN, SAME, SLOWER, against
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.runs.run import sample_set
from bootscope.timeline.trace import LENGTH, OR_MORE, Point, Span, Trace, Track
from tests.fixtures.stock_boot import unpack

from .boot_noise import MS, Board
from .builders import BOOT, keep_run
from .conftest import Command, Done

READY = Quantity(MILESTONE, "app-ready")


def log(values: list[int], ready: str = "app: ready", since_ns: int = 0) -> str:
    """grabserial's log of boots that were ready after so many ns; each begins at `since_ns`."""
    lines = []
    for ns in values:
        moments = [
            (0, "U-Boot SPL 2025.01 (Jan 01 2025 - 00:00:00 +0000)"),
            (ns // 10, "U-Boot 2025.01 (Jan 01 2025 - 00:00:00 +0000)"),
            (ns // 4, "Starting kernel ..."),
            (ns // 3, "[    0.000000] Booting Linux on physical CPU 0x0"),
            (ns // 2, "[    0.900000] Run /sbin/init as init process"),
            (ns, ready),
        ]
        lines += [f"[{(since_ns + at) // 1000 / 1e6:.6f} 0.000000] {text}\n" for at, text in moments]
    return "".join(lines)


def imported(
    main_here: Command, folder: Path, name: str, values: list[int], ready: str = "app: ready"
) -> str:
    """Imports a log of such boots; returns the run's id."""
    (folder / f"{name}.log").write_text(log(values, ready))
    done = main_here("import", f"{name}.log", "--milestone", "app-ready=app: ready", "--json")
    assert done.returncode == 0, done.stderr
    run_id: str = json.loads(done.stdout)["run_id"]
    return run_id


def boots(values: list[int], run_id: str = "run", until: str = "app-ready") -> SampleSet:
    """A run whose boots were ready after so many ns."""
    made = [BootTimes(f"{run_id}/{n:03}", {READY: ns, WHOLE: ns}) for n, ns in enumerate(values, 1)]
    return SampleSet(run_id, tuple(made), until=until)


def document(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# ---- from runs to samples ----


def test_a_recorded_boot_is_exact_and_has_all_that_show_tells(store: Store) -> None:
    run_id = unpack(store)
    found = sample_set(store, run_id)
    assert found.exact
    assert found.until == "first-frame"
    (whole,) = found.values(WHOLE)
    phases = [q for q in found.quantities() if q.kind == PHASE]
    assert sum(found.values(q)[0] for q in phases) == whole
    assert found.values(Quantity(MILESTONE, "first-frame")) == [whole]


def test_equal_recorded_boots_are_exact_and_another_one_is_not(store: Store) -> None:
    run_id = keep_run(store, BOOT, boots=3)
    found = sample_set(store, run_id)
    assert (found.exact, len(found.values(WHOLE)), len(set(found.values(WHOLE)))) == (True, 3, 1)
    assert len(sample_set(store, run_id, 2).boots) == 1
    with pytest.raises(UserError, match="no boot 4"):
        sample_set(store, run_id, 4)


def test_an_import_gives_a_time_for_each_boot(main_here: Command, tmp_path: Path, store: Store) -> None:
    values = [5_000 * MS, 5_100 * MS, 4_900 * MS]
    found = sample_set(store, imported(main_here, tmp_path, "three", values))
    assert not found.exact
    assert found.values(READY) == values
    assert found.step_ns == 1_000  # grabserial's stamps are in µs
    assert sum(found.values(q)[0] for q in found.quantities() if q.kind == PHASE) == values[0]


def test_phases_of_one_name_are_added_up_and_a_boot_without_the_milestone_is_not_complete() -> None:
    track = Track("phases", "phase", "phases", (Span(0, 10, "init"), Span(10, 15, "x"), Span(15, 20, "init")))
    reached = Trace("t", "c", 20, (track,), (Point(7, "app-ready", "milestone", 4),))
    found = of_traces("run", [("run/001", reached), ("run/002", Trace("t", "c", 5))], "app-ready")
    assert found.values(Quantity(PHASE, "init")) == [15]
    assert [boot.complete for boot in found.boots] == [True, False]
    assert found.boots[1].why == "app-ready was not reached"
    assert found.step_ns == 4
    assert single(found, 2).boots == found.boots[1:]


def test_the_time_of_the_system_before_is_not_the_boots(main_here: Command, tmp_path: Path) -> None:
    """One log holds 10 s of the system that ran before, the other 60 s."""
    before = "[0.000000 0.0] app: works\n[{} 0.0] reboot: Restarting system\n"
    for name, other_ns in (("short", 10_000 * MS), ("long", 60_000 * MS)):
        text = before.format(other_ns / 1e9 - 0.5) + log([3_200 * MS], since_ns=other_ns)
        (tmp_path / f"{name}.log").write_text(text)
        main_here("import", f"{name}.log", "--milestone", "app-ready=app: ready")
    found = document(main_here("compare", "last~1", "last", "--json"))
    verdicts = {
        q["name"]: (q["a"]["median_ns"], q["b"]["median_ns"]) for q in [found["goal"], *found["details"]]
    }
    assert verdicts["app-ready"] == verdicts["total"] == (3_200 * MS, 3_200 * MS)
    assert "13.200" not in main_here("list").stdout


def test_a_total_of_which_only_the_least_is_known_is_none() -> None:
    kernel = Track(
        "phases", "phase", "phases", (Span(0, 10, "kernel"), Span(10, 99, "init", {LENGTH: OR_MORE}))
    )
    cut = Trace(
        "t", "c", 99, (kernel,), (Point(10, "init", "milestone"),), total_or_later=True, end_seen=False
    )
    found = of_traces("run", [("run/001", cut)])
    assert [str(quantity) for quantity in found.quantities()] == ["init", "phase kernel"]
    assert goal((found,)) == Quantity(MILESTONE, "init")
    assert "total" not in [str(v.quantity) for v in against(found, found).details]
    bare = of_traces("run", [("run/001", replace(cut, tracks=(), points=()))])
    assert (goal((bare,)), bare.values(WHOLE)) == (WHOLE, [])


def test_the_verdict_is_about_what_the_runs_were_for_or_the_last_milestone_of_all() -> None:
    early, late = Quantity(MILESTONE, "init"), Quantity(MILESTONE, "late")
    a = SampleSet("a", (BootTimes("a/1", {early: 1, READY: 2, late: 3, WHOLE: 4}),))
    b = SampleSet("b", (BootTimes("b/1", {early: 1, READY: 2, WHOLE: 4}),))
    assert goal((a, b)) == READY
    assert goal((a, b), "init") == early
    assert goal((boots([1]), boots([2]))) == READY
    assert goal((SampleSet("a", ()), b)) == WHOLE
    with pytest.raises(UserError, match="unknown milestone or phase of b 'late'"):
        goal((a, b), "late")


# ---- two runs ----


def test_a_faster_and_a_slower_build_and_the_same_one_are_told() -> None:
    board, rng = Board(30, 4), random.Random(1)
    before = boots(board.boots(rng, 10))
    verdicts = [against(before, boots(board.boots(rng, 10, times))).goal for times in (0.97, 1.03, 1.0)]
    assert [v.word for v in verdicts] == [FASTER, SLOWER, NOT_SHOWN]
    assert all(v.smallest_ns and v.needed_planned for v in verdicts)
    assert verdicts[2].shift is not None
    assert verdicts[2].shift.low_ns < 0 < verdicts[2].shift.high_ns


def test_too_few_boots_have_figures_and_no_verdict() -> None:
    found = against(boots([5, 6, 7]), boots([8, 9]))
    assert found.refused == "no verdict from fewer than 3 boots that reach app-ready: B has 2"
    assert found.goal.word == ""
    assert found.goal.b is not None
    assert found.goal.b.median_ns == 8


def test_boots_that_are_all_the_same_are_the_same() -> None:
    found = against(boots([5, 5, 5]), boots([5, 5, 5]))
    assert (found.goal.word, found.refused) == (SAME, "")


def test_an_exact_run_is_not_compared_with_one_that_is_not() -> None:
    exact = SampleSet("emulated", boots([5, 5, 5]).boots, exact=True, until="app-ready")
    assert "exact" in against(exact, boots([6, 7, 8])).refused


def test_lost_boots_outliers_and_drift_are_told() -> None:
    found = against(boots([100, 101, 102, 103, 104, 105, 106]), boots([100, 101, 900, 99, 100, 102]))
    words = "\n".join(found.notes)
    assert "A drifts by +0.000 ms a boot" in words
    assert "B: outlier boot 3 " in words
    lost = SampleSet("l", (*boots([5, 6, 7]).boots, BootTimes("l/004", {}, False, "x")), until="app-ready")
    assert ("B: 1 of 4 boots did not reach app-ready: excluded from all figures") in against(
        boots([5, 6, 7]), lost
    ).notes


def test_many_phases_together_raise_no_more_false_alarms_than_one() -> None:
    rng = random.Random(4)
    phases = [Quantity(PHASE, f"p{n}") for n in range(8)]

    def run() -> SampleSet:
        made = [{**{q: rng.gauss(0, 1) for q in phases}, READY: 1} for _ in range(8)]
        scaled = [{q: round(x * 1000) for q, x in times.items()} for times in made]
        return SampleSet("r", tuple(BootTimes("r/1", times) for times in scaled), until="app-ready")

    alarms = 0
    for _ in range(200):
        found = against(run(), run())
        alarms += any(v.word in (FASTER, SLOWER) for v in found.details)
    assert alarms <= 200 * 0.05


# ---- the command ----


def test_compare_gives_a_verdict_with_all_that_belongs_to_it(main_here: Command, tmp_path: Path) -> None:
    board, rng = Board(30, 4), random.Random(1)
    a = imported(main_here, tmp_path, "before", board.boots(rng, 10))
    b = imported(main_here, tmp_path, "after", board.boots(rng, 10, 0.97))
    done = main_here("compare", a, b)
    assert done.returncode == 0, done.stderr
    for words in ("faster at app-ready", "97 % interval", "rank test (Mann-Whitney)", "four times in five"):
        assert words in done.stdout
    found = document(main_here("compare", a, b, "--json"))
    assert (found["kind"], found["goal"]["verdict"], found["refused"]) == ("compare-boots", "faster", None)
    assert found["goal"]["low_ns"] <= found["goal"]["change_ns"] <= found["goal"]["high_ns"] < 0
    assert [boot["boot"] for boot in found["a"]["boots"]] == [f"{a}/{n:03}" for n in range(1, 11)]
    assert "phase kernel" in {v["name"] for v in found["details"]}
    other = document(main_here("compare", a, b, "--json", "--milestone", "init"))
    assert other["goal"]["name"] == "init"


def test_compare_refuses_too_few_boots_and_shows_their_figures(main_here: Command, tmp_path: Path) -> None:
    a = imported(main_here, tmp_path, "before", [5000 * MS, 5010 * MS, 5020 * MS])
    done = main_here("compare", a, f"{a}/2")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "bootscope: no verdict from fewer than 3 boots that reach app-ready: B has 1",
        "  hint: 10 boots of each are a good start",
    ]
    assert "5.010" in done.stdout
    done = main_here("compare", a, f"{a}/2", "--json")
    assert (done.returncode, document(done)["goal"]["b"]["median_ns"]) == (2, 5010 * MS)


def test_compare_of_an_emulated_and_a_real_board_asks_for_no_more_boots(
    main_here: Command, tmp_path: Path, store: Store
) -> None:
    a = imported(main_here, tmp_path, "before", [5000 * MS])
    done = main_here("compare", unpack(store), a)
    assert done.returncode == 2
    assert "their clocks differ" in done.stderr
    assert "hint: compare boots of one kind; bootscope help calibrate" in done.stderr


def test_compare_keeps_to_single_boots_where_they_are_exact(main_here: Command, store: Store) -> None:
    run_id = keep_run(store, BOOT, boots=3)
    assert document(main_here("compare", run_id, f"{run_id}/2", "--json"))["kind"] == "compare"
    done = main_here("compare", run_id, f"{run_id}/2", "--milestone", "init")
    assert (done.returncode, "these are exact" in done.stderr) == (2, True)


def test_a_recorded_run_and_an_imported_one_are_shown_and_refused(
    main_here: Command, tmp_path: Path, store: Store
) -> None:
    run_id = keep_run(store, BOOT, boots=3)
    other = imported(main_here, tmp_path, "real", [5000 * MS, 5010 * MS, 5020 * MS])
    done = main_here("compare", run_id, other)
    assert (done.returncode, "is exact (emulated board)" in done.stderr) == (2, True)
    done = main_here("compare", run_id, other, "--view", "console")
    assert (done.returncode, "--view is for single boots" in done.stderr) == (2, True)


def test_names_from_a_log_do_nothing_on_a_terminal(main_here: Command, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(log([5000 * MS, 5010 * MS, 5020 * MS]))
    for _ in range(2):
        done = main_here("import", "x.log", "--milestone", "\x1b[31m[red]evil=app: ready")
        assert done.returncode == 0, done.stderr
    done = main_here("compare", "last~1", "last")
    assert "\x1b" not in done.stdout
    assert "\\x1b[31m[red]evil" in done.stdout


# ---- phases that only one run has ----


def in_phases(run: str, **each: list[int]) -> SampleSet:
    """Boots with phases that took so many ms each."""
    boots = []
    for number, took in enumerate(zip(*each.values(), strict=True)):
        times = {Quantity(PHASE, name): ms * MS for name, ms in zip(each, took, strict=True)}
        total = sum(times.values())
        boots.append(BootTimes(f"{run}/{number}", {READY: total, **times, WHOLE: total}))
    return SampleSet(run, tuple(boots), until="app-ready")


def test_phases_that_only_one_run_has_are_put_together_with_the_one_before() -> None:
    full = {
        "spl": [5] * 6,
        "decompress": [600, 610, 620, 605, 615, 611],
        "kernel": [1000 + n for n in range(6)],
    }
    loud = in_phases("a", **full, init=[1500 + 3 * n for n in range(6)])
    quiet = in_phases("b", spl=[5] * 6, decompress=[2200 + 7 * n for n in range(6)])
    found = against(loud, quiet)
    rows = {v.quantity.name: v for v in found.details}
    assert list(rows) == ["spl", "decompress+kernel+init", "total"]
    # On its own the phase before would be slower by 1.6 s.
    assert rows["decompress+kernel+init"].word == FASTER == found.goal.word
    turned = {v.quantity.name: v for v in against(quiet, loud).details}
    assert turned["decompress+kernel+init"].word == SLOWER
    assert [v.quantity.name for v in against(loud, loud).details] == [*full, "init", "total"]


def test_each_run_may_lack_a_phase_of_the_other() -> None:
    some = [5, 6, 7, 8]
    one = in_phases("a", rom=some, spl=some, load=some, init=some)
    other = in_phases("b", spl=some, kernel=some, init=some)
    rows = [v.quantity.name for v in against(one, other).details]
    assert rows == ["rom", "spl+load+kernel", "init", "total"]

# SPDX-License-Identifier: Apache-2.0
"""Budgets, baselines, and what CI systems are told of them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from bootscope.analysis.samples import MILESTONE, PHASE, WHOLE, BootTimes, Quantity, SampleSet
from bootscope.capture.store import Store
from bootscope.check.baseline import baseline_of, read_baseline
from bootscope.check.decide import MISSED, NONE, OK, UNSURE, Outcome, decide
from bootscope.check.model import Check
from bootscope.check.reading import read_checks
from bootscope.core.errors import UserError
from tests.fixtures.stock_boot import unpack

from .boot_noise import MS, Board
from .conftest import Command, Write
from .test_boot_samples import imported

READY, KERNEL = Quantity(MILESTONE, "app-ready"), Quantity(PHASE, "kernel")
BUDGETS = """
[budget]
"app-ready" = "5.1 s"
"phase kernel" = { limit = "900 ms", of = "worst" }
"""
REGRESSION = """
[baseline]
file = "base.json"
max_regression = "2 %"
"""


def run(values: list[int], exact: bool = False, **facts: str) -> SampleSet:
    """A run whose boots were ready after so many ns, a tenth of it spent in the kernel."""
    made = [
        BootTimes(f"run/{n:03}", {READY: ns, KERNEL: ns // 10, WHOLE: ns}) for n, ns in enumerate(values, 1)
    ]
    return SampleSet("run", tuple(made), exact, "app-ready", 0, facts)


def read_check(path: Path) -> Check:
    """The check in a file that is of one product."""
    (check,) = read_checks(path)
    return check


def statuses(outcome: Outcome) -> dict[str, str]:
    return {f.ident: f.status for f in outcome.findings}


# ---- the file ----


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing to check"),
        ("[budget]\nx = 5", "budget"),
        ('[budget]\nx = "5"', "budget 'x': '5' is no time"),
        ('[budget]\nx = "2 %"', "a budget is a time"),
        (
            '[budget]\nx = { limit = "2 s", of = "p100" }',
            "budget 'x': 'p100' is not a statistic of several boots",
        ),
        ('[budget]\nx = { limit = "2 s", per = "boot" }', "unknown key"),
        ('[baseline]\nfile = "x"', "missing value for `max_regression`"),
        ('[baseline]\nfile = "x"\nmax_regression = "two"', "baseline.max_regression: 'two' is no time"),
        ('[budget]\nx = "\\u001b[31m"', "'\\x1b[31m' is no time"),
    ],
)
def test_what_is_wrong_in_a_check_file_is_said(write: Write, text: str, words: str) -> None:
    path = write(text)
    with pytest.raises(UserError) as caught:
        read_check(path)
    assert words in caught.value.message
    assert str(path) in caught.value.message


def test_times_are_exact_and_the_default_is_the_median(write: Write) -> None:
    check = read_check(write('[budget]\na = "2.5 s"\nb = "900ms"\nc = { limit = "0.1 us", of = "p95" }'))
    assert [(b.name, b.limit_ns, b.of) for b in check.budgets] == [
        ("a", 2_500_000_000, "median"),
        ("b", 900_000_000, "median"),
        ("c", 100, "p95"),
    ]
    assert [b.figure(range(1, 21)) for b in check.budgets] == [10, 10, 19]


# ---- budgets ----


def test_budgets_are_kept_or_missed(write: Write) -> None:
    check = read_check(write(BUDGETS))
    assert statuses(decide(check, run([5000 * MS] * 3), None)) == {
        "boots app-ready": OK,
        "budget app-ready median": OK,
        "budget phase kernel worst": OK,
    }
    slow = decide(check, run([5000 * MS, 5000 * MS, 9001 * MS]), None)
    assert statuses(slow)["budget phase kernel worst"] == MISSED
    assert slow.missed[0].words == "100.0 µs above the budget"
    assert statuses(decide(check, run([5100 * MS] * 3), None))["budget app-ready median"] == OK


def test_a_boot_that_does_not_get_there_is_missed(write: Write) -> None:
    full = run([5000 * MS] * 4)
    lost = SampleSet("run", (*full.boots, BootTimes("run/005", {}, False, "panic")), until="app-ready")
    found = decide(read_check(write(BUDGETS)), lost, None)
    assert found.missed[0].words == "4 of 5 boots reached app-ready (panic)"


def test_a_milestone_that_nothing_knows_is_the_users_mistake(write: Write) -> None:
    check = read_check(write('[budget]\n"ap-ready" = "1 s"'))
    with pytest.raises(UserError, match=r"unknown milestone or phase \(budget\) 'ap-ready'") as caught:
        decide(check, run([1, 2, 3]), None)
    assert "app-ready" in (caught.value.hint or "")


def test_a_run_that_got_nowhere_is_missed_whatever_the_file_names(write: Write) -> None:
    panicked = SampleSet("run", (BootTimes("run/001", {}, False, "panic: x"),), True, "first-frame")
    found = decide(read_check(write(BUDGETS)), panicked, None)
    assert {f.words for f in found.missed} == {
        "0 of 1 boots reached first-frame (panic: x)",
        "0 of 1 boots reached app-ready (panic: x)",
        "no boot reached app-ready",
        "no boot reached phase kernel",
    }


def test_fewer_than_three_boots_have_no_verdict_unless_they_are_exact(write: Write) -> None:
    check = read_check(write(BUDGETS))
    found = decide(check, run([9000 * MS, 9000 * MS]), None)
    assert found.refused == "no verdict from fewer than 3 boots: run run has 2"
    assert statuses(found)["budget app-ready median"] == NONE
    assert not found.missed
    exact = decide(check, run([9000 * MS], exact=True), None)
    assert (exact.refused, len(exact.missed)) == ("", 1)


def test_a_budget_for_the_total_is_missed_where_no_boot_has_a_known_end(write: Write) -> None:
    check = read_check(write('[budget]\ntotal = "9 s"\n'))
    cut = SampleSet("run", tuple(BootTimes(f"run/{n}", {READY: 5}) for n in range(4)), until="app-ready")
    found = decide(check, cut, None)
    assert statuses(found)["budget total median"] == MISSED


# ---- baselines ----


def test_a_baseline_comes_back_as_it_was(tmp_path: Path) -> None:
    boots = run([5000 * MS, 5001 * MS, 5002 * MS], board="b")
    (tmp_path / "b.json").write_bytes(baseline_of(boots))
    assert read_baseline(tmp_path / "b.json") == boots
    cut = replace(boots, boots=tuple(BootTimes(boot.boot_id, {READY: 5}) for boot in boots.boots))
    (tmp_path / "b.json").write_bytes(baseline_of(cut))
    assert read_baseline(tmp_path / "b.json") == cut, "its boots have no known end"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": 1}', '{"schema": 2, "kind": "baseline"}', '{"schema": 1, "kind": "x"}']
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UserError):
        read_baseline(tmp_path / "b.json")
    with pytest.raises(UserError, match="no complete boot"):
        baseline_of(SampleSet("r", ()))


def test_an_exact_run_is_held_to_the_nanosecond(write: Write) -> None:
    check = read_check(write(REGRESSION))
    base = run([1_000_000], exact=True)
    assert statuses(decide(check, run([1_020_000], exact=True), base))["baseline app-ready median"] == OK
    assert statuses(decide(check, run([1_020_001], exact=True), base))["baseline app-ready median"] == MISSED
    with pytest.raises(UserError, match="the run is measured on a board, the baseline exact"):
        decide(check, run([1, 2, 3]), base)


def test_a_regression_is_missed_when_it_is_beyond_doubt(write: Write) -> None:
    check = read_check(write(REGRESSION))
    board, rng = Board(30, 4), random.Random(1)
    base = run(board.boots(rng, 10))
    results = {
        times: statuses(decide(check, run(board.boots(rng, 10, times)), base))["baseline app-ready median"]
        for times in (0.95, 1.0, 1.02, 1.06)
    }
    assert results == {0.95: OK, 1.0: OK, 1.02: UNSURE, 1.06: MISSED}


def test_three_boots_can_miss_too(write: Write) -> None:
    check = read_check(write(REGRESSION))
    base = run([5000 * MS, 5001 * MS, 5002 * MS])
    slow, same = run([6000 * MS, 6001 * MS, 6002 * MS]), run([5001 * MS, 5002 * MS, 5000 * MS])
    assert statuses(decide(check, slow, base))["baseline app-ready median"] == MISSED
    assert statuses(decide(check, same, base))["baseline app-ready median"] == OK


def test_equal_builds_fail_a_check_in_at_most_5_of_100_runs_even_when_nothing_is_allowed(
    write: Write,
) -> None:
    check = read_check(
        write(REGRESSION.replace("2 %", "0 ms") + 'quantities = ["app-ready", "phase kernel"]')
    )
    board, rng = Board(30, 4), random.Random(6)
    alarms = sum(
        bool(decide(check, run(board.boots(rng, 10)), run(board.boots(rng, 10))).missed) for _ in range(200)
    )
    assert alarms <= 10


def test_another_board_is_told(write: Write) -> None:
    check = read_check(write(REGRESSION))
    found = decide(check, run([5, 5, 5], board="new"), run([5, 5, 5], board="old"))
    assert "the baseline is of board old, the run of board new" in found.notes


# ---- the command ----


def test_check_tells_people_and_ci_and_ends_with_3(main_here: Command, tmp_path: Path, write: Write) -> None:
    board, rng = Board(30, 4), random.Random(1)
    base = imported(main_here, tmp_path, "base", board.boots(rng, 10))
    good = imported(main_here, tmp_path, "good", board.boots(rng, 10))
    bad = imported(main_here, tmp_path, "bad", board.boots(rng, 10, 1.06))
    write(BUDGETS.replace("900 ms", "9 s") + REGRESSION)
    saved = main_here("check", base, "--save-baseline", "base.json")
    assert (saved.returncode, saved.stdout) == (0, f"wrote base.json: 10 boots of {base}\n")
    done = main_here("check", good)
    assert (done.returncode, done.stderr) == (0, "")
    done = main_here("check", bad, "--junit", "j.xml", "--gitlab", "m.txt", "--lava")
    assert done.returncode == 3
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["missed", "budget", "app-ready", "median"] in [line[:4] for line in lines]
    assert "RESULT=fail" in done.stdout
    assert Xml.fromstring((tmp_path / "j.xml").read_bytes()).get("failures") == "2"
    assert (tmp_path / "m.txt").read_text().endswith("# EOF\n")
    done = main_here("check", bad, "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["kind"], document["kept"]) == (3, "check", False)


def test_check_of_an_exact_run(main_here: Command, store: Store, write: Write) -> None:
    unpack(store)
    write('[budget]\n"first-frame" = "10 s"\n' + REGRESSION)
    assert main_here("check", "last", "--save-baseline", "base.json").returncode == 0
    done = main_here("check")
    assert done.returncode == 3
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][-1] == "exact"
    assert [(line[0], line[1]) for line in lines[2:]] == [
        ("ok", "boots"),
        ("missed", "budget"),
        ("ok", "baseline"),
    ]
    assert "0 (+0.00 %)" in done.stdout


def test_github_gets_a_summary_and_annotations_and_reads_no_commands_in_between(
    main_here: Command, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(main_here, tmp_path, "slow", [6000 * MS, 6001 * MS, 6002 * MS])
    write(BUDGETS)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert "GITHUB_STEP_SUMMARY is not set" in main_here("check", "--github").stderr
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    done = main_here("check", "--github")
    lines = done.stdout.splitlines()
    word = lines[0].removeprefix("::stop-commands::")
    assert len(word) == 32
    assert lines[lines.index(f"::{word}::") + 1].startswith("::error file=bootscope-check.toml,")
    assert (tmp_path / "summary.md").read_text().startswith("before\n## Boot time: missed\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "folder.md"))
    assert main_here("check", "--github").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--json", "--lava"], "all write to standard output"),
        (["--kcidb", "k.json"], "--kcidb needs --kcidb-origin"),
        (["-f", "none.toml"], "there is no check file none.toml"),
    ],
)
def test_what_does_not_go_together_is_said(main_here: Command, arguments: list[str], words: str) -> None:
    done = main_here("check", *arguments)
    assert (done.returncode, words in done.stderr) == (2, True)


def test_two_boots_are_shown_and_refused(main_here: Command, tmp_path: Path, write: Write) -> None:
    imported(main_here, tmp_path, "two", [5000 * MS, 5010 * MS])
    write(BUDGETS.replace("900 ms", "9 s"))
    done = main_here("check")
    assert done.returncode == 2
    assert "5.005" in done.stdout
    assert "no verdict from fewer than 3 boots" in done.stderr

# SPDX-License-Identifier: Apache-2.0
"""A report of a run shows all its boots, one of two runs compares them; an export says which boot it is."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable
from math import comb
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from bootscope.capture.store import Store
from bootscope.statistics.describe import median_interval

from . import real_boards
from .builders import hook, keep_run
from .test_ground import console

Command = Callable[..., CompletedProcess[str]]
FIXTURES = Path(__file__).parents[1] / "fixtures/boots"
MS = 1_000_000


def page(main_here: Command, tmp_path: Path, *names: str) -> str:
    done = main_here("report", *names, "-o", "r.html")
    assert done.returncode == 0, done.stderr
    return (tmp_path / "r.html").read_text()


@pytest.fixture
def run(main_here: Command) -> str:
    """An import of ten boots."""
    done = main_here("import", FIXTURES / "before.log", "--milestone", "app-ready=app: ready", "--json")
    return str(json.loads(done.stdout)["run_id"])


def test_a_run_is_shown_with_all_its_boots(main_here: Command, tmp_path: Path, run: str) -> None:
    text = page(main_here, tmp_path, run)
    assert re.findall(r"<title>boot (\d+): ([\d.]+) s", text) == [
        (str(n), f"{s}") for n, s in enumerate(
            ("5.056", "5.068", "4.984", "5.004", "5.008", "5.004", "5.004", "5.000", "5.012", "5.184"), 1
        )
    ]  # fmt: skip
    assert '<p class="total"><b>5.006</b> s to app-ready, the median' in text
    assert "97 % interval of the median 5.000 to 5.068 s; spread (IQR) 52.0 ms, from 4.984 to 5.184 s" in text
    assert "outlier boots 1, 2, 10" in text
    assert text.count('<td class="plot"><svg') == 5
    assert "This is boot 1 of 10; report RUN/BOOT shows another one." in text
    assert "<script>alert" not in text


def test_one_boot_is_shown_as_one(main_here: Command, tmp_path: Path, run: str) -> None:
    text = page(main_here, tmp_path, f"{run}/2")
    assert "the median" not in text
    assert "This is boot" not in text


def test_two_runs_are_shown_beside_each_other(main_here: Command, tmp_path: Path, run: str) -> None:
    done = main_here("import", FIXTURES / "after.log", "--milestone", "app-ready=app: ready", "--json")
    after = json.loads(done.stdout)["run_id"]
    text = page(main_here, tmp_path, run, after)
    assert "B is 112.0 ms faster at app-ready (2.24 %)" in text
    assert "median of all differences B - A; 97 % interval -156.0 to -76.0 ms" in text
    assert text.count('<svg class="dots"') == 2


def test_two_exact_boots_are_shown_beside_each_other(
    main_here: Command, tmp_path: Path, store: Store
) -> None:
    boots = [hook(0, "uboot.start"), hook(1000, "kernel.start"), hook(5000, "kernel.init")]
    a, b = keep_run(store, boots, day=20), keep_run(store, boots[:2], day=21)
    text = page(main_here, tmp_path, a, b)
    assert re.search(r"B is \d+\.\d µs faster", text)
    assert "B against A" not in page(main_here, tmp_path, a)
    assert "B against A" not in page(main_here, tmp_path, a, a)


def test_boots_that_are_all_the_same_are_shown_once(main_here: Command, tmp_path: Path, store: Store) -> None:
    run_id = keep_run(store, [hook(0, "uboot.start"), hook(1000, "kernel.start")], boots=3)
    text = page(main_here, tmp_path, run_id)
    assert "All 3 boots of this run are the same to the nanosecond." in text
    assert text.count("<article") == 1
    assert "the median" not in text


@pytest.mark.parametrize(
    ("cut", "told"),
    [
        ([2], "2 of the 3 boots of this run completed; they are the same to the nanosecond."),
        ([2, 3], "1 of the 3 boots of this run completed."),
    ],
)
def test_boots_that_did_not_come_to_their_end_are_not_said_to_be_the_same(
    main_here: Command, tmp_path: Path, store: Store, cut: list[int], told: str
) -> None:
    run_id = keep_run(store, [hook(0, "uboot.start"), hook(1000, "kernel.start")], boots=3)
    for number in cut:
        file = store.runs / run_id / f"boots/{number:03}/boot.json"
        info = json.loads(file.read_text())
        file.write_text(json.dumps({**info, "ended": "limit", "stream_sha256": str(number)}))
    assert told in page(main_here, tmp_path, run_id)


def test_the_page_of_a_real_board_has_the_milestones_own_figure(
    main_here: Command, tmp_path: Path, store: Store
) -> None:
    # Something is said after the prompt: the boot ends with the milestone, not with its last byte.
    later = [(3_900 * MS + at * MS, byte) for at, byte in enumerate(b"\nlate\n")]
    run_id = real_boards.keep_measured(store, [[*console(n * MS), *later] for n in range(3)])
    ns = json.loads(main_here("show", f"{run_id}/1", "--json").stdout)["reached_ns"]
    text = page(main_here, tmp_path, f"{run_id}/1")
    assert f'<p class="total"><b>{ns / 1e9:.3f}</b> s to login</p>' in text


@pytest.mark.parametrize("name", ["x.csv", "x.md", "x.prom"])
def test_an_export_says_which_boot_it_is(main_here: Command, tmp_path: Path, run: str, name: str) -> None:
    done = main_here("export", run, "-o", name)
    assert done.stderr == (
        "bootscope: boot 1 of 10, the only boot in this file; name RUN/BOOT for another one, "
        "--format boots has all of them\n"
    )
    assert main_here("export", f"{run}/2", "-o", name).stderr == ""
    if name != "x.csv":  # which has no place for facts
        main_here("export", run, "-o", name)
        assert "boot 1 of 10, the only boot in this file" in (tmp_path / name).read_text()


def test_all_boots_of_a_run_are_exported_as_rows(main_here: Command, tmp_path: Path, run: str) -> None:
    done = main_here("export", run, "-o", "all.boots.csv")
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader((tmp_path / "all.boots.csv").read_text().splitlines()))
    shown = [json.loads(main_here("show", f"{run}/{n}", "--json").stdout) for n in range(1, 11)]
    assert [row["boot"] for row in rows] == [f"{run}/{n:03}" for n in range(1, 11)]
    assert {row["complete"] for row in rows} == {"yes"}
    assert [int(row["app-ready ns"]) for row in rows] == [one["milestones"]["app-ready"] for one in shown]


def test_a_boot_that_came_to_no_end_has_a_row_that_says_so(
    main_here: Command, tmp_path: Path, store: Store
) -> None:
    run_id = keep_run(store, [hook(0, "uboot.start"), hook(1000, "kernel.start")], day=20)
    path = store.runs / run_id / "boots/001/boot.json"
    path.write_text(path.read_text().replace('"milestone"', '"hang"'))
    main_here("export", run_id, "--format", "boots", "-o", "x")
    [row] = csv.DictReader((tmp_path / "x").read_text().splitlines())
    assert row["complete"] == "no"
    assert row["why"].startswith("hang")


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    assert median_interval(range(6)) is None
    assert median_interval(range(7)) == (0, 6)
    assert median_interval(range(10)) == (1, 8)
    rng = random.Random(1)
    held = 0
    for _ in range(2000):
        low, high = median_interval([round(rng.expovariate(1 / MS)) for _ in range(12)]) or (0, 0)
        held += low <= MS * 0.6931 <= high
    outside = sum(comb(12, at) for at in range(3)) / 2**11
    assert 1 - outside - 0.02 < held / 2000
    assert held / 2000 >= 0.97

# SPDX-License-Identifier: Apache-2.0
"""`bootscope history`: figures over commits and days, where they changed, and baselines out of them."""

from __future__ import annotations

import os
import random
import subprocess
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from bootscope.capture import record
from bootscope.capture.record import write_json
from bootscope.capture.store import Store
from bootscope.capture.stream import Sample
from bootscope.core.errors import UserError
from bootscope.history.commits import commits
from bootscope.history.segments import exact_segments, shown_segments
from bootscope.history.series import series
from bootscope.runs.listing import listed

from .builders import BOOT, boot_info, hook, keep_run, run_info, stream_file
from .conftest import Command
from .test_cli import assert_refused
from .test_cli_verbs import json_of

MS = 1_000_000
FIRST = datetime(2026, 11, 1, 12, 0, 0)


def keep(store: Store, number: int, later_ns: int, **labels: str) -> str:
    """The run of a day, whose kernel begins so much later; `test` on the Cubieboard."""
    run_id = store.new_run_id("test", FIRST + timedelta(days=number))
    records = [*BOOT[:-2], hook(1_000 + later_ns, "kernel.start"), Sample(2_000 + later_ns, 0x8000)]
    with store.recording(run_id) as path:
        created = f"{FIRST + timedelta(days=number):%Y-%m-%dT%H:%M:%S}+00:00"
        write_json(path / "run.json", msgspec.structs.replace(run_info(run_id), created=created))
        (path / "boots/001").mkdir()
        (path / "boots/001" / record.STREAM).write_bytes(stream_file(records))
        write_json(path / "boots/001" / record.BOOT, boot_info(run_id))
    if labels:
        store.label(run_id, labels)
    return run_id


@pytest.fixture
def exact(store: Store) -> list[str]:
    """Ten runs of ten commits: the fourth brings 5 ms, the eighth 200 us, the last one takes 1 ms away."""
    costs = [0, 0, 0, 5 * MS, 5 * MS, 5 * MS, 5 * MS, 5_200_000, 5_200_000, 4_200_000]
    return [keep(store, n, ns, branch="main", commit=f"c{n:039}") for n, ns in enumerate(costs)]


@pytest.mark.usefixtures("exact")
def test_a_page_and_json_go_together(main_here: Command, tmp_path: Path) -> None:
    found = json_of(main_here("history", "-o", "h.html", "--json"), "history")
    assert found["about"] == "kernel-entry"
    assert (tmp_path / "h.html").exists()
    assert main_here("history", "-o", "h.html").stdout.startswith("wrote h.html (")


def test_every_change_of_exact_runs_is_one(main_here: Command, exact: list[str]) -> None:
    found = json_of(main_here("history", "--json"), "history")
    assert (found["about"], found["by"], found["exact"]) == ("kernel-entry", "commit", True)
    assert (found["product"], found["board"], found["branch"]) == ("test", "cubieboard", "main")
    assert [(c["at"], c["change_ns"], c["p"]) for c in found["changes"]] == [
        (f"c{3:039}", 5 * MS, None), (f"c{7:039}", 200_000, None), (f"c{9:039}", -MS, None),
    ]  # fmt: skip
    assert found["changes"][0]["phases"][0] == {"name": "load", "change_ns": 5 * MS}
    assert [s["first"] for s in found["segments"]] == [0, 3, 7, 9]
    assert [point["runs"] for point in found["points"]] == [[run] for run in exact]


def test_the_terminal_has_a_plot_and_the_changes_within_80_columns(
    main_here: Command, exact: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = main_here("history").stdout.splitlines()
    assert lines[0] == "kernel-entry of test on cubieboard (main)"
    assert lines[1] == "10 runs of 10 commits, 2026-11-01 to 2026-11-10, exact"
    assert sum(line.count("•") for line in lines) == 10
    assert ("▲" in "".join(lines), "▼" in "".join(lines)) == (True, True)
    assert any("+5.0 ms" in line and "load +5.0 ms" in line for line in lines)
    assert any("+200.0 µs" in line for line in lines)
    some = main_here("history", "--top", "1").stdout
    assert ("+5.0 ms" in some, "+200.0 µs" in some) == (True, False)
    assert "... and 2 smaller: --top 3" in some
    least = main_here("history", "--least", "1").stdout
    assert ("-1.0 ms" in least, "+200.0 µs" in least) == (True, False)


def test_points_are_runs_commits_or_days(main_here: Command, store: Store, exact: list[str]) -> None:
    again = keep(store, 20, 4_200_000, branch="main", commit=f"c{9:039}")
    unlabelled = keep(store, 21, 4_200_000, branch="main")
    by_commit = json_of(main_here("history", "--json"), "history")
    assert by_commit["points"][-1]["runs"] == [exact[-1], again]
    assert by_commit["left_out"] == {"without a label commit": 1}
    by_run = json_of(main_here("history", "--by", "run", "--json"), "history")
    assert by_run["points"][-1]["name"] == unlabelled
    by_day = json_of(main_here("history", "--by", "day", "--json"), "history")
    assert by_day["points"][0]["name"] == "2026-11-01"
    phase = json_of(main_here("history", "--phase", "load", "--json"), "history")
    assert (phase["about"], phase["changes"][0]["change_ns"]) == ("phase load", 5 * MS)


def test_runs_of_another_board_product_or_branch_are_another_history(
    main_here: Command, store: Store, exact: list[str]
) -> None:
    keep(store, 15, 7 * MS, branch="next", commit="d1")
    newest = json_of(main_here("history", "--json"), "history")
    assert (newest["branch"], len(newest["points"])) == ("next", 1)
    assert newest["others"] == [{"product": "test", "board": "cubieboard", "branch": "main"}]
    assert "others: test on cubieboard (main)" in main_here("history").stdout
    main_branch = json_of(main_here("history", "--label", "branch=main", "--json"), "history")
    assert len(main_branch["points"]) == 10


def test_what_cannot_be_shown_is_refused(main_here: Command, store: Store) -> None:
    assert_refused(main_here("history"), "no run with a figure fits", "bootscope list")
    keep(store, 1, 0)
    assert_refused(main_here("history", "--milestone", "kernel-entri"), "did you mean kernel-entry?")
    assert_refused(main_here("history", "--by", "commit"), "none of these runs has a label commit")
    assert_refused(main_here("history", "--by", "day", "--tree", "."), "--tree orders commits")
    assert_refused(main_here("history", "-o", "x.png"), "a history is written as HTML")
    assert_refused(main_here("history", "--since", "soon"), "is not a date or time")


def test_a_folder_that_is_no_git_tree_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        commits(tmp_path)
    assert caught.value.message.startswith(f"git in {tmp_path}: not a git repository")
    assert "\\n" not in caught.value.message


def test_a_tree_orders_the_commits_and_says_what_they_are(store: Store, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", tree, *words], env={**os.environ, **who}, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q")
    ids = []
    for n in range(4):
        git("commit", "-q", "--allow-empty", "-m", f"number {n} <b>")
        ids.append(git("rev-parse", "HEAD"))
    order = commits(tree)
    assert list(order.items()) == [(commit, f"number {n} <b>") for n, commit in enumerate(ids)]
    # Recorded in another order, by short names; one commit is of another tree.
    for day, (n, ns) in enumerate([(3, 5 * MS), (1, 0), (2, 5 * MS), (0, 0)]):
        keep(store, day, ns, commit=ids[n][:12])
    keep(store, 9, 0, commit="0123456789")
    found = series(listed(store, store.summaries()), None, None, order)
    assert [point.name for point in found.points] == ids
    (change,) = found.changes
    assert (change.point.name, change.point.subject, change.ns) == (ids[2], "number 2 <b>", 5 * MS)
    assert found.left_out == {"of commits that are not in the tree": 1}
    with pytest.raises(UserError, match="git in"):
        commits(tmp_path)
    with pytest.raises(UserError, match="not the name of a commit"):
        commits(tree, "--output=x")


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_holds_all_and_escapes_what_people_wrote(
    main_here: Command, store: Store, exact: list[str], tmp_path: Path
) -> None:
    for run in exact:
        store.label(run, {"product": "<script>alert(1)</script>\u202e", "commit": f"<img src=x>{run}"})
    assert main_here("history", "-o", "h.html").returncode == 0
    text = (tmp_path / "h.html").read_text()
    page = Page(text)
    assert page.tags.count("circle") == 10
    assert not {"script", "img", "iframe"} & set(page.tags)
    assert all(link.startswith(("#", "data:,")) for link in page.links)
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert "+5.0 ms" in text


# ---- figures that vary ----


def test_segments_of_exact_figures_are_told_to_the_nanosecond() -> None:
    found = exact_segments([5, 5, 6, 6, 6, 5])
    assert [(s.first, s.last, s.median_ns) for s in found] == [(0, 1, 5), (2, 4, 6), (5, 5, 5)]
    assert exact_segments([]) == ()


def noisy(rng: random.Random, *levels: tuple[int, float]) -> list[int]:
    """So many figures about each of these levels in ms, with noise of 3 ms and one in 20 far too high."""
    return [
        int((5_000 + level + rng.gauss(0, 3) + (abs(rng.gauss(0, 40)) if rng.random() < 0.05 else 0)) * MS)
        for count, level in levels
        for _ in range(count)
    ]


def test_changes_of_varying_figures_are_found_and_few_are_made_up() -> None:
    pytest.importorskip("changeforest")
    rng = random.Random(7)
    flat = [len(shown_segments(noisy(rng, (60, 0)))) for _ in range(50)]
    assert sum(count > 1 for count in flat) <= 3
    hits = 0
    for _ in range(20):
        found = shown_segments(noisy(rng, (40, 0), (40, 8), (40, 0)))
        hits += len(found) == 3 and abs(found[1].first - 40) <= 2 and abs(found[2].first - 80) <= 2
        assert all(s.p is not None and s.p <= 0.03 for s in found[1:])
    assert hits >= 16


def test_a_few_figures_and_equal_ones_have_no_change() -> None:
    assert [len(shown_segments([MS * n for n in range(count)])) for count in range(6)] == [0, 1, 1, 1, 1, 1]
    pytest.importorskip("changeforest")
    assert len(shown_segments([5 * MS] * 50)) == 1
    assert len(shown_segments([5 * MS] * 25 + [90 * MS] + [5 * MS] * 24)) == 1


# ---- as a baseline ----


def checked(main_here: Command, tmp_path: Path, run: str, table: str) -> tuple[int, str]:
    (tmp_path / "bootscope-check.toml").write_text(f'milestone = "kernel-entry"\n[history]\n{table}\n')
    done = main_here("check", run)
    return done.returncode, done.stdout + done.stderr


def test_a_check_takes_the_earlier_runs_as_baseline(
    main_here: Command, store: Store, exact: list[str], tmp_path: Path
) -> None:
    code, text = checked(main_here, tmp_path, exact[3], 'max_regression = "1 ms"')
    assert code == 3
    assert f"baseline: the 3 runs before it, from {exact[0]} to {exact[2]}" in text
    assert checked(main_here, tmp_path, exact[3], 'max_regression = "5 ms"')[0] == 0
    # The last two runs were as slow as this one; all of them were not.
    assert checked(main_here, tmp_path, exact[6], 'max_regression = "0 ms"\nlast = 2')[0] == 0
    assert checked(main_here, tmp_path, exact[7], 'max_regression = "1 ms"\nlast = 2')[0] == 0
    assert checked(main_here, tmp_path, exact[7], 'max_regression = "100 us"\nlast = 2')[0] == 3
    code, text = checked(main_here, tmp_path, exact[6], 'max_regression = "0 ms"\nsegment = true')
    assert (code, f"the 3 runs since the last change, from {exact[3]} to {exact[5]}" in text) == (0, True)


def test_only_runs_with_the_same_labels_are_a_baseline(
    main_here: Command, store: Store, exact: list[str], tmp_path: Path
) -> None:
    other = keep(store, 15, 0, branch="next")
    code, text = checked(main_here, tmp_path, other, 'max_regression = "1 ms"')
    assert (code, "no earlier run with branch=next" in text) == (2, True)
    assert checked(main_here, tmp_path, other, 'max_regression = "1 ms"\nlabels = []')[0] == 0
    assert checked(main_here, tmp_path, exact[0], 'max_regression = "1 ms"')[0] == 2
    plain = keep_run(store, BOOT, "alone", day=25)
    code, text = checked(main_here, tmp_path, plain, 'max_regression = "1 ms"')
    assert "no earlier run of the same system and board" in text


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("last = 3", "missing value for `max_regression`"),
        ('max_regression = "1 ms"\nlast = 0', "history.last: 0 is not a number of runs"),
        ('max_regression = "much"', "history.max_regression: 'much' is no time"),
        ('max_regression = "1 ms"\n[baseline]\nfile = "x"\nmax_regression = "1 ms"', "are both there"),
    ],
)
def test_what_is_wrong_in_the_table_is_said(
    main_here: Command, exact: list[str], tmp_path: Path, table: str, words: str
) -> None:
    code, text = checked(main_here, tmp_path, exact[0], table)
    assert (code, words in text) == (2, True), text

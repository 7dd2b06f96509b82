# SPDX-License-Identifier: Apache-2.0
"""What a name means: the newest complete run of it, and never the same run twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from bootscope.capture import record
from bootscope.capture.naming import resolve
from bootscope.capture.store import Store
from bootscope.core.errors import UserError

from .builders import boot_info, hook, keep_run, typed

Command = Callable[..., CompletedProcess[str]]
IDS = [
    "20261120-100000-desk",
    "20261120-110000-stock",
    "20261120-120000-desk",
    "20261120-120000-desk-2",
    "20261120-130000-stock",
]


def meant(name: str | None, *broken: str) -> str:
    return resolve(name, IDS, lambda run_id: run_id not in broken).run_id


@pytest.mark.parametrize(
    ("name", "run_id"),
    [
        (None, IDS[4]),
        ("last", IDS[4]),
        ("last~0", IDS[4]),
        ("last~", IDS[3]),
        ("last~1", IDS[3]),
        ("last~4", IDS[0]),
        ("desk", IDS[3]),
        ("desk~1", IDS[2]),
        ("desk~2", IDS[0]),
        ("stock~1", IDS[1]),
        ("130000", IDS[4]),
        ("20261120-10", IDS[0]),
        (IDS[2], IDS[2]),
    ],
)
def test_a_name_means_one_run(name: str | None, run_id: str) -> None:
    assert meant(name) == run_id


def test_a_name_means_a_complete_run_and_an_id_any() -> None:
    assert meant("last", IDS[4]) == IDS[3]
    assert meant("last~1", IDS[3]) == IDS[2]
    assert meant("stock", IDS[4]) == IDS[1]
    assert meant(IDS[4], IDS[4]) == IDS[4]
    assert meant("130000", IDS[4]) == IDS[4]
    assert resolve("last", IDS, lambda run_id: run_id == IDS[2]).skipped == (IDS[4], IDS[3])


def test_where_no_run_is_complete_the_newest_is_shown_for_what_it_is() -> None:
    found = resolve("stock", IDS, lambda _: False)
    assert (found.run_id, found.skipped) == (IDS[4], ())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("last~5", "there is no last~5: only 5 complete runs of that name"),
        ("stock~2", "there is no stock~2: only 2 complete runs of that name"),
        ("nope~1", "'nope' is not a name of runs"),
        (f"{IDS[4]}~1", "is not a name of runs"),
        ("~1", "unknown run '~1'"),
        ("20261120-12", "matches 2 runs"),
    ],
)
def test_a_name_that_means_none_says_why(name: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        meant(name)


BOOT = [hook(0, "uboot.start"), hook(1000, "kernel.start"), *typed(b"hello\n", 2000, 100)]


def broken(store: Store, ended: str = "hang", system: str = "test", day: int = 22) -> str:
    """A run whose only boot did not come to its end."""
    run_id = keep_run(store, BOOT[:2], system=system, day=day)
    record.write_json(store.runs / run_id / "boots/001/boot.json", boot_info(run_id, 1, ended))
    return run_id


def test_a_broken_run_is_passed_over_and_that_is_said(main_here: Command, store: Store) -> None:
    good = keep_run(store, BOOT, day=21)
    bad = broken(store)
    done = main_here("show", "last", "--json")
    assert json.loads(done.stdout)["run_id"] == good
    assert done.stderr == f"bootscope: skipped {bad}: ended by hang\n"
    assert json.loads(main_here("show", bad, "--json").stdout)["ended"] == "hang"


@pytest.mark.parametrize("verb", ["show", "export", "report", "check"])
def test_every_verb_knows_the_run_before(main_here: Command, store: Store, verb: str) -> None:
    before, _ = keep_run(store, BOOT, day=20), keep_run(store, BOOT, day=21)
    options = {"export": ["-o", "x.csv"], "report": ["-o", "x.html"], "check": ["--save-baseline", "b.json"]}
    done = main_here(verb, "test~1", *options.get(verb, []), "--json")
    assert done.returncode == 0, done.stderr
    assert before in done.stdout


def test_rm_takes_what_show_takes_and_never_guesses(main_here: Command, store: Store) -> None:
    first, second = keep_run(store, BOOT, day=20), keep_run(store, BOOT, day=21)
    bad = broken(store)
    done = main_here("rm", "last")
    assert done.returncode == 2
    assert f"'last' is {second}, but {bad} is newer and not complete" in done.stderr
    assert main_here("rm", bad[3:15]).returncode == 0
    assert main_here("rm", "last~1").returncode == 0
    assert store.run_ids() == [second]
    assert first != second


def test_a_run_is_not_compared_with_itself(main_here: Command, store: Store) -> None:
    run_id = keep_run(store, BOOT, boots=2)
    for a, b in (("test", "last"), (run_id, f"{run_id}/1"), (f"{run_id}/2", "last/002")):
        done = main_here("compare", a, b)
        assert (done.returncode, done.stdout) == (2, "")
        assert "A and B are both " in done.stderr
        assert "hint: last~1 is the run before the last" in done.stderr
    assert main_here("compare", "last/1", "last/2").returncode == 0


def test_there_is_no_verdict_on_a_boot_that_did_not_come_to_its_end(main_here: Command, store: Store) -> None:
    good, bad = keep_run(store, BOOT, day=21), broken(store)
    done = main_here("compare", good, bad)
    assert done.returncode == 2
    assert "no verdict: B did not reach app-ready (hang: " in done.stderr
    assert "faster" not in done.stdout
    assert "slower" not in done.stdout
    found = json.loads(main_here("compare", good, bad, "--json").stdout)
    assert found["refused"].startswith("no verdict: B did not reach")
    assert found["cut_at"] == "kernel-entry"


def test_many_broken_runs_are_passed_over_in_one_line(main_here: Command, store: Store) -> None:
    keep_run(store, BOOT, day=20)
    broken(store, day=21)
    newest = broken(store, day=22)
    done = main_here("show", "last", "--json")
    assert done.stderr == (f"bootscope: skipped {newest}: ended by hang (and 1 more before it)\n")

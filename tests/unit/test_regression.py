# SPDX-License-Identifier: Apache-2.0
"""`bootscope bisect`: which commits are tried, what a tree holds while they are, and what is refused."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from bootscope.cli.bisect_inputs import journal_of
from bootscope.cli.observers import Quiet
from bootscope.core.errors import LostClusterError, SpaceError, StepError, SymbolError, ToolError, UserError
from bootscope.regression.find import GONE, Finder, Step
from bootscope.regression.journal import BROKEN, MEASURED, UNBUILT, Journal, Tried
from bootscope.regression.question import Question
from bootscope.regression.session import source_name
from bootscope.regression.tree import Checkout, Commit, sources_of
from bootscope.regression.trial import Trials, told
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem, load_system, system_dir

from .conftest import Command
from .test_cli import assert_refused

MS = 1_000_000
Git = Callable[..., str]

# ---- which places are tried ----


def counted(values: list[int | None]) -> tuple[Finder, list[int]]:
    """A finder over these figures, and the places that it asked for."""
    asked: list[int] = []

    def measure(place: int) -> int | None:
        asked.append(place)
        return values[place]

    return Finder(measure), asked


@pytest.mark.parametrize("guilty", range(1, 65))
def test_one_of_64_is_found_by_eight_figures(guilty: int) -> None:
    finder, asked = counted([0 if n < guilty else 5 * MS for n in range(65)])
    assert (finder.at(0), finder.at(64)) == (0, 5 * MS)
    assert finder.first(0, 64, lambda ns: ns > MS) == Step(guilty - 1, guilty)
    assert len(asked) <= 8
    assert len(set(asked)) == len(asked)


def test_two_steps_of_different_size_are_both_found() -> None:
    rng = random.Random(11)
    for _ in range(50):
        small, large = rng.sample(range(1, 65), 2)
        costs = [(200_000 if n >= small else 0) + (5 * MS if n >= large else 0) for n in range(65)]
        finder, asked = counted([10_000 * MS + cost + rng.randrange(2_000) for cost in costs])
        steps = finder.every(0, 64, 100_000)
        assert {step.after for step in steps} == {small, large}
        assert all(step.before == step.after - 1 for step in steps)
        assert len(asked) <= 15


def test_what_saves_time_is_found_as_well() -> None:
    finder, _ = counted([9, 9, 9, 4, 4, 4, 4, 4, 4])
    assert finder.every(0, 8, 5) == [Step(2, 3)]
    assert finder.every(0, 8, 6) == []


def test_what_does_not_build_is_passed_over_and_named_where_it_may_be_it() -> None:
    # 3 to 5 do not build: the step is at one of them, or at 6.
    values: list[int | None] = [0, 0, 0, None, None, None, 7, 7, 7]
    finder, asked = counted(values)
    assert finder.first(0, 8, lambda ns: ns > 3) == Step(2, 6)
    assert len(asked) == len(set(asked))
    finder, _ = counted(values)
    assert finder.every(0, 8, 3) == [Step(2, 6)]


def test_a_boot_that_breaks_is_a_figure_of_its_own() -> None:
    finder, _ = counted([5, 5, 5, GONE, GONE, GONE])
    assert finder.first(0, 5, lambda ns: ns == GONE) == Step(2, 3)


# ---- the tree ----


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """git in a new repository at tmp_path/tree."""
    tree = tmp_path / "tree"
    tree.mkdir()
    who = {f"GIT_{role}_{what}": "A Dev" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def run(*words: str) -> str:
        command = ["git", "-C", str(tree), *words]
        done = subprocess.run(command, env={**os.environ, **who}, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    return run


def commit(git: Git, tree: Path, message: str, **files: str) -> str:
    """A commit that writes these files and takes away empty ones; its hash."""
    for name, text in files.items():
        path = tree / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if text:
            path.write_text(text)
        else:
            path.unlink()
    git("add", "-A")
    git("commit", "-q", "-m", message)
    return git("rev-parse", "HEAD")


def held(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_commits_are_checked_out_beside_the_users_tree(git: Git, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    a = commit(git, tree, "one", Makefile="a", sub__x="x")
    b = commit(git, tree, "two", Makefile="b", sub__x="", new="n")
    c = commit(git, tree, "three", Makefile="c")
    (tree / "Makefile").write_text("changed by the user")
    sources = sources_of(tree)
    commits = sources.between(a[:10], "main")
    assert [(each.sha, each.subject) for each in commits] == [(a, "one"), (b, "two"), (c, "three")]
    checkout = Checkout(sources, tmp_path / "cache")
    wanted = ({"Makefile": "a", "sub/x": "x"}, {"Makefile": "b", "new": "n"}, {"Makefile": "c", "new": "n"})
    with checkout.held():
        for place in (0, 2, 1, 0, 1):
            checkout.check_out(commits[place])
            assert held(checkout.path) == wanted[place]
        other = Checkout(sources, tmp_path / "cache")
        with pytest.raises(UserError, match="another bisect works on"), other.held():
            pass
    assert not (checkout.path / ".git").exists()
    assert (tree / "Makefile").read_text() == "changed by the user"
    assert git("status", "--porcelain").split() == ["M", "Makefile"]
    assert git("rev-parse", "HEAD") == c


def test_a_checkout_that_was_killed_is_made_anew(git: Git, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    a = commit(git, tree, "one", Makefile="a")
    commit(git, tree, "two", Makefile="b")
    sources = sources_of(tree)
    checkout = Checkout(sources, tmp_path / "cache")
    commits = sources.between(a, "main")
    with checkout.held():
        checkout.check_out(commits[1])
        (checkout.path / "Makefile").write_text("half")
        (checkout.path.parent / "checking-out").touch()
        (checkout.path.parent / "index.lock").touch()
        checkout.check_out(commits[1])
        assert held(checkout.path) == {"Makefile": "b"}


def test_a_tree_may_be_a_folder_of_its_repository(git: Git, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    a = commit(git, tree, "one", uboot__Makefile="a", other="o")
    commit(git, tree, "two", uboot__Makefile="b")
    sources = sources_of(tree / "uboot")
    checkout = Checkout(sources, tmp_path / "cache")
    with checkout.held():
        checkout.check_out(sources.between(a, "HEAD")[1])
    assert held(checkout.path) == {"Makefile": "b"}


def test_names_of_no_commits_are_refused(git: Git, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    a = commit(git, tree, "one", Makefile="a")
    b = commit(git, tree, "two", Makefile="b")
    sources = sources_of(tree)
    with pytest.raises(UserError, match="does not come after"):
        sources.between(b, a)
    with pytest.raises(UserError, match="not the name of a commit"):
        sources.between("--output=x", b)
    with pytest.raises(UserError, match="git in"):
        sources.between("nonsense", b)
    with pytest.raises(UserError, match="git in"):
        sources_of(tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        sources_of(tmp_path / "none")


# ---- what was tried ----


def test_the_journal_keeps_what_was_tried_also_after_a_line_that_was_cut_off(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "stock", ["a", "b"])
    first = Tried(key="1" * 40, state=MEASURED, ns=5, run_id="r", build_s=1.5)
    journal.add(first)
    with journal.path.open("ab") as f:
        f.write(b'{"commit": "22')
    second = msgspec.structs.replace(first, key="3" * 40, same_as="1" * 40)
    journal.add(second)
    assert Journal(tmp_path, "stock", ["a", "b"]).read() == {t.key: t for t in (first, second)}
    assert Journal(tmp_path, "stock", ["a", "c"]).read() == {}
    assert told(second) == "0.000000 s (same images as 111111111111, not booted); built in 2 s"
    journal.begin()
    assert journal.read() == {}


class Failing:
    """A bench on which each build ends with the same error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def order(self, loaded: LoadedSystem) -> None:
        raise self._error


def trials_that_fail(error: Exception) -> Trials:
    question = Question(load_system("stock"), "init", "", None, False)
    return Trials(cast(Bench, Failing(error)), question.until, question.quantity, "commit", Quiet())


@pytest.mark.parametrize(
    "error",
    [ToolError("gcc: Killed"), SpaceError("no space left"), LostClusterError("no scheduler")],
    ids=lambda error: type(error).__name__,
)
def test_a_build_that_failed_for_a_passing_reason_is_no_result(error: ToolError) -> None:
    with pytest.raises(type(error), match=error.message):
        trials_that_fail(error).run("1" * 40, "111111111111", lambda: load_system("stock"))


@pytest.mark.parametrize(
    "error", [StepError("make failed"), UserError("no such symbol"), SymbolError("has another value", ("X",))]
)
def test_a_build_that_would_fail_again_is_a_result(error: UserError | StepError) -> None:
    tried = trials_that_fail(error).run("1" * 40, "111111111111", lambda: load_system("stock"))
    assert (tried.key, tried.state, tried.why) == ("1" * 40, UNBUILT, error.message)


def test_an_edited_system_does_not_go_on_with_the_results_of_the_former_one(
    git: Git, tmp_path: Path, surroundings: dict[str, str], main_here: Command
) -> None:
    tree, system = tmp_path / "tree", tmp_path / "stock.toml"
    (tmp_path / "no-programs" / "git").symlink_to(shutil.which("git", path=os.defpath) or "")
    good, bad = (commit(git, tree, text, Makefile=text) for text in "ab")
    shutil.copytree(system_dir() / "stock", tmp_path / "stock")
    text = (system_dir() / "stock.toml").read_text()
    system.write_text(text)
    question = Question(load_system(str(system)), "app-ready", "", None, False)
    store = Path(surroundings["BOOTSCOPE_STORE"])
    store.mkdir()
    journal = journal_of(store, question, ("uboot", str(sources_of(tree).tree)))
    journal.add(Tried(key=good, state=MEASURED, ns=5))
    journal.add(Tried(key=bad, state=BROKEN, why="panic"))
    searched = ("--tree", "uboot", tree, "--good", good, "--bad", bad, "--milestone", "app-ready")
    command = ("bisect", system, *searched, "--resume")
    done = main_here(*command)
    assert (done.returncode, bad[:12] in done.stdout) == (0, True), done.stderr
    system.write_text(text.replace("testcard: ready", "testcard: here"))
    # It tries the good one again, for which the tools are missing here.
    done = main_here(*command)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"0 of 1: {good[:12]}" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["debian", "--tree", "uboot", "."], "debian takes uboot prebuilt"),
        (["debian", "--tree", "busybox", "."], "debian takes busybox prebuilt"),
        (["stock", "--tree", "buildroot", "."], "--tree buildroot is not supported yet"),
        (["stock", "--tree", "ubot", "."], "did you mean uboot?"),
        (["stock", "--tree", "uboot", ".", "--milestone", "inti"], "did you mean init?"),
        (["stock", "--tree", "uboot", ".", "--all"], "--all needs --by"),
        (["stock", "--tree", "uboot", ".", "--by", "0"], "--by must be above 0"),
        (["stock", "--tree", "uboot", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_what_cannot_be_searched_is_refused(main_here: Command, words: list[str], said: str) -> None:
    assert_refused(main_here("bisect", *words, "--good", "a", "--bad", "b"), said)


def test_the_trees_of_a_system_are_its_sources() -> None:
    system = load_system("stock").system
    for kind in ("linux", "uboot", "busybox"):
        assert source_name(system, kind) == kind
    assert Commit("0123456789abcdef", "s", "a", "2026-01-01").short == "0123456789ab"

# SPDX-License-Identifier: Apache-2.0
"""Steps: named by what goes in, kept when they succeed, gone when they fail."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bootscope.builder import history
from bootscope.builder.cache import Cache
from bootscope.builder.ids import file_sha256, id_of, tree_id
from bootscope.builder.progress import Progress
from bootscope.builder.step import Context, Runner, Step, read_meta
from bootscope.core import tools
from bootscope.core.errors import StepError, ToolError, UserError

Work = Callable[[Context], None]


def nothing(_context: Context) -> None:
    pass


def step(
    name: str = "fake",
    revision: int = 1,
    inputs: Mapping[str, object] | None = None,
    needs: tuple[str, ...] = (),
    work: Work = nothing,
    programs: tuple[str, ...] = (),
) -> Step:
    return Step(name, "a fake step", revision, work, inputs or {}, needs, programs)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(Cache(tmp_path / "cache"), Progress())


# ---- ids ----


def test_the_same_step_has_the_same_id() -> None:
    assert step().step_id({}) == step().step_id({"unrelated": "x"})
    assert len(step().step_id({})) == 64


@pytest.mark.parametrize(
    "other",
    [
        step(name="other"),
        step(revision=2),
        step(inputs={"a": 1}),
        step(inputs={"a": "1"}),
        step(inputs={"a": None}),
        step(needs=("first",)),
    ],
)
def test_whatever_goes_in_changes_the_id(other: Step) -> None:
    assert other.step_id({"first": "x"}) != step().step_id({})


def test_the_order_of_inputs_does_not_matter() -> None:
    a, b = step(inputs={"x": 1, "y": {"p": 1, "q": 2}}), step(inputs={"y": {"q": 2, "p": 1}, "x": 1})
    assert a.step_id({}) == b.step_id({})


def test_a_changed_need_changes_the_id() -> None:
    wanting = step(needs=("first",))
    assert wanting.step_id({"first": "x"}) != wanting.step_id({"first": "y"})


@pytest.fixture
def bison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts a bison of a given version before all others."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def install(version: str) -> None:
        (tmp_path / "bison").write_text(f"#!/bin/sh\necho 'bison (GNU Bison) {version}'\n")
        (tmp_path / "bison").chmod(0o755)
        tools.look_up.cache_clear()

    yield install
    tools.look_up.cache_clear()


def test_another_version_of_a_tool_changes_the_id(bison: Callable[[str], None]) -> None:
    found = []
    for version in ("3.8.2", "3.8.3", "3.8.2"):
        bison(version)
        found.append(step(programs=("bison",)).step_id({}))
    assert found[0] == found[2] != found[1]


def test_ids_do_not_depend_on_the_order_of_keys() -> None:
    assert id_of({"a": 1, "b": 2}) == id_of({"b": 2, "a": 1}) != id_of({"a": 2, "b": 1})


# ---- running ----


def test_a_result_holds_what_the_step_made_and_says_what_it_is(runner: Runner) -> None:
    def work(context: Context) -> None:
        (context.out / "image").write_text("bytes")
        (context.scratch / "rubbish").write_text("x")

    done = step(work=work)
    path = runner.run(done, done.step_id({}), {})
    meta = read_meta(path)
    assert (meta.step, meta.step_id) == ("fake", done.step_id({}))
    assert meta.files == {"image": file_sha256(path / "image")}
    assert sorted(p.name for p in path.iterdir()) == ["image", "meta.json"]
    assert list((runner.cache.root / "tmp").iterdir()) == []


def test_what_is_there_is_not_made_again(runner: Runner) -> None:
    made = []
    again = step(work=lambda _context: made.append(1))
    paths = {runner.run(again, again.step_id({}), {}) for _ in range(3)}
    assert (len(made), len(paths)) == (1, 1)


def test_a_step_sees_the_results_it_needs(runner: Runner) -> None:
    def make(context: Context) -> None:
        (context.out / "x").write_text("1")

    first = step("first", work=make)
    results = {"first": runner.run(first, first.step_id({}), {})}

    def work(context: Context) -> None:
        (context.out / "copy").write_text((context.results["first"] / "x").read_text())

    second = step("second", needs=("first",), work=work)
    path = runner.run(second, second.step_id({"first": first.step_id({})}), results)
    assert (path / "copy").read_text() == "1"


def test_a_failing_step_leaves_nothing_but_its_log(runner: Runner) -> None:
    def work(context: Context) -> None:
        (context.out / "half").write_text("x")
        context.run(["sh", "-c", "echo last words; exit 3"])

    failing = step(work=work)
    with pytest.raises(ToolError, match=r"^fake: sh failed \(status 3\)") as caught:
        runner.run(failing, failing.step_id({}), {})
    (log,) = (runner.cache.root / "logs").iterdir()
    assert caught.value.hint == f"full log: {log}"
    assert log.read_text().endswith("\nlast words\n")
    assert list(runner.cache.steps.iterdir()) == list((runner.cache.root / "tmp").iterdir()) == []


def test_what_does_not_fit_would_not_fit_again(runner: Runner) -> None:
    """Searches keep such a result, and go on; they stop at errors that may pass."""

    def work(context: Context) -> None:
        raise StepError("there is no room", hint="make some")

    failing = step(work=work)
    with pytest.raises(StepError, match=r"^fake: there is no room$") as caught:
        runner.run(failing, failing.step_id({}), {})
    assert caught.value.hint == "make some"


def test_a_step_whose_settings_did_not_land_keeps_its_log_too(runner: Runner) -> None:
    def work(context: Context) -> None:
        context.run(["echo", "olddefconfig"])
        raise UserError("these symbols have other values")

    failing = step(work=work)
    with pytest.raises(UserError):
        runner.run(failing, failing.step_id({}), {})
    assert list(runner.cache.steps.iterdir()) == []
    assert [log.read_text() for log in (runner.cache.root / "logs").glob("*")] == [
        "$ echo olddefconfig\nolddefconfig\n"
    ]


def test_a_step_that_failed_is_tried_again(runner: Runner) -> None:
    outcomes = iter([ToolError("not yet"), None])

    def work(_context: Context) -> None:
        error = next(outcomes)
        if error:
            raise error

    flaky = step(work=work)
    with pytest.raises(ToolError):
        runner.run(flaky, flaky.step_id({}), {})
    assert runner.run(flaky, flaky.step_id({}), {}).is_dir()


def test_builds_believe_in_a_fixed_time_and_nobody(runner: Runner) -> None:
    said = []
    asking = step(
        work=lambda c: said.append(
            c.run(["sh", "-c", "echo $SOURCE_DATE_EPOCH $KBUILD_BUILD_HOST $TZ"]).output
        )
    )
    runner.run(asking, asking.step_id({}), {})
    assert said == ["1767225600 bootscope UTC"]


# ---- what a step took ----


def compiling(context: Context) -> None:
    context.run(["sh", "-c", "echo '  CC      a.o'; echo '  LD      a'; echo '  GEN     b'"])


def test_what_a_step_took_is_kept_for_the_next_estimate(runner: Runner) -> None:
    first = replace(step(work=compiling), figures="fake/one")
    path = runner.run(first, first.step_id({}), {})
    assert (read_meta(path).work_units, read_meta(path).continued) == (2, False)
    took = history.last(runner.cache.root, "fake/one")
    assert took
    assert took.units == 2
    assert took.time_ns > 0
    assert 1 <= took.cores <= 2
    assert [p.name for p in (runner.cache.root / "last").iterdir()] == ["fake-one.json"]


def test_what_went_on_from_an_earlier_build_or_takes_seconds_is_not(runner: Runner) -> None:
    def goes_on(context: Context) -> None:
        compiling(context)
        context.continued = True

    continued = replace(step("a", work=goes_on), figures="a")
    assert read_meta(runner.run(continued, continued.step_id({}), {})).continued
    short = step("b", work=compiling)
    runner.run(short, short.step_id({}), {})
    assert not (runner.cache.root / "last").exists()


def test_a_damaged_note_of_what_a_step_took_is_none(runner: Runner) -> None:
    history.keep(runner.cache.root, "a", history.Took(600, 60, 100, 2))
    assert history.last(runner.cache.root, "a") == history.Took(600, 60, 100, 2)
    (runner.cache.root / "last" / "a.json").write_text('{"units": ')
    assert history.last(runner.cache.root, "a") is None


def test_what_compiles_takes_longer_on_fewer_cores() -> None:
    assert history.Took(600, 60, 100, 2).on(1) == 120
    assert history.Took(600, 60, 100, 2).on(4) == 30
    assert history.Took(0, 60, 60, 2).on(1) == 60


# ---- trees ----


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "file").write_text("content")
    (root / "link").symlink_to("sub/file")
    return root


def test_times_and_skipped_folders_do_not_count(tree: Path) -> None:
    before = tree_id(tree)
    os.utime(tree / "sub" / "file", (1, 1))
    (tree / ".git").mkdir()
    (tree / ".git" / "HEAD").write_text("x")
    assert tree_id(tree) == before


def relink(path: Path, goal: str) -> None:
    path.unlink()
    path.symlink_to(goal)


def unlink_and_write(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "sub" / "file").write_text("Content"),
    "name": lambda root: (root / "sub" / "file").rename(root / "sub" / "other"),
    "folder": lambda root: (root / "sub").rename(root / "bus"),
    "execute bit": lambda root: (root / "sub" / "file").chmod(0o755),
    "new file": lambda root: (root / "empty").touch(),
    "link's goal": lambda root: relink(root / "link", "sub"),
    "link becomes file": lambda root: unlink_and_write(root / "link", "sub/file"),
    "link to a folder": lambda root: (root / "more").symlink_to("sub"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_the_tree_is_seen(tree: Path, what: str) -> None:
    before = tree_id(tree)
    CHANGES[what](tree)
    assert tree_id(tree) != before


def test_a_name_that_is_no_text_can_be_hashed(tree: Path) -> None:
    """Source trees of others hold test files with names in old encodings."""
    before = tree_id(tree)
    Path(os.fsdecode(os.fsencode(tree) + b"/caf\xe9")).touch()
    assert tree_id(tree) != before

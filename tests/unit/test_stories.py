# SPDX-License-Identifier: Apache-2.0
"""Stories: told with a bench that pretends, counted, and shown."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from bootscope.changes.experiment import check
from bootscope.core.errors import UserError
from bootscope.published import stories as module
from bootscope.published import story_results as kept
from bootscope.published.reproduce import changed_system
from bootscope.published.shared_parts import bases
from bootscope.published.stories import Story, story, story_ids
from bootscope.published.story_results import StepResult, StoryResult
from bootscope.report import stories as words
from bootscope.system.load import load_system

from .builders import ROOT
from .conftest import Command
from .lab_scenes import MS
from .test_cli_verbs import json_of
from .test_lab_cli import refused
from .test_reproduce import Pretended, bench  # noqa: F401

STORY = """\
schema = 1
id = "short"
title = "A short story"
differs = "everything but the idea"
why = "it is made up"
first = "003:785"
{more}
[steps.flash]
title = "another flash"
published = "003:772"
left_out = "there is none"
[steps.quiet]
title = "no messages"
techniques = ["kernel-quiet"]
published = "003:789"
why = "few messages"
[steps.lpj]
title = "no calibration"
techniques = ["kernel-lpj"]
published = "003:790"
"""


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A story of our own, and no results; its file."""
    folder = tmp_path / "stories"
    folder.mkdir()
    (folder / "short.toml").write_text(STORY.format(more=""))
    monkeypatch.setattr(module, "STORIES", folder)
    monkeypatch.setattr(kept, "RESULTS", folder)
    return folder / "short.toml"


def test_each_step_is_done_to_what_the_one_before_it_left(
    main_here: Command,
    bench: Pretended,  # noqa: F811
    short: Path,
) -> None:
    document = json_of(main_here("reproduce", "short", "--json"), "story")
    lines = [loaded.system.kernel.command_line.split() for loaded, _, _ in bench.seen]
    assert ["quiet" in line for line in lines] == [False, True, True]
    assert [any(word.startswith("lpj=") for word in line) for line in lines] == [False, False, True]
    assert {loaded.system.name for loaded, _, _ in bench.seen} == {"stock.short"}
    flash, quiet, lpj = document["steps"]
    assert (flash["own"], flash["left_out"]) == (None, "there is none")
    # The pretended boots: 50 ms of init, and 27 ms where there are no messages.
    assert (quiet["own_change_ns"], lpj["own_change_ns"]) == (-23 * MS, 0)
    assert (quiet["same_sign"], lpj["same_sign"]) == (True, False)
    assert quiet["published_change_ns"] == -300 * MS
    for one in (document["first"], quiet["own"], lpj["own"]):
        assert sum(one["phases_ns"].values()) == sum(one["split_ns"].values()) == one["total_ns"]
    score = document["score"]
    assert (score["done"], score["steps"], score["compared"], score["same_sign"]) == (2, 3, 2, 1)
    # 1.6 s there, less 0.3 and 0.2 s; the flash is not counted.
    assert score["published_ratio"] == pytest.approx(1.6 / 1.1)
    first_ns = document["first"]["total_ns"]
    assert score["own_ratio"] == pytest.approx(first_ns / (first_ns - 23 * MS))


def test_a_story_may_begin_with_techniques(main_here: Command, bench: Pretended, short: Path) -> None:  # noqa: F811
    short.write_text(STORY.format(more='techniques = ["kernel-allnoconfig-up"]\n'))
    assert main_here("reproduce", "short").returncode == 0
    assert {loaded.system.kernel.defconfig for loaded, _, _ in bench.seen} == {"allnoconfig"}
    assert {loaded.system.name for loaded, _, _ in bench.seen} == {"stock.short"}


def test_a_step_that_fails_leaves_the_next_one_what_was_there_before(
    main_here: Command,
    bench: Pretended,  # noqa: F811
    short: Path,
) -> None:
    bench.failing["quiet"] = UserError("the kernel does not build")
    done = main_here("reproduce", "short", "--json")
    quiet, lpj = json_of(done, "story")["steps"][1:]
    assert (quiet["own"]["error"], quiet["own_change_ns"]) == ("the kernel does not build", None)
    # 50 to 80 ms, as without the step that failed.
    assert lpj["own_change_ns"] == 30 * MS
    assert "the kernel does not build" in main_here("reproduce", "short").stdout


def test_a_story_that_does_not_begin_is_an_error(main_here: Command, bench: Pretended, short: Path) -> None:  # noqa: F811
    short.write_text(STORY.format(more='base = { command_line = ["rootfstype=none"] }\n'))
    done = main_here("reproduce", "short")
    assert done.returncode == 2
    assert "short: the first boot did not get there" in done.stderr


def test_what_a_story_shows(main_here: Command, bench: Pretended, short: Path) -> None:  # noqa: F811
    text = " ".join(main_here("reproduce", "short").stdout.split())
    assert "A short story (short)" in text
    assert "2 of 3 steps done here; 1 of 2 signs agree" in text
    assert "left out: there is none" in text
    assert "no messages: few messages" in text


def test_stories_are_listed_and_shown_as_they_were_run_last(
    main_here: Command,
    bench: Pretended,  # noqa: F811
    short: Path,
) -> None:
    refused(main_here("reproduce", "short", "--stored"), "short has not been run")
    document = json_of(main_here("reproduce", "short", "--json"), "story")
    tool = _tool()
    assert "A short story" in main_here("reproduce").stdout
    told = tool.result_of(document)
    (short.parent / "short.json").write_bytes(tool.encoded(told))
    assert json_of(main_here("reproduce", "short", "--stored", "--json"), "story") == document
    listed = json_of(main_here("reproduce", "--json"), "tables")["stories"]
    assert [(one["id"], one["score"]["same_sign"]) for one in listed] == [("short", 1)]


def test_a_name_that_is_neither_is_refused(main_here: Command, short: Path) -> None:
    refused(main_here("reproduce", "shorty"), "unknown table or story 'shorty'")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('id = "short"', 'id = "long"', "expected schema 1 and id 'short'"),
        ('"003:785"', '"003:7850"', "first: expected a figure that there is"),
        ('first = "003:785"', 'parts = ["../a"]', "parts: there is no ../a.toml in parts/"),
        ("[steps.quiet]", "[steps.start]", "steps.start: expected a plain name"),
        ("003:789", "003:7890", "steps.quiet.published: expected a figure"),
        ("003:789", "000:452", "steps.quiet.published: 000:452 does not say what time was saved"),
        ('left_out = "there is none"', "", "steps.flash: expected either something that is done"),
        (
            'published = "003:790"',
            'functions = ["kernel:mem_init"]',
            "steps.lpj.functions: expected a published",
        ),
        ('techniques = ["kernel-lpj"]', "", "steps.lpj: expected either something that is done"),
    ],
)
def test_a_story_that_contradicts_itself_is_refused(short: Path, old: str, new: str, problem: str) -> None:
    text = STORY.format(more="")
    assert old in text
    short.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=problem.replace("[", r"\[")):
        story("short")


@pytest.mark.parametrize("name", story_ids())
def test_a_story_makes_systems(name: str) -> None:
    s = story(name)
    changed_system(load_system(s.system), bases(s), s.id)
    check([spec for step in s.steps.values() for spec in step.techniques])
    assert len(set(s.figure_ids()[1:])) == len(s.figure_ids()[1:]), "a figure is used twice"
    for text in (s.title, s.differs, s.why, *(step.title for step in s.steps.values())):
        assert text.strip()


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stories_tool", ROOT / "tools" / "stories.py")
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_pages_are_of_what_came_of_the_stories() -> None:
    tool, known = _tool(), {name: found for name in story_ids() if (found := kept.story_result(name))}
    assert known, "no story was run"
    pages = {path.stem: path.read_text() for path in (ROOT / "docs" / "stories").glob("*.md")}
    for name, found in known.items():
        assert found.steps.keys() <= {module.START, *story(name).steps}
    made = {name: tool.page(story(name), found) for name, found in known.items()}
    assert pages == made, "python tools/stories.py --page makes them anew"


def test_what_was_published_of_functions_is_compared_with_these(short: Path) -> None:
    text = STORY.format(more="")
    short.write_text(text + 'functions = ["kernel:mem_init", "kernel:vfs_caches_init"]\n')
    s = story("short")
    assert s.functions == ("kernel:mem_init", "kernel:vfs_caches_init")
    before, after = (
        StepResult(
            "x",
            "",
            total_ms * MS,
            split_ns={"cpu_ns": total_ms * MS},
            functions_ns=dict(zip(s.functions, ns, strict=True)),
        )
        for total_ms, ns in ((1000, (5 * MS, 2 * MS)), (1003, (4 * MS, 1 * MS)))
    )
    found = StoryResult("short", "", "", {}, {"start": before, "lpj": after})
    lpj = words.steps(s, found)[-1]
    assert (lpj.own_change_ns, lpj.boot_change_ns, lpj.same_sign) == (-2 * MS, 3 * MS, True)
    assert words.split(lpj) == "mem_init, vfs_caches_init: 7.0 ms to 5.0 ms; whole boot: CPU +3.0 ms"
    assert words.score(s, found).own_ratio == pytest.approx(1000 / 1003)


def test_two_changes_that_are_next_to_nothing_agree(short: Path) -> None:
    s: Story = story("short")
    at = {ms: StepResult(run_id="x", total_ns=ms * MS) for ms in (1600, 1605, 1300)}
    found = StoryResult("short", "", "", {}, {"start": at[1600], "quiet": at[1605], "lpj": at[1300]})
    signs = [one.same_sign for one in words.steps(s, found)]
    # 0.3 s of 6.6 s are more than nothing; 5 ms of 1.6 s are not.
    assert signs == [None, False, True]


@pytest.mark.parametrize(
    ("after_ms", "agrees"),
    # 6.3 s after 6.6 s were published: 4.5 %. Here as many, 1.4 times as many, 1.6 times, and none.
    [(9545, True), (9364, True), (9273, False), (10_000, False)],
)
def test_a_step_agrees_by_the_rule_of_tables(short: Path, after_ms: int, agrees: bool) -> None:
    s = story("short")
    at = {ms: StepResult(run_id="x", total_ns=ms * MS) for ms in (10_000, after_ms)}
    found = StoryResult("short", "", "", {}, {"start": at[10_000], "quiet": at[after_ms]})
    (told,) = words.in_no_table([(s, found)], set())
    assert (told.key, told.change_agrees) == ("quiet", agrees)
    # A figure that a table has is not counted again, nor another figure of the same measurement.
    assert words.in_no_table([(s, found)], {"003:789"}) == []
    again = msgspec.structs.replace(s.steps["quiet"], same_as="001:355")
    same = msgspec.structs.replace(s, steps={**s.steps, "quiet": again})
    assert words.in_no_table([(same, found)], {"001:355"}) == []

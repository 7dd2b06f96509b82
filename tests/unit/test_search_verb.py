# SPDX-License-Identifier: Apache-2.0
"""A search as files, and the options of its verb."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bootscope.capture.store import Store
from bootscope.changes.change_files import write
from bootscope.cli import optimize as verb
from bootscope.cli.parsers import parser
from bootscope.core.errors import UserError
from bootscope.report.search_html import render
from bootscope.search.emulated import EmulatedSearch
from bootscope.search.experiment import Goal
from bootscope.search.journal import Journal
from bootscope.search.result import Result
from bootscope.search.session import Options
from bootscope.system.changes import Change

from .finished_search import everything
from .search_scenes import Make, Scene, made_up

MS = 1_000_000


def test_the_report_lies_beside_the_files(overlapping: EmulatedSearch, tmp_path: Path) -> None:
    made = everything(overlapping)
    system = overlapping.bench.system(overlapping.accepted).system
    catalogue = {name: Change(command_line=("quiet",)) for name in ("kernel-quiet",)}
    names = write(tmp_path / "out", system, catalogue, {"report.html": render(made)})
    assert names == ["README.md", "command-line-words.txt", "command-line.txt", "report.html"]


@pytest.fixture
def asked(scene: Make, monkeypatch: pytest.MonkeyPatch, store: Store) -> Callable[..., Options]:
    """Runs the verb with some arguments; returns the options that it made of them."""
    here: Scene = scene(made_up("good"))
    caught: list[Options] = []

    def stand_in(_bench: object, journal: Journal, _loaded: object, options: Options, *_: Any) -> Result:
        caught.append(options)
        made = here.search({"GOOD=on": 5})
        made.run()
        return everything(made)

    monkeypatch.setattr(verb, "search_emulated", stand_in)
    monkeypatch.setenv("BOOTSCOPE_STORE", str(store.root))
    monkeypatch.setenv("BOOTSCOPE_CACHE", str(store.root.parent / "cache"))

    def run(*arguments: str) -> Options:
        args = parser(["optimize"]).parse_args(["optimize", "stock", *arguments])
        assert args.do(args) == 0
        return caught[-1]

    return run


def test_what_is_asked_for_is_done(asked: Callable[..., Options]) -> None:
    assert asked() == Options()
    found = asked("--goal", "2000", "--keep", "usb,login", "--budget", "90m", "--beside", "console")
    assert found == Options(Goal(2_000 * MS, 5400, ("usb", "login")), beside=("console",))
    found = asked("--ablate", "--pareto", "--only", "kernel-quiet", "uboot-trim")
    assert found == Options(Goal(only=("kernel-quiet", "uboot-trim")), ablate=True, measure_pareto=True)
    assert asked("--only", "fs-squashfs-ro=lz4") == Options(Goal(only=("fs-squashfs-ro=lz4",)))


def test_a_search_goes_on_as_it_was_asked(asked: Callable[..., Options]) -> None:
    first = asked("--goal", "2000", "--keep", "usb", "--pareto", "--only", "kernel-quiet")
    assert asked("--resume") == first
    shorter = asked("--resume", "--budget", "5s")
    assert shorter == Options(Goal(2_000 * MS, 5, ("usb",), ("kernel-quiet",)), measure_pareto=True)
    assert asked("--resume") == shorter
    assert asked() == Options()


def test_there_must_be_a_search_to_go_on_with(asked: Callable[..., Options]) -> None:
    with pytest.raises(UserError, match="no search of stock"):
        asked("--resume")


@pytest.mark.parametrize(
    "arguments",
    [
        "--keep everything",
        "--beside usb,no",
        "--budget soon",
        "--only x",
        "--only fs-squashfs-ro=lz5",
        "--goal 0",
    ],
)
def test_what_makes_no_sense_is_refused(asked: Callable[..., Options], arguments: str) -> None:
    with pytest.raises(UserError):
        asked(*arguments.split())

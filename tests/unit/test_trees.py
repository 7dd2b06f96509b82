# SPDX-License-Identifier: Apache-2.0
"""Kept build trees: the nearest one is gone on from, counters and old ones go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bootscope.builder import trees
from bootscope.builder.cache import Cache
from bootscope.builder.step import Context
from bootscope.cli.progress import progress

KEY = "a" * 32


@pytest.fixture
def context(tmp_path: Path) -> Context:
    for name in ("scratch", "out"):
        (tmp_path / name).mkdir()
    cache = Cache(tmp_path / "cache")
    return Context({}, tmp_path / "scratch", tmp_path / "out", cache, progress(quiet=True), 1, False)


def built(context: Context, wanted: dict[str, object], key: str = KEY) -> str:
    """Does as a build would; says which tree it began from."""
    build = context.scratch / "build"
    trees.begin(context, key, wanted, build)
    began = (build / "object.o").read_text() if (build / "object.o").exists() else ""
    assert not (build / ".version").exists()
    (build / "object.o").write_text(str(wanted))
    (build / ".version").write_text("1")
    (build / "link").unlink(missing_ok=True)
    (build / "link").symlink_to("/nowhere")
    trees.keep(context, key, wanted, build)
    assert not build.exists()
    return began


def test_the_first_begins_with_nothing(context: Context) -> None:
    assert built(context, {"A": True}) == ""


def test_the_nearest_is_gone_on_from(context: Context) -> None:
    one: dict[str, object] = {"A": True, "B": True, "C": 1}
    other: dict[str, object] = {"X": "y"}
    built(context, one)
    built(context, other)
    assert built(context, {"A": True, "B": False, "C": 1}) == str(one)
    assert built(context, {"X": "n"}) == str(other)


def test_other_sources_have_their_own(context: Context) -> None:
    built(context, {"A": True})
    assert built(context, {"A": True}, key="b" * 32) == ""


def test_going_on_leaves_the_kept_one_as_it_was(context: Context) -> None:
    built(context, {"A": 1})
    built(context, {"A": 2})
    assert built(context, {"A": 1}) == str({"A": 1})


def test_the_oldest_go(context: Context) -> None:
    folder = context.cache.root / "trees" / KEY
    for number in range(trees.KEPT + 2):
        built(context, {str(number): True})
        for age, tree in enumerate(sorted(folder.iterdir(), key=lambda t: t.stat().st_mtime_ns)):
            os.utime(tree, (age, age))
    assert len(list(folder.iterdir())) == trees.KEPT


def test_a_damaged_one_does_no_harm(context: Context) -> None:
    built(context, {"A": True})
    kept = next((context.cache.root / "trees" / KEY).iterdir())
    (kept / "wanted.json").write_text("{")
    assert built(context, {"A": True}) == str({"A": True})
    (kept / "wanted.json").unlink()
    assert built(context, {"B": True}) == ""


def test_a_build_that_goes_on_from_another_says_so(context: Context) -> None:
    assert not trees.kept(context.cache.root, KEY)
    built(context, {"A": True})
    assert not context.continued
    assert trees.kept(context.cache.root, KEY)
    assert not trees.kept(context.cache.root, "b" * 32)
    built(context, {"A": False})
    assert context.continued

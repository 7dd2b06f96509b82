# SPDX-License-Identifier: Apache-2.0
"""What was made of a boot, kept beside it: the same figures with and without, and never those of another."""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

import pytest

from bootscope.analysis import evidence
from bootscope.analysis.view_names import NAMES
from bootscope.audit import result
from bootscope.capture import index, program
from bootscope.capture.index import FOLDER, Index
from bootscope.capture.store import Store
from bootscope.core.paths import cache_dir
from tests.fixtures.stock_boot import unpack

from . import lab_scenes
from .builders import BOOT, keep_run
from .conftest import Command

pytestmark = pytest.mark.long

CALLS = [
    ["show", "last"],
    ["show", "last", "--json"],
    ["show", "last", "--view", "initcalls"],
    *(["show", "last", "--view", name, "--json"] for name in NAMES),
    ["show", "last", "--view", "storage", "--phase", "kernel"],
    ["show", "last", "--view", "critical-path", "--to", "kernel-entry"],
    ["show", "last", "--view", "functions", "--phase", "nonsense"],
    ["show", "last", "--view", "critical-path", "--to", "nonsense"],
    ["audit", "last"],
    ["audit", "last", "--all", "--pitfalls"],
    ["audit", "last", "--json"],
]


def of_old(store: Store) -> str:
    """The recording of the first days."""
    return unpack(store)


def of_story(store: Store) -> str:
    """A made-up boot."""
    return keep_run(store, BOOT)


def of_lab(store: Store) -> str:
    """A made-up boot of a built system."""
    return lab_scenes.keep(store)


def entries(store: Store) -> dict[str, Path]:
    """The index of the only boot."""
    return {path.name: path for path in store.runs.glob(f"*/boots/*/{FOLDER}/*")}


def nobody() -> AbstractContextManager[mock.Mock]:
    """No recording may be gone through."""
    return mock.patch.object(evidence, "evidence_of", side_effect=AssertionError("it was made anew"))


@pytest.mark.parametrize("made", [of_old, of_story, of_lab], ids=["old", "story", "lab"])
def test_figures_are_the_same_with_and_without_an_index(
    main_here: Command, store: Store, monkeypatch: pytest.MonkeyPatch, made: object
) -> None:
    assert callable(made)
    made(store)
    with monkeypatch.context() as without:
        without.setattr(index, "program_id", lambda: b"")
        plain = [main_here(*call) for call in CALLS]
    assert not entries(store)
    first = [main_here(*call) for call in CALLS]
    assert {"timeline", "consumers", "view-functions"} <= set(entries(store))
    # What cannot be told is found out each time.
    good = [call for call, done in zip(CALLS, plain, strict=True) if done.returncode == 0]
    with nobody():
        second = [main_here(*call) if call in good else done for call, done in zip(CALLS, first, strict=True)]
    for each in zip(CALLS, plain, first, second, strict=True):
        words, *done = each
        told = [(d.returncode, d.stdout, d.stderr) for d in done]
        assert told[0] == told[1] == told[2], words


def shown(main_here: Command) -> str:
    done = main_here("show", "last", "--json")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_changed_between_two_boots_is_compared_without_the_recordings(
    main_here: Command, store: Store
) -> None:
    ids = keep_run(store, BOOT), keep_run(store, BOOT, day=22)
    first = [main_here("compare", *ids, "--view", name) for name in ("functions", "console")]
    assert [done.returncode for done in first] == [0, 0]
    with nobody():
        again = [main_here("compare", *ids, "--view", name) for name in ("functions", "console")]
    assert [done.stdout for done in again] == [done.stdout for done in first]


def tampered(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda d: b"", lambda d: d[:-1], lambda d: d + b"x", lambda d: b"\xff" * len(d)]
    + [lambda d, at=at: tampered(d, at) for at in (0, 40, 64, 200, -1)],
)
def test_a_damaged_entry_is_made_again(main_here: Command, store: Store, damage: object) -> None:
    assert callable(damage)
    keep_run(store, BOOT)
    before = shown(main_here)
    good = {name: path.read_bytes() for name, path in entries(store).items()}
    for path in entries(store).values():
        path.write_bytes(damage(path.read_bytes()))
    assert shown(main_here) == before
    assert {name: path.read_bytes() for name, path in entries(store).items()} == good


def test_an_entry_under_the_name_of_another_is_not_used(main_here: Command, store: Store) -> None:
    keep_run(store, BOOT)
    before = shown(main_here)
    shutil.copy(entries(store)["timeline"], entries(store)["consumers"])
    assert shown(main_here) == before


@pytest.mark.parametrize("name", ["stream.bin", "boot.json", "../../run.json"])
def test_what_was_made_of_another_recording_is_not_used(main_here: Command, store: Store, name: str) -> None:
    keep_run(store, BOOT)
    shown(main_here)
    path = store.runs / store.run_ids()[0] / "boots" / "001" / name
    path.write_bytes(path.read_bytes() + b" ")
    with nobody():
        assert main_here("show", "last", "--json").returncode == 1


def test_what_another_program_made_is_not_used(
    main_here: Command, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_run(store, BOOT)
    shown(main_here)
    monkeypatch.setattr(index, "program_id", lambda: b"another")
    with nobody():
        assert main_here("show", "last", "--json").returncode == 1


def test_another_board_profile_has_no_index(main_here: Command, store: Store) -> None:
    keep_run(store, BOOT)
    assert main_here("show", "last", "--board", "cubieboard").returncode == 0
    assert not entries(store)


def test_where_nothing_can_be_written_the_cache_has_it(
    main_here: Command, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_run(store, BOOT)
    # A user who may write everywhere is the one who runs tests in a container.
    monkeypatch.setattr(os, "access", lambda path, mode: "boots" not in Path(path).parts)
    before = shown(main_here)
    assert not entries(store)
    with nobody():
        assert shown(main_here) == before
    monkeypatch.setattr(index, "MOST_BOOTS", 3)
    for number in range(5):
        keep_run(store, BOOT[: -1 - number], day=21 + number)
        shown(main_here)
    assert len(list((cache_dir() / FOLDER).iterdir())) == 3


def test_what_is_too_large_or_comes_back_otherwise_is_not_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.load(keep_run(store, BOOT))
    kept = Index(run, run.boots[0])
    other: object = kept.get("other", list[int], lambda: (1, 2))  # type: ignore[arg-type,return-value]
    assert other == (1, 2)
    assert kept.get("text", str, lambda: "\udc80") == "\udc80"
    monkeypatch.setattr(index, "MOST_BYTES", 100)
    assert kept.get("long", str, lambda: "x" * 101) == "x" * 101
    assert kept.get("short", str, lambda: "x") == "x"
    assert set(entries(store)) == {"short"}


def test_it_goes_with_its_run(main_here: Command, store: Store) -> None:
    run_id = keep_run(store, BOOT)
    shown(main_here)
    assert entries(store)
    assert main_here("rm", run_id).returncode == 0
    assert not list(store.runs.iterdir())


def test_an_audit_knows_when_the_sources_have_come(
    main_here: Command, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(store)
    assert main_here("audit", "last").returncode == 0
    looked_at = mock.Mock(side_effect=result.look_at)
    monkeypatch.setattr(result, "look_at", looked_at)
    main_here("audit", "last")
    assert looked_at.call_count == 0
    folder = cache_dir() / "closures"
    folder.mkdir(exist_ok=True)
    (folder / "answer.json").write_text("{}")
    main_here("audit", "last")
    assert looked_at.call_count == 1


# ---- which program it is ----


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of two files."""
    folder = tmp_path / "package"
    (folder / "inner.d").mkdir(parents=True)
    (folder / "code.py").write_text("1")
    (folder / "inner.d" / "figures.toml").write_text("a = 1")
    monkeypatch.setattr(program, "package_dir", lambda: folder)
    monkeypatch.setattr(program, "BEGAN_S", 1e12)
    return folder


def now() -> bytes:
    return program.program_id.__wrapped__()


def test_a_program_is_all_its_files(package: Path) -> None:
    seen = {now()}
    for path, text in (("code.py", "2"), ("inner.d/figures.toml", "a = 2"), ("inner.d/new.py", "")):
        (package / path).write_text(text)
        seen.add(now())
    (package / "inner.d" / "new.py").rename(package / "new.py")
    seen.add(now())
    assert len(seen) == 5
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "code.py").write_text("")
    assert now() in seen


def test_a_program_that_changed_while_it_ran_is_none(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert now()
    monkeypatch.setattr(program, "BEGAN_S", (package / "code.py").stat().st_ctime - 1)
    assert now() == b""


def test_another_library_makes_another_program(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = now()
    (tmp_path / "site" / "capstone-99.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert now() != before

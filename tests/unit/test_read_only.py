# SPDX-License-Identifier: Apache-2.0
"""A store that nothing can be written into is still read; who wants to write is told so, and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bootscope.capture import access
from bootscope.capture.store import Store
from bootscope.cli.main import of_the_world
from bootscope.core.errors import ToolError

from ..fixtures.stock_boot import unpack
from ..mounts import own_mounts
from .builders import BOOT, ROOT, environment, keep_run

pytestmark = pytest.mark.long

MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
LOGS = ROOT / "tests" / "fixtures" / "boots"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def weak() -> list[str]:
    """What makes permissions count for whoever runs the tests, root too."""
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


@pytest.fixture
def kept(store: Store, tmp_path: Path) -> Store:
    """A store with a recording, two others and an imported run."""
    unpack(store)
    for day in (21, 22):
        keep_run(store, BOOT, day=day)
    shutil.copy(LOGS / "before.log", tmp_path)
    command = [sys.executable, "-m", "bootscope", "import", "before.log"]
    variables = environment(BOOTSCOPE_STORE=str(store.root), BOOTSCOPE_CACHE=str(tmp_path / "cache"))
    subprocess.run(command, cwd=tmp_path, env=variables, check=True, capture_output=True)
    return store


@pytest.fixture(params=["mounted read-only", "permissions"])
def run(request: pytest.FixtureRequest, kept: Store, tmp_path: Path) -> Iterator[Run]:
    """Runs the command where nothing can be written into the store."""
    mounted = request.param == "mounted read-only"
    before = [*own_mounts(), "sh", "-c", MOUNTED, str(kept.root)] if mounted else weak()
    folders = [kept.root, *(path for path in kept.root.rglob("*") if path.is_dir())]
    modes = [(folder, folder.stat().st_mode) for folder in folders]
    for folder in [] if mounted else folders:
        folder.chmod(0o555)

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, sys.executable, "-m", "bootscope", *words],
            cwd=tmp_path,
            env=environment(BOOTSCOPE_STORE=str(kept.root), BOOTSCOPE_CACHE=str(tmp_path / "cache")),
            capture_output=True,
            text=True,
            check=False,
        )

    yield command
    for folder, mode in modes:
        folder.chmod(mode)


def test_reading_goes_on(run: Run, kept: Store) -> None:
    stock = next(name for name in kept.run_ids() if name.endswith("-stock"))
    logged = next(name for name in kept.run_ids() if name.endswith("-before"))
    for words in (
        ["list"],
        ["show", stock],
        ["show", stock, "--view", "console"],
        ["show", logged],
        ["compare", "test~1", "test"],
        ["report", stock, logged, "-o", "report.html"],
        ["export", stock, "-o", "boot.svg"],
        ["what-if", stock, "quiet"],
        ["audit", stock],
        ["system", "list"],
    ):
        done = run(*words)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_writing_is_refused_with_the_way_out(run: Run, kept: Store, tmp_path: Path) -> None:
    before = sorted(kept.root.rglob("*"))
    for words in (
        ["import", "before.log"],
        ["rm", kept.run_ids()[0]],
        ["record", "stock"],
        ["record", "--board", "pipe:/dev/null"],
        ["import", "--run", "before", "--milestone", "a=b"],
    ):
        done = run(*words)
        first, hint = done.stderr.splitlines()
        assert done.returncode == 3, words
        assert first.startswith(f"bootscope: the store {kept.root} "), words
        assert "read-only" in first or "is yours, and its permissions (555) do not allow it" in first
        assert hint.startswith("  hint: BOOTSCOPE_STORE=FOLDER keeps recordings in another folder")
    assert sorted(kept.root.rglob("*")) == before
    assert not list(tmp_path.glob("cache/steps/*"))


@pytest.mark.parametrize("words", [["list"], ["import", "before.log"]], ids=" ".join)
def test_a_store_that_cannot_be_made_is_named(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0o555)
    root = tmp_path / "closed" / "sub" / "store"
    done = subprocess.run(
        [*weak(), sys.executable, "-m", "bootscope", *words],
        cwd=LOGS,
        env=environment(BOOTSCOPE_STORE=str(root)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert f"the store {root} cannot be used: {tmp_path / 'closed'} is yours" in done.stderr
    assert "hint: BOOTSCOPE_STORE=FOLDER" in done.stderr


def test_whose_a_folder_is_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = PermissionError(13, "Permission denied", str(tmp_path / "gone" / "file"))
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    told = access.refused(tmp_path, error).message
    assert f": {tmp_path} belongs to " in told
    assert told.endswith("do not allow it")


def test_another_error_of_a_store_is_told_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(ToolError, match=r"cannot use the store .*: "):
        Store(tmp_path / "store")


@pytest.mark.parametrize(("number", "below", "words"), [
    (13, "store", "the store "),
    (30, "store", "is read-only"),
    (13, "cache", "BOOTSCOPE_CACHE=FOLDER"),
    (28, "store", "bootscope rm RUN"),
])  # fmt: skip
def test_an_error_that_nobody_foresaw_names_the_way_out_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, below: str, words: str
) -> None:
    for name in ("store", "cache"):
        monkeypatch.setenv(f"BOOTSCOPE_{name.upper()}", str(tmp_path / name))
    told = of_the_world(OSError(number, os.strerror(number), str(tmp_path / below / "x")))
    assert told.exit_code == 3
    assert words in f"{told.message} {told.hint}"
    plain = of_the_world(OSError(number, os.strerror(number), "/elsewhere"))
    assert plain.message == f"/elsewhere: {os.strerror(number)}"

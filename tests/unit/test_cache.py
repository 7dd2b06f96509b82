# SPDX-License-Identifier: Apache-2.0
"""The cache of steps: whole or not there, safe under parallel use, pruned by age."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache, remove_tree, tree_bytes
from bootscope.core.errors import ToolError

from .builders import environment, python

BLOCK = 64 << 10


def nobody_waits() -> None:
    raise AssertionError("nobody else should hold this lock")


def finished(cache: Cache, step_id: str, used_s: int = 0, size_bytes: int = BLOCK) -> Path:
    """Puts a finished step into the cache, last used at `used_s`."""
    with cache.workspace() as work:
        (work / "out").mkdir()
        (work / "out" / "result").write_bytes(os.urandom(size_bytes))
        (work / "out" / "meta.json").write_text("{}")
        path = cache.commit(work / "out", cache.steps / step_id)
    os.utime(path / "meta.json", (used_s, used_s))
    return path


def ids(cache: Cache) -> list[str]:
    return [entry.step_id for entry in cache.entries()]


# ---- commit and find ----


def test_who_waits_for_a_step_goes_on_when_it_is_there(cache: Cache) -> None:
    """Whoever made it holds its lock for as long as it works with it."""
    told: list[str] = []

    def there() -> bool:
        told_before = cache.find("a") is not None
        finished(cache, "a")
        return told_before

    with cache.use(["a"]), cache.lock("a", lambda: told.append("waits"), there):
        assert told == ["waits"]
        assert cache.find("a")


def test_who_waits_for_a_step_that_does_not_come_makes_it(cache: Cache) -> None:
    with contextlib.ExitStack() as other:
        other.enter_context(cache.use(["a"]))

        def gives_up() -> bool:
            other.close()
            return False

        told: list[str] = []
        holding = cache.lock("a", lambda: None, gives_up)
        # It is held then: the next one waits, until it has had enough.
        with holding, cache.lock("a", lambda: told.append("waits"), lambda: True):
            assert told == ["waits"]


def test_a_step_appears_whole_and_is_found(cache: Cache) -> None:
    assert cache.find("a") is None
    path = finished(cache, "a")
    assert cache.find("a") == path == cache.steps / "a"
    assert len((path / "result").read_bytes()) == BLOCK


def test_a_folder_without_its_description_is_no_step(cache: Cache) -> None:
    (cache.steps / "half").mkdir()
    assert cache.find("half") is None
    assert ids(cache) == []


def test_of_two_that_commit_the_same_the_first_stays(cache: Cache) -> None:
    first = (finished(cache, "a") / "result").read_bytes()
    second = (finished(cache, "a") / "result").read_bytes()
    assert first == second


def test_finding_a_step_marks_it_as_used(cache: Cache) -> None:
    finished(cache, "old", used_s=1_000)
    finished(cache, "new", used_s=2_000)
    assert ids(cache) == ["old", "new"]
    cache.find("old")
    assert ids(cache) == ["new", "old"]


def test_the_folder_is_marked_for_backup_programs(cache: Cache) -> None:
    tag = (cache.root / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match="cannot use the cache") as caught:
        Cache(tmp_path / "file")
    assert "BOOTSCOPE_CACHE=FOLDER" in str(caught.value.hint)


# ---- workspaces ----


def test_a_workspace_goes_with_its_work_also_when_that_fails(cache: Cache) -> None:
    with pytest.raises(ZeroDivisionError), cache.workspace() as work:
        (work / "deep").mkdir()
        raise ZeroDivisionError
    assert not work.exists()
    assert list((cache.root / "tmp").iterdir()) == []


def test_a_full_disk_is_said_with_a_way_out(cache: Cache) -> None:
    with pytest.raises(ToolError, match="no space left for the cache") as caught, cache.workspace():
        Path("/dev/full").write_bytes(b"x")
    assert "prune" in (caught.value.hint or "")
    assert list((cache.root / "tmp").iterdir()) == []


def test_other_errors_of_the_file_system_stay_what_they_are(cache: Cache) -> None:
    with pytest.raises(FileNotFoundError), cache.workspace() as work:
        (work / "not there").read_bytes()


WORKER = """
import sys, time
from pathlib import Path
from bootscope.builder.cache import Cache
with Cache(Path(sys.argv[1])).workspace() as work:
    (work / "half").write_text("x")
    print(work, flush=True)
    time.sleep(60)
"""


def test_the_workspace_of_a_killed_process_is_swept_and_that_of_a_living_one_stays(cache: Cache) -> None:
    with subprocess.Popen(
        python(WORKER, cache.root), env=environment(), stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout
        path = Path(worker.stdout.readline().strip())
        Cache(cache.root)
        assert (path / "half").exists()
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    assert (path / "half").exists()
    Cache(cache.root)
    assert list((cache.root / "tmp").iterdir()) == []


def test_a_workspace_is_not_swept_while_it_is_made(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another bootscope starts between the making of the guard and the locking of it."""
    flock = fcntl.flock

    def late(file: object, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        Cache(cache.root)
        flock(file, how)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", late)
    with cache.workspace() as work:
        assert work.is_dir()


def test_what_a_killed_prune_left_is_swept(cache: Cache) -> None:
    grave = cache.root / "tmp" / "removed-abc-123"
    grave.mkdir()
    (grave / "big").write_text("x")
    Cache(cache.root)
    assert not grave.exists()


# ---- pruning ----


def test_pruning_removes_the_least_recently_used_first(cache: Cache) -> None:
    for name, used_s in (("middle", 2_000), ("new", 3_000), ("old", 1_000)):
        finished(cache, name, used_s)
    one = cache.entries()[0].size_bytes
    assert [entry.step_id for entry in cache.prune(2 * one)] == ["old"]
    assert ids(cache) == ["middle", "new"]
    assert cache.prune(2 * one) == []
    assert [entry.step_id for entry in cache.prune(0)] == ["middle", "new"]
    assert list((cache.root / "tmp").iterdir()) == []


def test_pruning_keeps_what_it_is_told_to_and_what_is_locked(cache: Cache) -> None:
    for number, name in enumerate(("kept", "locked", "free")):
        finished(cache, name, 1_000 * number)
    with cache.lock("locked", nobody_waits):
        assert [entry.step_id for entry in cache.prune(0, frozenset({"kept"}))] == ["free"]
    assert ids(cache) == ["kept", "locked"]


def test_a_step_that_another_prune_was_faster_with_does_no_harm(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two builds that end at the same time both prune: both have listed the same steps."""
    finished(cache, "a", 1_000)
    listed = cache.entries()
    cache.prune(0)
    monkeypatch.setattr(cache, "entries", lambda: listed)
    cache.prune(0)


def test_holes_in_files_take_no_room(tmp_path: Path) -> None:
    with (tmp_path / "image").open("wb") as f:
        f.truncate(1 << 30)
        f.write(b"x")
    assert 0 < tree_bytes(tmp_path) < 1 << 20


def test_a_write_protected_tree_can_be_removed(tmp_path: Path) -> None:
    inner = tmp_path / "tree" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0o500)
    (tmp_path / "tree").chmod(0o500)
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
    remove_tree(tmp_path / "tree")

# SPDX-License-Identifier: Apache-2.0
"""What all unit tests share: settings, an empty store, an empty cache, the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bootscope.builder.cache import Cache
from bootscope.capture.store import Store
from bootscope.cli.main import main
from bootscope.readers import registry
from bootscope.search.emulated import EmulatedSearch
from bootscope.techniques.model import Technique

from .builders import environment
from .finished_search import overlapping_search
from .import_builders import LOG, OTHER, STAMPED
from .search_scenes import Make, Scene

Done = subprocess.CompletedProcess[str]
Command = Callable[..., Done]
Give = Callable[..., Path]
Write = Callable[[str], Path]

# No deadline: a busy machine is slow, not wrong. In CI a failure must come back when it is run again.
settings.register_profile(
    "unit",
    deadline=None,
    database=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unit")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store(tmp_path / "store")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """An empty cache."""
    return Cache(tmp_path / "cache")


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """Variables for a store and a cache of its own, where no network and no compiler can be reached."""
    (tmp_path / "no-programs").mkdir()
    nowhere = "http://127.0.0.1:9"
    return {
        "BOOTSCOPE_STORE": str(tmp_path / "store"),
        "BOOTSCOPE_CACHE": str(tmp_path / "cache"),
        "PATH": str(tmp_path / "no-programs"),
        "http_proxy": nowhere,
        "https_proxy": nowhere,
        "no_proxy": "",
    }


@pytest.fixture
def bootscope(surroundings: dict[str, str], tmp_path: Path) -> Command:
    """Runs the command as a user does."""

    def run(*arguments: str | Path) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "bootscope", *map(str, arguments)],
            cwd=tmp_path,
            env=environment(**surroundings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return run


@pytest.fixture
def main_here(
    surroundings: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """Runs the command within this process, which is quick enough for long lists of cases."""
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> Done:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse
            status = int(ended.code or 0)
        return Done(arguments, status, *capsys.readouterr())

    return run


@pytest.fixture
def formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two formats only, whatever readers there are."""
    monkeypatch.setattr(registry, "readers", lambda: (OTHER, STAMPED))


@pytest.fixture
def give(tmp_path: Path) -> Give:
    """Writes a file to import: a stamped log unless told."""

    def make(name: str, data: bytes = LOG) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return make


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of budgets and baselines."""

    def make(text: str) -> Path:
        path = tmp_path / "bootscope-check.toml"
        path.write_text(text)
        return path

    return make


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes the scene of a search, with the techniques that it is given."""
    scenes: list[Scene] = []

    def make(*found: Technique) -> Scene:
        scenes.append(Scene(tmp_path, monkeypatch, found))
        return scenes[-1]

    yield make
    for made in scenes:
        made.close()


@pytest.fixture
def overlapping(scene: Make) -> EmulatedSearch:
    """A search of which two techniques save the same time."""
    return overlapping_search(scene)

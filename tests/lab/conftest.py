# SPDX-License-Identifier: Apache-2.0
"""Real builds and real boots, driven as a user would: through the command line.

The first test that needs it builds the stock system into the ordinary cache (minutes when that is
empty). Every test has a store of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, Bootscope, environment, recorded_once

STOCK = ROOT / "src" / "bootscope" / "systems.d" / "stock.toml"


BUILD_PLUGIN = """
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.core.paths import cache_dir
step = plugin.step()
print(Runner(Cache(cache_dir()), Progress()).run(step, step.step_id({}), {}) / plugin.PLUGIN)
"""


@pytest.fixture(scope="session")
def library() -> str:
    """The QEMU plugin, built in the ordinary cache."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD_PLUGIN], env=environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="session")
def built() -> dict[str, Any]:
    """The stock system, built in the ordinary cache; what `build --json` printed."""
    done = subprocess.run(
        [sys.executable, "-m", "bootscope", "build", "stock", "--json"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def bootscope(built: dict[str, Any], tmp_path: Path) -> Bootscope:
    """The command, with the stock system built and an empty store."""
    return Bootscope(tmp_path / "store")


@pytest.fixture(scope="session")
def stock(
    built: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Bootscope, dict[str, Any]]:
    """Two boots of the stock system up to first-frame, for many tests to look at.

    Its store is for looking only: tests take "the last run" of it to be this one. All processes of a test
    run look at the same two boots.
    """
    return recorded_once("stock", tmp_path_factory.getbasetemp(), "stock", "-n", "2")


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., Path]:
    """Makes a changed copy of the stock system: variant(("old text", "new text"), ...) -> its path."""

    def make(*changes: tuple[str, str]) -> Path:
        text = STOCK.read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in stock.toml"
            text = text.replace(old, new)
        for folder in ("stock/app", "stock/rootfs"):
            text = text.replace(f'"{folder}"', f'"{STOCK.parent / folder}"')
        path = tmp_path / "variant.toml"
        path.write_text(text)
        return path

    return make

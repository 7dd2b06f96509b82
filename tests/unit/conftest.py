# SPDX-License-Identifier: Apache-2.0
"""What all unit tests share: settings, an empty store, an empty cache, the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bootscope.build.cache import Cache
from bootscope.capture.store import Store

from .builders import environment

Done = subprocess.CompletedProcess[str]
Command = Callable[..., Done]

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
def bootscope(tmp_path: Path) -> Command:
    """Runs the command with a store and cache of its own; it can reach no network and no compiler."""
    (tmp_path / "no-programs").mkdir()
    nowhere = "http://127.0.0.1:9"
    env = environment(
        BOOTSCOPE_STORE=str(tmp_path / "store"),
        BOOTSCOPE_CACHE=str(tmp_path / "cache"),
        PATH=str(tmp_path / "no-programs"),
        http_proxy=nowhere,
        https_proxy=nowhere,
        no_proxy="",
    )

    def run(*arguments: str | Path) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "bootscope", *map(str, arguments)],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return run

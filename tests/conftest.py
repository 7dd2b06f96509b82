# SPDX-License-Identifier: Apache-2.0
"""The order of the tests, and how much was built before them: with a full cache a run takes half the time."""

from __future__ import annotations

import os

import pytest

from bootscope.boards.profile import CORE_VARIABLE
from bootscope.core.paths import cache_dir
from bootscope.cores.choice import NO_CORE

_BUILT = pytest.StashKey[int]()


def _built() -> int:
    """How many steps of builds are in the cache."""
    steps = cache_dir() / "steps"
    return sum(1 for _ in steps.iterdir()) if steps.is_dir() else 0


def pytest_configure(config: pytest.Config) -> None:
    # Counting takes longer than the boot, and most tests look at the boot itself;
    # tests/lab/test_default_core.py looks at what users get.
    os.environ.setdefault(CORE_VARIABLE, NO_CORE)
    config.stash[_BUILT] = _built()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first: `--dist loadfile` hands files out in this order, and what comes last
    ought to be short."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    before = config.stash[_BUILT]
    terminalreporter.write_line(
        f"build cache: {before} steps when the tests began, {_built() - before} built by them"
    )

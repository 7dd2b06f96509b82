# SPDX-License-Identifier: Apache-2.0
"""Real boots of a system that Debian has built: nothing is compiled but the application and the plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope, recorded_once

SYSTEM = "debian"


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, dict[str, Any]]:
    """A boot up to first-frame, in a store for looking only, and what `record --json` said of it."""
    return recorded_once(SYSTEM, tmp_path_factory.getbasetemp(), SYSTEM)


@pytest.fixture(scope="session")
def probed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, dict[str, Any]]:
    """The same boot with its system calls, and three functions: one that the recorder knows, one to sleep in,
    one that calls itself."""
    names = ("really_probe", "kernel:schedule", "kernel:kobject_put")
    options = [word for name in names for word in ("--probe", name)]
    return recorded_once("debian-probed", tmp_path_factory.getbasetemp(), SYSTEM, "--syscalls", *options)


@pytest.fixture
def bootscope(tmp_path: Path) -> Bootscope:
    """The command, with an empty store."""
    return Bootscope(tmp_path / "store")

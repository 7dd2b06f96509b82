# SPDX-License-Identifier: Apache-2.0
"""A real boot with the installed command: the same nanoseconds as a checkout's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

from .conftest import Installed

pytestmark = [pytest.mark.boot, pytest.mark.long]


def test_the_wheel_boots_what_debian_has_built_exactly_as_a_checkout_does(
    installed: Installed, debian: tuple[Bootscope, dict[str, Any]]
) -> None:
    """Packages and built images are shared, as the wheel finds the same steps: what it boots and makes of the
    boot is its own. That it builds its own plugin is tested in test_installed.py."""
    command, theirs = debian
    shared = Path(command.json("build", "debian")["card"]).parents[2]
    cache = installed.home / ".cache/bootscope"
    cache.mkdir(parents=True)
    for name in ("sources", "steps"):
        (cache / name).symlink_to(shared / name)
    ours = installed.json("record", "debian")
    assert ours["boots"][0]["stream_sha256"] == theirs["boots"][0]["stream_sha256"] != ""
    shown = installed.json("show")
    assert shown["total_ns"] == command.json("show")["total_ns"]
    assert installed("show") == command.run("show").stdout.replace(theirs["run_id"], ours["run_id"])
    installed("report", "-o", "boot.html")
    assert "</html>" in (installed.home / "boot.html").read_text()
    assert "kernel-compression" in installed("audit", "last")
    assert installed.json("doctor", "emulated")["parts"][-1]["good"]

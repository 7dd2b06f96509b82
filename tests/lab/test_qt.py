# SPDX-License-Identifier: Apache-2.0
"""The system stock-qt: a compiled kernel, a root of packages, and an application of theirs that uses Qt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope, recorded_once
from tests.unit.test_png import pixels

pytestmark = [pytest.mark.boot, pytest.mark.campaign]
Recorded = tuple[Bootscope, dict[str, Any]]
SYSTEM = "stock-qt"


@pytest.fixture(scope="session")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Two boots up to the application's picture, in a store for looking only."""
    return recorded_once(SYSTEM, tmp_path_factory.getbasetemp(), SYSTEM, "-n", "2")


def test_two_boots_are_equal_to_the_nanosecond(panel: Recorded) -> None:
    command, recorded = panel
    assert recorded["complete"]
    assert command.stream(recorded, 1) == command.stream(recorded, 2)


def test_the_picture_is_the_application_s(panel: Recorded) -> None:
    _, recorded = panel
    rows = pixels((Path(recorded["boots"][0]["path"]) / "screen.png").read_bytes())
    assert (len(rows[0]), len(rows)) == (800, 480)
    # Rows of keys on a light ground, with their names on them.
    greens = [green for row in rows for _, green, _ in row]
    dark, light = sum(green < 64 for green in greens), sum(green > 200 for green in greens)
    assert light > 800 * 480 // 2
    assert 800 < dark < 800 * 480 // 10


def test_the_boot_shows_udev_and_the_program_of_the_packages(panel: Recorded) -> None:
    command, _ = panel
    shown = command.json("show", "--view", "processes", "--top", "100000")
    names = {str(value) for table in shown["tables"] for row in table["rows"] for value in row.values()}
    assert any("calculator" in name for name in names)
    assert any("udevadm" in name for name in names)
    read = command.json("show", "--view", "storage", "--top", "100000")
    files = {str(value) for table in read["tables"] for row in table["rows"] for value in row.values()}
    assert any("libQt5Widgets" in name for name in files)

# SPDX-License-Identifier: Apache-2.0
"""The system stock-player, with an ffmpeg that has only what it needs, built by its own configure script:
it shows what the kernel's camera sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootscope.changes.experiment import with_techniques
from bootscope.system.application import Configured
from bootscope.system.load import load_system, system_dir
from tests.command import Bootscope, recorded_once
from tests.unit.test_png import pixels

pytestmark = [pytest.mark.boot, pytest.mark.campaign]
Recorded = tuple[Bootscope, dict[str, Any]]
SYSTEM, LAST = "stock-player", '    "--disable-ffprobe",\n'
BARS = ["grey", "yellow", "cyan", "green", "magenta", "red", "blue", "black"]


def small() -> str:
    """The text of the system with the technique, which makes its build a matter of a minute."""
    changed = with_techniques(load_system(SYSTEM), ["app-trim-features"]).system.application.configured
    before = load_system(SYSTEM).system.application.configured
    assert isinstance(changed, Configured) and isinstance(before, Configured)
    more = [option for option in changed.options if option not in before.options]
    assert "--disable-everything" in more
    text = (system_dir() / f"{SYSTEM}.toml").read_text()
    text = text.replace('"stock/rootfs"', f'"{system_dir() / "stock" / "rootfs"}"')
    return text.replace(LAST, LAST + "".join(f'    "{option}",\n' for option in more))


@pytest.fixture(scope="session")
def player(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Two boots up to the first picture, in a store for looking only."""
    path = tmp_path_factory.mktemp("player") / "player.toml"
    path.write_text(small())
    return recorded_once(SYSTEM, tmp_path_factory.getbasetemp(), str(path), "-n", "2")


def colour(pixel: tuple[int, int, int]) -> str:
    names = ["black", "blue", "green", "cyan", "red", "magenta", "yellow", "grey"]
    return names[sum((value > 96) << bit for bit, value in zip((2, 1, 0), pixel, strict=True))]


def test_two_boots_are_equal_to_the_nanosecond(player: Recorded) -> None:
    command, recorded = player
    assert recorded["complete"]
    assert command.stream(recorded, 1) == command.stream(recorded, 2)


def test_the_picture_is_the_camera_s(player: Recorded) -> None:
    _, recorded = player
    rows = pixels((Path(recorded["boots"][0]["path"]) / "screen.png").read_bytes())
    assert (len(rows[0]), len(rows)) == (640, 360)
    for row in rows[180::20]:
        assert [colour(row[40 + 80 * bar]) for bar in range(8)] == BARS


def test_the_program_s_own_functions_have_names(player: Recorded) -> None:
    command, _ = player
    shown = command.json("show", "--view", "functions", "--top", "100000")
    names = {str(value) for table in shown["tables"] for row in table["rows"] for value in row.values()}
    assert any(name.startswith("ffmpeg ff_yuv420p_to_bgra") for name in names)
    assert "kernel tpg_fill_plane_buffer" in names

# SPDX-License-Identifier: Apache-2.0
"""The coordinator of a labgrid farm falls while a board boots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Bootscope
from .farm import Farm, as_user, pty_resources, wait_for
from .test_labgrid import Lab, at_desk, heard


@pytest.fixture(autouse=True)
def as_tester(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who we are in the farm, and which labgrid we use."""
    for name, value in as_user(tmp_path).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Lab]:
    """A farm that may be destroyed."""
    board, switch = at_desk(tmp_path)
    farm = Farm(tmp_path, {"desk": pty_resources(board, switch)})
    yield Lab(farm, board)
    farm.close()
    switch.close()
    board.stop.set()


@pytest.mark.parametrize("comes_back", [True, False])
def test_the_coordinator_falls_during_a_run(
    bootscope: Bootscope, own: Lab, tmp_path: Path, comes_back: bool
) -> None:
    board = own.file(tmp_path)
    options = ["--board", board, "-n", "10", "--until-time", "1.5", "--json"]
    child = bootscope.start("record", *options)
    wait_for("the third boot", lambda: heard(bootscope, 3))
    own.farm.fall()
    if comes_back:
        own.farm.start()
    out, err = child.communicate(timeout=240)
    assert child.returncode in (0, 3), (out, err)
    assert "Traceback" not in err
    boots = bootscope.json("list")["runs"][0]
    assert boots["boots"] == 10
    ended = [bootscope.json("show", f"{boots['run_id']}/{number}")["message"] for number in (1, 2, 10)]
    good = "1.5 s after power on"
    assert ended[:2] == [good, good]
    if comes_back:
        assert ended[2] == good
        wait_for("the release", lambda: own.farm.happened("desk")[-1] == "released", 20)
    else:
        assert "coordinator" in ended[2]
        assert child.returncode == 3

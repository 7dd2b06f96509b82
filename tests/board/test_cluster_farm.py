# SPDX-License-Identifier: Apache-2.0
"""Places of a labgrid farm as resources of a cluster: measured by a worker, waited for, refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dask_processes import Dask, dask

from .conftest import HELLO, Bootscope
from .farm import ANNA, Farm, as_user, pty_resources, wait_for
from .test_labgrid import Lab, at_desk, consoles

pytestmark = pytest.mark.long

WORKER = {"LG_HOSTNAME": "worker-pc", "LG_USERNAME": "runner"}
TAKEN = "acquired by worker-pc/runner"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Dask]]:
    """A farm, and a cluster whose one worker reaches it; the client does not."""
    folder = tmp_path_factory.mktemp("farm")
    with contextlib.ExitStack() as at_end:
        board, switch = at_desk(folder)
        at_end.callback(board.stop.set)
        at_end.callback(switch.close)
        farm = Farm(folder, {"desk": pty_resources(board, switch)}, {"desk": {"soc": "a10"}})
        at_end.callback(farm.close)
        cluster = at_end.enter_context(dask(folder / "dask"))
        cluster.worker("--nthreads", "2", **of_farm(farm, folder))
        yield Lab(farm, board), cluster


def of_farm(farm: Farm, folder: Path) -> dict[str, str]:
    """The environment of a worker that reaches a farm."""
    return {**as_user(folder), **WORKER, "LG_COORDINATOR": farm.address}


def options(cluster: Dask, place: str = "desk", boots: int = 2) -> list[str]:
    return ["record", "--board", f"labgrid:{place}", "-n", str(boots), "--cluster", cluster.address]


def test_a_worker_of_the_farm_measures_a_place(bootscope: Bootscope, lab: tuple[Lab, Dask]) -> None:
    for place in ("desk", "soc=a10", f"desk@{lab[0].farm.address}"):
        found = bootscope.json(*options(lab[1], place), "--label", "product=gateway")
        assert found["complete"]
        assert consoles(found) == [HELLO] * 2
        assert lab[0].farm.happened("desk")[-2:] == [TAKEN, "released"]
    shown = bootscope.json("show")
    assert shown["milestones"]["spl"] < shown["milestones"]["login"]
    assert {run["labels"]["product"] for run in bootscope.json("list")["runs"]} == {"gateway"}


def test_two_who_want_a_place_get_it_one_after_the_other(bootscope: Bootscope, lab: tuple[Lab, Dask]) -> None:
    before = len(lab[0].farm.happened("desk"))
    both = [bootscope.start(*options(lab[1]), "--json") for _ in range(2)]
    for child in both:
        out, err = child.communicate(timeout=240)
        assert child.returncode == 0, (out, err)
    assert lab[0].farm.happened("desk")[before:] == [TAKEN, "released"] * 2


def test_a_place_that_somebody_holds_is_refused_or_waited_for(
    bootscope: Bootscope, lab: tuple[Lab, Dask]
) -> None:
    farm = lab[0].farm
    farm.client("-p", "desk", "acquire", who=ANNA)
    _, err = bootscope(*options(lab[1]), status=3)
    assert "the place desk is held by anna on annas-pc" in err
    assert "labgrid-client -p desk allow worker-pc/runner" in err
    assert not bootscope.json("list")["runs"]
    child = bootscope.start(*options(lab[1]), "--labgrid-wait", "90")
    wait_for("the reservation", lambda: bool(farm.client("reservations").strip()))
    farm.client("-p", "desk", "release", who=ANNA)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, (out, err)
    assert farm.happened("desk")[-2:] == [TAKEN, "released"]


def test_a_place_of_no_worker_is_told(bootscope: Bootscope, lab: tuple[Lab, Dask]) -> None:
    _, err = bootscope(*options(lab[1], "shelf"), status=3)
    assert "lacks labgrid's place shelf" in err
    assert "LG_COORDINATOR" in err


def test_a_board_that_is_lost_keeps_the_boots_before(bootscope: Bootscope, tmp_path: Path) -> None:
    """The coordinator falls for good: what was measured until then is in the store."""
    board, switch = at_desk(tmp_path)
    farm = Farm(tmp_path, {"desk": pty_resources(board, switch)})
    try:
        with dask(tmp_path / "dask") as cluster:
            cluster.worker(**of_farm(farm, tmp_path))
            child = bootscope.start(*options(cluster, boots=3), "--until-time", "1.5")
            worker_taps = tmp_path / "cache" / "tmp"
            wait_for("the second boot", lambda: len(list(worker_taps.glob("*/store/runs/*/boots/002"))) > 0)
            farm.fall()
            _, err = child.communicate(timeout=240)
        assert child.returncode == 3, err
        (run,) = bootscope.json("list")["runs"]
        assert run["boots"] == 3
        assert bootscope.json("show", f"{run['run_id']}/1")["message"] == "1.5 s after power on"
    finally:
        farm.close()
        switch.close()
        board.stop.set()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--board", "serial:/dev/ttyUSB0"), "--cluster takes a board of a labgrid farm"),
        (
            ("--board", "labgrid:desk", "--power-on", "a", "--power-off", "b"),
            "--power-on works only on this computer",
        ),
        (("--board", "labgrid:desk", "--labgrid-env", "a.yaml"), "--labgrid-env works only on this computer"),
        (("--board", "labgrid:desk", "--until", "moon"), "unknown milestone 'moon'"),
    ],
)
def test_what_only_this_computer_can_do_is_refused(
    bootscope: Bootscope, words: tuple[str, ...], told: str
) -> None:
    _, err = bootscope("record", *words, "--cluster", "tcp://127.0.0.1:1", status=2)
    assert told in err

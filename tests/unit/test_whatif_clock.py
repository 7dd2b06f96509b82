# SPDX-License-Identifier: Apache-2.0
"""Another clock of a board that is modelled without a core: what computes scales, and what waits does not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import pytest

from bootscope.analysis.functions import Stacks
from bootscope.analysis.whatif_core import predict_on_core
from bootscope.audit.forecast import forecast
from bootscope.boards.changed import clock_apart
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.cores.profile import Core
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.inventory.values import boot_value
from bootscope.techniques.model import techniques

from .builders import KERNEL_SECTOR, POWER_ON_NS
from .lab_scenes import kept_view, known
from .scenes import Story

MS = 1_000_000
COMPUTED, WAITED, SLEPT = 50 * MS, 7 * MS, 30 * MS


def boot() -> Story:
    """The CPU computes for 50 ms, waits for a clock for 7 and sleeps for 30; the card is read once."""
    story = Story().hook("uboot.start").work(10 * MS).read(KERNEL_SECTOR, 50_000).work(10 * MS)
    story.hook("kernel.start").work(20 * MS)
    story.hook("delay", 0, 0).work(WAITED).hook("delay.end")
    return story.idle(SLEPT).work(10 * MS).sample()


def no_core(core: Core) -> NoReturn:
    raise AssertionError(f"{core.name} is not asked for")


@pytest.mark.parametrize(("change", "now_ns"), [
    ("clock=2x", COMPUTED // 2), ("clock=4x", COMPUTED // 4), ("clock=0.5x", COMPUTED * 2),
    ("clock=1x", COMPUTED),
])  # fmt: skip
def test_only_what_computes_scales_with_the_clock(tmp_path: Path, change: str, now_ns: int) -> None:
    v = kept_view(Store(tmp_path), boot().records)
    found = predict_on_core(v, [change], no_core)
    card_ns = sum(cost.ns for cost in v.evidence.costs)
    assert card_ns > 0
    assert found.prediction.now_ns == POWER_ON_NS + COMPUTED + WAITED + SLEPT + card_ns
    assert found.prediction.predicted_ns == POWER_ON_NS + now_ns + WAITED + SLEPT + card_ns
    assert found.core is None and found.changed is None


def test_other_changes_are_predicted_upon_the_other_clock(tmp_path: Path) -> None:
    """A card twice as fast saves as much on either."""
    v = kept_view(Store(tmp_path), boot().records)

    def saving_ns(*changes: str) -> int:
        return predict_on_core(v, changes, no_core).prediction.saving_ns

    assert saving_ns("clock=2x", "card=2x") == saving_ns("clock=2x") + saving_ns("card=2x") > 0


@pytest.mark.parametrize("changes", [["clock=600MHz"], ["clock=2x", "dram=2x"], ["dram=2x"]])
def test_what_needs_a_core_is_refused_without_one(tmp_path: Path, changes: list[str]) -> None:
    v = kept_view(Store(tmp_path), boot().records)
    with pytest.raises(UserError, match="no core is known"):
        predict_on_core(v, changes, no_core)


def test_a_clock_that_stands_or_is_told_twice_is_refused(tmp_path: Path) -> None:
    v = kept_view(Store(tmp_path), boot().records)
    with pytest.raises(UserError, match="must be positive"):
        predict_on_core(v, ["clock=0x"], no_core)
    with pytest.raises(UserError, match="exclude each other"):
        predict_on_core(v, ["clock=2x", "clock=3x"], no_core)


# ---- loops that no hook marks ----


CALLS = {
    1: ["__aeabi_uidiv", "timer_get_us", "sunxi_de_probe", "device_probe"],
    2: ["sunxi_de_probe", "device_probe"],
    3: ["memcpy", "load", "main_loop"],
    4: ["timer_get_us", "load", "main_loop"],
    5: ["blake2s_update", "try_to_generate_entropy", "vfs_read"],
    6: ["blake2s_update", "vfs_read"],
}
"""Made-up addresses of samples -> functions, the innermost first."""


def looping(*loader: int, kernel: tuple[int, ...] = ()) -> Story:
    """Each sample stands for the 4 ms before it, the first one in the kernel for 5."""
    story = Story().hook("uboot.start")
    for pc in loader:
        story.work(4 * MS).sample(pc).stack(pc)
    story.work(MS).hook("kernel.start")
    for pc in kernel:
        story.work(4 * MS).sample(pc).stack(pc)
    return story


@pytest.mark.parametrize(("story", "waits_ms"), [
    (looping(1, 1, 1, 2, 3), 16),  # also where the loop itself is seen
    (looping(2, 2, 2, 1, 3), 0),  # it asks for the time once in a while
    (looping(3, 3, 4, 4), 8),  # what it calls beside that is work
    (looping(3, kernel=(5, 5, 6)), 9),
    (looping(5, kernel=(1, 3)), 0),  # in Linux other functions tell the time
])  # fmt: skip
def test_loops_that_wait_for_the_time_take_as_long_on_any_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: Story, waits_ms: int
) -> None:
    monkeypatch.setattr(Stacks, "functions", lambda self, record, phase: (CALLS[record.pc], True))
    v = kept_view(Store(tmp_path), story.records)
    found = predict_on_core(v, ["clock=2x"], no_core).prediction
    assert found.saving_ns == (story.now_ns - waits_ms * MS) // 2


def test_what_computes_while_the_boot_sleeps_saves_nothing(tmp_path: Path) -> None:
    """Task 1 waits 30 ms for a timer; task 2 computes for 12 of them."""
    story = Story().hook("kernel.start").switch(1, name=b"init").fork(2).work(8 * MS).sample()
    story.wake(2).switch(2, 1).work(12 * MS).sample().switch(0, 1, b"swapper").idle(18 * MS)
    story.interrupt(name=b"timer").wake(1).switch(1, 0, b"init").work(6 * MS).sample()
    v = kept_view(Store(tmp_path), story.records)
    assert predict_on_core(v, ["clock=2x"], no_core).prediction.saving_ns == (8 + 6) * MS // 2


# ---- the technique ----


@pytest.mark.parametrize(("name", "full", "times"), [
    ("cubieboard:clock=0.5x", "cubieboard", 2),
    ("cubieboard:card=2x:clock=0.25x", "cubieboard:card=2x", 4),
    ("cubieboard:clock=0.5x:core=cortex-a8:clock=0.5x", "cubieboard:core=cortex-a8", 4),
    ("./my.toml:clock=2x", "./my.toml", 0.5),
    ("cubieboard:card=2x", "cubieboard:card=2x", 1),
    ("cubieboard", "cubieboard", 1),
])  # fmt: skip
def test_a_board_is_told_without_the_change_of_its_clock(name: str, full: str, times: float) -> None:
    assert clock_apart(name) == (full, Fraction(times))


def test_the_full_clock_is_told_as_a_change_of_what_if() -> None:
    def value(board: str, name: str = "times_full_clock") -> str | None:
        return boot_value(name, Inventory(parts=frozenset({Part.SETTINGS}), settings={"board": board}))

    assert value("cubieboard:clock=0.5x") == "2x"
    assert value("cubieboard:core=cortex-a8:clock=0.3x") == "3.333x"
    assert value("cubieboard:clock=0.5x", "board_at_full_clock") == "cubieboard"
    with pytest.raises(Absent, match="full clock"):
        value("cubieboard")
    with pytest.raises(UserError, match="rate of its clock, 600MHz"):
        value("cubieboard:core=cortex-a8:clock=600MHz")


def test_the_technique_is_predicted_where_the_board_is_slowed_down(tmp_path: Path) -> None:
    recipe = techniques()["hw-master-clock"].recipes["full"]
    slow = known(Store(tmp_path), boot().records)
    slow.settings["board"] = "cubieboard:clock=0.5x"  # type: ignore[index]
    assert forecast(slow, [recipe]).saving_ns == COMPUTED // 2

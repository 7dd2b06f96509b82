# SPDX-License-Identifier: Apache-2.0
"""Cards on which a random command, or a write, costs something else than a read that goes on."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from bootscope.analysis.compare import differences
from bootscope.analysis.whatif_plan import check_plain
from bootscope.boards.changed import changed_board
from bootscope.boards.profile import Board, load_board
from bootscope.calibration.rates import rates_of
from bootscope.core.errors import UserError
from bootscope.core.paths import package_dir
from bootscope.devices.model import CardClass, DeviceEvent, StorageCommand
from bootscope.devices.sd_card import Place
from bootscope.devices.virtio_disk import VirtioDiskDecoder
from bootscope.emulator import board_clock
from bootscope.timeline.costs import CostModel

from .builders import run_info

CUBIE = load_board("cubieboard")
KINGSTON = CUBIE.card_classes["kingston-c10"]
PAGE = 4096


def command(sector: int | None, *, write: bool = False, follows: bool = False) -> StorageCommand:
    return StorageCommand(0, "mmc0", 25 if write else 18, sector, PAGE, write, follows)


def on(board: Board, card: str) -> Board:
    return changed_board(board, f"card={card}")


@pytest.mark.parametrize(
    ("told", "ns"),
    [
        (command(8, follows=True), 305_170),
        (command(8), 431_500 + 305_170),
        (command(None), 305_170),
        (command(8, write=True, follows=True), 568_888),
        (command(8, write=True), 23_525_000 + 568_888),
    ],
)
def test_what_a_command_costs_depends_on_its_place_and_direction(told: StorageCommand, ns: int) -> None:
    assert CostModel(on(CUBIE, "kingston-c10")).add(told, 0) == ns


@pytest.mark.parametrize(
    "told", [command(8), command(8, follows=True), command(None), command(8, write=True)]
)
def test_on_a_plain_card_all_commands_cost_the_same(told: StorageCommand) -> None:
    assert CUBIE.card.is_plain
    assert CostModel(CUBIE).add(told, 0) == CUBIE.card.cost_ns(PAGE) == 500_000 + PAGE * 10**9 // 11_300_000


def test_random_commands_cost_what_was_measured() -> None:
    for name, read, written in (("sandisk-extreme", 8.10e6, 2.30e6), ("kingston-c10", 5.56e6, 0.17e6)):
        card = CUBIE.card_classes[name]
        assert PAGE * 1e9 / card.command_ns(command(8)) == pytest.approx(read, rel=0.002)
        assert PAGE * 1e9 / card.command_ns(command(8, write=True)) == pytest.approx(written, rel=0.002)


def test_without_a_figure_for_writes_those_of_reads_hold() -> None:
    card = msgspec.structs.replace(
        KINGSTON, write_bandwidth_bytes_per_s=msgspec.UNSET, random_write_latency_ns=msgspec.UNSET
    )
    assert not card.is_plain
    assert card.command_ns(command(8, write=True)) == card.command_ns(command(8)) == 736_670


def test_a_command_goes_on_where_the_one_before_ended() -> None:
    place = Place()
    # The first one, the next, one of a part of a sector, data that are not on the card, and the next again.
    asked = ((0, 4096), (8, 512), (9, 100), (None, 64), (10, 512), (10, 512), (0, 512))
    assert [place.goes_on(sector, size, False) for sector, size in asked] == [
        False,
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    # A write behind a read is another matter.
    assert [place.goes_on(1, 512, True), place.goes_on(2, 512, True)] == [False, True]


def test_the_decoder_of_a_disk_tells_what_goes_on() -> None:
    decoder = VirtioDiskDecoder("sd0", 0x200)
    stores = [(what, value) for sector in (0, 8, 0) for what, value in ((0, 0), (8, sector), (16, PAGE))]
    events: list[DeviceEvent | None] = [decoder.store(i, 0x200 + at, v) for i, (at, v) in enumerate(stores)]
    assert [e.follows for e in events if isinstance(e, StorageCommand)] == [False, True, False]


def test_a_faster_card_is_faster_in_every_respect() -> None:
    twice = on(on(CUBIE, "kingston-c10"), "2x").card
    assert {key: value for key, value, _ in twice.figures()} == {
        "bandwidth_bytes_per_s": 26_844_000, "command_latency_ns": 0, "random_latency_ns": 215_750,
        "write_bandwidth_bytes_per_s": 14_400_000, "random_write_latency_ns": 11_762_500,
    }  # fmt: skip


def test_what_knows_two_figures_of_a_card_refuses_more() -> None:
    with pytest.raises(
        UserError, match=r"Kingston 8 GB class 10 \(measured\) has others for random commands"
    ):
        rates_of(on(CUBIE, "kingston-c10"))
    with pytest.raises(UserError, match="guest-clock=board is modelled for cards whose commands all have"):
        board_clock.check(changed_board(CUBIE, "card=kingston-c10:guest-clock=board"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("random_latency_ns", -1), ("write_bandwidth_bytes_per_s", 0), ("random_write_latency_ns", -5)],
)
def test_an_impossible_figure_is_named(tmp_path: Path, key: str, value: int) -> None:
    text = (package_dir() / "boards.d/cubieboard.toml").read_text()
    begin = text.index("[card_classes.kingston-c10]")
    part = re.sub(rf"({key} = \{{ value =) [\d_]+", rf"\1 {value}", text[begin:], count=1)
    path = tmp_path / "mine.toml"
    path.write_text(text[:begin] + part)
    with pytest.raises(UserError, match=rf"card_classes\.kingston-c10\.{key}\.value"):
        load_board(str(path))


def test_the_figures_of_a_class_are_those_that_it_has() -> None:
    assert [key for key, _, _ in CUBIE.card.figures()] == ["bandwidth_bytes_per_s", "command_latency_ns"]
    assert b"random" not in msgspec.json.encode(CUBIE.card)
    assert msgspec.json.decode(msgspec.json.encode(KINGSTON), type=CardClass) == KINGSTON


def test_flash_that_is_read_as_memory_refuses_more_figures(tmp_path: Path) -> None:
    text = (package_dir() / "boards.d/vexpress-a9-uboot.toml").read_text()
    more = 'random_latency_ns = { value = 1, source = "made up" }'
    path = tmp_path / "mine.toml"
    path.write_text(re.sub(r"^(\[card_classes\..*\])$", rf"\1\n{more}", text, flags=re.MULTILINE))
    with pytest.raises(UserError, match=r"card_classes\.[a-z0-9-]+: expected bandwidth and command_latency"):
        load_board(str(path))


def test_what_fewer_commands_save_is_not_predicted() -> None:
    check_plain(CUBIE.card)
    with pytest.raises(UserError, match=r"is not predicted for Kingston 8 GB class 10 \(measured\)"):
        check_plain(KINGSTON)


def test_a_class_that_is_not_used_makes_no_other_board() -> None:
    fewer = msgspec.structs.replace(CUBIE, card_classes={"slow-sd": CUBIE.card})
    assert fewer != CUBIE and fewer.in_use() == CUBIE.in_use()
    assert CUBIE.in_use() != on(CUBIE, "kingston-c10").in_use()
    run = run_info()
    one, other = (msgspec.structs.replace(run, board=board) for board in (fewer, CUBIE))
    assert not [d for d in differences(one, other, {}) if "board" in d.what]

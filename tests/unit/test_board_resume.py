# SPDX-License-Identifier: Apache-2.0
"""Comparisons on a real board that are gone on with: cut off at every boot, and nothing measured twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from bootscope.boards.physical import Console, PowerSetting, RealBoard
from bootscope.boards.pins import Pins
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.buildtrees.model import Trial
from bootscope.buildtrees.products import Products
from bootscope.buildtrees.variants import Variant, Variants
from bootscope.buildtrees.workshop import BuildFailedError, Workshop
from bootscope.capture import record, tap
from bootscope.capture.measured import TAP
from bootscope.capture.record import BootEnd, BootInfo
from bootscope.capture.store import Store
from bootscope.hardware import measuring
from bootscope.hardware.measuring import Observer, Order
from bootscope.hardware.power import Commands
from bootscope.hardware.stop_conditions import End
from bootscope.search import board_bench
from bootscope.search.board_bench import BoardBench, Pair, SameImagesError, whole
from bootscope.search.board_memory import Memory
from bootscope.search.experiment import BaseFailedError
from bootscope.search.journal import BOARD as ON_BOARD
from bootscope.search.journal import Comparison, Journal

from . import tree_builders as trees
from .conftest import Command

SPEC = "uboot-bootdelay"
BOARD = RealBoard(name="desk", console=Console(port="/dev/x"), power=PowerSetting(on=("on",), off=("off",)))
PINS = Pins(port="/dev/pico")
ORDER = Order(BOARD, Commands(("on",), ("off",)), End(None, "login"), boots=4)


class Shop:
    """A workshop without work: what was built, in order, and what lies on the board."""

    keeps = deploys = True
    brings = None

    def __init__(self, variants: Variants, image: str = "plain", script: str = "first") -> None:
        self.variants, self.tree, self.image, self.script = variants, variants.tree, image, script
        self.built: list[str] = []
        self.breaks = self.alike = False

    def make(self, variant: Variant) -> Products:
        """The images of a variant."""
        self.built.append(variant.key)
        if self.breaks and variant.specs:
            raise BuildFailedError("it does not build", "/log", variant.key)
        scripts = {"./build.sh": self.script}
        return Products({"card": 1}, {"card": f"{self.image} {variant.words}"}, scripts=scripts)

    def same(self, one: Variant, other: Variant) -> bool:
        """Whether they are the same."""
        return self.alike

    def deploy(self, variant: Variant) -> float:
        """Puts it onto the board."""
        return 0.0


class Board:
    """Boots without a board: `plan` says for the n-th one, over all, how it ends."""

    def __init__(self) -> None:
        self.boots: list[str] = []
        self.plan: Callable[[int, str], str] = lambda number, run: "milestone"

    def boot(self, order: Order, run_id: str, run: Path, number: int, observer: object) -> BootInfo:
        """A boot, as it is stored; one that is cut off takes what measures with it."""
        folder = run / "boots" / f"{number:03}"
        folder.mkdir()
        (folder / TAP).write_bytes(tap.MAGIC)
        self.boots.append(run_id)
        ended = self.plan(len(self.boots), run_id)
        if ended == "killed":
            raise SystemExit
        info = BootInfo(
            boot_id=f"{run_id}/{number:03}",
            number=number,
            started="2026-11-22T10:00:00+00:00",
            ended=BootEnd(ended),
            message="",
            host_ms=1,
            stream_sha256="",
        )
        record.write_json(folder / record.BOOT, info)
        if ended == "interrupted":
            raise KeyboardInterrupt
        return info


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Board:
    """The board that all boots are made on."""
    made = Board()
    monkeypatch.setattr(measuring, "one_boot", made.boot)
    return made


@pytest.fixture
def bench(tmp_path: Path, board: Board) -> Callable[..., BoardBench]:
    """Makes benches that share store and tree, as searches do that come one after the other."""
    tree = import_tree("mine", trees.bare(tmp_path / "tree"), Wish(trial=Trial(products=("card",))))

    def make(
        resumed: bool = True,
        order: Order = ORDER,
        image: str = "plain",
        rounds: int | None = None,
        script: str = "first",
    ) -> BoardBench:
        store = Store(tmp_path / "store")
        memory = Memory(Journal(store.root, "mine" + ON_BOARD), store, tree, (rounds,), resumed)
        shop = cast(Workshop, Shop(Variants(tree, lambda name: (), {}), image, script))
        return BoardBench(store, shop, order, Observer(), rounds, memory=memory)

    return make


def compared(bench: BoardBench) -> Pair:
    """The comparison that all of it is about."""
    variants = bench.shop.variants
    return bench.pair(variants.base, variants.of([SPEC]))


def good(bench: BoardBench, run_id: str) -> int:
    """How many boots of a recording count."""
    return len(whole(bench.store.load_measured(run_id).boots))


@pytest.mark.parametrize(("how", "rounds"), [*itertools.product(("interrupted", "killed"), (None, 1, 3))])
def test_a_comparison_that_is_cut_off_anywhere_is_gone_on_with(
    bench: Callable[..., BoardBench], board: Board, how: str, rounds: int | None
) -> None:
    for at in range(1, 9):
        board.boots.clear()
        board.plan = lambda number, run, at=at: how if number == at else "milestone"  # type: ignore[misc]
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            compared(bench(resumed=at > 1, rounds=rounds, image=f"image {at}"))
        pair = compared(bench(rounds=rounds, image=f"image {at}"))
        assert len(board.boots) == 4 + 4 + 1, at
        ends = bench()
        assert (good(ends, pair.base_run), good(ends, pair.variant_run)) == (4, 4)
        assert set(board.boots) == {pair.base_run, pair.variant_run}
        assert pair.rounds == (rounds or 4)
        # Nothing is left to be measured.
        again = bench(rounds=rounds, image=f"image {at}")
        assert replace(compared(again), base=pair.base, variant=pair.variant) == pair
        assert (len(board.boots), again.measured) == (9, 0)


def test_turns_go_on_where_they_stopped(bench: Callable[..., BoardBench], board: Board) -> None:
    uncut = compared(bench(resumed=False))
    order = ["base" if run == uncut.base_run else "variant" for run in board.boots]
    board.boots.clear()
    board.plan = lambda number, run: "interrupted" if number == 4 else "milestone"
    with pytest.raises(KeyboardInterrupt):
        compared(bench(resumed=False))
    pair = compared(bench())
    boots = ["base" if run == pair.base_run else "variant" for run in board.boots]
    assert boots[:3] + boots[4:] == order
    assert boots[3] == order[3]


@pytest.mark.parametrize(
    "change",
    [
        {"order": replace(ORDER, boots=5)},
        {"order": replace(ORDER, end=End(None, "first-frame"))},
        {"order": replace(ORDER, end=replace(ORDER.end, timeout_ns=1))},
        {"order": replace(ORDER, board=RealBoard(name="desk", console=Console(port="/dev/y")))},
        {"order": replace(ORDER, board=RealBoard(name="desk", console=BOARD.console, pins=PINS))},
        {"image": "another"},
        {"rounds": 2},
        {"script": "repaired"},
    ],
)
def test_what_was_measured_otherwise_does_not_count(
    bench: Callable[..., BoardBench], board: Board, change: dict[str, Any]
) -> None:
    compared(bench())
    made = len(board.boots)
    other = bench(**change)
    assert other.forgot == ("image" in change)
    assert compared(other).base_run not in board.boots[:made]
    assert len(board.boots) > made
    assert compared(bench()).base_run == board.boots[0]


def test_a_recording_that_is_gone_does_not_count(bench: Callable[..., BoardBench], board: Board) -> None:
    first = compared(bench())
    bench().store.remove(first.variant_run)
    again = compared(bench())
    assert len(board.boots) == 16
    assert again.base_run != first.base_run


def test_without_resuming_everything_is_measured(bench: Callable[..., BoardBench], board: Board) -> None:
    compared(bench(resumed=False))
    compared(bench(resumed=False))
    assert len(board.boots) == 16


def test_a_first_boot_is_found_again(bench: Callable[..., BoardBench], board: Board) -> None:
    ids = [made.once(made.shop.variants.base) for made in (bench() for _ in range(2))]
    assert ids[0] == ids[1]
    assert len(board.boots) == 1


def test_what_does_not_boot_is_remembered(bench: Callable[..., BoardBench], board: Board) -> None:
    board.plan = lambda number, run: "panic" if run.partition(".try")[1] else "milestone"
    first = compared(bench())
    assert "did not boot, twice" in first.faults[0]
    made = len(board.boots)
    assert compared(bench()).faults == first.faults
    assert len(board.boots) == made


def test_a_system_that_did_not_boot_itself_is_begun_anew(
    bench: Callable[..., BoardBench], board: Board
) -> None:
    board.plan = lambda number, run: "panic"
    with pytest.raises(BaseFailedError):
        compared(bench())
    failed = set(board.boots)
    board.plan = lambda number, run: "milestone"
    pair = compared(bench())
    assert not failed & {pair.base_run, pair.variant_run}


def test_what_was_not_built_is_not_built_again(bench: Callable[..., BoardBench], board: Board) -> None:
    for breaks in (True, False):
        made = bench()
        cast(Any, made.shop).breaks = breaks
        with pytest.raises(BuildFailedError) as failed:
            compared(made)
        assert (failed.value.message, failed.value.log) == ("it does not build", "/log")
        assert failed.value.key == made.shop.variants.of([SPEC]).key
    assert set(cast(Any, made.shop).built) == {"base"}


def test_images_that_were_the_same_are_compared_again(bench: Callable[..., BoardBench], board: Board) -> None:
    for _ in range(2):
        made = bench()
        cast(Any, made.shop).alike = True
        with pytest.raises(SameImagesError, match="the same, byte by byte"):
            compared(made)
    assert not board.boots
    # The build has been repaired, in a file that its command does not name.
    pair = compared(bench())
    assert len(board.boots) == 8
    assert compared(bench()).variant_run == pair.variant_run
    assert len(board.boots) == 8


def test_the_owners_check_is_asked_once_of_each(
    bench: Callable[..., BoardBench], board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refused(check: str, words: object, path: Path, names: dict[str, str]) -> tuple[str, ...]:
        asked.append(names["BOOTSCOPE_VARIANT"])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return ()

    monkeypatch.setattr(board_bench, "refused", refused)
    with pytest.raises(KeyboardInterrupt):
        compared(replace(bench(), works=("true",)))
    pair = compared(replace(bench(), works=("true",)))
    key = bench().shop.variants.of([SPEC]).key
    assert asked == ["base", key, key]
    # To be asked again, the variant is booted; that boot counts as one of those that were to come.
    assert (good(bench(), pair.base_run), good(bench(), pair.variant_run)) == (4, 4)


def test_lines_of_a_damaged_journal_count_for_nothing(
    bench: Callable[..., BoardBench], board: Board, tmp_path: Path
) -> None:
    compared(bench())
    path = tmp_path / "store/searches/mine.board.jsonl"
    path.write_bytes(b'{"kind":"compared","at"\n\xff\n{"schema":9,"kind":"begun","at":"","options":{}}\n')
    assert Journal(tmp_path / "store", "mine" + ON_BOARD).options is None
    compared(bench())
    assert len(board.boots) == 16


def test_the_journal_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Journals of boards had no `code` once."""
    path = tmp_path / "searches" / "mine.board.jsonl"
    path.parent.mkdir()
    path.write_text(
        '{"kind":"begun","at":"2026-01-01T00:00:00+00:00","options":{"n":4}}\n'
        '{"kind":"compared","at":"2026-01-01T00:01:00+00:00","comparison":{"key":"k","system":"s"}}\n'
        '{"kind":"compared","at":"2026-01-01T00:02:00+00:00","comparison":'
        '{"key":"k","system":"s","runs":{"a":"run"},"over":true,"rounds":4,"deploy_s":1.5,"sizes":{"x":[1,2]}}}\n'
    )
    found = Journal(tmp_path, "mine" + ON_BOARD)
    assert found.options == {"n": 4}
    sizes = {"x": (1, 2)}
    assert found.comparisons == {
        "k": Comparison("k", "s", {"a": "run"}, over=True, rounds=4, deploy_s=1.5, sizes=sizes)
    }


@pytest.mark.parametrize("json", [False, True])
def test_a_recording_that_is_cut_off_is_named(
    main_here: Command, board: Board, tmp_path: Path, json: bool
) -> None:
    (tmp_path / "desk.toml").write_text("[console]\nport = '/dev/null'\n")
    board.plan = lambda number, run: "interrupted" if number == 3 else "milestone"
    done = main_here("record", "--board", "desk.toml", "-n", "500", *["--json"] * json)
    assert (done.returncode, done.stdout) == (130, "")
    (run_id,) = set(board.boots)
    kept = f"kept as {run_id}: 2 of 3 boots; bootscope show {run_id}\n"
    assert done.stderr.endswith(f"{kept}bootscope: interrupted\n")


def test_a_recording_that_is_cut_off_before_its_first_boot_is_not_named(
    main_here: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(*_: object) -> BootInfo:
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "one_boot", stopped)
    (tmp_path / "desk.toml").write_text("[console]\nport = '/dev/null'\n")
    done = main_here("record", "--board", "desk.toml", "-n", "500")
    assert done.returncode == 130
    assert "kept as" not in done.stderr

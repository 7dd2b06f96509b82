# SPDX-License-Identifier: Apache-2.0
"""Core profiles: what is in them, what is refused, and what counts come to on a core."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from bootscope.boards.profile import load_board
from bootscope.core.errors import UserError
from bootscope.cores.counts import NONE, Count
from bootscope.cores.price import PARTS, price
from bootscope.cores.profile import core_dir, core_names, load_core, without_second
from bootscope.emulator import timing_pass

A8 = (core_dir() / "cortex-a8.toml").read_text()


@pytest.mark.parametrize("name", core_names())
def test_every_profile_is_whole(name: str) -> None:
    core = load_core(name)
    assert core.name == name
    assert price(core).instruction_ps > 0
    assert {"code", "data", "data-tlb", "branches"} <= core.geometry.keys()


def changed(tmp_path: Path, old: str, new: str) -> str:
    """A copy of the Cortex-A8's profile with one line changed; returns its path."""
    assert len(re.findall(old, A8, re.MULTILINE)) >= 1
    path = tmp_path / "mine.toml"
    path.write_text(re.sub(old, new, A8, count=1, flags=re.MULTILINE))
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            r"ways = \{ value = 4, source = .*\}",
            "ways = { value = 4 }",
            "caches.code.ways: missing value for `source`",
        ),
        (
            r"ways = \{ value = 4, source = .*\}",
            'ways = { value = 4, source = " " }',
            "caches.code.ways.source",
        ),
        (
            r"value = 32_768",
            "value = 32_000",
            "caches.code.size_bytes.value: expected 4 ways of a power of 2",
        ),
        (r"value = 64,", "value = 48,", "caches.code.line_bytes.value: expected a power of 2"),
        (r'"random"', '"newest"', "caches.code.policy.value: expected one of lru, random, round-robin"),
        (r"entries = \{ value = 32", "entries = { value = 33", "tlb.code.entries.value"),
        (r"value = 4096", "value = 4000", "branches.counters.value: expected a power of 2"),
        (r"value = 262_144", "value = 16_384", "caches.second.size_bytes.value: expected no less"),
        (r"value = 1_000_000_000", "value = 0", "costs.clock_hz.value: expected a number above 0"),
        (r"read_ns = \{ value = 184", "read_ns = { value = -1", "costs.read_ns.value: expected 0 or more"),
        (r"^second_hit_cycles.*\n", "", "costs: expected second_hit_cycles"),
        (r'architecture = "arm"', 'architecture = "vax"', "architecture: expected one of"),
        (
            r"load_bytes = \{ value = 16",
            "load_bytes = { value = 12",
            "unaligned.load_bytes.value: expected 0, or",
        ),
        (r"schema = 1", "schema = 2", "schema: expected 1, got 2"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        load_core(changed(tmp_path, old, new))
    assert said in error.value.message


def test_a_profile_without_any_one_source_is_refused(tmp_path: Path) -> None:
    for number in range(A8.count(", source =")):
        path, at = tmp_path / "mine.toml", -1
        for _ in range(number + 1):
            at = A8.index(", source =", at + 1)
        path.write_text(A8[:at] + A8[A8.index(" }", at) :])
        with pytest.raises(UserError) as error:
            load_core(str(path))
        assert "source" in error.value.message


def test_damaged_profiles_end_in_words(tmp_path: Path) -> None:
    drawn = random.Random(7)
    path = tmp_path / "mine.toml"
    for _ in range(400):
        text = list(A8)
        for _ in range(drawn.randrange(1, 4)):
            at = drawn.randrange(len(text))
            text[at] = drawn.choice(["", "9", '"', "-", "[", "}", "\n", "x", "\0", text[at] * 3])
        path.write_text("".join(text))
        try:
            price(load_core(str(path)))
        except UserError as error:
            assert str(path) in error.message


def test_parts_add_up_to_waiting_for_memory() -> None:
    drawn = random.Random(3)
    for name in core_names():
        prices = price(load_core(name))
        counts = tuple(drawn.randrange(1000) for _ in Count)
        assert sum(prices.part_ps(counts, part) for part in PARTS) == prices.memory_ps(counts)
        assert prices.memory_ps(NONE) == prices.more_ps(NONE) == 0


def test_classes_and_split_accesses_are_part_of_issuing() -> None:
    a8, nine = price(load_core("cortex-a8")), price(load_core("arm926ej-s"))
    kinds = (Count.SPLIT_STORE, Count.LOAD_USE, Count.NARROW_USE, Count.SCALED, Count.MORE_REGISTERS)
    counts = tuple(1000 if kind in kinds else 0 for kind in Count)
    assert a8.memory_ps(counts) == nine.memory_ps(counts) == 0
    # 8 cycles of 1 ns for each store on one, 1 cycle of 5 ns for each of the others on the other.
    assert a8.more_ps(counts) == 1000 * 8 * 1000 and nine.more_ps(counts) == 4 * 1000 * 5000


def test_counts_of_other_boundaries_are_not_taken_for_these(tmp_path: Path) -> None:
    other = load_core(changed(tmp_path, r"load_bytes = \{ value = 16", "load_bytes = { value = 32"))
    assert other.geometry_id != load_core("cortex-a8").geometry_id
    assert load_core("cortex-a8").geometry["split"] == [16, 8]


def test_a_core_that_heeds_no_page_tables_has_counts_of_its_own(tmp_path: Path) -> None:
    line = '[caches.page_hints]\nvalue = false\nsource = "here"\n\n[caches.code]'
    own = load_core(changed(tmp_path, r"^\[caches.code\]", line))
    plain, board = load_core("cortex-a8"), load_board("cubieboard")
    assert plain.caches.heeds_pages and not own.caches.heeds_pages
    assert own.geometry_id != plain.geometry_id
    told = [timing_pass.lines(board, core, tmp_path / "x", [], []) for core in (plain, own)]
    assert timing_pass.FLAT_PASSES in told[0] and timing_pass.FLAT_PASSES not in told[1]
    assert [line for line in told[0] if line != timing_pass.FLAT_PASSES] == told[1]


def test_l2_can_be_left_out() -> None:
    core = load_core("cortex-a8")
    without = without_second(core)
    assert "second" in core.geometry and "second" not in without.geometry
    assert core.geometry_id != without.geometry_id
    assert price(without).event_ps[Count.LOAD_L2] == 0 < price(core).event_ps[Count.LOAD_L2]

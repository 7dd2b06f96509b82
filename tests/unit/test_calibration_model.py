# SPDX-License-Identifier: Apache-2.0
"""Console lines of an emulated boot on boards of other rates, and which of them are those of real boots."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.calibration.model import EmulatedBoot
from bootscope.calibration.rates import Rates, rates_of
from bootscope.calibration.stretches import key_of, matched
from bootscope.capture.stream import Idle, Record, Sample
from bootscope.timeline.build import timeline_of

from .builders import card_read, hook, run_info, typed
from .real_boards import heard, profile

DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), st.text("ab\n", min_size=1, max_size=30)),
        st.tuples(st.just("read"), st.integers(1, 64)),
        st.tuples(st.just("work"), st.integers(0, 20_000_000)),
        st.tuples(st.just("sleep"), st.integers(0, 5_000_000)),
        st.tuples(st.just("wait"), st.integers(0, 5_000_000)),
    ),
    max_size=25,
)


def boot_of(deeds: list[tuple[str, object]]) -> list[Record]:
    """The stream of a boot that does all that, one after the other."""
    now, records = 0, list[Record]()
    for kind, what in deeds:
        now += 1_000
        if kind == "text":
            found = typed(str(what).encode(), now, 500)
        elif kind == "read":
            found = card_read(now, 2048, int(str(what)) * 512)
        else:
            took = int(str(what))
            begin: list[Record] = [hook(now, "delay", 0, 0)] if kind == "wait" else []
            now += took
            end = {"work": Sample(now, 0), "sleep": Idle(now, took), "wait": hook(now, "delay.end", 0)}
            found = [*begin, end[kind]]
        records += found
        now = records[-1].time_ns
    return records


@settings(max_examples=60)
@given(
    DEEDS,
    st.integers(1_000_000, 10**9),
    st.integers(0, 2_000_000),
    st.integers(100_000, 5_000_000),
    st.integers(5, 900),
)
def test_lines_come_when_the_cost_model_has_them_on_any_board(
    deeds: list[tuple[str, object]], bandwidth: int, latency_ns: int, cpu_ppm: int, line_percent: int
) -> None:
    run, records = run_info(), boot_of(deeds)
    board = profile(bandwidth, latency_ns, cpu_ppm, line_percent)
    emulated = EmulatedBoot(records, timeline_of("x", records, run))
    line = run.board.devices["uart0"].default_baud.value / board.devices["uart0"].default_baud.value  # type: ignore[union-attr]
    rates = rates_of(board)._replace(line=line)
    expected, text = [], b""
    for at_ns, value in heard(records, run, board):
        text += bytes([value])
        expected.append((at_ns - board.power_on_ns.value, text))
        text = b"" if value == 0x0A else text
    firsts = [at for at, data in expected if len(data) == 1]
    lasts = [(at, data) for n, (at, data) in enumerate(expected)
             if data.endswith(b"\n") or n + 1 == len(expected)]  # fmt: skip
    found = emulated.lines(rates)
    assert [line.data for line in found] == [data.strip(b"\r\n") for _, data in lasts]
    # A byte takes whole ns, which at the lower rate are 20 times as many.
    slack = 25 * (1 + len(records))
    assert [line.first.at(rates) for line in found] == pytest.approx(firsts, abs=slack)
    assert [line.last.at(rates) for line in found] == pytest.approx([at for at, _ in lasts], abs=slack)


def test_a_moment_is_the_sum_of_what_went_by() -> None:
    deeds = [
        ("read", 8),
        ("sleep", 3_000_000),
        ("work", 7_000_000),
        ("wait", 2_000_000),
        ("text", "aa\nbb\n"),
    ]
    records = boot_of(deeds)
    made = timeline_of("x", records, run_info())
    first = EmulatedBoot(records, made).lines(rates_of(profile()))[0].first
    assert (first.commands, first.size_bytes, first.steady_ns) == (1, 4096, 5_000_000)
    assert first.line_ns == made.events[-1].byte_ns  # type: ignore[attr-defined]
    assert first.cpu_ns == records[-6].time_ns - 5_000_000
    assert first.at(Rates(2, 10, 1, 3)) == 2 * first.cpu_ns + 10 + 4096 + 3 * first.line_ns + 5_000_000


@pytest.mark.parametrize(("a", "b"), [
    ("[    0.123456] clk: 24 MHz, 512 KiB", "[   17.000001] clk: 25 MHz, 1024 KiB"),
    ("\x1b[1;31mStarting network\x1b[0m", "Starting   network"),
    ("Memory at 0x4a000000", "Memory at 0x7c00beef"),
    ("eth0 has address 02:8b:00:ab:cd:ef", "eth0 has address 02:8b:00:12:34:56"),
])  # fmt: skip
def test_lines_are_the_same_whatever_their_numbers_are(a: str, b: str) -> None:
    assert key_of(a) == key_of(b) != ""


@pytest.mark.parametrize("text", ["", "=> ", "....", "[    0.000000] ", "12:34 ok", "\x1b[2J"])
def test_lines_that_say_too_little_are_none(text: str) -> None:
    assert key_of(text) == ""


def test_lines_that_come_again_are_told_apart_by_their_number_if_both_have_as_many() -> None:
    assert matched(["probe", "x", "probe"], ["probe", "probe"]) == [(0, 0), (2, 1)]
    assert matched(["probe", "done", "probe"], ["probe", "done"]) == [(1, 1)]


def test_what_comes_in_another_order_is_not_the_same_moment() -> None:
    found = matched(["one", "two", "three", "four"], ["one", "three", "four", "two"])
    assert found == [(0, 0), (2, 1), (3, 2)]


KEYS = st.lists(st.sampled_from(["", "one", "two", "three", "four"]), max_size=30)


@given(KEYS, KEYS)
def test_pairs_are_the_same_lines_in_the_same_order(a: list[str], b: list[str]) -> None:
    pairs = matched(a, b)
    assert all(a[x] == b[y] != "" for x, y in pairs)
    for (x, y), (other_x, other_y) in pairwise(pairs):
        assert x < other_x
        assert y < other_y


@given(KEYS)
def test_a_boot_matches_itself(a: list[str]) -> None:
    assert matched(a, a) == [(n, n) for n, key in enumerate(a) if key]


@given(st.text())
def test_any_text_has_a_key(text: str) -> None:
    assert all(c.isprintable() or c.isspace() or c not in "\x1b\n\x00" for c in key_of(text))

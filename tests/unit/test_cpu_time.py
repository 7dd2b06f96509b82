# SPDX-License-Identifier: Apache-2.0
"""A board whose CPU is faster or slower than the emulator's: what is scaled, and what is not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.boards.profile import Board, board_dir, load_board, to_json
from bootscope.capture.store import Store
from bootscope.capture.stream import Idle, Record, Sample, body
from bootscope.core.errors import UserError
from bootscope.timeline.build import timeline
from bootscope.timeline.cpu_time import at_cpu_speed
from bootscope.timeline.live import Live
from tests.fixtures import stock_boot

from .builders import BOOT, hook, run_info
from .real_boards import profile

TWICE = 2_000_000


def at(records: list[Record], ppm: int) -> list[int]:
    return [r.time_ns for r in at_cpu_speed(records, run_info(on=profile(cpu_ppm=ppm)))]


def test_a_board_that_scales_nothing_has_the_very_same_records() -> None:
    assert at_cpu_speed(BOOT, run_info()) is BOOT


def test_work_takes_longer_and_sleep_does_not() -> None:
    records: list[Record] = [Sample(1_000, 0), Idle(6_000, 4_000), Sample(7_000, 0)]
    assert at(records, TWICE) == [2_000, 8_000, 10_000]
    slept = at_cpu_speed(records, run_info(on=profile(cpu_ppm=TWICE)))[1]
    assert isinstance(slept, Idle)
    assert slept.duration_ns == 4_000


@pytest.mark.parametrize("kind", ["delay", "spl.delay", "uboot.delay"])
def test_loops_that_wait_for_a_clock_take_what_they_took(kind: str) -> None:
    records: list[Record] = [hook(1_000, kind, 0, 0), Sample(3_000, 0), hook(5_000, f"{kind}.end", 0)]
    assert at([*records, Sample(6_000, 0)], TWICE) == [2_000, 4_000, 6_000, 8_000]


def test_a_wait_whose_end_was_not_seen_ends_with_the_next_task_or_program() -> None:
    for name in ("switch", "kernel.start", "uboot.start"):
        records: list[Record] = [hook(1_000, "delay", 0, 0), hook(2_000, name), Sample(3_000, 0)]
        assert at(records, TWICE) == [2_000, 3_000, 5_000]


STEPS = st.lists(
    st.tuples(st.integers(0, 10**7), st.sampled_from(("work", "sleep", "wait", "end"))), max_size=40
)


@given(STEPS, st.integers(1, 10**8))
def test_time_never_goes_back_and_is_the_sum_of_its_kinds(steps: list[tuple[int, str]], ppm: int) -> None:
    now, waiting, work, rest = 0, False, 0, 0
    records: list[Record] = []
    for took, kind in steps:
        now += took
        steady = waiting or kind == "sleep"
        work, rest = (work, rest + took) if steady else (work + took, rest)
        if kind == "sleep":
            records.append(Idle(now, took))
        elif kind == "work":
            records.append(Sample(now, 0))
        else:
            records.append(hook(now, "delay" if kind == "wait" else "delay.end", 0, 0))
            waiting = kind == "wait"
    found = at(records, ppm)
    assert found == sorted(found)
    if found:
        assert found[-1] == rest + work * ppm // 1_000_000


def test_what_is_told_while_it_runs_is_what_is_shown_afterwards(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.load(stock_boot.unpack(store))
    records = run.boots[0].records()
    board = profile(cpu_ppm=1_300_000)
    info = msgspec.structs.replace(run.info, board=board)
    live = Live(info, lambda *_: None)
    live.feed(body((run.boots[0].path / "stream.bin").read_bytes()))
    assert live.now_ns == timeline("boot", records, info).total_ns
    plain = timeline("boot", records, run.info)
    scaled = timeline("boot", records, run.info, board)
    assert scaled == timeline("boot", records, info)
    assert scaled.total_ns > plain.total_ns
    for before, after in zip(plain.phases, scaled.phases, strict=True):
        assert after.idle_ns == before.idle_ns
        assert after.storage_ns == before.storage_ns
        assert abs(after.cpu_ns - before.cpu_ns * 1.3) <= 2
        assert after.duration_ns == sum(
            (after.cpu_ns, after.idle_ns, after.storage_ns, after.console_ns, after.fixed_ns)
        )


def test_a_profile_may_say_it_and_must_not_say_nonsense(tmp_path: Path) -> None:
    text = (board_dir() / "cubieboard.toml").read_text()
    file = tmp_path / "b.toml"
    said = 'cpu_scale_ppm = {{ value = {}, source = "x" }}\n[power_on_ns]'
    file.write_text(text.replace("[power_on_ns]", said.format(1_500_000)))
    assert load_board(str(file)).cpu_scale_ppm.value == 1_500_000
    file.write_text(text.replace("[power_on_ns]", said.format(0)))
    with pytest.raises(UserError, match=r"cpu_scale_ppm\.value: expected a number above 0"):
        load_board(str(file))


def test_boards_that_do_not_scale_are_written_as_they_always_were() -> None:
    plain = load_board("cubieboard")
    assert b"cpu_scale" not in to_json(plain)
    assert msgspec.json.decode(to_json(plain), type=Board) == plain
    scaled = profile(cpu_ppm=3)
    assert msgspec.json.decode(to_json(scaled), type=Board) == scaled

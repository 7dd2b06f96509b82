# SPDX-License-Identifier: Apache-2.0
"""Phases tile a boot exactly, and their parts add up to them exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.stream import Idle, Record, Sample
from bootscope.loaders.uboot import UBOOT
from bootscope.timeline.build import timeline
from bootscope.timeline.model import Phase, Timeline

from .builders import (
    BYTE_NS,
    HOOK_NAMES,
    KERNEL_SECTOR,
    KERNEL_SECTORS,
    POWER_ON_NS,
    board,
    card_read,
    hook,
    run_info,
    typed,
)

LATENCY_NS = 500_000


def understand(records: list[Record]) -> Timeline:
    """The timeline of a boot with a card of 1 byte a nanosecond."""
    return timeline("x/001", records, run_info(on=board(1_000_000_000, LATENCY_NS)))


def names(records: list[Record]) -> list[str]:
    return [phase.name for phase in understand(records).phases]


def by_name(records: list[Record]) -> dict[str, Phase]:
    return {phase.name: phase for phase in understand(records).phases}


def whole_boot() -> list[Record]:
    """A boot in small: every phase, one cost of each kind, one sleep."""
    return [
        hook(0, "spl.start"),
        *typed(b"U-Boot SPL 2025.01\r\n", 1_000),
        hook(10_000, "uboot.start"),
        *card_read(20_000, 2048, 512),
        *card_read(30_000, KERNEL_SECTOR, 10_000),
        hook(40_000, "kernel.image"),
        hook(50_000, "kernel.start"),
        Idle(65_000, 5_000),
        hook(70_000, "kernel.init", text=b"/sbin/init"),
        hook(80_000, "application.start", text=b"testcard"),
        Sample(90_000, 0x8000),
    ]


def assert_exact(tl: Timeline) -> None:
    at_ns = 0
    for phase in tl.phases:
        assert phase.start_ns == at_ns
        parts = (phase.cpu_ns, phase.storage_ns, phase.console_ns, phase.idle_ns, phase.fixed_ns)
        assert sum(parts) == phase.duration_ns
        assert min(parts) >= 0
        at_ns = phase.end_ns
    assert at_ns == tl.total_ns


def test_a_whole_boot_has_every_phase_in_order() -> None:
    assert names(whole_boot()) == list(UBOOT.phases)
    assert_exact(understand(whole_boot()))


def test_every_part_of_a_whole_boot_is_the_one_put_in() -> None:
    found = by_name(whole_boot())
    split = {n: (p.cpu_ns, p.storage_ns, p.console_ns, p.idle_ns, p.fixed_ns) for n, p in found.items()}
    assert split == {
        "rom": (0, 0, 0, 0, POWER_ON_NS),
        "spl": (10_000, 0, 4 * BYTE_NS, 0, 0),
        "bootloader": (20_000, LATENCY_NS + 512, 0, 0, 0),
        "load": (10_000, LATENCY_NS + 10_000, 0, 0, 0),
        "decompress": (10_000, 0, 0, 0, 0),
        "kernel": (15_000, 0, 0, 5_000, 0),
        "init": (10_000, 0, 0, 0, 0),
        "application": (10_000, 0, 0, 0, 0),
    }


def test_nothing_recorded_is_the_rom_alone() -> None:
    tl = understand([])
    assert [phase.name for phase in tl.phases] == ["rom"]
    assert tl.total_ns == POWER_ON_NS
    assert_exact(tl)


@pytest.mark.parametrize(
    "missing", ["uboot.start", "kernel.image", "kernel.start", "kernel.init", "application.start"]
)
def test_a_boundary_that_is_missing_is_left_out(missing: str) -> None:
    number = HOOK_NAMES.index(missing) + 1
    kept = [record for record in whole_boot() if getattr(record, "hook", 0) != number]
    found = names(kept)
    assert len(found) == len(UBOOT.phases) - 1
    assert found == [name for name in UBOOT.phases if name in found]
    assert_exact(understand(kept))


def test_without_a_read_of_the_kernel_there_is_no_load() -> None:
    records = [hook(0, "uboot.start"), *card_read(1, 2048, 512), hook(10, "kernel.start")]
    assert names(records) == ["rom", "spl", "bootloader", "kernel"]


@pytest.mark.parametrize(
    ("sector", "size_bytes", "loads"),
    [
        (KERNEL_SECTOR - 1, 512, False),
        (KERNEL_SECTOR - 1, 513, True),
        (KERNEL_SECTOR, 512, True),
        (KERNEL_SECTOR + KERNEL_SECTORS - 1, 512, True),
        (KERNEL_SECTOR + KERNEL_SECTORS, 512, False),
    ],
)
def test_load_begins_with_the_first_read_that_touches_the_kernel(
    sector: int, size_bytes: int, loads: bool
) -> None:
    records = [hook(0, "uboot.start"), *card_read(1, sector, size_bytes)]
    assert ("load" in names(records)) == loads


def test_a_start_before_that_of_an_earlier_phase_is_left_out() -> None:
    records: list[Record] = [
        hook(0, "kernel.init"),
        hook(10, "uboot.start"),
        hook(20, "kernel.start"),
        Sample(30, 0),
    ]
    assert names(records) == ["rom", "spl", "bootloader", "kernel"]
    assert_exact(understand(records))


def test_the_first_of_several_arrivals_counts() -> None:
    records: list[Record] = [Sample(0, 0), hook(100, "uboot.start"), hook(200, "uboot.start"), Sample(300, 0)]
    assert by_name(records)["bootloader"].start_ns == POWER_ON_NS + 100


def test_idle_time_that_straddles_a_boundary_is_cut_there() -> None:
    found = by_name([hook(1_000, "uboot.start"), Idle(3_000, 2_500), Sample(3_000, 0)])
    assert (found["spl"].idle_ns, found["spl"].cpu_ns) == (500, 500)
    assert (found["bootloader"].idle_ns, found["bootloader"].cpu_ns) == (2_000, 0)


def test_the_cost_of_a_boundary_belongs_to_the_phase_that_it_begins() -> None:
    found = by_name([hook(0, "uboot.start"), *card_read(0, KERNEL_SECTOR, 512)])
    assert found["bootloader"].storage_ns == 0
    assert found["load"].storage_ns == LATENCY_NS + 512


STEPS = st.one_of(
    st.sampled_from(HOOK_NAMES).map(lambda name: lambda at: [hook(at, name, 1, text=b"x")]),
    st.binary(min_size=1, max_size=40).map(lambda text: lambda at: typed(text, at)),
    st.tuples(st.sampled_from([2048, KERNEL_SECTOR]), st.integers(0, 100_000)).map(
        lambda read: lambda at: card_read(at, *read)
    ),
    st.just(lambda at: [Sample(at, 0x8000)]),
)


@given(st.lists(st.tuples(st.integers(0, 200_000), st.integers(0, 200_000), STEPS), max_size=25))
def test_any_boot_adds_up_exactly(steps: list) -> None:  # type: ignore[type-arg]
    """Each step: so much work, then so much sleep, then something happens."""
    records: list[Record] = []
    now_ns = 0
    for work_ns, sleep_ns, step in steps:
        now_ns += work_ns + sleep_ns
        if sleep_ns:
            records.append(Idle(now_ns, sleep_ns))
        records += step(now_ns)
    tl = understand(records)
    assert_exact(tl)
    assert tl.total_ns == POWER_ON_NS + now_ns + sum(p.storage_ns + p.console_ns for p in tl.phases)


def test_milestones_are_the_starts_of_phases_and_come_in_order() -> None:
    tl = understand(whole_boot())
    starts = {phase.name: phase.start_ns for phase in tl.phases}
    assert list(tl.milestones) == ["spl", "bootloader", "kernel-entry", "init", "application"]
    assert tl.milestones["kernel-entry"] == starts["kernel"]

# SPDX-License-Identifier: Apache-2.0
"""Stamps of TF-A and coreboot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Source
from bootscope.readers.formats import bootstage, cbmem, firmware_lines, pmf
from bootscope.timeline.trace import Span

from .fuzzing import damaged, read, source, survives

(PMF,) = pmf.READERS
(CBMEM,) = cbmem.READERS
HZ = "62500000"


def test_stamps_are_times_once_the_rate_is_known() -> None:
    reading = read(PMF, "pmf", "lines.txt", cntfrq_hz=HZ)
    (boot,) = reading.boots
    assert reading.missed == [] and reading.questions == []
    assert boot.clock.counter_id == "arm-generic" and boot.clock.resolution_ns == 16
    # ticks of 16 ns
    assert boot.tracks[0].spans == (
        Span(839_178 * 16, 1_759_159 * 16, "BL1"),
        Span(891_275 * 16, 1_733_893 * 16, "BL1: authentication"),
        Span(1_870_843 * 16, 6_689_672 * 16, "BL2"),
        Span(2_452_631 * 16, 6_680_127 * 16, "BL2: authentication"),
        Span(7_155_976 * 16, 7_287_533 * 16, "BL31"),
    )
    assert boot.points[0].name == "TF-A: BL1 entry"


def test_without_the_rate_it_is_asked_for() -> None:
    reading = read(PMF, "pmf", "lines.txt")
    assert "cntfrq_hz" in reading.questions[0] and reading.boots[0].clock.name == "none"


def test_stamps_of_tf_a_and_u_boot_are_on_one_counter() -> None:
    """U-Boot's first mark comes 1.4 ms after BL31 has left: two readers, one clock."""
    console = source("pmf", "console.txt")
    assert PMF.sure(console) >= 14
    left = read(PMF, "pmf", "console.txt", cntfrq_hz=HZ).boots[0].points[-1]
    stages = bootstage.READERS[0].read(console, Options(values={"counter_id": "arm-generic"})).boots[0]
    entered = next(p for p in stages.points if p.name == "board_init_f")
    assert left.name == "TF-A: BL31 exit"
    assert 0 < entered.at_ns - left.at_ns < 2_000_000


def test_coreboots_stages() -> None:
    for name in ("t.txt", "T.txt"):
        assert CBMEM.sure(source("cbmem", name)) >= 90
        reading = read(CBMEM, "cbmem", name)
        assert reading.missed == []
        (boot,) = reading.boots
        assert [(p.name, p.at_ns) for p in boot.points[:2]] == [
            ("1st timestamp", 2_229_000), ("start of bootblock", 64_231_000),
        ]  # fmt: skip
        assert boot.tracks[0].spans[-1].end_ns == 450_230_000
    assert len(boot.points) == 22  # coreboot adds its own start


def test_coreboots_nested_stages_have_their_own_time() -> None:
    (boot,) = read(CBMEM, "cbmem", "S.txt").boots
    own = {stack.frames: stack.ns for stack in boot.stacks}
    outer = "TS_ROMSTAGE_START -> TS_ROMSTAGE_END"
    assert own[outer, "TS_INITRAM_START -> TS_INITRAM_END"] == 48_365_000
    assert own[outer,] == (48_710 - 48_365) * 1_000


def test_the_first_cbmem_knew_no_names() -> None:
    text = b"3 entries total:\n\n   1:62,324\n   2:62,327 (3)\n  10:1,062,400 (1,000,073)\n"
    assert CBMEM.sure(Source("x", text)) >= 60
    (boot,) = CBMEM.read(Source("x", text), Options()).boots
    assert [(p.name, p.at_ns) for p in boot.points] == [
        ("id 1", 62_324_000), ("id 2", 62_327_000), ("id 10", 1_062_400_000),
    ]  # fmt: skip


def test_something_else_is_refused() -> None:
    for reader in (PMF, CBMEM):
        assert reader.sure(Source("x", b"hello\n")) == 0
        with pytest.raises(UserError, match="line 1"):
            reader.read(Source("x", b"hello\n"), Options())


ALL = b"".join(source("cbmem", name).data for name in ("t.txt", "T.txt", "S.txt"))


@settings(max_examples=60, deadline=None)
@given(st.one_of(damaged(ALL), damaged(source("pmf", "console.txt").data), st.binary(max_size=200)))
def test_damage_is_survived(data: bytes) -> None:
    survives(PMF, data)
    survives(CBMEM, data)


def test_stages_that_firmware_prints_as_lines() -> None:
    slim, tracker = firmware_lines.READERS
    assert slim.sure(source("firmware_lines", "slim.txt")) >= 90
    assert tracker.sure(source("firmware_lines", "tracker.txt")) >= 90
    (boot,) = read(slim, "firmware_lines", "slim.txt").boots
    assert [(p.at_ns, p.name) for p in boot.points][-1] == (355_000_000, "Switch to payload")
    reading = read(tracker, "firmware_lines", "tracker.txt")
    assert reading.missed == []
    assert [(s.name, s.duration_ns) for s in reading.boots[0].tracks[0].spans] == [
        ("start_kernel to kernel_init", 1_203_344_000)
    ]


LINES = source("firmware_lines", "slim.txt").data + source("firmware_lines", "tracker.txt").data


@settings(max_examples=40, deadline=None)
@given(damaged(LINES))
def test_damaged_lines_are_survived(data: bytes) -> None:
    for reader in firmware_lines.READERS:
        survives(reader, data)

# SPDX-License-Identifier: Apache-2.0
"""ACPI's FPDT: the files that Linux makes of it, and the table itself."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.formats import acpi_fpdt
from bootscope.timeline.trace import Span

from .fuzzing import check, damaged, read, source, survives
from .unpacked import damaged_members, read_unpacked, survives_archive, unpacked

(FPDT,) = acpi_fpdt.READERS
TIMES = (81_234_567, 3_456_789_012, 3_512_345_678, 4_601_002_003, 4_623_004_005)
PHASES = (
    Span(TIMES[0], TIMES[1], "firmware"),
    Span(TIMES[1], TIMES[2], "load the boot loader"),
    Span(TIMES[2], TIMES[3], "loader"),
    Span(TIMES[3], TIMES[4], "ExitBootServices"),
)


def table(times: tuple[int, ...] = TIMES, *others: bytes) -> bytes:
    """An FBPT with the record that all firmware writes, and others."""
    body = struct.pack("<HBBI5Q", 2, 48, 2, 0, *times) + b"".join(others)
    return struct.pack("<4sI", b"FBPT", 8 + len(body)) + body


def boot_of(data: bytes) -> Boot:
    reading = FPDT.read(Source("FBPT", data), Options())
    check(reading)
    (boot,) = reading.boots
    return boot


def test_files_of_linux_in_both_looks() -> None:
    assert FPDT.sure(source("acpi-fpdt", "grep.txt")) == FPDT.sure(unpacked("acpi-fpdt", "fpdt.tar")) == 97
    for reading in (read(FPDT, "acpi-fpdt", "grep.txt"), read_unpacked(FPDT, "acpi-fpdt", "fpdt.tar")):
        (boot,) = reading.boots
        assert reading.missed == [] and boot.clock.name == "counter"
        assert boot.tracks[0].spans == PHASES
        assert ("resume_avg_ns", 205_000_000) in boot.tables[0].rows


def test_the_table_itself() -> None:
    event = struct.pack("<HBB", 0x1011, 20, 1) + bytes(16)
    data = table(TIMES, event)
    assert FPDT.sure(Source("FBPT", data)) == 95
    reading = FPDT.read(Source("FBPT", data), Options())
    assert [(r.what, r.count) for r in reading.repairs] == [
        ("records of single modules and events left out", 1)
    ]
    assert boot_of(data).tracks[0].spans == PHASES


def test_an_event_that_did_not_happen_has_no_time() -> None:
    boot = boot_of(table((TIMES[0], TIMES[1], TIMES[2], 0, 0)))
    assert [p.at_ns for p in boot.points] == list(TIMES[:3])
    assert boot.tracks[0].spans == PHASES[:2]


def test_a_table_that_breaks_off() -> None:
    reading = FPDT.read(Source("FBPT", table(TIMES, struct.pack("<HBB", 0x1011, 0, 1))), Options())
    assert reading.boots[0].tracks[0].spans == PHASES and len(reading.missed) == 1
    reading = FPDT.read(Source("FBPT", table(TIMES, bytes(20))[:-10]), Options())
    assert "declares" in reading.repairs[0].what


@pytest.mark.parametrize("data", [b"FBPT", b"hello\n", b"", table((0, 0, 0, 0, 0)), table()[:30]])
def test_something_else_is_refused(data: bytes) -> None:
    with pytest.raises(UserError):
        FPDT.read(Source("x", data), Options())


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from((table(TIMES, bytes(30)), source("acpi-fpdt", "grep.txt").data)))
def test_damage_does_no_harm(data: st.DataObject, whole: bytes) -> None:
    survives(FPDT, data.draw(damaged(whole)))


@settings(max_examples=40, deadline=None)
@given(damaged_members(unpacked("acpi-fpdt", "fpdt.tar")))
def test_a_damaged_folder_does_no_harm(archive: Source) -> None:
    survives_archive(FPDT, archive)

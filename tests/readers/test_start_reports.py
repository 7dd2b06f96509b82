# SPDX-License-Identifier: Apache-2.0
"""Files that other boot-time tools leave: boot-time-wizard's, BootTime's, Android's properties."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reader, Source
from bootscope.readers.formats import android, boot_time_wizard, boottime_json
from bootscope.readers.registry import readers

from .fuzzing import damaged, read, survives
from .unpacked import read_unpacked, unpacked

(WIZARD,) = boot_time_wizard.READERS
(JSON,) = boottime_json.READERS
(ANDROID,) = android.READERS
BOOT_DATA = ("boot-time-wizard", "boot-data-lab-demo-261121-114057.txt.gz")
FILES = {
    BOOT_DATA: WIZARD,
    ("boottime-json", "two-boots.json"): JSON,
    ("android", "getprop.txt"): ANDROID,
}


def milestones(boot: Boot) -> dict[str, int]:
    return {p.name: p.at_ns for p in boot.points if p.kind == "milestone"}


@pytest.mark.parametrize(("path", "reader"), FILES.items())
def test_no_other_reader_is_surer(path: tuple[str, str], reader: Reader) -> None:
    given_source = unpacked(*path)
    mine = reader.sure(given_source)
    assert mine >= 90
    assert all(other.sure(given_source) < mine for other in readers() if other is not reader)
    reading = read_unpacked(reader, *path)
    assert not reading.missed and reading.lines_understood


def test_boot_data_joins_its_sections() -> None:
    reading = read_unpacked(WIZARD, *BOOT_DATA)
    assert reading.lines_total == 14_087
    (boot,) = reading.boots
    assert boot.clock.name == "kernel"
    assert boot.facts["machine"] == "demo" and boot.facts["lab"] == "lab"
    assert boot.facts["tool"] == "grab-boot-data.sh 1.5"
    assert boot.facts["distribution"] == "Debian GNU/Linux 13 (trixie)"
    assert boot.facts["kernel options set"] == "6899" and boot.facts["processors"] == "1"
    assert len(boot.log) == 2_327
    phases = next(t for t in boot.tracks if t.ident == "systemd")
    assert [(s.name, s.end_ns) for s in phases.spans] == [
        ("kernel", 15_261_000_000),
        ("initrd", 99_617_000_000),
        ("userspace", 190_148_000_000),
    ]
    assert milestones(boot)["init"] == 15_069_537_000
    calls = {s.name: s for t in boot.tracks if t.kind == "initcall" for s in t.spans}
    assert calls["svm_init"].detail["took_us"] == 324_238


def test_boot_data_keeps_the_units_that_its_own_parser_loses() -> None:
    (boot,) = read_unpacked(WIZARD, *BOOT_DATA).boots
    (table,) = (t for t in boot.tables if t.columns == ("unit", "ns"))
    took = {unit: ns for unit, ns in table.rows}
    assert len(took) == 88
    assert took["sys-module-fuse.device"] == 137_434_000_000


def test_boot_data_twice_in_one_file_is_two_boots() -> None:
    text = '=== Machine Info ====\n== GRAB-BOOT-DATA INFO ==\nGBD_MACHINE="{}"\n\n== SYSTEMD INFO ==\n{}\n'
    note = "NOTE: systemd-analyze is not present on this system"
    data = text.format("a", note) + text.format("b", "Startup finished in 2s (kernel) + 3s (userspace) = 5s")
    reading = WIZARD.read(Source("x", data.encode()), Options())
    assert [b.facts["machine"] for b in reading.boots] == ["a", "b"]
    assert not reading.missed


def test_boottime_json_is_exact_and_has_a_boot_for_each_entry() -> None:
    first, second = read(JSON, "boottime-json", "two-boots.json").boots
    (phases,) = first.tracks
    assert [(s.name, s.start_ns, s.end_ns) for s in phases.spans] == [
        ("kernel", 0, 378_000_000),
        ("initrd", 378_000_000, 2_897_000_000),
        ("userspace", 2_897_000_000, 7_321_000_000),
    ]
    assert milestones(first) == {"unpack": 113_551_000, "init": 372_307_000, "link_is_up": 7_282_556_000}
    assert first.tables[0].rows == (("slow.service", 1_414_000_000), ("quick.service", 5_000))
    assert ("reboot", "reboot_et", 60_940_225_150) in first.tables[1].rows
    assert first.facts["sample"] == "1" and second.tracks[0].spans[-1].end_ns == 4_758_000_000


def test_boottime_json_that_breaks_off_names_the_line() -> None:
    with pytest.raises(UserError) as caught:
        JSON.read(Source("r.json", b'[\n{"test_results": {"satime": \n'), Options())
    assert "r.json" in caught.value.message and "line 3" in caught.value.message


def test_android_services_and_stages() -> None:
    (boot,) = read(ANDROID, "android", "getprop.txt").boots
    assert milestones(boot) == {"init": 1_105_241_718}
    assert {p.name: p.at_ns for p in boot.points if p.kind == "mark"} == {
        "start surfaceflinger": 5_226_812_540,
        "start zygote": 4_969_157_012,
    }
    stages, durations = boot.tables
    assert stages.rows[:2] == (("1BLL", 85_000_000), ("1BLE", 598_000_000))
    assert durations.rows == (("init.cold_boot_wait", 207), ("init.selinux", 93))
    assert boot.facts["machine"] == "demo"


@settings(max_examples=50, deadline=None)
@given(st.data(), st.sampled_from(sorted(FILES)))
def test_damage_does_no_harm(data: st.DataObject, path: tuple[str, str]) -> None:
    survives(FILES[path], data.draw(damaged(unpacked(*path).data)))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from((WIZARD, JSON, ANDROID)))
def test_noise_does_no_harm(data: bytes, reader: Reader) -> None:
    survives(reader, data)

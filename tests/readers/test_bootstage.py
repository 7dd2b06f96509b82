# SPDX-License-Identifier: Apache-2.0
"""U-Boot's bootstage in all its forms: four records of one boot must agree."""

from __future__ import annotations

import io
import struct
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reading, Source
from bootscope.readers.formats.bootstage import READERS

from .fuzzing import FIXTURES, check, damaged, read, source, survives

TEXT, STASH, TREE, FOLDER = READERS
US = 1_000
REPORT = b"Timer summary in microseconds (3 records):\n       Mark    Elapsed  Stage\n"


def marks(boot: Boot) -> list[tuple[str, int]]:
    return [(p.name, p.at_ns // US) for p in boot.points]


def folder() -> Source:
    data = (FIXTURES / "bootstage" / "bootstage.tar").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = [(m.name, tar.extractfile(m)) for m in tar.getmembers() if m.isfile()]
        return Source("x.tar", data, {name: file.read() for name, file in files if file})


def one(reading: Reading) -> Boot:
    check(reading)
    assert len(reading.boots) == 1
    return reading.boots[0]


STAGES = [
    ("reset", 0), ("board_init_f", 10_574), ("board_init_r", 147_087), ("eth_common_init", 409_626),
    ("main_loop", 410_668), ("usb_start", 414_633), ("cli_loop", 462_043),
]  # fmt: skip
LATER = [
    ("bootm_start", 63_190_002), ("boot_ramdisk_high", 63_191_562), ("boot_jump_linux", 63_229_706),
    ("start_kernel", 63_229_714),
]  # fmt: skip
SUMMED = (("dm_f", 8_389 * US), ("dm_r", 25_533 * US))


def test_the_report_is_found_in_a_console() -> None:
    reading = read(TEXT, "bootstage", "console-arm64.txt")
    boot = one(reading)
    assert marks(boot) == STAGES + LATER
    assert boot.tables[0].rows == SUMMED
    assert reading.lines_understood == 16 and "U-Boot 2025.01" in reading.missed[0].text
    spans = boot.tracks[0].spans
    assert spans[-1].name == "boot_jump_linux to start_kernel" and spans[-1].duration_ns == 8 * US


@pytest.mark.parametrize("name", ["fdt.dtb", "bootstage.tar"])
def test_the_device_tree_tells_the_same(name: str) -> None:
    given_source = folder() if name.endswith("tar") else source("bootstage", name)
    reader = FOLDER if name.endswith("tar") else TREE
    assert reader.sure(given_source) == 97
    boot = one(reader.read(given_source, Options()))
    assert marks(boot) == STAGES + LATER
    assert boot.tables[0].rows == SUMMED


def test_the_device_tree_names_machine_and_command_line() -> None:
    facts = one(read(TREE, "bootstage", "fdt.dtb")).facts
    assert facts["machine"] == "linux,dummy-virt" and facts["command line"] == "console=ttyAMA0"


def test_the_stash_of_a_64_bit_board_tells_the_same() -> None:
    assert STASH.sure(source("bootstage", "stash-arm64.bin")) == 98
    boot = one(read(STASH, "bootstage", "stash-arm64.bin"))
    assert marks(boot) == STAGES and boot.tables[0].rows == SUMMED
    assert boot.facts["layout"] == "64-bit, little-endian"


def test_the_stash_of_a_32_bit_board_agrees_with_its_report() -> None:
    stash = one(read(STASH, "bootstage", "stash-arm.bin"))
    report = one(read(TEXT, "bootstage", "console-arm.txt"))
    assert stash.facts["layout"] == "32-bit, little-endian"
    assert marks(stash) == marks(report) and stash.tables == report.tables


@pytest.mark.parametrize(
    ("name", "layout"),
    [("stash-arm.bin", "5I" + "5I" * 9), ("stash-arm64.bin", "5I" + "QIIQII" * 9)],
)
def test_big_endian_stashes(name: str, layout: str) -> None:
    data = source("bootstage", name).data
    size = struct.calcsize("<" + layout)
    big = struct.pack(">" + layout, *struct.unpack_from("<" + layout, data)) + data[size:]
    boot = one(STASH.read(Source("x", big), Options()))
    assert boot.facts["layout"].endswith("big-endian")
    assert marks(boot) == marks(one(read(STASH, "bootstage", name)))


def test_columns_that_run_into_one_another() -> None:
    data = REPORT + b"    671,449     12,573  cli_loop\n124,150,228123,478,779  bootm_start\n"
    assert marks(one(TEXT.read(Source("x", data), Options()))) == [
        ("cli_loop", 671_449), ("bootm_start", 124_150_228),
    ]  # fmt: skip


def test_a_timer_of_32_bits_that_began_anew_is_carried_on() -> None:
    data = REPORT + b"4,294,000,000      1,000  a\n      5,000      5,000  user_3\n"
    reading = TEXT.read(Source("x", data), Options())
    assert marks(one(reading)) == [("a", 4_294_000_000), ("user_3", (1 << 32) + 5_000)]
    assert "wrapped" in reading.repairs[0].what


def test_a_later_report_of_the_same_boot_replaces_the_earlier_and_another_boot_does_not() -> None:
    first = REPORT + b"      1,000      1,000  a\n"
    longer = first + b"      2,000      1,000  b\n"
    other = REPORT + b"      1,500      1,500  a\n"
    assert len(TEXT.read(Source("x", first + longer), Options()).boots) == 1
    assert len(TEXT.read(Source("x", longer + other), Options()).boots) == 2


def test_the_counter_can_be_named() -> None:
    reading = read(STASH, "bootstage", "stash-arm64.bin", counter_id="arm-generic")
    assert one(reading).clock.counter_id == "arm-generic" and reading.questions == []
    assert "counter_id" in read(STASH, "bootstage", "stash-arm64.bin").questions[0]


def test_what_is_not_a_stash_or_tree_is_refused() -> None:
    for reader, data in ((STASH, b"\0" * 100), (TREE, b"\xd0\x0d\xfe\xed" + b"\0" * 60), (TEXT, b"hello\n")):
        with pytest.raises(UserError):
            reader.read(Source("x", data), Options())


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        *(damaged(source("bootstage", n).data, 8192) for n in ("stash-arm.bin", "stash-arm64.bin", "fdt.dtb"))
    )
)
def test_damaged_memory_is_survived(data: bytes) -> None:
    for reader in (STASH, TREE):
        survives(reader, data)


@settings(max_examples=40, deadline=None)
@given(damaged(source("bootstage", "console-arm64.txt").data))
def test_damaged_text_is_survived(data: bytes) -> None:
    survives(TEXT, data)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"bootstage/[0-9]{1,3}/(name|mark|accum)", fullmatch=True), st.binary(max_size=9)
    )
)
def test_any_folder_is_survived(members: dict[str, bytes]) -> None:
    try:
        check(FOLDER.read(Source("x", b"", members), Options()))
    except UserError:
        assert not members

# SPDX-License-Identifier: Apache-2.0
"""Partition tables as sfdisk makes them, and tables that lie."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bootscope.bootimage import partitions
from bootscope.bootimage.partitions import Table
from bootscope.bootimage.volume import opened
from tests.unit.image_builders import disk

MIB = 1 << 20
GPT = "label: gpt\nstart=2048, size=4096, type=U, name=esp\nstart=6144, size=8192, type=L, name=root\n"
EXTENDED = (
    "label: dos\nstart=2048, size=2048, type=c, bootable\nstart=4096, size=20480, type=5\n"
    "start=6144, size=2048, type=83\nstart=10240, size=2048, type=82\n"
)


def read(path: Path) -> Table:
    return partitions.read(opened(path, path.name))


@pytest.fixture
def gpt(tmp_path: Path) -> Path:
    return disk(tmp_path / "gpt.img", 16, GPT, [])


def damaged(path: Path, *changes: tuple[int, bytes]) -> Path:
    with path.open("r+b") as made:
        for at, data in changes:
            made.seek(at, 2 if at < 0 else 0)
            made.write(data)
    return path


def test_a_gpt(gpt: Path) -> None:
    table = read(gpt)
    assert (table.kind, table.notes) == ("gpt", ())
    assert [(p.number, p.start_bytes, p.size_bytes, p.type, p.name) for p in table.partitions] == [
        (1, MIB, 2 * MIB, "EFI system", "esp"),
        (2, 3 * MIB, 4 * MIB, "Linux", "root"),
    ]


def test_an_mbr_with_logical_partitions(tmp_path: Path) -> None:
    table = read(disk(tmp_path / "mbr.img", 16, EXTENDED, []))
    rows = [(p.number, p.start_bytes // 512, p.type, p.bootable, p.notes) for p in table.partitions]
    assert (table.kind, table.notes) == ("mbr", ())
    assert rows == [
        (1, 2048, "FAT32", True, ()),
        (2, 4096, "extended", False, ()),
        (5, 6144, "Linux", False, ()),
        (6, 10240, "swap", False, ()),
    ]


def test_no_table(tmp_path: Path) -> None:
    for data in (b"", b"x", bytes(1 << 16), b"\xff" * 4096):
        path = tmp_path / "disk.img"
        path.write_bytes(data)
        assert read(path).partitions == ()


def test_a_gpt_is_read_from_its_copy(gpt: Path) -> None:
    table = read(damaged(gpt, (512 + 40, b"\xff")))
    assert len(table.partitions) == 2
    assert table.notes == (
        "the first GPT is not valid (the checksum of its header is wrong): read from its copy at the end",
    )


def test_a_gpt_whose_copy_is_cut_off(gpt: Path) -> None:
    with gpt.open("r+b") as made:
        made.truncate(10 * MIB)
    table = read(gpt)
    assert len(table.partitions) == 2
    assert table.notes[0].startswith("the copy of the GPT at the end of the image is not valid")


def test_copies_that_differ(gpt: Path) -> None:
    whole = gpt.read_bytes()
    entries = bytearray(whole[1024 : 1024 + 128 * 128])
    entries[56:58] = b"X\0"
    header = bytearray(whole[512:1024])
    struct.pack_into("<I", header, 88, zlib.crc32(entries))
    struct.pack_into("<I", header, 16, 0)
    struct.pack_into("<I", header, 16, zlib.crc32(header[:92]))
    table = read(damaged(gpt, (512, bytes(header)), (1024, bytes(entries))))
    assert table.notes == ("the GPT and its copy at the end differ: read from the first",)
    assert table.partitions[0].name == "Xsp"


def test_no_copy_is_whole(gpt: Path) -> None:
    table = read(damaged(gpt, (512 + 40, b"\xff"), (-512 + 40, b"\xff")))
    assert (table.kind, table.partitions) == ("gpt", ())
    assert "neither of its two copies is whole" in table.notes[0]


def row(kind: int, start: int, count: int) -> bytes:
    return struct.pack("<B3sB3sII", 0, b"\0\0\0", kind, b"\0\0\0", start, count)


def mbr(path: Path, *rows: bytes, sectors: int = 4096) -> Table:
    path.write_bytes(bytes(446) + b"".join(rows).ljust(64, b"\0") + b"\x55\xaa" + bytes(512 * (sectors - 1)))
    return read(path)


def test_a_table_that_lies(tmp_path: Path) -> None:
    table = mbr(
        tmp_path / "a", row(0x83, 8, 1000), row(0x83, 500, 100), row(0x83, 4000, 900), row(0x83, 9999, 8)
    )
    notes = {p.number: p.notes for p in table.partitions}
    assert notes[1] == ()
    assert notes[2] == ("it overlaps partition 1",)
    assert notes[3] == ("it ends 411.6 kB beyond the end of the image",)
    assert notes[4][0].startswith("it begins beyond the end of the image")
    assert mbr(tmp_path / "b", row(0x83, 0, 10)).partitions[0].notes == (
        "it overlaps the partition table itself",
    )


def test_a_chain_of_logical_partitions_that_leads_back(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    mbr(path, row(0x05, 100, 1000))
    logical = bytes(446) + row(0x83, 1, 10) + row(0x05, 0, 10) + bytes(32) + b"\x55\xaa"
    table = read(damaged(path, (100 * 512, logical)))
    assert [p.number for p in table.partitions] == [2 - 1, 5]
    assert table.notes == ("the chain of logical partitions leads back to itself: read up to there",)


def cut(data: bytes) -> Iterator[bytes]:
    for end in (1, 100, 511, 512, 600, 1024, 1100, 5000):
        yield data[:end]


def test_heads_of_disks_are_no_errors(gpt: Path, tmp_path: Path) -> None:
    for part in cut(gpt.read_bytes()):
        (tmp_path / "part").write_bytes(part)
        read(tmp_path / "part")

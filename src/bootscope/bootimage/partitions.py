# SPDX-License-Identifier: Apache-2.0
"""Partition tables: MBR with extended partitions, GPT with its backup at the end, and their errors.

Sources: the UEFI specification, 5.2 (MBR) and 5.3 (GPT); the Discoverable Partitions Specification of the
UAPI group for systemd's partition types.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bootscope.bootimage.volume import Volume
from bootscope.core.text import size

SECTOR_BYTES = 512
_MBR_AT, _MBR_ROW, _SIGNATURE = 446, struct.Struct("<B3sB3sII"), b"\x55\xaa"
_EXTENDED, _PROTECTIVE = (0x05, 0x0F, 0x85), 0xEE
_MOST_LOGICAL, _MOST_ENTRIES = 64, 1024
_GPT, _GPT_HEADER = b"EFI PART", struct.Struct("<8sIIIIQQQQ16sQIII")
_MBR_TYPES = {
    0x01: "FAT12", 0x04: "FAT16", 0x05: "extended", 0x06: "FAT16", 0x07: "NTFS or exFAT", 0x0B: "FAT32",
    0x0C: "FAT32", 0x0E: "FAT16", 0x0F: "extended", 0x82: "swap", 0x83: "Linux", 0x85: "extended",
    0x8E: "LVM", 0xA2: "boot loader", 0xDA: "raw data", 0xEF: "EFI system", 0xFD: "RAID",
}  # fmt: skip
_GPT_TYPES = {
    "c12a7328-f81f-11d2-ba4b-00a0c93ec93b": "EFI system",
    "21686148-6449-6e6f-744e-656564454649": "BIOS boot",
    "0fc63daf-8483-4772-8e79-3d69d8477de4": "Linux",
    "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7": "basic data",
    "bc13c2ff-59e6-4262-a352-b275fd6f7172": "extended boot (XBOOTLDR)",
    "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f": "swap",
    "e6d6d379-f507-44c2-a23c-238f2a3df928": "LVM",
    "69dad710-2ce4-4e3c-b16c-21a1d49abed3": "root for arm",
    "b921b045-1df0-41c3-af44-4c6f280d3fae": "root for arm64",
    "72ec70a6-cf74-40e6-bd49-4bda08e8f224": "root for riscv64",
    "4f68bce3-e8cd-4db1-96e7-fbcaf984b709": "root for x86-64",
    "44479540-f297-41b2-9af7-d131d5f0458a": "root for x86",
    "9e1a2d38-c612-4316-aa26-8b49521e5a8b": "PReP boot",
    "2e54b353-1271-4842-806f-e436d6af6985": "RISC-V boot loader",
    "5b193300-fc78-40cd-8002-e86c45580b47": "RISC-V first stage",
}


@dataclass(frozen=True)
class Partition:
    """A range of a disk. `type` is its type in the table, in words; `notes` are its errors."""

    number: int
    start_bytes: int
    size_bytes: int
    type: str
    name: str = ""
    bootable: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """The partitions of a disk, by start; `kind` is `gpt`, `mbr` or empty for a disk without a table. `notes`
    are its errors."""

    kind: str
    partitions: tuple[Partition, ...] = ()
    notes: tuple[str, ...] = ()


def read(disk: Volume) -> Table:
    """The partition table of a disk."""
    first = disk.read(0, SECTOR_BYTES)
    rows = _rows(first) if first[510:512] == _SIGNATURE else []
    protective = any(kind == _PROTECTIVE for _, kind, _, _ in rows)
    found = _gpt(disk) if protective or disk.read(SECTOR_BYTES, 8) == _GPT else None
    if found is None and protective:
        return Table("gpt", (), ("the MBR says that there is a GPT, but neither of its two copies is whole",))
    if found is None:
        found = _mbr(disk, rows) if _plausible(first, rows) else Table("")
    elif not protective:
        found = replace(found, notes=(*found.notes, "there is no protective MBR: some firmware wants one"))
    return _checked(disk, found)


# ---- MBR ----


def _rows(sector: bytes) -> list[tuple[bool, int, int, int]]:
    """(bootable, type, first sector, sectors) of the used rows, of four."""
    found = (_MBR_ROW.unpack_from(sector, _MBR_AT + n * _MBR_ROW.size) for n in range(4))
    return [(row[0], row[2], row[4], row[5]) if row[5] else (False, 0, 0, 0) for row in found]


def _plausible(sector: bytes, rows: list[tuple[bool, int, int, int]]) -> bool:
    """Whether this is a partition table: the boot sector of a FAT ends with the same two bytes."""
    states = {sector[_MBR_AT + n * _MBR_ROW.size] for n in range(4)} if len(sector) == SECTOR_BYTES else {1}
    return bool(states <= {0, 0x80}) and any(kind for _, kind, _, _ in rows)


def _mbr(disk: Volume, rows: list[tuple[bool, int, int, int]]) -> Table:
    found: list[Partition] = []
    notes: list[str] = []
    for number, (bootable, kind, start, count) in enumerate(rows, 1):
        if not kind:
            continue
        found.append(_of_row(number, bool(bootable), kind, start, count))
        if kind in _EXTENDED:
            found += _logical(disk, start, notes)
    return Table("mbr", tuple(found), tuple(notes))


def _of_row(number: int, bootable: bool, kind: int, start: int, count: int) -> Partition:
    told = _MBR_TYPES.get(kind, f"type {kind:#04x}")
    return Partition(number, start * SECTOR_BYTES, count * SECTOR_BYTES, told, bootable=bootable)


def _logical(disk: Volume, extended: int, notes: list[str]) -> Iterator[Partition]:
    at, seen = extended, set[int]()
    for number in range(5, 5 + _MOST_LOGICAL):
        if at in seen:
            notes.append("the chain of logical partitions leads back to itself: read up to there")
            return
        seen.add(at)
        sector = disk.read(at * SECTOR_BYTES, SECTOR_BYTES)
        if sector[510:512] != _SIGNATURE:
            notes.append("the chain of logical partitions breaks off: read up to there")
            return
        (bootable, kind, start, count), (_, link, further, _), *_ = _rows(sector)
        if kind:
            yield _of_row(number, bool(bootable), kind, at + start, count)
        if link not in _EXTENDED:
            return
        at = extended + further
    notes.append(f"more than {_MOST_LOGICAL} logical partitions: the rest is left out")


# ---- GPT ----


def _gpt(disk: Volume) -> Table | None:
    last = (disk.size_bytes // SECTOR_BYTES - 1) * SECTOR_BYTES
    first, first_why = _copy(disk, SECTOR_BYTES)
    second, second_why = _copy(disk, last)
    if first is None and second is None:
        return None
    notes = []
    if first is None:
        notes.append(f"the first GPT is not valid ({first_why}): read from its copy at the end")
    elif second is None:
        notes.append(f"the copy of the GPT at the end of the image is not valid ({second_why}): truncated?")
    elif first != second:
        notes.append("the GPT and its copy at the end differ: read from the first")
    return Table("gpt", tuple(first if first is not None else second or ()), tuple(notes))


def _copy(disk: Volume, at: int) -> tuple[list[Partition] | None, str]:
    """The partitions of one copy; None and the reason where it is invalid."""
    sector = disk.read(at, SECTOR_BYTES)
    if len(sector) < SECTOR_BYTES or not sector.startswith(_GPT):
        return None, "it is not there"
    header = _GPT_HEADER.unpack_from(sector)
    length, told = header[2], header[3]
    table, count, width, table_crc = header[10:14]
    if not _GPT_HEADER.size <= length <= SECTOR_BYTES or width % 8 or not 128 <= width <= 4096:
        return None, "its header is damaged"
    if zlib.crc32(sector[:16] + bytes(4) + sector[20:length]) != told:
        return None, "the checksum of its header is wrong"
    rows = disk.read(table * SECTOR_BYTES, min(count, _MOST_ENTRIES) * width)
    if count <= _MOST_ENTRIES and zlib.crc32(rows) != table_crc:
        return None, "the checksum of its entries is wrong"
    entries = (rows[n : n + width] for n in range(0, len(rows), width))
    numbered = ((n, row) for n, row in enumerate(entries, 1) if len(row) == width)
    return [_of_entry(n, row) for n, row in numbered if row[:16].strip(b"\0")], ""


def _of_entry(number: int, row: bytes) -> Partition:
    kind = str(uuid.UUID(bytes_le=row[:16]))
    start, end = struct.unpack_from("<QQ", row, 32)
    name = row[56:128].decode("utf-16-le", "replace").partition("\0")[0]
    count = max(0, end - start + 1)
    told = _GPT_TYPES.get(kind, f"type {kind}")
    return Partition(number, start * SECTOR_BYTES, count * SECTOR_BYTES, told, name, bool(row[48] & 4))


# ---- both ----


def _checked(disk: Volume, table: Table) -> Table:
    """The table with its contradictions noted, its partitions sorted by start."""
    found: list[Partition] = []
    reached, before = 0, 0
    for part in sorted(table.partitions, key=lambda p: (p.start_bytes, -p.size_bytes)):
        notes = []
        end = part.start_bytes + part.size_bytes
        if part.start_bytes >= disk.size_bytes:
            notes.append(f"it begins beyond the end of the image ({size(disk.size_bytes)})")
        elif end > disk.size_bytes:
            notes.append(f"it ends {size(end - disk.size_bytes)} beyond the end of the image")
        if part.start_bytes < reached and part.type != "extended":
            notes.append(f"it overlaps partition {before}")
        if part.start_bytes < SECTOR_BYTES:
            notes.append("it overlaps the partition table itself")
        if part.type != "extended" and end > reached:
            reached, before = end, part.number
        found.append(replace(part, notes=tuple(notes)))
    return replace(table, partitions=tuple(found))

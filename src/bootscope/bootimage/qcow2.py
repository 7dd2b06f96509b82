# SPDX-License-Identifier: Apache-2.0
"""Converts qcow2 images, versions 2 and 3, to raw disks (QEMU docs/interop/qcow2.rst).

Read here because `qemu-img` opens any file that a header names as the backing file.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from bootscope.bootimage.sparse_file import SparseFile
from bootscope.bootimage.volume import Volume
from bootscope.core.errors import UserError, printable
from bootscope.readers.unpack import Budget, decompressed

MAGIC = b"QFI\xfb"
_HEADER = struct.Struct(">4sIQIIQIIQQ")
_CORRUPT, _DATA_FILE, _COMPRESSION, _EXTENDED = 2, 4, 8, 16
_COMPRESSED, _OFFSET = 1 << 62, 0x00FFFFFFFFFFFE00
_ZEROS = 1
_ZSTD = 1
_MOST_TABLE = 1 << 22


@dataclass(frozen=True)
class _Header:
    cluster_bits: int
    size_bytes: int
    tables: tuple[int, ...]
    zstd: bool


def unpack(name: str, image: Volume, out: SparseFile) -> tuple[str, ...]:
    """Writes the disk to `out`; returns doubts about it. Raises UserError for an image that cannot be
    read."""
    told = printable(name)
    header, notes = _header(told, image)
    cluster = 1 << header.cluster_bits
    damaged = 0
    for number, table in enumerate(header.tables):
        entries = image.read(table & _OFFSET, cluster) if table & _OFFSET else b""
        at = number * (cluster // 8) * cluster
        for (entry,) in struct.iter_unpack(">Q", entries[: len(entries) & ~7]):
            if at >= header.size_bytes:
                break
            data = _cluster(told, image, header, entry)
            damaged += data is None
            out.write(at, (data or b"")[: header.size_bytes - at])
            at += cluster
    if damaged:
        notes.append(f"{damaged:,} clusters lie outside of the file or cannot be unpacked: read as zeros")
    out.close(header.size_bytes)
    return tuple(notes)


def _header(told: str, image: Volume) -> tuple[_Header, list[str]]:
    head = image.read(0, 4096).ljust(4096, b"\0")
    _, version, backing, _, bits, size, crypt, entries, table, _ = _HEADER.unpack_from(head)
    features = int.from_bytes(head[72:80], "big") if version >= 3 else 0
    why = ""
    if version not in (2, 3):
        why = f"version {version} is not known"
    elif backing:
        why = "it is a difference to another image"
    elif crypt:
        why = "it is encrypted"
    elif features & (_DATA_FILE | _EXTENDED):
        why = "its data lie in another file" if features & _DATA_FILE else "it has subclusters"
    elif not 9 <= bits <= 21 or entries > _MOST_TABLE:
        why = "its header is damaged"
    if why:
        hint = "make a raw image of it: qemu-img convert -O raw IMAGE disk.img"
        raise UserError(f"{told} is a qcow2 image that is not read: {why}", hint=hint)
    notes = ["it is marked as corrupt"] if features & _CORRUPT else []
    rows = image.read(table, 8 * entries)
    if len(rows) < 8 * entries:
        notes.append("truncated: its table goes beyond the end of the file")
    tables = tuple(entry for (entry,) in struct.iter_unpack(">Q", rows[: len(rows) & ~7]))
    zstd = bool(features & _COMPRESSION) and head[104] == _ZSTD
    return _Header(bits, size, tables, zstd), notes


def _cluster(told: str, image: Volume, header: _Header, entry: int) -> bytes | None:
    """The data of a cluster; empty for zeros, None where it cannot be read."""
    cluster = 1 << header.cluster_bits
    if entry & _COMPRESSED:
        return _unpacked(told, image, header, entry)
    at = entry & _OFFSET
    if not at or entry & _ZEROS:
        return b""
    data = image.read(at, cluster)
    return data or None


def _unpacked(told: str, image: Volume, header: _Header, entry: int) -> bytes | None:
    cluster, bits = 1 << header.cluster_bits, 62 - (header.cluster_bits - 8)
    at = entry & ((1 << bits) - 1)
    sectors = (entry & (_COMPRESSED - 1)) >> bits
    data = image.read(at, (sectors + 1) * 512 - (at & 511))
    try:
        if header.zstd:
            return decompressed(told, data, Budget(2 * cluster))[0][:cluster] or None
        return zlib.decompressobj(-12).decompress(data, cluster) or None
    except (zlib.error, UserError, StopIteration):
        return None

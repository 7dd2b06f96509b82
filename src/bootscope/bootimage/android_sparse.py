# SPDX-License-Identifier: Apache-2.0
"""Converts Android's sparse images to raw disks (AOSP system/core/libsparse/sparse_format.h)."""

from __future__ import annotations

import struct

from bootscope.bootimage.sparse_file import MOST_BYTES, SparseFile
from bootscope.bootimage.volume import CHUNK_BYTES, Volume
from bootscope.core.errors import UserError, printable

MAGIC = b"\x3a\xff\x26\xed"
_HEADER, _CHUNK = struct.Struct("<IHHHHIIII"), struct.Struct("<HHII")
_RAW, _FILL, _HOLE, _CRC = 0xCAC1, 0xCAC2, 0xCAC3, 0xCAC4


def unpack(name: str, image: Volume, out: SparseFile) -> tuple[str, ...]:
    """Writes the disk to `out`; returns doubts about it. Raises UserError for a damaged header."""
    head = image.read(0, _HEADER.size)
    if len(head) < _HEADER.size:
        raise UserError(f"{printable(name)} is truncated within its first bytes")
    _, major, _, header, chunk_header, block, blocks, count, _ = _HEADER.unpack(head)
    if major != 1 or block == 0 or block % 4 or header < _HEADER.size or chunk_header < _CHUNK.size:
        raise UserError(f"{printable(name)} is an Android sparse image with a header that is not known")
    if block * blocks > MOST_BYTES:
        out.close(block * blocks)
    at, to, notes = header, 0, list[str]()
    for _ in range(count):
        row = image.read(at, _CHUNK.size)
        if len(row) < _CHUNK.size:
            notes.append("truncated: chunks are missing at its end")
            break
        kind, _, length, total = _CHUNK.unpack(row)
        if kind not in (_RAW, _FILL, _HOLE, _CRC) or total < chunk_header or to + length > blocks:
            notes.append("damaged: read up to the first chunk that contradicts the header")
            break
        _chunk(image.part(at + chunk_header, total - chunk_header), kind, to * block, length * block, out)
        at += total
        to += length if kind != _CRC else 0
    out.close(block * blocks)
    return tuple(notes)


def _chunk(data: Volume, kind: int, to: int, count: int, out: SparseFile) -> None:
    if kind == _RAW:
        for start in range(0, min(count, data.size_bytes), CHUNK_BYTES):
            out.write(to + start, data.read(start, min(CHUNK_BYTES, count - start)))
    elif kind == _FILL and (word := data.read(0, 4)).strip(b"\0"):
        piece = word * (CHUNK_BYTES // 4)
        for start in range(0, count, CHUNK_BYTES):
            out.write(to + start, piece[: count - start])

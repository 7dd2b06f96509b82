# SPDX-License-Identifier: Apache-2.0
"""Large files of the store, packed with zstd at its fastest level: logs are repetitive. Objects are
packed with gzip."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from bootscope.core import zstd

_LEVEL = 1
_PART_BYTES = 1 << 20
LARGEST_BYTES = 1 << 30
"""Of one file or object, unpacked."""


def packed(data: bytes) -> Iterator[bytes]:
    """`data`, packed, part by part. Raises UserError if zstd is not installed."""
    compressor = zstd.module().ZstdCompressor(_LEVEL)
    whole = memoryview(data)
    for at in range(0, len(data), _PART_BYTES):
        yield compressor.compress(whole[at : at + _PART_BYTES])
    yield compressor.flush()


def unpacked(data: bytes, size_bytes: int) -> bytes | None:
    """Unpacks `data`; None if it is not zstd data, or not `size_bytes` long when unpacked. A bomb is cut off
    there.

    Raises UserError if zstd is not installed.
    """
    if not 0 <= size_bytes <= LARGEST_BYTES:
        return None
    known = zstd.module()
    try:
        found: bytes = known.ZstdDecompressor().decompress(data, size_bytes + 1)
    except known.ZstdError:
        return None
    return found if len(found) == size_bytes else None


def gunzipped(data: bytes, most_bytes: int = LARGEST_BYTES) -> bytes | None:
    """Unpacks one gzip stream; None if it is damaged, if anything follows it, or if it is larger than
    `most_bytes`. A bomb is cut off there."""
    tool = zlib.decompressobj(31)
    try:
        found = tool.decompress(data, most_bytes + 1)
    except zlib.error:
        return None
    return found if tool.eof and not tool.unused_data and len(found) <= most_bytes else None

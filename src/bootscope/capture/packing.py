# SPDX-License-Identifier: Apache-2.0
"""Large files of the store, packed with zstd: a log takes a tenth of its room, and packing it no longer than
writing all of it would."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_LEVEL = 1
_LARGEST = 1 << 30


def pack(data: bytes) -> bytes:
    """`data`, packed."""
    packed: bytes = _zstd().compress(data, _LEVEL)
    return packed


def unpacked(data: bytes, size: int) -> bytes | None:
    """What was packed, which has so many bytes; None when it has not, or is no such data."""
    if not 0 <= size <= _LARGEST:
        return None
    zstd = _zstd()
    try:
        found: bytes = zstd.ZstdDecompressor().decompress(data, size + 1)
    except zstd.ZstdError:
        return None
    return found if len(found) == size else None


def _zstd() -> Any:
    # Takes longer to load than a short log to be read; Python 3.14 has it in its library.
    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")

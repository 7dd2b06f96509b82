# SPDX-License-Identifier: Apache-2.0
"""Ids of what an image holds: they follow from its content, and not from where or how it is stored."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

_BLOCK = 1 << 20


def of_bytes(data: bytes) -> str:
    """SHA-256 of some bytes; empty for none."""
    return hashlib.sha256(data).hexdigest() if data else ""


def of_file(path: Path) -> str:
    """A hash of a file's size and of those blocks that are not zeros, with their places: a file with holes
    has that of the same file without, and is read where there are data alone."""
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        descriptor = opened.fileno()
        size = os.lseek(descriptor, 0, os.SEEK_END)
        digest.update(size.to_bytes(8, "little"))
        at = _data(descriptor, 0, size)
        while at < size:
            block = os.pread(descriptor, _BLOCK, at)
            if not block:
                break
            if block.count(0) != len(block):
                digest.update(at.to_bytes(8, "little") + block)
                at += len(block)
            else:
                at = _data(descriptor, at + len(block), size)
    return digest.hexdigest()


def _data(descriptor: int, at: int, size: int) -> int:
    """Where the next data of a file begin, rounded down to a block; its size where there are none."""
    try:
        return max(at, os.lseek(descriptor, at, os.SEEK_DATA) // _BLOCK * _BLOCK) if at < size else size
    except OSError as error:
        if error.errno == errno.ENXIO:
            return size
        return at  # a file system that does not know holes

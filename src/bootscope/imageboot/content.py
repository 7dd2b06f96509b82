# SPDX-License-Identifier: Apache-2.0
"""Ids of an image's parts: hashes of their content, independent of where and how it is stored."""

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
    """A hash of a file's size and of its blocks that are not zero, with their offsets: the same with and
    without holes; holes are not read."""
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
    """The offset of the next data of a file, rounded down to a block; the file's size where there are
    none."""
    try:
        return max(at, os.lseek(descriptor, at, os.SEEK_DATA) // _BLOCK * _BLOCK) if at < size else size
    except OSError as error:
        if error.errno == errno.ENXIO:
            return size
        return at  # a file system without support for holes

# SPDX-License-Identifier: Apache-2.0
"""Compressed parts of kernels and images: their compression, and their unpacked data, up to a limit.

Formats of Python's library are unpacked by it; lz4 and lzop by the programs of that name, since both would be
slow in Python. The programs read a numbered file of ours, and their output is read up to the limit.
"""

from __future__ import annotations

import lzma
import subprocess
import tempfile
from pathlib import Path

from bootscope.core.errors import ToolError, printable
from bootscope.core.process import end, spawn
from bootscope.readers.unpack import Budget, compression, decompressed

LZ4, LZO, LZMA = "lz4", "lzo", "lzma"
_BY_PROGRAM = {LZ4: ("lz4", "-d", "-c"), LZO: ("lzop", "-d", "-c")}
_MAGICS = (
    (b"\x02\x21\x4c\x18", LZ4),  # the legacy frame, which kernels use
    (b"\x04\x22\x4d\x18", LZ4),
    (b"\x89LZO\0\r\n\x1a\n", LZO),
)
PACKED = (
    rb"\x1f\x8b\x08|\xfd7zXZ\x00|\x28\xb5\x2f\xfd|BZh[1-9]1AY&SY|\x02\x21\x4c\x18|\x04\x22\x4d\x18|\x89LZO\x00"
    rb"|\x5d\x00\x00[\x00-\x80]"
)
"""The magics of all of them, as a pattern."""
_LZMA_HEAD, _LZMA_MEMORY = 13, 256 << 20
_CHUNK = 1 << 20
_TIMEOUT_S = 120


def kind(data: bytes) -> str:
    """`gzip`, `xz`, `bzip2`, `zstd`, `lz4`, `lzo` or `lzma`, by the first bytes; empty for other data."""
    found = compression(data) or next((name for magic, name in _MAGICS if data.startswith(magic)), "")
    return found or (LZMA if _is_lzma(data) else "")


def _is_lzma(data: bytes) -> bool:
    """A format without a magic: five bytes of properties, which are the same from all tools, and the size."""
    if len(data) < _LZMA_HEAD or data[0] != 0x5D:
        return False
    dictionary, size = int.from_bytes(data[1:5], "little"), int.from_bytes(data[5:13], "little")
    plausible = size == (1 << 64) - 1 or size < 1 << 32
    return dictionary >= 1 << 12 and dictionary & (dictionary - 1) == 0 and plausible


def unpacked(name: str, data: bytes, budget: Budget) -> bytes:
    """The content of compressed data, up to any damage; other data unchanged.

    Raises UserError for more than the budget allows, ToolError where a program is missing.
    """
    found = kind(data)
    if found == LZMA:
        return _lzma(name, data, budget)
    if found in _BY_PROGRAM:
        return _by_program(name, data, found, budget)
    return decompressed(name, data, budget)[0] if found else data


def _lzma(name: str, data: bytes, budget: Budget) -> bytes:
    tool = lzma.LZMADecompressor(format=lzma.FORMAT_ALONE, memlimit=_LZMA_MEMORY)
    parts: list[bytes] = []
    feed = data
    try:
        while not tool.eof:
            part = tool.decompress(feed, _CHUNK)
            feed = b""
            if not part and tool.needs_input:
                break
            budget.spend(len(part), name)
            parts.append(part)
    except (lzma.LZMAError, EOFError):
        pass  # what came before is whole
    return b"".join(parts)


def _by_program(name: str, data: bytes, found: str, budget: Budget) -> bytes:
    with tempfile.TemporaryDirectory(prefix="bootscope-") as folder:
        path = Path(folder, f"packed.{found}")
        path.write_bytes(data)
        try:
            child = spawn([*_BY_PROGRAM[found], path], stderr=subprocess.DEVNULL)
        except ToolError as error:
            raise ToolError(
                f"{printable(name)} is compressed with {found}: {error.message}", hint=error.hint
            ) from error
        assert child.stdout
        parts: list[bytes] = []
        try:
            while part := child.stdout.read(_CHUNK):
                budget.spend(len(part), name)
                parts.append(part)
        finally:
            end(child)
            child.wait()
            child.stdout.close()
    return b"".join(parts)

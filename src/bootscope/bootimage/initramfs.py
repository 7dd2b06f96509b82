# SPDX-License-Identifier: Apache-2.0
"""The format of an initramfs: archives one after another, each with its own compression, and what the kernel
starts from it.

Source: Linux Documentation/driver-api/early-userspace/buffer-format.rst;
Documentation/arch/x86/microcode.rst.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bootscope.artefacts.archives import CpioArchive, is_cpio
from bootscope.artefacts.tree import MOST_ENTRIES, Entry
from bootscope.bootimage.files import Files, Listed
from bootscope.bootimage.records import InitramfsPart
from bootscope.core.errors import UserError
from bootscope.image import packed
from bootscope.readers.unpack import Budget, decompressor

MOST_BYTES = 512 << 20
HEADER, HEADER_BYTES = b"\x27\x05\x19\x56", 64
"""A boot loader's header that may precede it (uImage)."""
_MOST_PARTS = 16
_FILLED = re.compile(rb"[^\0]")
_MICROCODE = "/kernel/x86/microcode/"
_CHUNK, _OUT = 1 << 20, 4 << 20


@dataclass(frozen=True)
class Opened:
    """Its archives, the files of all of them, and doubts."""

    parts: tuple[InitramfsPart, ...]
    files: Files
    notes: tuple[str, ...]


def opened(name: str, data: bytes) -> Opened | None:
    """The archives in data; None for data that is not an initramfs. Raises UserError for a decompression
    bomb."""
    budget = Budget(MOST_BYTES)
    parts: list[InitramfsPart] = []
    entries: dict[str, Entry] = {}
    notes: list[str] = []
    at = 0
    while at < len(data) and len(parts) < _MOST_PARTS:
        if is_cpio(data[at : at + 6]):
            archive = CpioArchive(data, at)
            parts.append(_part(archive, "", at, entries, notes))
            end = archive.end if archive.whole else len(data)
        else:
            inner, end, kind = _unpacked(name, data, at, budget)
            if not is_cpio(inner):
                break
            part = _part(CpioArchive(inner, 0), kind, 0, entries, notes)
            parts.append(InitramfsPart(kind, end - at, len(inner), part.files, part.what))
        more = _FILLED.search(data, end)
        at = more.start() if more else len(data)
    if not parts:
        return None
    if at < len(data):
        notes.append(
            f"{len(data) - at:,} bytes after its archives are not an archive: the kernel leaves them out"
        )
    return Opened(tuple(parts), Files(Listed("initramfs", entries.values())), tuple(notes))


def pieces(name: str, data: bytes) -> list[tuple[str, bytes, bytes]]:
    """The archives of an initramfs as (compression, the bytes as stored, unpacked bytes); empty for anything
    else. Raises UserError for a decompression bomb, and for trailing data that is not an archive."""
    budget = Budget(MOST_BYTES)
    found: list[tuple[str, bytes, bytes]] = []
    at = 0
    while at < len(data) and len(found) < _MOST_PARTS:
        if is_cpio(data[at : at + 6]):
            archive = CpioArchive(data, at)
            for _ in archive:
                pass
            kind, inner, end = "", data[at : archive.end], archive.end if archive.whole else len(data)
        else:
            inner, end, kind = _unpacked(name, data, at, budget)
        if not is_cpio(inner):
            raise UserError(f"{name}: {len(data) - at:,} bytes after its archives are not an archive")
        more = _FILLED.search(data, end)
        after = more.start() if more else len(data)
        found.append((kind, data[at:after], inner))
        at = after
    return found


def _part(
    archive: CpioArchive, kind: str, start: int, entries: dict[str, Entry], notes: list[str]
) -> InitramfsPart:
    paths = []
    for entry in archive:
        paths.append(entry.path)
        entries[entry.path] = entry
        if len(entries) > MOST_ENTRIES or len(paths) > MOST_ENTRIES:
            raise UserError(f"an initramfs with more than {MOST_ENTRIES:,} files is not read")
    if not archive.whole:
        notes.append("an archive in it is truncated or damaged; read up to there")
    what = "CPU microcode" if any(path.startswith(_MICROCODE) for path in paths) else "files"
    count = archive.end - start
    return InitramfsPart(kind, count, count, len(paths), what)


def _unpacked(name: str, data: bytes, at: int, budget: Budget) -> tuple[bytes, int, str]:
    """(unpacked data, end offset, compression) of the compressed data at an offset; empty where there are
    none."""
    kind = packed.kind(data[at : at + 64])
    if not kind:
        return b"", at, ""
    if kind not in ("gzip", "xz", "bzip2", "zstd"):
        return packed.unpacked(name, data[at:], budget), len(data), kind
    tool, place, parts = decompressor(kind), at, list[bytes]()
    try:
        while not tool.eof:
            feed = data[place : place + _CHUNK] if tool.needs_input else b""
            if tool.needs_input and not feed:
                break
            place += len(feed)
            part = tool.decompress(feed, _OUT)
            budget.spend(len(part), name)
            parts.append(part)
    except UserError:
        raise
    except Exception:  # damaged: what came before is whole; zstd's error class does not always exist
        return b"".join(parts), len(data), kind
    return b"".join(parts), place - len(tool.unused_data), kind

# SPDX-License-Identifier: Apache-2.0
"""FAT12, FAT16 and FAT32 with long names, by offsets (Microsoft's FAT specification, fatgen103).

Read here because mtools prints listings for people, and takes names only as patterns.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial

from bootscope.artefacts.tree import FILE, FOLDER, MOST_ENTRIES, Entry
from bootscope.bootimage.volume import Volume
from bootscope.core.errors import UserError

_ROW = 32
_LONG, _VOLUME, _DIRECTORY = 0x0F, 0x08, 0x10
_DELETED, _END = 0xE5, 0
_MOST_FOLDER_BYTES = 4 << 20
_FAT12, _FAT16 = 4085, 65525
_LAST = {12: 0xFF8, 16: 0xFFF8, 32: 0x0FFFFFF8}


class Fat:
    """The folders of a FAT. Raises UserError for a boot sector that contradicts itself."""

    kind = "FAT"

    def __init__(self, volume: Volume) -> None:
        self._volume = volume
        head = volume.read(0, 512).ljust(512, b"\0")
        sector, per, reserved, copies, roots = struct.unpack_from("<HBHBH", head, 11)
        small, long, large = (int.from_bytes(head[a:b], "little") for a, b in ((22, 24), (36, 40), (32, 36)))
        sectors = int.from_bytes(head[19:21], "little") or large
        table = small or long
        first_data = reserved + copies * table + -(-roots * _ROW // sector) if sector else 0
        if not sector or not per or not table or sectors <= first_data:
            raise UserError("the FAT's boot sector contradicts itself")
        clusters = (sectors - first_data) // per
        self._bits = 12 if clusters < _FAT12 else 16 if clusters < _FAT16 else 32
        self._cluster, self._clusters = sector * per, clusters
        self._table, self._data = reserved * sector, first_data * sector
        self._root = (
            volume.part((reserved + copies * table) * sector, roots * _ROW) if self._bits < 32 else None
        )
        self._first = int.from_bytes(head[44:48], "little") if self._bits == 32 else 0
        self._folders: dict[str, int] = {"/": self._first}

    def folder(self, path: str) -> dict[str, Entry]:
        """The files in a folder by name; `path` is one that :meth:`folder` has returned before, any other has
        none."""
        start = self._folders.get(path)
        if start is None:
            return {}
        if path == "/" and self._root is not None:
            data = self._root.read(0, _MOST_FOLDER_BYTES)
        else:
            data = self._read(start, _MOST_FOLDER_BYTES, _MOST_FOLDER_BYTES)
        found: dict[str, Entry] = {}
        for name, flags, first, count in _rows(data):
            inner = f"{path.rstrip('/')}/{name}"
            if flags & _DIRECTORY:
                self._folders[inner] = first
                found[name] = Entry(inner, FOLDER)
            else:
                found[name] = Entry(inner, FILE, count, read=partial(self._read, first, count))
            if len(found) >= MOST_ENTRIES:
                break
        return found

    def _read(self, start: int, count: int, most: int) -> bytes:
        """The first bytes of a chain of clusters."""
        parts: list[bytes] = []
        left = min(count, most)
        for cluster in self._chain(start, -(-left // self._cluster)):
            part = self._volume.read(self._data + (cluster - 2) * self._cluster, min(left, self._cluster))
            parts.append(part)
            left -= len(part)
            if left <= 0 or not part:
                break
        return b"".join(parts)

    def _chain(self, start: int, most: int) -> Iterator[int]:
        """The clusters of a file, at most as many as it needs, so a circular chain ends, too."""
        cluster = start
        for _ in range(min(most, self._clusters)):
            if not 2 <= cluster < self._clusters + 2:
                return
            yield cluster
            cluster = self._next(cluster)

    def _next(self, cluster: int) -> int:
        at = cluster * self._bits // 8
        value = int.from_bytes(self._volume.read(self._table + at, 4 if self._bits == 32 else 2), "little")
        if self._bits == 12:
            value = value >> 4 if cluster & 1 else value & 0xFFF
        value &= 0x0FFFFFFF
        return 0 if value >= _LAST[self._bits] else value


def _rows(data: bytes) -> Iterator[tuple[str, int, int, int]]:
    """(name, attributes, first cluster, size in bytes) of the files in a folder."""
    long: dict[int, str] = {}
    for at in range(0, len(data) - _ROW + 1, _ROW):
        row = data[at : at + _ROW]
        if row[0] == _END:
            return
        if row[0] == _DELETED:
            long.clear()
        elif row[11] & 0x3F == _LONG:
            text = (row[1:11] + row[14:26] + row[28:32]).decode("utf-16-le", "replace")
            long[row[0] & 0x1F] = text.partition("\0")[0].rstrip("\uffff")
        else:
            name = "".join(long[n] for n in sorted(long)) or _short(row)
            long.clear()
            if not row[11] & _VOLUME and name not in (".", "..") and "/" not in name and name:
                first = int.from_bytes(row[20:22], "little") << 16 | int.from_bytes(row[26:28], "little")
                yield name, row[11], first, int.from_bytes(row[28:32], "little")


def _short(row: bytes) -> str:
    """A name in 8.3 form; two bits say which parts were written in lower case."""
    stem, ending = (row[a:b].decode("cp437").rstrip() for a, b in ((0, 8), (8, 11)))
    stem, ending = (stem.lower() if row[12] & 8 else stem), (ending.lower() if row[12] & 16 else ending)
    return f"{stem}.{ending}" if ending else stem

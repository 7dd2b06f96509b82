# SPDX-License-Identifier: Apache-2.0
"""Compressed files and archives, unpacked in memory and within bounds.

Nothing is ever written to disk, and the bounds hold for all layers together: a bomb is a UserError.
The tar format is read here since the standard library's reader can be sent into endless loops by
hostile headers in the Python versions that we run on (CVE-2025-8194).
"""

from __future__ import annotations

import bz2
import io
import lzma
import mmap
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bootscope.core import zstd
from bootscope.core.errors import UserError, printable
from bootscope.readers.base import Repair

MAX_BYTES = 512 << 20
"""Of everything that one import unpacks."""
MAX_MEMBERS = 10_000
"""Files in the archives (and folders) of one import."""

_CHUNK = 16 << 10
_OUT = 1 << 20
_LZMA_MEMORY = 256 << 20
_BLOCK = 512
_BEFORE, _WITHOUT_DATA = b"LKxX", b"123456"
"""Types of tar headers: about the member that follows; of members without data, whatever their size says."""
_PAX_BYTES, _LONGEST_NUMBER = 65536, 20
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Of other methods, the standard library unpacks whole blocks, however little is asked for."""


class Budget:
    """How much may still be unpacked. One is shared by all layers of an import."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS) -> None:
        self._bytes, self._members = max_bytes, max_members
        self._limits = (max_bytes, max_members)

    def spend(self, size_bytes: int, name: str) -> None:
        """Counts bytes. Raises UserError when they are too many."""
        self._bytes -= size_bytes
        if self._bytes < 0:
            limit = f"{self._limits[0] >> 20} MB"
            raise UserError(
                f"{printable(name)} unpacks to more than {limit}", hint="unpack the relevant files first"
            )

    def member(self, name: str) -> None:
        """Counts a file. Raises UserError when they are too many."""
        self._members -= 1
        if self._members < 0:
            raise UserError(f"{printable(name)} holds more than {self._limits[1]:,} files")


# ---- compressed files ----


class _Gzip:
    """zlib with the interface that the other decompressors share."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


_KINDS: tuple[tuple[bytes, str, Callable[[], Any]], ...] = (
    (b"\x1f\x8b\x08", "gzip", _Gzip),
    (b"\xfd7zXZ\x00", "xz", lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)),
    (b"BZh", "bzip2", bz2.BZ2Decompressor),
    (b"\x28\xb5\x2f\xfd", "zstd", lambda: zstd.module().ZstdDecompressor()),
)


def compression(data: bytes) -> str:
    """`gzip`, `xz`, `bzip2` or `zstd` for a file that is compressed so, else the empty string."""
    return next((name for magic, name, _ in _KINDS if data.startswith(magic)), "")


def decompressor(kind: str) -> Any:
    """What unpacks a stream piece by piece; it has `decompress(data, max_length)`, `needs_input`, `eof` and
    `unused_data`.

    Raises UserError where zstd is not there.
    """
    return next(new for _, name, new in _KINDS if name == kind)()


DAMAGED = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)
"""What decompressors raise for damaged data; zstd's error is a class of its own, called ZstdError."""


def decompressed(name: str, data: bytes, budget: Budget) -> tuple[bytes, list[Repair]]:
    """What a compressed file holds, as far as it is whole; what is wrong with it is listed.

    Several streams one after the other are one file. Raises UserError for a bomb.
    """
    magic, kind, new = next(k for k in _KINDS if data.startswith(k[0]))
    parts: list[bytes] = []
    start = 0
    while start < len(data):
        if not data.startswith(magic, start):
            if data[start:].strip(b"\0"):
                return b"".join(parts), [
                    Repair(f"bytes after the end of the {kind} data left out", len(data) - start, 1)
                ]
            break
        start, why = _stream(new(), data, start, parts, name, budget)
        if why:
            return b"".join(parts), [Repair(f"{kind} data {why}; read up to there", 1, 1)]
    return b"".join(parts), []


def _stream(
    tool: Any, data: bytes, start: int, parts: list[bytes], name: str, budget: Budget
) -> tuple[int, str]:
    """Unpacks one stream into `parts`; returns where it ends, and what is wrong with it."""
    view, at = memoryview(data), start
    try:
        while not tool.eof:
            feed = b""
            if tool.needs_input:
                feed = bytes(view[at : at + _CHUNK])
                if not feed:
                    return len(data), "cut off"
                at += len(feed)
            part = tool.decompress(feed, _OUT)
            budget.spend(len(part), name)
            parts.append(part)
    except DAMAGED as error:
        return len(data), f"damaged ({printable(str(error))})"
    except Exception as error:
        # zstd's error has no name that is always there.
        if type(error).__name__ != "ZstdError":
            raise
        return len(data), f"damaged ({printable(str(error))})"
    return at - len(tool.unused_data), ""


# ---- archives ----


@dataclass(frozen=True, slots=True)
class Archive:
    """The files of an archive by name, and what was wrong with it."""

    members: dict[str, bytes]
    repairs: list[Repair]


def archive(name: str, data: bytes, budget: Budget) -> Archive | None:
    """The files in a tar or zip archive; None when `data` is neither. Raises UserError for a bomb."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(name, data, budget)
    if is_tar(data):
        return _tar(name, data, budget)
    return None


def _zip(name: str, data: bytes, budget: Budget) -> Archive | None:
    # Each entry costs memory before it can be counted.
    if data.count(b"PK\x01\x02") > MAX_MEMBERS:
        raise UserError(f"{printable(name)} holds more than {MAX_MEMBERS:,} files")
    found = Archive({}, [])
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            for info in opened.infolist():
                if not info.is_dir():
                    _zip_member(opened, info, name, found, budget)
    except UserError:
        raise
    except Exception as error:  # hostile bytes lead to errors of many kinds in there
        found.repairs.append(Repair(f"zip archive damaged ({printable(str(error))})", 1, 1))
    return found


def _zip_member(
    opened: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, found: Archive, budget: Budget
) -> None:
    budget.member(name)
    if info.compress_type not in _ZIP_METHODS:
        why = f"compression method {info.compress_type} is not read, only stored and deflated files are"
        found.repairs.append(Repair(f"{printable(info.filename)}: {why}", 1, 1))
        return
    budget.spend(info.file_size, name)
    parts, left = [], info.file_size + 1
    try:
        with opened.open(info) as member:
            while left > 0 and (part := member.read(min(_OUT, left))):
                left -= len(part)
                parts.append(part)
    except Exception as error:  # encrypted, damaged, of a method that we lack
        found.repairs.append(Repair(f"{printable(info.filename)}: {printable(str(error))}", 1, 1))
    found.members[info.filename] = b"".join(parts)


def is_tar(data: bytes | mmap.mmap) -> bool:
    """Whether this begins like a tar archive: with the header of a member."""
    header = data[:_BLOCK]
    if len(header) < _BLOCK or not header[0]:
        return False
    told = _octal(header[148:156])
    return told == sum(header) - sum(header[148:156]) + 8 * 32


def _octal(field: bytes) -> int:
    """A number of a tar header; -1 when it is none."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    text = field.strip(b" \0")
    # int() would take signs, underscores and digits of other scripts.
    return int(text, 8) if text and not text.strip(b"01234567") else -1


@dataclass(frozen=True, slots=True)
class TarMember:
    """A member of a tar archive: its data begin at `start` and have `size` bytes, or what is there of them.

    `kind` is the type flag: 0 a file, 1 and 2 links, 3 and 4 devices, 5 a folder, S a sparse file, whose data
    are not its content. `owner` has the numbers of user and group, `device` major and minor. None for `name`
    says that the archive is damaged from here on.
    """

    name: bytes | None
    kind: bytes
    mode: int
    start: int
    size: int
    target: bytes
    owner: tuple[int, int] = (0, 0)
    device: tuple[int, int] = (0, 0)


@dataclass
class _Told:
    """What headers of their own say of the member that follows them."""

    name: bytes = b""
    target: bytes = b""
    size: bytes = b""
    sparse: bool = False

    def take(self, kind: bytes, body: bytes) -> None:
        if kind == b"L":
            self.name = body.rstrip(b"\0")
        elif kind == b"K":
            self.target = body.rstrip(b"\0")
        else:
            self.name = _pax(body, b"path") or self.name
            self.target = _pax(body, b"linkpath") or self.target
            self.size = _pax(body, b"size") or self.size
            self.sparse = self.sparse or b" GNU.sparse." in body[:_PAX_BYTES]


def tar_members(data: bytes | mmap.mmap) -> Iterator[TarMember]:
    """All members of a tar archive, in order."""
    at, told = 0, _Told()
    while at + _BLOCK <= len(data):
        header = data[at : at + _BLOCK]
        if not header.strip(b"\0"):
            return
        start, kind = at + _BLOCK, header[156:157]
        size = _size(header, told)
        if not is_tar(header) or size < 0:
            yield TarMember(None, b"", 0, at, 0, b"")
            return
        if kind in _BEFORE:
            told.take(kind, data[start : start + size])
        else:
            yield _member(header, start, size, told)
            told = _Told()
        at = start + -(-size // _BLOCK) * _BLOCK


def _size(header: bytes, told: _Told) -> int:
    """How many bytes of data follow a header; negative when it does not say."""
    kind, size = header[156:157], _octal(header[124:136])
    if told.size and kind not in _BEFORE:
        size = int(told.size) if told.size.isdigit() and len(told.size) < _LONGEST_NUMBER else -1
    return min(size, 0) if kind in _WITHOUT_DATA else size


def _member(header: bytes, start: int, size: int, told: _Told) -> TarMember:
    name, kind = told.name or _tar_name(header), header[156:157]
    if kind == b"\0" and name.endswith(b"/"):  # a folder in the oldest form
        kind = b"5"
    mode, user, group, major, minor = (
        max(0, _octal(header[begin:end]))
        for begin, end in ((100, 108), (108, 116), (116, 124), (329, 337), (337, 345))
    )
    kind = b"S" if told.sparse else b"0" if kind in (b"\0", b"7") else kind
    target = told.target or header[157:257].split(b"\0")[0]
    return TarMember(name, kind, mode, start, size, target, (user, group), (major, minor))


def _tar(name: str, data: bytes, budget: Budget) -> Archive:
    found = Archive({}, [])
    for member in tar_members(data):
        if member.name is None:
            found.repairs.append(Repair("tar archive damaged; read up to there", 1, 1))
        elif member.kind == b"0":
            start, end = member.start, member.start + member.size
            budget.member(name)
            budget.spend(min(end, len(data)) - start, name)
            found.members[member.name.decode("utf-8", "backslashreplace")] = data[start:end]
            if end > len(data):
                found.repairs.append(Repair("tar archive truncated; read up to there", 1, 1))
    return found


def _tar_name(header: bytes) -> bytes:
    name, prefix = header[:100].split(b"\0")[0], header[345:500].split(b"\0")[0]
    return prefix + b"/" + name if prefix and header[257:262] == b"ustar" else name


def _pax(body: bytes, key: bytes) -> bytes:
    """A value of an extended header: lines of `LENGTH KEY=VALUE`."""
    for line in body[:_PAX_BYTES].split(b"\n"):
        _, _, pair = line.partition(b" ")
        if pair.startswith(key + b"="):
            return pair[len(key) + 1 :]
    return b""

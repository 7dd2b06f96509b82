# SPDX-License-Identifier: Apache-2.0
"""/etc/ld.so.cache, with which glibc's loader finds a library at once; without it programs search folders.

`ldconfig` makes it only for the architecture of the computer that it runs on. This code makes it for any
root file system that is being built: only the newer format, which every loader since glibc 2.2 reads.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from bootscope.arch.model import Architecture
from bootscope.builder.filesystems.model import Entry
from bootscope.core.errors import ToolError

PATH = PurePosixPath("etc/ld.so.cache")
_MAGIC = b"glibc-ld.so.cache1.1"
_LITTLE_ENDIAN = 2
_HEADER = struct.Struct("<20sIIB3xI12x")
"""Magic and version, number of libraries, bytes of names, byte order, offset of extensions (none)."""
_LIBRARY = struct.Struct("<iIIIQ")
"""Flags, offsets of name and path in the file, OS version, hardware capabilities: any."""
_LARGEST_LINKS = 8
_TOKEN = re.compile(r"(\d+)|(.)", re.DOTALL)


def content(entries: Mapping[PurePosixPath, Entry], arch: Architecture) -> bytes:
    """The cache of the libraries in a root file system, `entries` by path without the leading slash.

    Source of the format: glibc, sysdeps/generic/dl-cache.h. Raises ToolError where there is no library.
    """
    found = _libraries(entries, arch)
    if not found:
        raise ToolError("the root file system has no shared libraries that a cache could list")
    names = sorted(found, key=rank, reverse=True)
    begin = at = _HEADER.size + len(names) * _LIBRARY.size
    table, texts = bytearray(), bytearray()
    for name in names:
        pair = [text.encode() + b"\0" for text in (name, found[name])]
        table += _LIBRARY.pack(arch.tools.library_flags, at, at + len(pair[0]), 0, 0)
        texts += b"".join(pair)
        at = begin + len(texts)
    return _HEADER.pack(_MAGIC, len(names), len(texts), _LITTLE_ENDIAN, 0) + bytes(table + texts)


def rank(name: str) -> list[tuple[int, int]]:
    """The loader's order of names; numbers compare as numbers: _dl_cache_libcmp in elf/dl-cache.c."""
    return [(1, int(m[1])) if m[1] else (0, ord(m[2])) for m in _TOKEN.finditer(name)]


def _libraries(entries: Mapping[PurePosixPath, Entry], arch: Architecture) -> dict[str, str]:
    """The path of each library by its soname; of several, the one that the loader would find first."""
    found: dict[str, str] = {}
    for folder in arch.tools.searched_folders:
        here = sorted(path for path in entries if str(path.parent) == folder and ".so" in path.name)
        for path in here:
            source = _source(entries, path)
            name = _soname(source, arch) if source else None
            if name and (path.with_name(name) in here or path.name == name):
                found.setdefault(name, f"/{folder}/{name}")
            elif name:
                found.setdefault(name, f"/{path}")
    return found


def _source(entries: Mapping[PurePosixPath, Entry], path: PurePosixPath) -> Path | None:
    """The content of a file, links followed; None for anything else or a path outside of the root."""
    for _ in range(_LARGEST_LINKS):
        entry = entries.get(path)
        if entry is None or entry.target is None:
            return entry.source if entry else None
        target = PurePosixPath(entry.target)
        path = PurePosixPath(
            *_parts(target.relative_to("/") if target.is_absolute() else path.parent / target)
        )
    return None


def _parts(path: PurePosixPath) -> Iterator[str]:
    kept: list[str] = []
    for part in path.parts:
        kept = kept[:-1] if part == ".." else [*kept, part]
    return iter(kept)


def _soname(source: Path, arch: Architecture) -> str | None:
    """The soname of a library; None for another file."""
    with source.open("rb") as f:
        try:
            elf = ELFFile(f)
            if elf["e_machine"] != arch.elf_machine or elf["e_type"] != "ET_DYN":
                return None
            tags = [t for s in elf.iter_segments() if isinstance(s, DynamicSegment) for t in s.iter_tags()]
        except ELFError:
            return None
        return next((str(getattr(tag, "soname", "")) for tag in tags if tag.entry.d_tag == "DT_SONAME"), None)

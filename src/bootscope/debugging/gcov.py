# SPDX-License-Identifier: Apache-2.0
"""Reads the counters of a program built with GCC's -fprofile-generate from a stopped machine.

GCC's runtime library writes these counters to .gcda files when the program exits, which the application of a
device never does. So they are read where they are: the library keeps a list of all object files, at whose
head is the symbol `__gcov_root`. The layouts are those of GCC's libgcc/libgcov.h and gcc/gcov-io.h, which say
what a .gcda file contains.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bootscope.core.errors import ToolError

ROOT = "__gcov_root"
_PAGE_BYTES = 4096
_WORD = struct.Struct("<I")
_COUNTER = struct.Struct("<q")
_MAGIC = 0x67636461  # "gcda"
_FUNCTION, _COUNTERS, _SUMMARY = 0x01000000, 0x01A10000, 0xA1000000
_KINDS = {12: 8, 13: 8, 14: 9}
"""Kinds of counters, by GCC's major version. Other versions may have other layouts."""
_ARCS, _MOST_FREQUENT, _CALLED = 0, 3, 4
_LISTS = (_MOST_FREQUENT, _CALLED)
"""Kinds whose counters are lists of values."""
_IN_MEMORY = 3
"""Words of such a counter: how often it counted, how many values it has, where the list begins."""
_MOST_FILES, _MOST_FUNCTIONS, _MOST_COUNTERS, _MOST_VALUES = 20_000, 1 << 20, 1 << 22, 4096
_LONGEST_NAME = 4096

Reads = Callable[[int, int], bytes | None]
"""Reads memory at an address: bytes, or None where nothing is mapped."""


def profile(program: Path, reads: Reads) -> dict[str, bytes]:
    """The .gcda files of a program, by the names that it would write: the program as linked (at a fixed
    address, with its symbols), and its memory.

    Raises ToolError for a program without such counters or of another compiler, and for memory of another
    process.
    """
    try:
        with program.open("rb") as opened:
            elf = ELFFile(opened)
            memory = _Memory(reads, _segments(elf), 8 if elf.elfclass == 64 else 4)
            root = _address_of(elf, ROOT)
    except (ELFError, ValueError, KeyError, OSError) as error:
        raise ToolError(f"the application cannot be read as a program: {error}") from error
    if root is None:
        raise ToolError(f"the application does not count: it has no symbol {ROOT} (-fprofile-generate)")
    if reads(root & -_PAGE_BYTES, _PAGE_BYTES) is None:
        raise ToolError("the machine is not stopped in the application: its counters are not mapped")
    files: dict[str, bytes] = {}
    at = memory.pointer(root)
    while at and len(files) < _MOST_FILES:
        info = _info(memory, at)
        files[memory.text(info.name)] = _file(memory, info)
        at = info.next
    return files


@dataclass(frozen=True)
class _Memory:
    """The process's memory. Pages that it has not touched yet are as in its file: `segments` are (address,
    size in memory, content)."""

    reads: Reads
    segments: tuple[tuple[int, int, bytes], ...]
    pointer_bytes: int

    def get(self, address: int, count: int) -> bytes:
        data = b""
        while len(data) < count:
            here = address + len(data)
            size = min(count - len(data), _PAGE_BYTES - here % _PAGE_BYTES)
            data += self._part(here, size)
        return data

    def _part(self, address: int, count: int) -> bytes:
        """Bytes of one page."""
        if (found := self.reads(address, count)) is not None:
            return found
        for start, size, content in self.segments:
            if start <= address < start + size:
                return content[address - start : address - start + count].ljust(count, b"\0")
        raise ToolError(f"the application's memory at {address:#x} is not mapped")

    def word(self, address: int) -> int:
        return int(_WORD.unpack(self.get(address, 4))[0])

    def pointer(self, address: int) -> int:
        return int.from_bytes(self.get(address, self.pointer_bytes), "little")

    def counters(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}q", self.get(address, 8 * count)) if count else ()

    def text(self, address: int) -> str:
        found = b""
        while b"\0" not in found and len(found) < _LONGEST_NAME:
            found += self.get(address + len(found), 16)
        return found.partition(b"\0")[0].decode("utf-8", "replace")


@dataclass(frozen=True)
class _Info:
    """What the library knows of an object file (struct gcov_info). `kinds`: the kinds of counters it has."""

    at: int
    version: int
    next: int
    stamp: int
    checksum: int
    name: int
    kinds: tuple[int, ...]
    functions: tuple[int, ...]


def _info(memory: _Memory, at: int) -> _Info:
    size = memory.pointer_bytes
    version = memory.word(at)
    major = _major(version)
    if major not in _KINDS:
        known = ", ".join(map(str, _KINDS))
        raise ToolError(f"counters of GCC {major or 'of an unknown version'} cannot be read (known: {known})")
    stamps = at + 2 * size  # the version is padded to a pointer
    names = stamps + 8
    merges = names + size
    kinds = tuple(kind for kind in range(_KINDS[major]) if memory.pointer(merges + kind * size))
    count = merges + _KINDS[major] * size
    functions = memory.word(count)
    if functions > _MOST_FUNCTIONS:
        raise ToolError("the counters of the application are damaged")
    table = memory.pointer(count + size)
    return _Info(
        at=at,
        version=version,
        next=memory.pointer(at + size),
        stamp=memory.word(stamps),
        checksum=memory.word(stamps + 4),
        name=memory.pointer(names),
        kinds=kinds,
        functions=tuple(memory.pointer(table + size * number) for number in range(functions)),
    )


def _major(version: int) -> int:
    """The compiler's major version: 'B23*' is 12.3."""
    letter, digit = version >> 24, version >> 16 & 255
    first, second = letter - ord("A"), digit - ord("0")
    return first * 10 + second if 0 <= first < 10 and 0 <= second < 10 else 0


def _file(memory: _Memory, info: _Info) -> bytes:
    """A .gcda file: the head, a summary, and each function with its counters."""
    most, body = 0, bytearray()
    for function in info.functions:
        # A function that another object file has, too, counts only there.
        if not function or memory.pointer(function) != info.at:
            body += _words(_FUNCTION, 0)
            continue
        idents = function + memory.pointer_bytes
        body += _words(_FUNCTION, 12, *(memory.word(idents + 4 * n) for n in range(3)))
        counters = _aligned(idents + 12, memory.pointer_bytes)
        for position, kind in enumerate(info.kinds):
            at = counters + position * 2 * memory.pointer_bytes
            values = _counters(memory, at)
            most = max(most, *values, 0) if kind == _ARCS else most
            written = list(_listed(memory, values)) if kind in _LISTS else values
            body += _words(_COUNTERS + (kind << 17), 8 * len(written))
            body += b"".join(map(_COUNTER.pack, written))
    head = _words(_MAGIC, info.version, info.stamp, info.checksum)
    return bytes(head + _words(_SUMMARY, 8, 1, min(most, 0xFFFFFFFF)) + body + _words(0))


def _counters(memory: _Memory, at: int) -> tuple[int, ...]:
    """The counters of a kind (struct gcov_ctr_info)."""
    count = memory.word(at)
    if count > _MOST_COUNTERS:
        raise ToolError("the counters of the application are damaged")
    return memory.counters(memory.pointer(at + memory.pointer_bytes), count)


def _listed(memory: _Memory, values: tuple[int, ...]) -> Iterator[int]:
    """Counters with lists, as the file has them: how often, how many values, and each value with its
    number."""
    for at in range(0, len(values) - len(values) % _IN_MEMORY, _IN_MEMORY):
        pairs, node = list[int](), values[at + 2] & (1 << 8 * memory.pointer_bytes) - 1
        while node and len(pairs) < 2 * _MOST_VALUES:
            pairs += memory.counters(node, 2)
            node = memory.pointer(node + 16)
        yield from (values[at], len(pairs) // 2, *pairs)


def _words(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def _aligned(address: int, size: int) -> int:
    return -(-address // size) * size


def _segments(elf: ELFFile) -> tuple[tuple[int, int, bytes], ...]:
    return tuple(
        (segment["p_vaddr"], segment["p_memsz"], segment.data()) for segment in elf.iter_segments("PT_LOAD")
    )


def _address_of(elf: ELFFile, name: str) -> int | None:
    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.get_symbol_by_name(name) or ():
                return int(symbol["st_value"])
    return None

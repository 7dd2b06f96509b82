# SPDX-License-Identifier: Apache-2.0
"""Names of a kernel's functions: from a vmlinux or System.map beside it, else from the kernel itself."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from bootscope.arch.in_files import bits_of
from bootscope.bootimage.files import Files
from bootscope.bootimage.records import Symbols
from bootscope.core.errors import UserError
from bootscope.image import kallsyms
from bootscope.image.kallsyms import Symbol
from bootscope.image.kernel_file import KernelFile

VMLINUX, MAP, KALLSYMS = "vmlinux", "System.map", "kallsyms"
_MAP_LINE = re.compile(r"^([0-9a-f]{8,16}) (\w) (\S+)$", re.MULTILINE)
_MOST_MAP_BYTES = 64 << 20
_FEWEST, _SAMPLE = 100, 500
_CODE = "tTwW"
_FUNCTION = 2
"""The highest ELF symbol type that names something in memory."""
_EXECUTABLE = 4
_WIDE, _NARROW = (0, 1, 3, 4), (0, 3, 5, 1)
"""Indices of name, type, section and value in a 64-bit and in a 32-bit symbol."""


@dataclass(frozen=True)
class Beside:
    """Further sources about a kernel: files of a root or boot file system, and files of this computer by
    path: vmlinux, System.map, .config of a kernel; programs with their symbols, and folders of such
    programs."""

    files: tuple[Files, ...] = ()
    paths: tuple[Path, ...] = ()
    maps: tuple[Path, ...] = field(default=())
    configs: tuple[Path, ...] = field(default=())
    unstripped: tuple[Path, ...] = field(default=())


def of_kernel(kernel: KernelFile, build_id: str, beside: Beside) -> tuple[Symbols, list[Symbol]]:
    """The source of the names, and the names by address; empty where there are none."""
    notes: list[str] = []
    for source in (_vmlinux, _maps, _kallsyms):
        for told, found in source(kernel, build_id, beside, notes):
            functions = sum(symbol.kind in _CODE for symbol in found)
            made = Symbols(told.source, told.path, functions, len(found), told.form, "; ".join(notes))
            return made, found
    return Symbols(note="; ".join(notes)), []


_DAMAGED = (ELFError, ValueError, KeyError, TypeError, AttributeError, struct.error)
_Found = Iterator[tuple[Symbols, list[Symbol]]]


def _vmlinux(kernel: KernelFile, build_id: str, beside: Beside, notes: list[str]) -> _Found:
    for path in beside.paths:
        try:
            with path.open("rb") as opened:
                theirs, found = read_vmlinux(opened)
        except (OSError, UserError) as error:
            notes.append(f"{path.name} was not read: {error}")
            continue
        if build_id and theirs and theirs != build_id:
            notes.append(f"{path.name} has another build id ({theirs[:12]}…): not of this kernel")
        elif len(found) >= _FEWEST:
            yield Symbols(VMLINUX, str(path)), found


def read_vmlinux(opened: BinaryIO) -> tuple[str, list[Symbol]]:
    """(build id, empty without one; symbols by address) of a kernel's ELF file.

    Raises UserError for any other file.
    """
    try:
        elf = ELFFile(opened)
        notes = (n for s in elf.iter_sections() if isinstance(s, NoteSection) for n in s.iter_notes())
        build_id = next((str(n["n_desc"]) for n in notes if n["n_type"] == "NT_GNU_BUILD_ID"), "")
        table = elf.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            return build_id, []
        strings = elf.get_section(table["sh_link"]).data()
        form = ("<" if elf.little_endian else ">") + ("IBBHQQ" if elf.elfclass == 64 else "IIIBBH")
        rows = table.data()
        rows = rows[: len(rows) - len(rows) % struct.calcsize(form)]
        code = {n for n, section in enumerate(elf.iter_sections()) if section["sh_flags"] & _EXECUTABLE}
    except (
        ELFError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        struct.error,
        UnicodeDecodeError,
    ) as error:
        raise UserError(f"it is not an ELF file that can be read ({type(error).__name__})") from error
    found: list[Symbol] = []
    wide = elf.elfclass == 64
    for row in struct.iter_unpack(form, rows):
        name, info, section, value = (row[n] for n in (_WIDE if wide else _NARROW))
        text = strings[name : strings.find(b"\0", name)].decode("ascii", "replace")
        if text and value and not text.startswith(("$", ".L")) and info & 15 <= _FUNCTION:
            kind = "t" if section in code else "d"
            found.append(Symbol(value, kind.upper() if info >> 4 else kind, text))
    return build_id, sorted(found, key=lambda symbol: symbol.address)


def _maps(kernel: KernelFile, build_id: str, beside: Beside, notes: list[str]) -> _Found:
    for name, text in _map_texts(kernel, beside):
        rows = _MAP_LINE.findall(text)
        found = [Symbol(int(at, 16), kind, text) for at, kind, text in rows]
        if len(found) < _FEWEST:
            notes.append(f"{name} holds no symbols")
        elif not _agrees(found, kernel):
            notes.append(f"{name} is of another kernel: its addresses are not those in the kernel")
        else:
            yield Symbols(MAP, name), found


def _agrees(found: list[Symbol], kernel: KernelFile) -> bool:
    """Whether a table contains the kernel's own table, if it has one: nothing else shows which kernel a table
    is for."""
    bits = bits_of(kernel.architecture)
    try:
        own = kallsyms.read(kernel.program, bits // 8) if bits and kernel.program else []
    except UserError:
        return True
    pairs = {(symbol.address, symbol.name) for symbol in found}
    sample = [s for s in own if s.kind in "tT"][:: max(1, len(own) // _SAMPLE)]
    return sum((s.address, s.name) in pairs for s in sample) >= len(sample) * 0.9


def _map_texts(kernel: KernelFile, beside: Beside) -> Iterator[tuple[str, str]]:
    named = f"System.map-{kernel.version}"
    beside_it = [path for path in beside.maps if path.name == "System.map" or path.name.startswith(named)]
    for path in beside_it:
        if path.is_file():
            yield path.name, path.read_bytes()[:_MOST_MAP_BYTES].decode("ascii", "replace")
    for files in beside.files:
        for folder in () if beside_it else ("/boot", "", "/usr/lib/debug/boot"):
            path_in = f"{folder}/{named}"
            text = files.text(path_in, _MOST_MAP_BYTES) if kernel.version else None
            if text is not None:
                yield path_in, text


def _kallsyms(kernel: KernelFile, build_id: str, beside: Beside, notes: list[str]) -> _Found:
    bits = bits_of(kernel.architecture)
    if not kernel.program or not bits:
        notes.append("its instruction set is not known" if kernel.program else "it could not be unpacked")
        return
    try:
        table = kallsyms.read_table(kernel.program, bits // 8)
    except UserError as error:
        notes.append(f"{error.message}: {error.hint}")
        return
    if not any(symbol.kind in "bBdDrR" for symbol in table.symbols):
        notes.append("functions only: the kernel has no CONFIG_KALLSYMS_ALL")
    yield Symbols(KALLSYMS, form=table.form), table.symbols


def debug_files(build_id: str, version: str, files: Iterable[Files]) -> tuple[str, ...]:
    """Files with a kernel's debug information: by its build id, or its version."""
    paths = [f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"] if build_id else []
    names = (f"boot/vmlinux-{version}", f"lib/modules/{version}/vmlinux")
    paths += [f"/usr/lib/debug/{name}" for name in names] if version else []
    return tuple(path for one in files for path in paths if one.find(path))

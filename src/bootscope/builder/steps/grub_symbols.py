# SPDX-License-Identifier: Apache-2.0
"""The functions of a GRUB for PCs, from the package with its unstripped programs.

Its image for a card consists of parts: the first sectors and the code that unpacks the rest are where they
were linked, and so is its kernel. The kernel loads the modules into free memory, so their addresses are known
only then. Source of a module's layout: grub-core/kern/dl.c (grub_dl_load_segments) of GRUB 2.12.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from bootscope.capture.objects import Piece, Pieces, Told
from bootscope.core.errors import UserError
from bootscope.image.elf_functions import code, functions, opened

_LINKED = ("boot.image", "diskboot.image", "lzma_decompress.image")
KERNEL, _KERNEL_STRIPPED = "kernel.exec", "kernel.img"
_MODULE, _MODULE_STRIPPED = ".module", ".mod"
_MODULE_STRUCT, _ADDS_MODULE = "grub_dl", "grub_dl_add"
_MEMBERS = ("name", "base", "sz")
_FIRST_ARGUMENT = "rax"
"""Follows GRUB's calling convention on this CPU (-mregparm=3)."""
_MEMBER_AT = "DW_AT_data_member_location"
_ALLOCATED = 2


def read(with_symbols: Path, stripped: Path) -> Pieces:
    """Reads the folder with unstripped programs, and the one with the programs that become the image.

    Raises UserError where the two are not of the same build, or something is missing.
    """
    try:
        return _read(with_symbols, stripped)
    except (ELFError, OSError, KeyError) as error:
        raise UserError(f"prebuilt.uboot_symbols: these are not GRUB programs: {error}") from error


def _read(with_symbols: Path, stripped: Path) -> Pieces:
    kernel = opened(with_symbols / KERNEL)
    _same_code(KERNEL, kernel, opened(stripped / _KERNEL_STRIPPED))
    linked = [kernel, *(opened(path) for name in _LINKED if (path := with_symbols / name).exists())]
    placed = [found for program in linked for found in functions(program)]
    pieces = [
        _module(path, stripped / f"{path.stem}{_MODULE_STRIPPED}")
        for path in sorted(with_symbols.glob(f"*{_MODULE}"))
    ]
    return Pieces(sorted(placed), pieces, _told(kernel))


def _module(path: Path, stripped: Path) -> Piece:
    whole, loaded = opened(path), opened(stripped)
    _same_code(path.name, whole, loaded)
    places, size = _laid_out(loaded)
    return Piece(path.stem, size, sorted(functions(whole, places)))


def _laid_out(module: ELFFile) -> tuple[dict[str, int], int]:
    """(section -> offset in bytes in a loaded module, size of the module)."""
    places, end = {}, 0
    for section in module.iter_sections():
        if section["sh_flags"] & _ALLOCATED and section["sh_size"]:
            align = max(section["sh_addralign"], 1)
            places[section.name] = -(-end // align) * align
            end = places[section.name] + section["sh_size"]
    return places, end


def _same_code(name: str, whole: ELFFile, stripped: ELFFile) -> None:
    for section in code(whole):
        other = stripped.get_section_by_name(section.name)
        if other is None or other.data() != section.data():
            raise UserError(
                f"prebuilt.uboot_symbols: {name} is of another build than the GRUB that is installed",
                hint="delete those of GRUB in the cache, below sources/, so that both are fetched anew",
            )


def _told(kernel: ELFFile) -> Told:
    """The function that is called for each module, and the fields of a module's description, from DWARF."""
    members = next(_members(kernel), {})
    addresses = {name: address for address, _, name in functions(kernel)}
    name, place, size = (f"{_FIRST_ARGUMENT}+{members[name]}" for name in _MEMBERS)
    return Told(addresses[_ADDS_MODULE], f"{name}:0", place, size)


def _members(kernel: ELFFile) -> Iterator[dict[str, int]]:
    for unit in kernel.get_dwarf_info().iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            if die.tag == "DW_TAG_structure_type" and _name(die) == _MODULE_STRUCT and die.has_children:
                members = ((_name(m), m.attributes.get(_MEMBER_AT)) for m in die.iter_children())
                yield {name: at.value for name, at in members if at}


def _name(die: DIE) -> str:
    name = die.attributes.get("DW_AT_name")
    return name.value.decode("ascii", "replace") if name else ""

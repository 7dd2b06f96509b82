# SPDX-License-Identifier: Apache-2.0
"""The code of a program: where its functions begin, return, and call an address in a register.

Everything is read from the build's program file, so the target needs no symbols of its own.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from elftools.common.exceptions import ELFError, ELFParseError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

from bootscope.arch.model import ALWAYS, Architecture, Insn, Instructions
from bootscope.arch.registry import ARCHITECTURES, of_program
from bootscope.core.errors import UserError

_LARGEST_FUNCTION_BYTES = 64 * 1024
# Suffixes that compilers append to the name of a function that they have specialised, and to the part of a
# function that they have moved because it hardly ever runs.
_VARIANT = re.compile(r"(?:\.(?:isra|constprop|part)(?:\.\d+)?){1,8}$")
_COLD = re.compile(r"\.cold(?:\.\d+)?$")


@dataclass(frozen=True, slots=True)
class Function:
    """A function: address, size in bytes, and whether its code is in the architecture's second instruction
    set (Thumb)."""

    name: str
    address: int
    size: int
    alternate: bool


@dataclass(frozen=True, slots=True)
class Exit:
    """An instruction at which a function ends, if `condition` holds."""

    address: int
    condition: int


@dataclass(frozen=True, slots=True)
class IndirectCall:
    """A call of the address in register `register`, if `condition` holds; it returns to `back`."""

    address: int
    register: str
    back: int
    condition: int = ALWAYS


class Code:
    """The code of one program, from its ELF file with symbols.

    Raises UserError when the data are damaged, something else, or for an unknown architecture.
    """

    arch: Architecture

    def __init__(self, data: bytes) -> None:
        try:
            elf = ELFFile(io.BytesIO(data))
            self.arch = of_program(elf["e_machine"], elf.elfclass, elf.little_endian)
            sections = list(_sections(elf))
            self._parts: list[tuple[int, bytes]] = [
                (s["sh_addr"], s.data())
                for s in sections
                if s["sh_flags"] & 2 and s["sh_type"] == "SHT_PROGBITS"
            ]
            found = list(_symbols(sections, self.arch))
            self.entry: int = elf["e_entry"]
        except (ELFError, ValueError, struct.error) as error:
            known = " or ".join(f"a {arch.title}" for arch in ARCHITECTURES.values())
            raise UserError(f"no ELF file of {known} program: {error}") from error
        self._take(found)

    @classmethod
    def empty(cls, arch: Architecture) -> Code:
        """The code of a missing program: it has no functions."""
        made = cls.__new__(cls)
        made.arch, made._parts, made.entry = arch, [], 0
        made._take([])
        return made

    def _take(self, found: list[tuple[Function, bool]]) -> None:
        self.functions = sorted((f for f, is_code in found if is_code), key=lambda f: f.address)
        self.marks = {f.name: f.address for f, is_code in found if not is_code and not f.size}
        """Symbols that are neither function nor object, such as the ends of a linker's tables."""
        self._by_name: dict[str, Function] = {}
        for function in self.functions:
            self._by_name.setdefault(function.name, function)
        # A variant replaces a function only where the function itself is gone.
        for function in self.functions:
            self._by_name.setdefault(_VARIANT.sub("", function.name), function)

    def function(self, *names: str) -> Function | None:
        """The first of `names` that exists, also as a variant that the compiler made of it."""
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def address(self, name: str) -> int | None:
        """Where a function begins, even assembler code that is not marked as a function; None for no
        symbol."""
        function = self.function(name)
        return function.address if function else self.marks.get(name)

    def extent(self) -> tuple[int, int]:
        """The lowest address of a function, and the end of the highest; (0, 0) for a program without
        functions."""
        code = [f for f in self.functions if f.size]
        return (code[0].address, max(f.address + f.size for f in code)) if code else (0, 0)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the program; empty where it has none."""
        for start, data in self._parts:
            if start <= address < start + len(data):
                return bytes(data[address - start : address - start + size])
        return b""

    def words(self, start: int, end: int) -> list[int]:
        """The little-endian words, of the size of an address, from `start` up to `end`."""
        data, size = self.read(start, end - start), self.arch.word_bytes
        return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data) - size + 1, size)]

    def exits(self, function: Function) -> list[Exit]:
        """Where a function returns, or jumps into another one without returning."""
        reader = self._reader
        return [
            Exit(insn.address, reader.condition(insn))
            for insn in self._instructions(function)
            if reader.returns(insn) or self._jumps_away(insn, function)
        ]

    def calls(self, function: Function, other: Function) -> bool:
        """Whether a function calls another one by its address, or jumps to it at its end."""
        return bool(self.calls_of(function, other))

    def calls_of(self, function: Function, other: Function | None) -> list[int]:
        """The addresses at which a function calls another one by its address, or jumps to it at its end."""
        if other is None:
            return []
        instructions = self._instructions(function)
        return [insn.address for insn in instructions if self._reader.call(insn) == other.address]

    def _jumps_away(self, insn: Insn, function: Function) -> bool:
        """Whether an instruction branches out of its function; its cold part belongs to it."""
        target = self._reader.jump(insn)
        if target is None or function.address <= target < function.address + function.size:
            return False
        return _COLD.sub("", self._names_at.get(target, "")) != _COLD.sub("", function.name)

    @cached_property
    def _names_at(self) -> dict[int, str]:
        return {f.address: f.name for f in self.functions if _COLD.search(f.name)}

    def indirect_calls(self, function: Function) -> list[IndirectCall]:
        """Where a function calls an address in a register."""
        reader = self._reader
        return [
            IndirectCall(insn.address, register, insn.address + insn.size, reader.condition(insn))
            for insn in self._instructions(function)
            if (register := reader.called_register(insn) or self._by_thunk(insn)) is not None
        ]

    def _by_thunk(self, insn: Insn) -> str | None:
        """The register whose address an instruction calls through a thunk, a function that only does that."""
        prefix, reader = self.arch.call_thunks, self._reader
        if not prefix or reader.jump(insn) is not None or (target := reader.call(insn)) is None:
            return None
        return self._thunks.get(target)

    @cached_property
    def _thunks(self) -> dict[int, str]:
        prefix = self.arch.call_thunks
        return {f.address: f.name.removeprefix(prefix) for f in self.functions if f.name.startswith(prefix)}

    @cached_property
    def _reader(self) -> Instructions:
        return self.arch.load_instructions()

    def _instructions(self, function: Function) -> Iterator[Insn]:
        size = min(function.size, _LARGEST_FUNCTION_BYTES)
        code = self.read(function.address, size)
        return self._reader.decode(code, function.address, function.alternate)


_SYMBOL_32, _SYMBOL_64 = struct.Struct("<IIIBBH"), struct.Struct("<IBBHQQ")
_NO_TYPE, _FUNCTION_TYPE, _UNDEFINED = 0, 2, 0


def _sections(elf: ELFFile) -> Iterator[Section]:
    """Its sections, except those with a wrong link: boot loaders for 64-bit ARM have a hash table that refers
    to no symbol table. Raises ELFParseError where the file is damaged."""
    for number in range(elf.num_sections()):
        try:
            yield elf.get_section(number)
        except ELFParseError:
            raise
        except ELFError:
            continue


def _symbols(sections: Iterable[Section], arch: Architecture) -> Iterator[tuple[Function, bool]]:
    """(symbol, whether it is a function). Reads the raw table: a kernel has more than 100,000 symbols."""
    table = next((s for s in sections if isinstance(s, SymbolTableSection) and s.name == ".symtab"), None)
    if table is None:
        return
    names = table.stringtable.data()
    for name, value, size, info, section in _entries(table.data(), arch.bits):
        kind = info & 0xF
        if section != _UNDEFINED and (kind == _FUNCTION_TYPE or (kind == _NO_TYPE and name)):
            text = names[name : names.index(b"\0", name)].decode("ascii", "replace")
            is_code = kind == _FUNCTION_TYPE
            mark = value & arch.mode_bit if is_code else 0
            yield Function(text, value - mark, size, bool(mark)), is_code


def _entries(table: bytes, bits: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(name, value, size, info, section) of the symbols of an ELF file of 32 or 64 bits."""
    if bits == 64:
        return ((n, value, size, info, at) for n, info, _, at, value, size in _SYMBOL_64.iter_unpack(table))
    return ((n, value, size, info, at) for n, value, size, info, _, at in _SYMBOL_32.iter_unpack(table))

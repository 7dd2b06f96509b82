# SPDX-License-Identifier: Apache-2.0
"""The code of a program: where its functions begin, return, and call what they find in a register.

Everything is read from the program file of the build, so the target needs no symbols of its own.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import capstone
from capstone import arm_const as arm
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bootscope.core.errors import UserError

ALWAYS = 14
_LARGEST_FUNCTION_BYTES = 64 * 1024
# What compilers append to the name of a function that they have specialised, and to the part of a
# function that they have put elsewhere because it hardly ever runs.
_VARIANT = re.compile(r"(?:\.(?:isra|constprop|part)(?:\.\d+)?){1,8}$")
_COLD = re.compile(r"\.cold(?:\.\d+)?$")
_LOADS = (arm.ARM_INS_POP, arm.ARM_INS_LDM, arm.ARM_INS_LDMDA, arm.ARM_INS_LDMDB, arm.ARM_INS_LDMIB)
_REGISTERS = {getattr(arm, f"ARM_REG_R{n}"): n for n in range(13)} | {
    arm.ARM_REG_SP: 13,
    arm.ARM_REG_LR: 14,
    arm.ARM_REG_PC: 15,
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function: address, size in bytes, and whether it is Thumb code."""

    name: str
    address: int
    size: int
    thumb: bool


@dataclass(frozen=True, slots=True)
class Exit:
    """An instruction at which a function ends, if ARM's condition `condition` holds (14: always)."""

    address: int
    condition: int


@dataclass(frozen=True, slots=True)
class IndirectCall:
    """A call of the address in register `register`, if `condition` holds; it comes back to `back`."""

    address: int
    register: int
    back: int
    condition: int = ALWAYS


@cache
def disassembler(thumb: bool) -> capstone.Cs:
    """The ARM or Thumb disassembler, with operands, going over data that is no code."""
    found = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB if thumb else capstone.CS_MODE_ARM)
    found.detail = True
    found.skipdata = True
    return found


class Code:
    """The code of one 32-bit ARM program, from its ELF file with symbols.

    Raises UserError when the data are something else, or damaged.
    """

    def __init__(self, data: bytes) -> None:
        try:
            elf = ELFFile(io.BytesIO(data))
            self._parts, found = _contents(elf)
            self.entry: int = elf["e_entry"]
        except (ELFError, ValueError, struct.error) as error:
            raise UserError(f"no ELF file of a 32-bit ARM program: {error}") from error
        self._take(found)

    @classmethod
    def empty(cls) -> Code:
        """The code of a program that nobody has: it has no functions."""
        made = cls.__new__(cls)
        made._parts, made.entry = [], 0
        made._take([])
        return made

    def _take(self, found: list[tuple[Function, bool]]) -> None:
        self.functions = sorted((f for f, is_code in found if is_code), key=lambda f: f.address)
        self.marks = {f.name: f.address for f, is_code in found if not is_code and not f.size}
        """Symbols that are neither function nor object, such as the ends of a linker's tables."""
        self._by_name: dict[str, Function] = {}
        for function in self.functions:
            self._by_name.setdefault(function.name, function)
        # A variant stands in for a function only where that itself is gone.
        for function in self.functions:
            self._by_name.setdefault(_VARIANT.sub("", function.name), function)

    def function(self, *names: str) -> Function | None:
        """The first of `names` that exists, also as a variant that the compiler made of it."""
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def extent(self) -> tuple[int, int]:
        """Lowest address of a function, and the end of the highest; (0, 0) for a program without any."""
        code = [f for f in self.functions if f.size]
        return (code[0].address, max(f.address + f.size for f in code)) if code else (0, 0)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the program; empty where it has none."""
        for start, data in self._parts:
            if start <= address < start + len(data):
                return bytes(data[address - start : address - start + size])
        return b""

    def words(self, start: int, end: int) -> list[int]:
        """The 32-bit little-endian words from `start` up to `end`."""
        data = self.read(start, end - start)
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data) - 3, 4)]

    def exits(self, function: Function) -> list[Exit]:
        """Where a function returns, or jumps into another one for good."""
        return [
            Exit(insn.address, _condition(insn))
            for insn in self._instructions(function)
            if _leaves(insn) or self._jumps_away(insn, function)
        ]

    def calls(self, function: Function, other: Function) -> bool:
        """Whether a function calls another one by its address, or ends in it."""
        return any(
            insn.operands[0].type == arm.ARM_OP_IMM and insn.operands[0].imm & 0xFFFFFFFF == other.address
            for insn in self._instructions(function)
            if insn.id in (arm.ARM_INS_BL, arm.ARM_INS_BLX, arm.ARM_INS_B)
        )

    def _jumps_away(self, insn: capstone.CsInsn, function: Function) -> bool:
        """Whether an instruction branches out of its function; its cold part belongs to it."""
        if insn.id != arm.ARM_INS_B:
            return False
        target = insn.operands[0].imm & 0xFFFFFFFF
        if function.address <= target < function.address + function.size:
            return False
        return _COLD.sub("", self._names_at.get(target, "")) != _COLD.sub("", function.name)

    @cached_property
    def _names_at(self) -> dict[int, str]:
        return {f.address: f.name for f in self.functions if _COLD.search(f.name)}

    def indirect_calls(self, function: Function) -> list[IndirectCall]:
        """Where a function calls what a register points to."""
        return [
            IndirectCall(
                insn.address, _REGISTERS[insn.operands[0].reg], insn.address + insn.size, _condition(insn)
            )
            for insn in self._instructions(function)
            if insn.id == arm.ARM_INS_BLX and insn.operands[0].type == arm.ARM_OP_REG
        ]

    def _instructions(self, function: Function) -> Iterator[capstone.CsInsn]:
        size = min(function.size, _LARGEST_FUNCTION_BYTES)
        code = self.read(function.address, size)
        return (i for i in disassembler(function.thumb).disasm(code, function.address) if i.id)


def _contents(elf: ELFFile) -> tuple[list[tuple[int, bytes]], list[tuple[Function, bool]]]:
    """((address, bytes) of what is loaded, symbols). Raises ValueError for another kind of program."""
    if elf["e_machine"] != "EM_ARM" or elf.elfclass != 32 or not elf.little_endian:
        raise ValueError(f"it is for {elf['e_machine']}, {elf.elfclass} bits")
    parts = [
        (s["sh_addr"], s.data())
        for s in elf.iter_sections()
        if s["sh_flags"] & 2 and s["sh_type"] == "SHT_PROGBITS"
    ]
    return parts, list(_symbols(elf))


_SYMBOL = struct.Struct("<IIIBBH")
_NO_TYPE, _FUNCTION_TYPE, _UNDEFINED = 0, 2, 0


def _symbols(elf: ELFFile) -> Iterator[tuple[Function, bool]]:
    """(symbol, whether it is a function). Read as the raw table: a kernel has more than 100,000."""
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        return
    names = table.stringtable.data()
    for name, value, size, info, _, section in _SYMBOL.iter_unpack(table.data()):
        kind = info & 0xF
        if section != _UNDEFINED and (kind == _FUNCTION_TYPE or (kind == _NO_TYPE and name)):
            text = names[name : names.index(b"\0", name)].decode("ascii", "replace")
            is_code = kind == _FUNCTION_TYPE
            mark = value & 1 if is_code else 0
            yield Function(text, value - mark, size, bool(mark)), is_code


def _condition(insn: capstone.CsInsn) -> int:
    """ARM's number of a condition; capstone counts from 1 and calls 'always' 15."""
    return insn.cc - 1 if 0 < insn.cc < 15 else ALWAYS


def _leaves(insn: capstone.CsInsn) -> bool:
    """Whether an instruction returns: jumps to a register, or loads the program counter off the stack."""
    if insn.id == arm.ARM_INS_BX:
        return True
    operands = insn.operands
    if insn.id in _LOADS:
        return any(o.type == arm.ARM_OP_REG and o.reg == arm.ARM_REG_PC for o in operands)
    if insn.id in (arm.ARM_INS_LDR, arm.ARM_INS_MOV):
        if operands[0].type != arm.ARM_OP_REG or operands[0].reg != arm.ARM_REG_PC:
            return False
        # ldr pc, [table + ...] is a switch, not a return; from the stack it is one.
        return bool(insn.id == arm.ARM_INS_MOV or operands[1].mem.base == arm.ARM_REG_SP)
    return False

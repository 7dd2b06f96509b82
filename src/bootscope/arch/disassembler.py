# SPDX-License-Identifier: Apache-2.0
"""Common code for all instruction sets: they use the disassembler capstone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bootscope.arch.model import Insn, StackGrowth

if TYPE_CHECKING:
    import capstone

UNKNOWN = -1
"""The growth of a stack by a register's value."""
NOWHERE = -1
"""The place of a return address that is not stored."""


class Disassembler(ABC):
    """Reads code with a capstone reader for each instruction set; the second one is under True."""

    def __init__(self, readers: Mapping[bool, capstone.Cs]) -> None:
        self._readers = readers
        for reader in readers.values():
            reader.detail = True
            reader.skipdata = True

    @abstractmethod
    def _may_grow(self, name: str, operands: str) -> bool:
        """Whether an instruction, as text, may grow the stack."""

    @abstractmethod
    def _grows_by(self, insn: Insn) -> tuple[int, int]:
        """(bytes by which the instruction grows the stack, or UNKNOWN; offset of the return address above the
        new stack pointer, or NOWHERE)."""

    def decode(self, code: bytes, address: int, alternate: bool) -> Iterator[capstone.CsInsn]:
        return (insn for insn in self._readers[alternate].disasm(code, address) if insn.id)

    def stack_growth(self, code: bytes, address: int, alternate: bool) -> Iterator[StackGrowth]:
        reader = self._readers[alternate]
        # Operands are much slower than the text; few instructions touch the stack pointer.
        for at, size, name, operands in reader.disasm_lite(code, address):
            if self._may_grow(name, operands):
                begin = at - address
                for insn in reader.disasm(code[begin : begin + size], at, 1):
                    grown, link_at = self._grows_by(insn)
                    if grown or link_at >= 0:
                        yield StackGrowth(at, grown, link_at)

# SPDX-License-Identifier: Apache-2.0
"""What the readers of all instruction sets have in common: they ask the disassembler capstone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bootscope.arch.model import Insn, StackGrowth

if TYPE_CHECKING:
    import capstone

UNKNOWN = -1
"""How far a stack grows that grows by what a register holds."""
NOWHERE = -1
"""Where the return address goes that goes nowhere."""


class Disassembler(ABC):
    """Reads code by a reader of capstone's for each of its instruction sets, the second one under True."""

    def __init__(self, readers: Mapping[bool, capstone.Cs]) -> None:
        self._readers = readers
        for reader in readers.values():
            reader.detail = True
            reader.skipdata = True

    @abstractmethod
    def _may_grow(self, name: str, operands: str) -> bool:
        """Whether an instruction, as text, is worth a closer look."""

    @abstractmethod
    def _grows_by(self, insn: Insn) -> tuple[int, int]:
        """(bytes by which the instruction makes the stack grow, or UNKNOWN; where above it the return address
        is, or NOWHERE)."""

    def decode(self, code: bytes, address: int, alternate: bool) -> Iterator[capstone.CsInsn]:
        return (insn for insn in self._readers[alternate].disasm(code, address) if insn.id)

    def stack_growth(self, code: bytes, address: int, alternate: bool) -> Iterator[StackGrowth]:
        reader = self._readers[alternate]
        # Operands cost much more than the text; few instructions touch the stack pointer.
        for at, size, name, operands in reader.disasm_lite(code, address):
            if self._may_grow(name, operands):
                begin = at - address
                for insn in reader.disasm(code[begin : begin + size], at, 1):
                    grown, link_at = self._grows_by(insn)
                    if grown or link_at >= 0:
                        yield StackGrowth(at, grown, link_at)

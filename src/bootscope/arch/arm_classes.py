# SPDX-License-Identifier: Apache-2.0
"""Classes of ARM's 32-bit instructions: those for which a core takes longer, and which registers they load
and read. From the encodings in the ARM Architecture Reference Manual (ARM DDI 0406C, A5.1 to A5.5). Thumb
code is not covered."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.arch.model import Opcode, Rule

_N, _D, _S, _M = 16, 12, 8, 0
"""Bit positions of register numbers: the first operand or base, the destination or stored register, the shift
amount, the second operand."""
_BITS = 4


def _rule(kind: str, mask: int, value: int, *fields: int, registers: int = 0) -> Rule:
    return Rule(kind, Opcode(4, mask, value), tuple((field, _BITS) for field in fields), registers)


def _costs() -> Iterator[Rule]:
    yield _rule("costs multiply", 0x0FC000F0, 0x00000090)  # mul, mla, mls, umaal
    yield _rule("costs multiply", 0x0F8000F0, 0x00800090)  # 64-bit
    yield _rule("costs multiply", 0x0F900090, 0x01000080)  # half words
    yield _rule("costs divide", 0x0FD000F0, 0x07100010)  # sdiv, udiv
    yield _rule("costs plain", 0x0F900000, 0x01000000)  # bx, clz, mrs: encoded as compares without flags
    yield _rule("costs shift", 0x0E000090, 0x00000010)  # data processing with a shift by a register
    yield _rule("costs plain", 0x0E000FF0, 0x06000000)  # loads and stores with an unshifted register
    yield _rule("costs scaled", 0x0E000010, 0x06000000)
    yield _rule("costs many", 0x0E000000, 0x08000000, registers=0xFFFF)  # ldm, stm


def _loads() -> Iterator[Rule]:
    yield _rule("loads word", 0x0E500000, 0x04100000, _D)
    yield _rule("loads word", 0x0E500010, 0x06100000, _D)
    yield _rule("loads narrow", 0x0E500000, 0x04500000, _D)  # ldrb
    yield _rule("loads narrow", 0x0E500010, 0x06500000, _D)
    yield _rule("loads narrow", 0x0E1000F0, 0x001000B0, _D)  # ldrh, ldrsb, ldrsh
    yield _rule("loads narrow", 0x0E1000D0, 0x001000D0, _D)


def _reads() -> Iterator[Rule]:
    yield _rule("reads", 0x0E000000, 0x0A000000)  # branches
    yield _rule("reads", 0x0E100000, 0x04000000, _N, _D)  # str, strb
    yield _rule("reads", 0x0E100000, 0x04100000, _N)  # ldr, ldrb
    yield _rule("reads", 0x0E100010, 0x06000000, _N, _D, _M)
    yield _rule("reads", 0x0E100010, 0x06100000, _N, _M)
    yield _rule("reads", 0x0F0000F0, 0x00000090, _M, _S, _D)  # multiplications
    yield _rule("reads", 0x0E500090, 0x00400090, _N, _D)  # strh and strd
    yield _rule("reads", 0x0E500090, 0x00000090, _N, _D, _M)
    yield _rule("reads", 0x0E500090, 0x00500090, _N)  # ldrh, ldrsb, ldrsh
    yield _rule("reads", 0x0E500090, 0x00100090, _N, _M)
    yield _rule("reads", 0x0E000000, 0x08000000, _N)  # ldm, stm: their base
    yield _rule("reads", 0x0FF00000, 0x03000000)  # movw
    yield _rule("reads", 0x0FF00000, 0x03400000, _D)  # movt, which keeps half of it
    yield _rule("reads", 0x0FA00000, 0x03A00000)  # mov, mvn of an immediate
    yield _rule("reads", 0x0E000000, 0x02000000, _N)
    yield _rule("reads", 0x0FA00090, 0x01A00010, _M, _S)  # mov, mvn of a register
    yield _rule("reads", 0x0FA00010, 0x01A00000, _M)
    yield _rule("reads", 0x0F900000, 0x01000000, _M)
    yield _rule("reads", 0x0E000090, 0x00000010, _N, _M, _S)
    yield _rule("reads", 0x0E000010, 0x00000000, _N, _M)
    yield _rule("reads", 0x0E000010, 0x06000010, _N, _M, _S)  # media


ARM_CLASSES = (*_costs(), *_loads(), *_reads())
"""Of each kind, the first match counts."""

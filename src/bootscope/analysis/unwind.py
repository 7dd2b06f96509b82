# SPDX-License-Identifier: Apache-2.0
"""Call paths from stack samples, only as far as the program's own code proves them.

A sample holds every word on the stack that may be a return address, old ones included. Which of them
is the current function's lies at a place that its code fixes: what it has pushed and taken off the
stack pointer up to where it is now. If the word there is no return address, the path ends and is marked
as cut, so nothing is made up.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import capstone
from capstone import arm_const as arm

from bootscope.capture.stream import StackSample
from bootscope.image.code import Code, Function, disassembler

MOST_FRAMES = 64
_WORD = 4
_UNKNOWN = -1
# Functions that are entered without a call: by a jump from hand-written code, or as the last thing that
# such code does. A path that ends in one is whole.
_ENTERED = re.compile(r"(?:k|__se_)?sys_\w+|kthreadd?|kernel_init|board_init_[fr]")


@dataclass(frozen=True, slots=True)
class _Grows:
    """At `address` the frame grows by `size` bytes (-1: nobody knows); lr went `lr_at` bytes above the
    new stack pointer, or nowhere (-1)."""

    address: int
    size: int
    lr_at: int


@dataclass(frozen=True, slots=True)
class Path:
    """Return addresses, innermost first after the sample's own pc; `cut` when it did not reach a root."""

    addresses: tuple[int, ...]
    cut: bool


class Unwinder:
    """Unwinds samples of one program, loaded `offset` bytes from where it was linked.

    `roots` are functions that nothing calls: a path that gets there is whole.
    """

    def __init__(self, code: Code, offset: int = 0, roots: frozenset[str] = frozenset()) -> None:
        self._code, self.offset, self._roots = code, offset, roots
        self._functions = [f for f in code.functions if f.size]
        self._starts = [f.address for f in self._functions]
        self._marks = sorted((a, n) for n, a in code.marks.items() if n in roots)
        self._marks += [(f.address, f.name) for f in code.functions]
        self._marks.sort()
        self._grows: dict[int, list[_Grows]] = {}

    def function(self, address: int) -> Function | None:
        """The function that an address (as it ran) lies in."""
        linked = address - self.offset
        at = bisect_right(self._starts, linked) - 1
        if at < 0:
            return None
        found = self._functions[at]
        return found if linked < found.address + found.size else None

    def path(self, sample: StackSample) -> Path:
        """The return addresses that are proven, from the sampled function outwards."""
        words = sample.words
        found: list[int] = []
        pc, depth = sample.pc, 0
        while len(found) < MOST_FRAMES:
            function = self.function(pc)
            if function is None:
                return Path(tuple(found), True)
            if function.name in self._roots:
                return Path(tuple(found), False)
            grown = [g for g in self._frame(function) if g.address < pc - self.offset]
            if any(g.size == _UNKNOWN for g in grown):
                return Path(tuple(found), True)
            saved = next((i for i, g in enumerate(grown) if g.lr_at >= 0), None)
            if saved is None:
                # lr is still in its register: that can only be so in the innermost function.
                back = sample.lr if not found else 0
                depth += sum(g.size for g in grown)
            else:
                after = sum(g.size for g in grown[saved + 1 :])
                back = words.get((depth + after + grown[saved].lr_at) // _WORD, 0)
                depth += sum(g.size for g in grown)
            back &= ~1
            caller = self.function(back - 2)
            if caller is None or (caller is function and saved is None):
                # Nowhere, or where a call of its own came back to: lr has another use by now.
                entered = caller is None and _ENTERED.fullmatch(function.name)
                return Path(tuple(found), not (entered or self._is_root(back)))
            found.append(back)
            pc = back - 2  # the call is before the address that it returns to
        return Path(tuple(found), True)

    def _is_root(self, address: int) -> bool:
        """Whether an address lies in hand-written code that begins a path, which has no size."""
        at = bisect_right(self._marks, (address - self.offset, "~")) - 1
        return at >= 0 and self._marks[at][1] in self._roots

    def _frame(self, function: Function) -> list[_Grows]:
        known = self._grows.get(function.address)
        if known is None:
            known = self._grows[function.address] = list(self._growth(function))
        return known

    def _growth(self, function: Function) -> Iterator[_Grows]:
        data = self._code.read(function.address, min(function.size, 65536))
        tool = disassembler(function.thumb)
        # Operands cost much more than the text; few instructions touch the stack pointer.
        for address, size, name, operands in tool.disasm_lite(data, function.address):
            if _may_grow(name, operands):
                at = address - function.address
                for insn in tool.disasm(data[at : at + size], address, 1):
                    grown, lr_at = _grows_by(insn)
                    if grown or lr_at >= 0:
                        yield _Grows(address, grown, lr_at)


def _may_grow(name: str, operands: str) -> bool:
    """Whether an instruction, as text, is worth a closer look."""
    if name.startswith(("push", "vpush")):
        return True
    if "sp" not in operands:
        return False
    # Most stores on the stack put a local variable there.
    stores = name.startswith("str") and (operands.endswith("!") or operands.startswith("lr,"))
    return stores or name.startswith(("stmdb", "sub"))


def _grows_by(insn: capstone.CsInsn) -> tuple[int, int]:
    """(bytes by which the instruction makes the stack grow, or -1; where above it lr is, or -1)."""
    operands = insn.operands
    if insn.id == arm.ARM_INS_PUSH:
        return _pushed([o.reg for o in operands])
    if insn.id == arm.ARM_INS_STMDB and operands[0].reg == arm.ARM_REG_SP and insn.writeback:
        return _pushed([o.reg for o in operands[1:]])
    if insn.id == arm.ARM_INS_VPUSH:
        return sum(_WORD if o.reg in _SINGLES else 2 * _WORD for o in operands), -1
    if insn.id in (arm.ARM_INS_STR, arm.ARM_INS_STRD) and operands[-1].mem.base == arm.ARM_REG_SP:
        return _stored(insn)
    if insn.id == arm.ARM_INS_SUB and operands[0].reg == arm.ARM_REG_SP:
        if len(operands) == 3 and operands[1].reg != arm.ARM_REG_SP:
            return 0, -1  # back to what a frame pointer says: the function is about to end
        last = operands[-1]
        return (last.imm if last.type == arm.ARM_OP_IMM else _UNKNOWN), -1
    return 0, -1


def _stored(insn: capstone.CsInsn) -> tuple[int, int]:
    """The same for a store on the stack, which may move the stack pointer."""
    operands = insn.operands
    is_lr = insn.id == arm.ARM_INS_STR and operands[0].reg == arm.ARM_REG_LR
    offset = operands[-1].mem.disp
    if insn.writeback:
        return (-offset, 0 if is_lr else -1) if offset < 0 else (0, -1)
    return 0, offset if is_lr and offset >= 0 else -1


_SINGLES = frozenset(getattr(arm, f"ARM_REG_S{n}") for n in range(32))
# Registers go to memory in the order of their numbers, which is not that of capstone's constants.
_ORDER = {
    register: number
    for number, register in enumerate(
        [getattr(arm, f"ARM_REG_R{n}") for n in range(13)] + [arm.ARM_REG_SP, arm.ARM_REG_LR, arm.ARM_REG_PC]
    )
}


def _pushed(registers: list[int]) -> tuple[int, int]:
    ordered = sorted(registers, key=lambda r: _ORDER.get(r, 99))
    lr_at = ordered.index(arm.ARM_REG_LR) * _WORD if arm.ARM_REG_LR in ordered else -1
    return _WORD * len(ordered), lr_at

# SPDX-License-Identifier: Apache-2.0
"""64-bit ARM: its instructions, as the plugin and the call paths need them."""

from __future__ import annotations

import struct

import pytest

from bootscope.arch.arm64 import ARM64
from bootscope.arch.model import ALWAYS, StackGrowth

AT = 0x60001000


def code(*words: int) -> bytes:
    """Code from instruction words as a disassembly shows them."""
    return struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize(
    ("word", "size", "link_at"),
    [
        (0xA9BD7BFD, 48, 8),  # stp x29, x30, [sp, #-48]!
        (0xF81E0FFE, 32, 0),  # str x30, [sp, #-32]!
        (0xD10203FF, 128, -1),  # sub sp, sp, #128
        (0xD14007FF, 4096, -1),  # sub sp, sp, #1, lsl #12
        (0xCB2063FF, -1, -1),  # sub sp, sp, x0
        (0xA9057BFD, 0, 88),  # stp x29, x30, [sp, #80]
        (0x6DBF27E8, 16, -1),  # stp d8, d9, [sp, #-16]!
    ],
)
def test_what_makes_the_stack_grow(word: int, size: int, link_at: int) -> None:
    found = list(ARM64.load_instructions().stack_growth(code(word), AT, False))
    assert found == [StackGrowth(AT, size, link_at)]


@pytest.mark.parametrize(
    "word",
    [
        0xF90027E2,  # str x2, [sp, #72]
        0xA8C37BFD,  # ldp x29, x30, [sp], #48
        0x910203FF,  # add sp, sp, #128
        0x910143FD,  # add x29, sp, #80
        0xF8010FFE,  # str x30, [sp, #16]!
    ],
)
def test_what_does_not(word: int) -> None:
    assert list(ARM64.load_instructions().stack_growth(code(word), AT, False)) == []


def test_returns_calls_and_jumps() -> None:
    reader = ARM64.load_instructions()
    ret, blr, call, jump, branch = reader.decode(
        code(0xD65F03C0, 0xD63F0260, 0x94000002, 0x17FFFFFF, 0x54000040), AT, False
    )
    assert [reader.returns(insn) for insn in (ret, blr, call, jump)] == [True, False, False, False]
    assert [reader.called_register(insn) for insn in (ret, blr, call)] == [None, "x19", None]
    assert reader.call(call) == AT + 8 + 8
    assert (reader.jump(jump), reader.jump(call)) == (AT + 12 - 4, None)
    # b.eq, the first of the conditions
    assert (reader.jump(branch), reader.condition(branch)) == (AT + 16 + 8, 0)
    assert reader.condition(ret) == ALWAYS


def test_a_call_is_before_what_it_comes_back_to() -> None:
    assert ARM64.call_before(AT + 4) == AT
    opcodes = {0x94000002, 0x97FFFF00, 0xD63F0260}
    assert all(any(word & o.mask == o.value for o in ARM64.calls) for word in opcodes)
    assert not any(0xD65F03C0 & o.mask == o.value for o in ARM64.calls)


def test_how_functions_begin() -> None:
    begins = (0xD503201F, 0xD503233F, 0xA9BD7BFD, 0xD10203FF)
    assert all(map(ARM64.begins_function, begins))
    assert not any(map(ARM64.begins_function, (0xA9057BFD, 0xD65F03C0, 0)))

# SPDX-License-Identifier: Apache-2.0
"""64-bit RISC-V: its instructions, long and compressed, as the plugin and the call paths need them.

The code is what GNU as 2.40 made of the comments (`riscv64-linux-gnu-as -march=rv64gc`).
"""

from __future__ import annotations

import pytest

from bootscope.arch.model import ALWAYS, StackGrowth
from bootscope.arch.riscv64 import RISCV64

AT = 0x80201000


def code(*words: str) -> bytes:
    """Code from instruction words as a disassembly shows them."""
    return b"".join(bytes.fromhex(word)[::-1] for word in words)


@pytest.mark.parametrize(
    ("word", "size", "link_at"),
    [
        ("fe010113", 32, -1),  # addi sp, sp, -32
        ("81010113", 2032, -1),  # addi sp, sp, -2032
        ("1101", 32, -1),  # c.addi sp, -32
        ("7119", 128, -1),  # c.addi16sp sp, -128
        ("40510133", -1, -1),  # sub sp, sp, t0
        ("00113c23", 0, 24),  # sd ra, 24(sp)
        ("ec06", 0, 24),  # c.sdsp ra, 24(sp)
    ],
)
def test_what_makes_the_stack_grow(word: str, size: int, link_at: int) -> None:
    found = list(RISCV64.load_instructions().stack_growth(code(word), AT, False))
    assert found == [StackGrowth(AT, size, link_at)]


@pytest.mark.parametrize("word", ["00813823", "6105", "00008067"])  # sd s0, 16(sp); addi sp, sp, 32; ret
def test_what_does_not(word: str) -> None:
    assert list(RISCV64.load_instructions().stack_growth(code(word), AT, False)) == []


def test_returns_and_calls_by_a_register() -> None:
    reader = RISCV64.load_instructions()
    # ret, c.jr ra, jalr ra, 0(a5), c.jalr a5, c.ebreak
    found = list(reader.decode(code("00008067", "8082", "000780e7", "9782", "9002"), AT, False))
    assert [reader.returns(insn) for insn in found] == [True, True, False, False, False]
    assert [reader.called_register(insn) for insn in found] == [None, None, "a5", "a5", None]
    assert [reader.call(insn) for insn in found] == [None] * 5
    assert {reader.condition(insn) for insn in found} == {ALWAYS}


def test_calls_and_jumps_to_an_address() -> None:
    reader = RISCV64.load_instructions()
    # jal ra, .+8; j .-4; c.j .-2; auipc ra, 0x1 and jalr ra, 16(ra), which are one far call
    near, back, short, _, far = reader.decode(
        code("008000ef", "ffdff06f", "bffd", "00001097", "010080e7"), AT, False
    )
    assert (reader.call(near), reader.jump(near)) == (AT + 8, None)
    assert (reader.call(back), reader.jump(back)) == (AT + 4 - 4, AT + 4 - 4)
    assert reader.jump(short) == AT + 8 - 2
    assert (reader.call(far), reader.called_register(far)) == (AT + 10 + 0x1000 + 16, None)


def test_a_call_is_before_what_it_comes_back_to() -> None:
    calls = {0x008000EF, 0x000780E7, 0x9782}
    assert all(any(word & o.mask == o.value for o in RISCV64.calls) for word in calls)
    assert not any(0x00008067 & o.mask == o.value for o in RISCV64.calls)
    assert AT <= RISCV64.call_before(AT + 2) < AT + 2

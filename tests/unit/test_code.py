# SPDX-License-Identifier: Apache-2.0
"""The code of programs: where functions begin, end and call what a register points to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.arch.arm import ARM
from bootscope.arch.model import ALWAYS
from bootscope.core.errors import UserError
from bootscope.emulator import initcall_table
from bootscope.emulator.probes import Hooks
from bootscope.image.code import Code

from .elf import TEXT, Fn, arm, code, elf, thumb

EQ, NE = 0, 1
NOP, BX_LR, THUMB_NOP, THUMB_BX_LR = 0xE1A00000, 0xE12FFF1E, 0xBF00, 0x4770
PLAIN = Fn("plain", arm(NOP, BX_LR))


def exits(function: Fn, *others: Fn) -> list[tuple[int, int]]:
    """(offset in the function, condition) of its ends; the others lie behind it."""
    program = code(function, *others)
    found = program.function(function.name)
    assert found
    return [(end.address - found.address, end.condition) for end in program.exits(found)]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((0xE12FFF1E,), id="bx lr"),
        pytest.param((0xE1A0F00E,), id="mov pc, lr"),
        pytest.param((0xE8BD8010,), id="pop {r4, pc}"),
        pytest.param((0xE49DF004,), id="ldr pc, [sp], #4"),
        pytest.param((0xE89DA800,), id="ldm sp, {fp, sp, pc}"),
        pytest.param((0xE91BA810,), id="ldmdb fp, {r4, fp, sp, pc}"),
        pytest.param((0xEA0003FE,), id="b, to another function"),
    ],
)
def test_arm_functions_end_where_the_program_counter_is_taken_back(words: tuple[int, ...]) -> None:
    assert exits(Fn("f", arm(NOP, *words, NOP))) == [(4, ALWAYS)]


@pytest.mark.parametrize(
    ("halves", "at"),
    [
        pytest.param((0x4770,), 2, id="bx lr"),
        pytest.param((0xBD10,), 2, id="pop {r4, pc}"),
        pytest.param((0xE8BD, 0x81F0), 2, id="pop.w {r4-r8, pc}"),
        pytest.param((0xF85D, 0xFB04), 2, id="ldr.w pc, [sp], #4"),
        pytest.param((0xF000, 0xBFFE), 2, id="b.w, to another function"),
    ],
)
def test_thumb_functions_end_as_well(halves: tuple[int, ...], at: int) -> None:
    assert exits(Fn("f", thumb(THUMB_NOP, *halves, THUMB_NOP), thumb=True)) == [(at, ALWAYS)]


@pytest.mark.parametrize(
    ("word", "condition"),
    [
        pytest.param(0x012FFF1E, EQ, id="bxeq lr"),
        pytest.param(0x149DF004, NE, id="ldrne pc, [sp], #4"),
        pytest.param(0x18BD8010, NE, id="popne {r4, pc}"),
        pytest.param(0x1A0003FE, NE, id="bne, to another function"),
    ],
)
def test_an_end_may_depend_on_a_condition(word: int, condition: int) -> None:
    assert exits(Fn("f", arm(NOP, word, BX_LR))) == [(4, condition), (8, ALWAYS)]


def test_an_end_in_an_it_block_has_its_condition() -> None:
    body = thumb(0xBF18, 0x4770, THUMB_BX_LR)  # it ne; bxne lr; bx lr
    assert exits(Fn("f", body, thumb=True)) == [(2, NE), (4, ALWAYS)]


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(0x979FF100, id="ldrls pc, [pc, r0, lsl #2]"),
        pytest.param(0x908FF103, id="addls pc, pc, r3, lsl #2"),
        pytest.param(0xEAFFFFFE, id="b, to itself"),
        pytest.param(0xEB0003FE, id="bl"),
        pytest.param(0xE12FFF33, id="blx r3"),
    ],
)
def test_switches_loops_and_calls_are_no_end(word: int) -> None:
    assert exits(Fn("f", arm(word, NOP, BX_LR))) == [(8, ALWAYS)]


def test_a_thumb_table_branch_is_no_end() -> None:
    # cmp r0, #3; bhi 1f; tbb [pc, r0]; .byte 2, 3; nop; nop; 1: bx lr
    assert exits(Fn("f", "032804d8dfe800f0020300bf00bf7047", thumb=True)) == [(14, ALWAYS)]


def test_the_cold_part_of_a_function_belongs_to_it() -> None:
    """A jump there is no return, or a nested call would seem to end twice."""
    hot = Fn("f", arm(0x1A000000, BX_LR))  # bne, to what lies behind both
    assert exits(hot, Fn("f.cold", arm(BX_LR))) == [(4, ALWAYS)]
    assert exits(hot, Fn("other", arm(BX_LR))) == [(0, NE), (4, ALWAYS)]


def test_a_variant_stands_in_only_for_what_is_gone() -> None:
    program = code(
        Fn("f.cold", arm(NOP)),
        Fn("f.part.0", arm(NOP)),
        Fn("f", arm(BX_LR)),
        Fn("g.constprop.0.isra.1", arm(NOP)),
    )
    found = program.function("f")
    assert found
    assert found.name == "f"
    assert (program.function("gone", "g") or found).name == "g.constprop.0.isra.1"
    assert program.function("gone") is None
    assert code(Fn("h.cold", arm(NOP))).function("h") is None


def test_a_thumb_function_is_known_by_its_lowest_bit() -> None:
    program = code(PLAIN, Fn("t", thumb(THUMB_BX_LR), thumb=True), marks={"_end": 0x8100})
    assert [(f.name, f.address, f.size, f.alternate) for f in program.functions] == [
        ("plain", TEXT, 8, False),
        ("t", TEXT + 8, 2, True),
    ]
    assert program.marks == {"_end": 0x8100}
    assert program.extent() == (TEXT, TEXT + 10)


def test_bytes_are_read_where_there_are_any() -> None:
    program = code(PLAIN)
    assert program.read(TEXT + 4, 4) == bytes.fromhex(arm(BX_LR))
    assert program.read(TEXT + 4, 100) == bytes.fromhex(arm(BX_LR))
    assert program.read(TEXT - 1, 4) == program.read(TEXT + 8, 4) == b""
    assert program.words(TEXT, TEXT + 8) == [NOP, BX_LR]


def test_calls_through_a_register_are_hooked_before_and_behind() -> None:
    caller = Fn("caller", arm(0xE12FFF33, 0x112FFF34, BX_LR))  # blx r3; blxne r4
    program, hooks = code(caller), Hooks()
    hooks.calls("initcall", program, program.function("caller"), "moves")
    assert hooks.lines == [
        "hook 1 0x8000 every reg r3 moves",
        "hook 2 0x8004 every reg r0 moves",
        "hook 3 0x8004 every when 1 reg r4 moves",
        "hook 4 0x8008 every reg r0 moves",
    ]
    assert hooks.names == {1: "initcall", 2: "initcall.end", 3: "initcall", 4: "initcall.end"}


def test_a_span_is_hooked_at_its_start_and_at_every_end() -> None:
    program, hooks = code(Fn("f", arm(0x012FFF1E, NOP, BX_LR))), Hooks()
    hooks.span("probe", program, program.function("f"), "str r0")
    hooks.span("none", program, program.function("gone"), "str r0")
    assert hooks.lines == [
        "hook 1 0x8000 every str r0",
        "hook 2 0x8000 every when 0 reg r0",
        "hook 3 0x8008 every reg r0",
    ]


def test_levels_come_from_the_table_that_the_kernel_goes_through() -> None:
    table = Fn("table", arm(0xC0100001, 0xC0100010, 0xC0100020))
    marks = {"__initcall_start": TEXT, "__initcall0_start": TEXT + 4, "__initcall1_start": TEXT + 4}
    program = code(table, marks={**marks, "__initcall6_start": TEXT + 8, "__initcall7_start": TEXT + 12})
    assert initcall_table.levels(program, program.marks) == {0xC0100000: "early", 0xC0100020: "device"}
    assert initcall_table.levels(program, {}) == {}


def test_a_table_of_distances_tells_the_same_levels() -> None:
    table = Fn("table", arm(0x100, 0xFFFFFF00))
    marks = {"__initcall_start": TEXT, "__initcall0_start": TEXT + 4}
    program = code(table, marks={**marks, "__initcall6_start": TEXT + 4, "__initcall7_start": TEXT + 8})
    program.arch = replace(ARM, kernel=replace(ARM.kernel, relative_initcalls=True))
    found = initcall_table.levels(program, program.marks)
    assert found == {TEXT + 0x100: "early", TEXT + 4 - 0x100: "device"}


def test_a_kernel_whose_table_ends_before_it_begins_has_no_levels() -> None:
    program = code(PLAIN)
    marks = {"__initcall6_start": TEXT + 8, "__initcall7_start": TEXT}
    assert initcall_table.levels(program, marks) == {}


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"#!/bin/sh\n", elf(PLAIN, machine=62), elf(PLAIN)[:300]])
def test_what_is_no_arm_program_is_refused(data: bytes) -> None:
    with pytest.raises(UserError, match="no ELF file of a 32-bit ARM"):
        Code(data)


WHOLE = elf(PLAIN, Fn("t", thumb(THUMB_BX_LR), thumb=True), Fn("c", arm(0xE12FFF33)), marks={"m": 0x8000})


@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6), st.integers(0, 600)
)
def test_a_damaged_program_is_read_or_refused(changes: list[tuple[int, int]], end: int) -> None:
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    try:
        program = Code(bytes(data[:end] if end < 100 else data))
    except UserError:
        return
    for function in program.functions:
        program.exits(function)
        program.indirect_calls(function)
    program.words(*program.extent())


def test_a_section_that_names_a_wrong_one_beside_it_is_left_out() -> None:
    """U-Boot for 64-bit ARM has a hash table that belongs to no table of symbols."""
    data = bytearray(WHOLE)
    at = int.from_bytes(data[32:36], "little")
    number = int.from_bytes(data[48:50], "little")
    # One more section at the end: a hash table (5) that names section 0.
    data[48:50] = (number + 1).to_bytes(2, "little")
    assert at + 40 * number == len(data)
    data += b"".join(n.to_bytes(4, "little") for n in (0, 5, 0, 0, 0, 4, 0, 0, 4, 4))
    assert [f.name for f in Code(bytes(data)).functions] == [f.name for f in Code(WHOLE).functions]

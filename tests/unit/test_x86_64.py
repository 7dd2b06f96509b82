# SPDX-License-Identifier: Apache-2.0
"""64-bit x86: its instructions, as the plugin and the call paths need them. The bytes are those of code."""

from __future__ import annotations

import pytest

from bootscope.analysis.unwind import Unwinder
from bootscope.arch.model import ALWAYS, StackGrowth
from bootscope.arch.x86_64 import X86_64
from bootscope.image import vmlinux
from bootscope.image.code import Code
from bootscope.image.kallsyms import Symbol

from .builders import stack

AT = 0xFFFFFFFF81002A30
CALLED = StackGrowth(AT - 1, 8, 0)
"""What a call leaves behind: the return address, on top of the stack."""


def code(text: str) -> bytes:
    """Code from the bytes that a disassembly shows."""
    return bytes.fromhex(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("41 55", 8),  # push r13
        ("53", 8),  # push rbx
        ("68 00 01 00 00", 8),  # push 0x100
        ("9c", 8),  # pushfq
        ("48 83 ec 48", 0x48),  # sub rsp, 0x48
        ("48 81 ec 88 01 00 00", 0x188),  # sub rsp, 0x188
        ("48 83 c4 80", 0x80),  # add rsp, -0x80
        ("48 83 e4 f0", -1),  # and rsp, -0x10
        ("48 29 c4", -1),  # sub rsp, rax
    ],
)
def test_what_makes_the_stack_grow(text: str, size: int) -> None:
    found = list(X86_64.load_instructions().stack_growth(code(text), AT, False))
    assert found == [CALLED, StackGrowth(AT, size, -1)]


@pytest.mark.parametrize(
    "text",
    [
        "5b",  # pop rbx
        "48 83 c4 48",  # add rsp, 0x48
        "48 89 44 24 40",  # mov [rsp + 0x40], rax
        "48 83 eb 10",  # sub rbx, 0x10
    ],
)
def test_what_does_not(text: str) -> None:
    assert list(X86_64.load_instructions().stack_growth(code(text), AT, False)) == [CALLED]


def test_returns_calls_and_jumps() -> None:
    reader = X86_64.load_instructions()
    text = "c3  ff d0  41 ff d3  e8 95 c7 d1 00  e9 00 d3 d1 00  75 07  ff 15 82 2a c3 01  ff e0"
    ret, rax, r11, call, jump, branch, through, away = reader.decode(code(text), AT, False)
    assert [reader.returns(insn) for insn in (ret, rax, call, jump)] == [True, False, False, False]
    registers = [reader.called_register(insn) for insn in (ret, rax, r11, call, through, away)]
    assert registers == [None, "rax", "r11", None, None, None]
    assert reader.call(call) == AT + 11 + 0xD1C795
    assert (reader.jump(jump), reader.jump(call)) == (AT + 16 + 0xD1D300, None)
    assert [reader.jump(insn) for insn in (branch, through, away)] == [None, None, None]
    assert reader.condition(branch) == ALWAYS


def ends_in_call(data: bytes) -> bool:
    """Whether the plugin takes an address behind these bytes for one that a call comes back to."""
    fitting = [o for o in X86_64.calls if o.size <= len(data)]
    return any(int.from_bytes(data[-o.size :], "little") & o.mask == o.value for o in fitting)


@pytest.mark.parametrize(
    "text",
    [
        "e8 95 c7 d1 00",
        "2e e8 95 c7 d1 00",  # with the prefix by which a kernel pads it
        *("ff d0", "41 ff d3"),  # call rax, r11
        *("ff 50 18", "ff 14 c5", "ff 54 24 08"),  # call [rax + 0x18], ...
        *("ff 15 82 2a c3 01", "ff 90 00 01 00 00", "ff 94 24 00 01 00 00"),
    ],
)
def test_what_is_before_a_return_address_is_a_call(text: str) -> None:
    assert ends_in_call(code(text))


@pytest.mark.parametrize("text", ["0f 1f 44 00 00", "48 83 ec 48", "ff e0", "e9 00 d3 d1 00", "48 ff c0"])
def test_and_other_instructions_are_none(text: str) -> None:
    assert not ends_in_call(code(text))


def program() -> Code:
    """A function that calls what rbx holds by way of a thunk and ends in another, as kernels are compiled."""
    body = code("f3 0f 1e fa  53  48 83 ec 10  e8 12 00 00 00  85 c0  48 83 c4 10  5b  e9 15 00 00 00")
    text = body.ljust(0x20, b"\xcc") + code("ff e3").ljust(0x10, b"\xcc") + code("c3")
    names = [
        Symbol(AT, "T", "caller"),
        Symbol(AT + 0x20, "T", "__x86_indirect_thunk_rbx"),
        Symbol(AT + 0x30, "T", "__x86_return_thunk"),
    ]
    return Code(vmlinux.elf(text, AT, names, X86_64))


def test_a_call_by_way_of_a_thunk_is_one_of_a_register() -> None:
    linked = program()
    caller = linked.function("caller")
    assert caller
    (call,) = linked.indirect_calls(caller)
    assert (call.address, call.register, call.back) == (AT + 9, "rbx", AT + 14)
    assert [end.address for end in linked.exits(caller)] == [AT + 21]


def test_a_path_is_found_by_what_calls_and_functions_put_on_the_stack() -> None:
    """In the thunk: its return address is on top, that of its caller behind what this has pushed."""
    linked = program()
    # rbx, two words of its own, and the return address
    sample = stack(0, AT + 0x20, words={0: AT + 14, 1 + 1 + 2: AT + 0x31})
    path = Unwinder(linked, roots=frozenset({"__x86_return_thunk"})).path(sample)
    assert (path.addresses, path.cut) == ((AT + 14, AT + 0x31), False)


def test_what_puts_the_cpu_to_sleep() -> None:
    for text in ("f4", "0f 01 c9"):
        data = code(text)
        assert any(
            o.size == len(data) and int.from_bytes(data, "little") & o.mask == o.value for o in X86_64.idle
        )


def test_how_functions_begin() -> None:
    begins = ("f3 0f 1e fa", "55 48 89 e5", "0f 1f 44 00")
    assert all(X86_64.begins_function(int.from_bytes(code(text), "little")) for text in begins)
    assert not any(map(X86_64.begins_function, (0x000000C3, 0x90909090, 0)))

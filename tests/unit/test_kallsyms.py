# SPDX-License-Identifier: Apache-2.0
"""Names of functions out of a kernel image, and the program made of both."""

from __future__ import annotations

import gzip
import lzma
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.arch.arm import ARM
from bootscope.arch.registry import ARCHITECTURES
from bootscope.core.errors import UserError
from bootscope.image import kallsyms, vmlinux
from bootscope.image.code import Code
from bootscope.image.kallsyms import Symbol
from tests.unit.kallsyms_builder import table

BASE = 0xC0208000
LONG = "on_a_name_that_is_longer_than_a_length_of_seven_bits_can_say_" * 4


def symbols(count: int = 700, first: int = BASE + 0x8000) -> list[Symbol]:
    """Functions of 32 bytes each, with all kinds of names."""
    made = [Symbol(first + 32 * n, "tT"[n % 2], f"function_{n}_start") for n in range(count)]
    return [*made, Symbol(first + 32 * count, "T", LONG), Symbol(first + 32 * count, "t", "alias.isra.0")]


def kernel(found: list[Symbol], **how: bool) -> bytes:
    """An image: functions that begin as functions do, a version, and the table somewhere behind."""
    data = bytearray(struct.pack("<I", 0xE1A00000) * 0x20000)
    for symbol in found:
        struct.pack_into("<I", data, symbol.address - BASE, 0xE92D4010)
    text = b"Linux version 6.12.9+test (nobody) \0"
    return bytes(data) + text + bytes(-len(text) % 8) + table(found, found[0].address, **how)


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("sequence", [True, False])
def test_table_of_every_age_is_read(modern: bool, sequence: bool) -> None:
    wanted = symbols()
    assert kallsyms.read(kernel(wanted, modern=modern, sequence=sequence)) == wanted


@pytest.mark.parametrize("modern", [True, False])
def test_addresses_of_64_bits(modern: bool) -> None:
    base = 0xFFFF800080000000
    wanted = [Symbol(base + s.address - BASE, s.kind, s.name) for s in symbols()]
    data = b"before it".ljust(64, b"\0") + table(wanted, wanted[0].address, word=8, modern=modern)
    assert kallsyms.read(data, word_bytes=8) == wanted


def test_no_table_is_said() -> None:
    with pytest.raises(UserError, match="no readable symbol table"):
        kallsyms.read(b"Linux version 6.12 \0" * 1000)


def test_program_made_of_a_packed_image() -> None:
    wanted = symbols()
    image = kernel(wanted)
    for packed in (gzip.compress(image), lzma.compress(image), image):
        unpacked = vmlinux.unpacked(b"decompressor, and the magic \xfd7zXZ\x00 in it" + packed)
        assert image in unpacked
    found = kallsyms.read(image)
    base = vmlinux.base_address(image, found, ARM)
    assert base == BASE
    code = Code(vmlinux.elf(image, base, found, ARM))
    assert code.entry == BASE
    function = code.function("function_7_start")
    assert function and (function.address, function.size) == (BASE + 0x8000 + 7 * 32, 32)
    # Two names of one function have the same size, and a variant stands for the function it was made of.
    assert code.function("alias") == code.function("alias.isra.0")
    assert {f.size for f in code.functions if f.address == found[-1].address} == {
        len(image) + BASE - found[-1].address
    }
    assert vmlinux.symbol_map(found[:1], ARM) == "c0210000 t function_0_start\n"
    assert vmlinux.version(image) == "6.12.9+test"


def test_a_program_of_64_bits_is_written_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = replace(ARM, name="wide", bits=64, elf_machine="EM_SPARCV9", elf_number=43, elf_flags=0)
    monkeypatch.setitem(ARCHITECTURES, "wide", wide)
    base = 0xFFFF800080000000
    wanted = [Symbol(base + s.address - BASE, s.kind, s.name) for s in symbols()]
    image = kernel(symbols())
    code = Code(vmlinux.elf(image, base, wanted, wide))
    assert (code.arch, code.entry) == (wide, base)
    function = code.function("function_7_start")
    assert function and (function.address, function.size) == (base + 0x8000 + 7 * 32, 32)
    assert code.read(function.address, 4) == struct.pack("<I", 0xE92D4010)
    assert code.words(base, base + 12) == [0xE1A00000E1A00000]
    assert vmlinux.symbol_map(wanted[:1], wide) == "ffff800080008000 t function_0_start\n"


def test_image_that_holds_no_kernel() -> None:
    with pytest.raises(UserError, match="no kernel was found"):
        vmlinux.unpacked(gzip.compress(b"nothing of a kernel" * 100_000))


def test_address_that_nothing_tells() -> None:
    wanted = symbols()
    blank = bytes(0x20000) + table(wanted, wanted[0].address)
    with pytest.raises(UserError, match="which address"):
        vmlinux.base_address(blank, wanted, ARM)


def test_an_image_that_ends_inside_the_tokens_is_refused() -> None:
    """Found by the test below: the image ended after 59 of 256 tokens."""
    image = kernel(symbols(300))[-20_000:]
    for end in range(16_000, len(image), 37):
        try:
            kallsyms.read(image[:end])
        except UserError:
            continue


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_images_are_refused_or_read(data: st.DataObject) -> None:
    """Images are untrusted: whatever is in them, the answer is symbols or one error, and not late."""
    image = bytearray(kernel(symbols(300))[-20_000:])
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(image) - 4))
        image[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    end = data.draw(st.integers(0, len(image)))
    try:
        found = kallsyms.read(bytes(image[:end]))
    except UserError:
        return
    assert all(0 <= s.address < 1 << 33 for s in found)

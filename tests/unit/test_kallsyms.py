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
from bootscope.image import kallsyms, relocations, vmlinux
from bootscope.image.code import Code
from bootscope.image.kallsyms import Symbol
from tests.unit.kallsyms_builder import table, tokens
from tests.unit.time_bound import within

BASE = 0xC0208000
LONG = "on_a_name_that_is_longer_than_a_length_of_seven_bits_can_say_" * 4


def symbols(count: int = 700, first: int = BASE + 0x8000) -> list[Symbol]:
    """Functions of 32 bytes each, with all kinds of names."""
    made = [Symbol(first + 32 * n, "tT"[n % 2], f"function_{n}_start") for n in range(count)]
    return [*made, Symbol(first + 32 * count, "T", LONG), Symbol(first + 32 * count, "t", "alias.isra.0")]


def kernel(found: list[Symbol], modern: bool = True, sequence: bool = True) -> bytes:
    """An image: functions that begin as functions do, a version, and the table somewhere behind."""
    data = bytearray(struct.pack("<I", 0xE1A00000) * 0x20000)
    for symbol in found:
        struct.pack_into("<I", data, symbol.address - BASE, 0xE92D4010)
    text = b"Linux version 6.12.9+test (nobody) \0"
    return (
        bytes(data)
        + text
        + bytes(-len(text) % 8)
        + table(found, found[0].address, modern=modern, sequence=sequence)
    )


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


WIDE = 0xFFFF800080000000


def wide(count: int = 400, first: int = WIDE + 0x10000) -> list[Symbol]:
    return [Symbol(first + 32 * n, "tTdD"[n % 4], f"function_{n}_start") for n in range(count)]


@pytest.mark.parametrize("modern", [True, False])
def test_addresses_of_one_cpus_data_count_from_0(modern: bool) -> None:
    own = [Symbol(n * 64, "A", f"of_one_cpu_{n}") for n in range(20)]
    base = 0xFFFFFFFF81000000
    wanted = [*own, *wide(first=base)]
    data = bytes(64) + table(wanted, base, word=8, modern=modern, form="percpu")
    found = kallsyms.read_table(data, word_bytes=8)
    assert found.symbols == wanted
    assert found.form == "relative, one CPU's data from 0"


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("word", [4, 8])
def test_whole_addresses(modern: bool, word: int) -> None:
    wanted = symbols() if word == 4 else wide()
    data = bytes(64) + table(wanted, wanted[0].address, word=word, modern=modern, form="absolute")
    found = kallsyms.read_table(data, word_bytes=word)
    assert (found.symbols, found.form) == (wanted, "absolute")


def relocated(kind: int, modern: bool = True) -> tuple[bytes, list[Symbol]]:
    """A kernel of 64 bits whose base is 0 in the table, and the table of what is filled in as it starts."""
    wanted = wide()
    data = bytearray(0x4000) + table(wanted, WIDE + 0x10000, word=8, modern=modern, form="empty")
    data += bytes(-len(data) % 8)
    at = data.index(struct.pack("<3I", 0, 32, 64))
    base_at = at + (4 * len(wanted) + 7) // 8 * 8
    places = [*range(0x100, 0x100 + 8 * 200, 8), base_at]
    values = {place: WIDE + 0x20000 + place for place in places} | {base_at: WIDE + 0x10000}
    rows = b"".join(struct.pack("<QQQ", WIDE + place, kind, values[place]) for place in places)
    return bytes(data) + rows + bytes(24), wanted


@pytest.mark.parametrize("kind", [1027, 3], ids=["arm64", "riscv64"])
@pytest.mark.parametrize("modern", [True, False])
def test_a_base_that_the_kernel_fills_in_as_it_starts(kind: int, modern: bool) -> None:
    data, wanted = relocated(kind, modern)
    found = kallsyms.read_table(data, word_bytes=8)
    assert found.symbols == wanted
    assert found.form == "relative, base filled in at start"
    table_of = relocations.read(data)
    assert table_of and table_of.base == WIDE


def test_distances_from_their_own_places() -> None:
    """As Linux 7 has them: the pointers of a kernel tell where it is linked to, or its ELF header."""
    base, wanted = 0xFFFF800080000000, wide(first=0xFFFF800080000000 + 0x10000)
    pointers = struct.pack("<100Q", *(base + 8 * n for n in range(100)))
    data = pointers + table(wanted, base, word=4, form="own", begins=len(pointers))
    found = kallsyms.read_table(data, word_bytes=8)
    assert (found.symbols, found.form) == (wanted, "relative to their own places")
    with pytest.raises(UserError, match="no readable symbol table"):
        kallsyms.read(bytes(len(pointers)) + data[len(pointers) :], word_bytes=8)
    head = bytearray(120)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<H", head, 56, 1)
    struct.pack_into("<IIQQQQ", head, 64, 1, 5, 0, base, 0, 1 << 20)
    data = bytes(head) + table(wanted, base, word=4, form="own", begins=len(head))
    assert kallsyms.read(data, word_bytes=8) == wanted


def test_a_base_that_nothing_fills_in() -> None:
    data, _ = relocated(1027)
    with pytest.raises(UserError, match="no readable symbol table"):
        kallsyms.read(data[: -24 * 202], word_bytes=8)


def test_no_table_is_said() -> None:
    with pytest.raises(UserError, match="no readable symbol table"):
        kallsyms.read(b"Linux version 6.12 \0" * 1000)


def test_numbers_that_rise_as_markers_do_and_never_began_at_0() -> None:
    """They were read again from each of them."""
    data = kernel(symbols())
    behind = data[data.index(b"".join(token + b"\0" for token in tokens())) :]
    rising = struct.pack("<300000I", *range(1, 512 * 300_000, 512))
    with within(20), pytest.raises(UserError, match="no readable symbol table"):
        kallsyms.read(rising + bytes(4) + behind)


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

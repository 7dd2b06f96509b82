# SPDX-License-Identifier: Apache-2.0
"""A distributed kernel image, converted to what a build would have left: an ELF program with symbols.

Kernels in packages are compressed, without symbols beside them. The names come from the image's own table
(:mod:`bootscope.image.kallsyms`), the link address from the code itself, or from the header of an ELF
program.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from struct import Struct

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from bootscope.arch.model import Architecture
from bootscope.core.errors import UserError
from bootscope.image.kallsyms import Symbol
from bootscope.readers.unpack import Budget, decompressed

MOST_BYTES = 256 << 20
"""Limit for an unpacked kernel."""
_SMALLEST_KERNEL_BYTES = 256 << 10
_PACKED = re.compile(rb"\x1f\x8b\x08|\xfd7zXZ\x00|\x28\xb5\x2f\xfd")
_MOST_STARTS = 64
_VERSION = re.compile(rb"Linux version (\d+\.\d+\S*)")

_BASE_STEP_BYTES, _BASE_STEPS = 0x8000, 512
_SAMPLES = 1500
_LEAST_SHARE, _LEAD = 0.3, 2


def unpacked(image: bytes) -> bytes:
    """The uncompressed kernel in a zImage or a compressed one; an uncompressed one unchanged.

    Raises UserError when it contains no kernel, or one that unpacks to more than MOST_BYTES.
    """
    if _VERSION.search(image):
        return image
    for match in islice(_PACKED.finditer(image), _MOST_STARTS):
        data, _ = decompressed("the kernel image", image[match.start() :], Budget(MOST_BYTES))
        if len(data) >= _SMALLEST_KERNEL_BYTES and _VERSION.search(data):
            return data
    raise UserError(
        "no kernel was found in the kernel image", hint="supported: uncompressed, gzip, xz and zstd"
    )


def version(kernel: bytes) -> str:
    """The version of an uncompressed kernel, as in `6.12.9-amd64`; empty where it contains none."""
    found = _VERSION.search(kernel)
    return found[1].decode("ascii", "replace") if found else ""


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A kernel as in memory: the link addresses of its first byte and of its first instruction."""

    data: bytes
    base: int
    entry: int


def laid_out(kernel: bytes, symbols: Sequence[Symbol], arch: Architecture) -> LaidOut:
    """An uncompressed kernel, flat or an ELF program, as in memory.

    Raises UserError where the addresses cannot be determined, or the program's segments are too far apart.
    """
    if not kernel.startswith(b"\x7fELF"):
        base = base_address(kernel, symbols, arch)
        return LaidOut(kernel, base, base)
    try:
        elf_file = ELFFile(io.BytesIO(kernel))
        parts = [
            (s["p_vaddr"], s["p_paddr"], s.data())
            for s in elf_file.iter_segments("PT_LOAD")
            if s["p_vaddr"] >= arch.kernel.first_address
        ]
        entry = elf_file["e_entry"]
    except (ELFError, struct.error, ValueError, OverflowError) as error:
        raise UserError(f"the kernel in the image is damaged: {error}") from error
    if not parts:
        raise UserError("the kernel in the image has no part at a kernel's address")
    base, physical, _ = min(parts)
    size = max(start - base + len(data) for start, _, data in parts)
    if size > MOST_BYTES:
        raise UserError(f"the kernel in the image spans {size:,} bytes of addresses: is it damaged?")
    memory = bytearray(size)
    for start, _, data in parts:
        memory[start - base : start - base + len(data)] = data
    # It is entered at its physical address, before its MMU is on.
    return LaidOut(bytes(memory).rstrip(b"\0"), base, base + entry - physical)


def base_address(kernel: bytes, symbols: Sequence[Symbol], arch: Architecture) -> int:
    """The link address of an uncompressed kernel's first byte.

    The symbol table does not contain it. At the right one, the table's functions begin with function
    prologues; at any other one only a few do. Raises UserError when no address stands out.
    """
    code = [s.address for s in symbols if s.kind in "tT"]
    step = max(1, len(code) // _SAMPLES)
    sample = code[::step]
    if not sample:
        raise UserError("the kernel's symbol table has no function")
    top = code[0] & -_BASE_STEP_BYTES
    bases = range(top, max(0, top - _BASE_STEPS * _BASE_STEP_BYTES), -_BASE_STEP_BYTES)
    scores = sorted(((_like_functions(kernel, sample, base, arch), base) for base in bases), reverse=True)
    (best, base), (second, _) = scores[:2]
    if best < _LEAST_SHARE * len(sample) or best < _LEAD * second:
        raise UserError(
            "cannot tell which address the kernel image is linked to", hint=f"is it for {arch.title}?"
        )
    return base


def _like_functions(kernel: bytes, addresses: Sequence[int], base: int, arch: Architecture) -> int:
    places = (address - base for address in addresses)
    words = (struct.unpack_from("<I", kernel, at)[0] for at in places if 0 <= at <= len(kernel) - 4)
    return sum(map(arch.begins_function, words))


@dataclass(frozen=True)
class _Form:
    """The format of an ELF file with 32 or 64 bits."""

    header: Struct
    section: Struct
    entry: Struct
    number: int

    def symbol(self, name: int, value: int, size: int, info: int, section: int) -> bytes:
        """An entry of the symbol table; the order of its fields is different with 64 bits."""
        values = (value, size, info, 0, section) if self.number == 1 else (info, 0, section, value, size)
        return self.entry.pack(name, *values)


_FORMS = {
    32: _Form(Struct("<16sHHIIIIIHHHHHH"), Struct("<IIIIIIIIII"), Struct("<IIIBBH"), 1),
    64: _Form(Struct("<16sHHIQQQIHHHHHH"), Struct("<IIQQQQIIQQ"), Struct("<IBBHQQ"), 2),
}
_EXECUTABLE = 2
_PROGRAM_BITS, _SYMBOLS, _STRINGS = 1, 2, 3
_ALLOC_EXEC = 6
_GLOBAL_FUNCTION, _GLOBAL_MARK = 0x12, 0x10
_TEXT = 1


def elf(
    kernel: bytes, base: int, symbols: Sequence[Symbol], arch: Architecture, entry: int | None = None
) -> bytes:
    """An ELF program: the kernel as one section at `base`, and its functions with their sizes. Its entry is
    `entry`, or the first byte.

    A function ends where the next one begins, so padding counts as part of it.
    """
    form = _FORMS[arch.bits]
    names, strings = _string_table([s.name for s in symbols])
    entries = [form.symbol(0, 0, 0, 0, 0)]
    end = base + len(kernel)
    behind = dict(pairwise(sorted({end, *(s.address for s in symbols if s.address < end)})))
    for symbol, name in zip(symbols, names, strict=True):
        code = symbol.kind in "tTwW"
        size = max(0, behind.get(symbol.address, end) - symbol.address) if code else 0
        kind = _GLOBAL_FUNCTION if code else _GLOBAL_MARK
        entries.append(form.symbol(name, symbol.address, size, kind, _TEXT))
    table = b"".join(entries)
    section_names, section_strings = _string_table([".text", ".symtab", ".strtab", ".shstrtab"])
    parts = [kernel, table, strings, section_strings]
    *offsets, at = accumulate(map(len, parts), initial=form.header.size)
    counts = (form.header.size, 0, 0, form.section.size, 5, 4)
    ident = b"\x7fELF" + bytes((form.number, 1, 1)) + bytes(9)
    begin = base if entry is None else entry
    head = form.header.pack(ident, _EXECUTABLE, arch.elf_number, 1, begin, 0, at, arch.elf_flags, *counts)
    text, symtab, strtab, shstrtab = section_names
    sections = [
        form.section.pack(*(0,) * 10),
        form.section.pack(text, _PROGRAM_BITS, _ALLOC_EXEC, base, offsets[0], len(kernel), 0, 0, 4, 0),
        form.section.pack(symtab, _SYMBOLS, 0, 0, offsets[1], len(table), 3, 1, 4, form.entry.size),
        form.section.pack(strtab, _STRINGS, 0, 0, offsets[2], len(strings), 0, 0, 1, 0),
        form.section.pack(shstrtab, _STRINGS, 0, 0, offsets[3], len(section_strings), 0, 0, 1, 0),
    ]
    return b"".join([head, *parts, *sections])


def _string_table(names: Sequence[str]) -> tuple[list[int], bytes]:
    """(the offset of each name, the table)."""
    texts = [name.encode() + b"\0" for name in names]
    *places, _ = accumulate(map(len, texts), initial=1)
    return places, b"\0" + b"".join(texts)


def symbol_map(symbols: Sequence[Symbol], arch: Architecture) -> str:
    """The symbols as the text of a System.map."""
    return "".join(f"{s.address:0{2 * arch.word_bytes}x} {s.kind} {s.name}\n" for s in symbols)

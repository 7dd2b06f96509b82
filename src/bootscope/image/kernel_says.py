# SPDX-License-Identifier: Apache-2.0
"""What an uncompressed kernel contains beside its code: its configuration, and the build id of its symbols.

Sources: Linux kernel/configs.c (the configuration between two marks, with CONFIG_IKCONFIG),
include/linux/elfnote.h and the ELF specification (notes), arch/*/kernel/vdso (embedded programs with notes of
their own).
"""

from __future__ import annotations

import re
import struct
import zlib

from bootscope.image.kernel_file import KernelFile

_CONFIG, _CONFIG_END = b"IKCFG_ST", b"IKCFG_ED"
_MOST_CONFIG_BYTES = 4 << 20
_BUILD_ID = re.compile(rb"\x04\0\0\0([\x08-\x40])\0\0\0\x03\0\0\0GNU\0", re.DOTALL)
_NEAR_BYTES = 0x400
_ELF = b"\x7fELF"
_MOST_PROGRAMS = 64


def configuration(kernel: KernelFile) -> str:
    """The text of the .config that the kernel was built with; empty where the kernel does not contain it."""
    start = kernel.program.find(_CONFIG)
    end = kernel.program.find(_CONFIG_END, start) if start >= 0 else -1
    if end < 0:
        return ""
    try:
        data = zlib.decompressobj(31).decompress(
            kernel.program[start + len(_CONFIG) : end], _MOST_CONFIG_BYTES
        )
    except zlib.error:
        return ""
    return data.decode("utf-8", "replace")


def build_id(kernel: KernelFile) -> str:
    """The build id by which a debugger finds the kernel's symbols, in hexadecimal; empty where there is none,
    or several that cannot be told apart.

    A kernel contains programs for user space (the vDSO) with a build id each: those are ignored.
    """
    program = kernel.program
    inner = _programs(program)
    found: dict[str, int] = {}
    for match in _BUILD_ID.finditer(program):
        at = match.end()
        if not any(low <= at < high for low, high in inner):
            found.setdefault(program[at : at + match[1][0]].hex(), at)
    if len(found) > 1:
        # The kernel's own is in the same section as Linux's other notes.
        found = {i: at for i, at in found.items() if b"Linux\0" in _around(program, at)}
    return next(iter(found)) if len(found) == 1 else ""


def _around(program: bytes, at: int) -> bytes:
    return program[max(0, at - _NEAR_BYTES) : at + _NEAR_BYTES]


def _programs(program: bytes) -> list[tuple[int, int]]:
    """(first byte, first behind it) of ELF files within a kernel; not the kernel itself."""
    found: list[tuple[int, int]] = []
    at = program.find(_ELF, 1)
    while at >= 0 and len(found) < _MOST_PROGRAMS:
        wide, order = program[at + 4 : at + 5] == b"\x02", ">" if program[at + 5 : at + 6] == b"\x02" else "<"
        try:
            (table,) = struct.unpack_from(order + ("Q" if wide else "I"), program, at + (40 if wide else 32))
            size, count = struct.unpack_from(order + "HH", program, at + (58 if wide else 46))
        except struct.error:
            break
        end = at + table + size * count
        if at + 64 < end <= len(program) and end - at < 1 << 24:
            found.append((at, end))
        at = program.find(_ELF, at + 4)
    return found

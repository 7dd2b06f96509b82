# SPDX-License-Identifier: Apache-2.0
"""The few facts that are needed about programs: static or not, which C library, whether section headers
exist."""

from __future__ import annotations

import struct

from bootscope.inventory.inventory import Program

MAGIC = b"\x7fELF"
_EXECUTABLE = 2
_INTERPRETER = 3
_MARKS = (
    ("uclibc", (b"uClibc",)),
    ("glibc", (b"GLIBC_TUNABLES", b"GNU C Library", b"glibc")),
    ("musl", (b"MUSL_LOCPATH", b"/etc/ld-musl-", b"musl libc")),
)
_MOST_SEGMENTS = 128


def program(data: bytes, size_bytes: int) -> Program | None:
    """The facts about an ELF file, of which `data` is the beginning or all; None when it is not an ELF
    program."""
    if not data.startswith(MAGIC) or len(data) < 64:
        return None
    wide, order = data[4] == 2, ">" if data[5] == 2 else "<"
    try:
        (kind,) = struct.unpack_from(order + "H", data, 16)
        ph_at, sh_at = struct.unpack_from(order + ("QQ" if wide else "II"), data, 32 if wide else 28)
        ph_size, ph_count, _, sh_count = struct.unpack_from(order + "HHHH", data, 54 if wide else 42)
        count = min(ph_count, _MOST_SEGMENTS)
        kinds = [struct.unpack_from(order + "I", data, ph_at + n * ph_size)[0] for n in range(count)]
    except struct.error:
        return None
    static = kind == _EXECUTABLE and bool(kinds) and _INTERPRETER not in kinds
    libcs = (name for name, marks in _MARKS if static and any(mark in data for mark in marks))
    return Program(static, next(libcs, ""), size_bytes, bool(sh_at and sh_count))

# SPDX-License-Identifier: Apache-2.0
"""EFI programs: their instruction set, and the sections of a unified kernel image (UKI).

Sources: Microsoft's PE format; the UKI specification of the UAPI group.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from bootscope.arch import in_files

_MOST_SECTIONS = 96
_SECTION = struct.Struct("<8sIIII")


@dataclass(frozen=True)
class EfiProgram:
    """Its instruction set (empty if unknown), and its sections: name -> (from, bytes)."""

    architecture: str
    sections: dict[str, tuple[int, int]]

    @property
    def unified(self) -> bool:
        """Whether it is a UKI: it contains a kernel."""
        return ".linux" in self.sections

    def section(self, data: bytes, name: str) -> bytes:
        """A section of the file's data; empty where there is none."""
        at, count = self.sections.get(name, (0, 0))
        return data[at : at + count]


def read(data: bytes) -> EfiProgram | None:
    """An EFI program, of which the head is enough; None for anything else."""
    if data[:2] != b"MZ" or len(data) < 0x40:
        return None
    at = int.from_bytes(data[0x3C:0x40], "little")
    if data[at : at + 4] != b"PE\0\0" or len(data) < at + 24:
        return None
    machine, count = struct.unpack_from("<HH", data, at + 4)
    (optional,) = struct.unpack_from("<H", data, at + 20)
    sections: dict[str, tuple[int, int]] = {}
    for number in range(min(count, _MOST_SECTIONS)):
        row = data[at + 24 + optional + 40 * number :][: _SECTION.size]
        if len(row) < _SECTION.size:
            break
        name, virtual, _, stored, where = _SECTION.unpack(row)
        length = min(virtual, stored) if virtual else stored
        sections.setdefault(name.rstrip(b"\0").decode("ascii", "backslashreplace"), (where, length))
    return EfiProgram(in_files.of_pe(machine), sections)

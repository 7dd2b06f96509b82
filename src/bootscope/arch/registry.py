# SPDX-License-Identifier: Apache-2.0
"""All supported architectures. To add one, write a file beside this one and list it here."""

from __future__ import annotations

from bootscope.arch.arm import ARM
from bootscope.arch.arm64 import ARM64
from bootscope.arch.model import Architecture
from bootscope.arch.riscv64 import RISCV64
from bootscope.arch.x86_64 import X86_64

ARCHITECTURES = {found.name: found for found in (ARM, ARM64, RISCV64, X86_64)}


def of_program(machine: str, bits: int, little_endian: bool) -> Architecture:
    """The architecture of an ELF file, from its header.

    Raises ValueError for an architecture that is not described here.
    """
    for found in ARCHITECTURES.values():
        if (found.elf_machine, found.bits) == (machine, bits) and little_endian:
            return found
    raise ValueError(f"its architecture is {machine}, {bits} bits")

# SPDX-License-Identifier: Apache-2.0
"""What is known of an architecture is known in one file: nothing outside `arch/` has its words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bootscope.arch.model import ALWAYS, Architecture
from bootscope.arch.registry import ARCHITECTURES, BUILT, of_program

from .builders import ROOT

SOURCES = ROOT / "src/bootscope"
WORDS = {
    "a tool chain": r"gnueabi|armhf|\bARCH=|-march=|qemu-system-[a-z]|CROSS_COMPILE=\w",
    "an ELF machine": r"\bEM_[A-Z]",
    "an instruction": r"\b(?:ARM|ARM64|RISCV|X86)_(?:INS|REG|OP)_|CS_(?:ARCH|MODE)_",
    "a register": r"[\"' ]reg [0-9]|\b(?:r1[0-5]|x30|lr|sp)\b(?=[^\n]*register)",
    "a second instruction set": r"\b[Tt]humb\b",
    "an address": r"0x(?:[bB][fF]|[cC]0)0{6}\b|0x[fF]{4}0000\b",
}
ALLOWED = {
    ("image/code.py", "a second instruction set"): "says by an example what the field is for",
    ("capture/stream.py", "a second instruction set"): "says what the stream of the plugin holds",
}


@pytest.mark.parametrize("what", WORDS)
def test_nothing_else_knows(what: str) -> None:
    found: list[str] = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith("arch/") or (name, what) in ALLOWED:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(WORDS[what], line):
                found.append(f"{name}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("place", ALLOWED)
def test_an_exception_is_still_one(place: tuple[str, str]) -> None:
    name, what = place
    assert re.search(WORDS[what], (SOURCES / name).read_text())


@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=list(ARCHITECTURES))
def test_what_is_known_of_one_fits_together(arch: Architecture) -> None:
    assert of_program(arch.elf_machine, arch.bits, True) is arch
    assert arch.bits in (32, 64)
    assert len(set(arch.registers.arguments)) == len(arch.registers.arguments) >= 4
    assert arch.registers.none not in (*arch.registers.arguments, arch.registers.stack, arch.registers.link)
    assert arch.kernel.first_address < arch.kernel.vectors < 1 << arch.bits
    assert arch.code_address(0x1001) in (0x1000, 0x1001)
    assert arch.call_before(0x1001) < 0x1001
    assert Path(arch.tools.tool("gcc")).name.endswith("-gcc")
    reader = arch.load_instructions()
    assert list(reader.decode(b"", 0, False)) == []
    assert 0 <= ALWAYS < 16


def test_an_architecture_that_nobody_has_described_is_refused() -> None:
    with pytest.raises(ValueError, match="it is for EM_SPARC, 64 bits"):
        of_program("EM_SPARC", 64, False)
    with pytest.raises(ValueError, match="EM_ARM, 32 bits"):
        of_program(BUILT.elf_machine, BUILT.bits, False)

# SPDX-License-Identifier: Apache-2.0
"""What is known of an architecture is known in one file: nothing outside `arch/` has its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.arch import registry
from bootscope.arch.arm import ARM
from bootscope.arch.model import ALWAYS, Architecture
from bootscope.arch.registry import ARCHITECTURES, of_program

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
    ("capture/records.py", "a second instruction set"): "says what the stream of the plugin holds",
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


def test_no_architecture_is_the_one_that_everything_is_for() -> None:
    """What a thing is built for is handed to it: it follows from the board."""
    asked = re.compile(r"bootscope\.arch\.arm\b")
    users = [p.relative_to(SOURCES).as_posix() for p in SOURCES.rglob("*.py") if asked.search(p.read_text())]
    assert sorted(users) == ["arch/registry.py", "boards/profile.py"]
    named = {name: known for name, known in vars(registry).items() if isinstance(known, Architecture)}
    assert named == {arch.name.upper().replace("-", "_"): arch for arch in ARCHITECTURES.values()}


PLUGIN_WORDS = r"(?i)\b(?:arm\w*|aarch64|thumb|risc-?v|x86\w*|cpsr|lr|[rx]\d+)\b|\b0x[0-9a-f]{8}\b"


@pytest.mark.parametrize("path", sorted((ROOT / "native/plugin").glob("*.[ch]")), ids=lambda path: path.name)
def test_the_plugin_knows_no_architecture(path: Path) -> None:
    lines = path.read_text().splitlines()
    found = [f"{number}: {line}" for number, line in enumerate(lines, 1) if re.search(PLUGIN_WORDS, line)]
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
    assert arch.registers.counter and arch.registers.stack
    assert bool(arch.registers.flags) == bool(arch.conditions)
    assert arch.kernel.first_address < arch.kernel.vectors < 1 << arch.bits
    assert arch.code_address(0x1001) in (0x1000, 0x1001)
    assert arch.call_before(0x1001) < 0x1001
    assert Path(arch.tools.tool("gcc")).name.endswith("-gcc")
    reader = arch.load_instructions()
    assert list(reader.decode(b"", 0, False)) == []
    assert ALWAYS not in range(len(arch.conditions))


HOLDS: list[Callable[[bool, bool, bool, bool], bool]] = [
    lambda n, z, c, v: z, lambda n, z, c, v: c, lambda n, z, c, v: n, lambda n, z, c, v: v,
    lambda n, z, c, v: c and not z, lambda n, z, c, v: n == v, lambda n, z, c, v: not z and n == v,
]  # fmt: skip
"""The conditions with even numbers in ARM's manual (DDI 0406, A8.3); the next one is the opposite."""


@pytest.mark.parametrize("flags", range(16))
def test_arms_conditions_are_those_of_its_manual(flags: int) -> None:
    n, z, c, v = (bool(flags & bit) for bit in (8, 4, 2, 1))
    holds = [any((flags << 28) & mask == value for mask, value in tests) for tests in ARM.conditions]
    wanted = [holds(n, z, c, v) != opposite for holds in HOLDS for opposite in (False, True)]
    assert holds == wanted


def test_an_architecture_that_nobody_has_described_is_refused() -> None:
    with pytest.raises(ValueError, match="its architecture is EM_SPARC, 64 bits"):
        of_program("EM_SPARC", 64, False)
    with pytest.raises(ValueError, match="EM_ARM, 32 bits"):
        of_program(ARM.elf_machine, ARM.bits, False)

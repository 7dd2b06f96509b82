# SPDX-License-Identifier: Apache-2.0
"""64-bit RISC-V, little endian, with compressed instructions (RV64GC).

Source: The RISC-V Instruction Set Manual, volume I, chapters 2 and 28; RISC-V ABIs Specification 1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from bootscope.arch.disassembler import NOWHERE, UNKNOWN, Disassembler
from bootscope.arch.model import (
    ALWAYS,
    Architecture,
    Control,
    Insn,
    Instructions,
    KernelEntries,
    Opcode,
    Registers,
    ToolChain,
)

_ADDRESS = 0xFFFFFFFFFFFFFFFF
_ZERO, _RA = 0, 1
_LARGE_PAGE = 2 << 20
_NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1"),
    *(f"a{n}" for n in range(8)), *(f"s{n}" for n in range(2, 12)), *(f"t{n}" for n in range(3, 7)),
)  # fmt: skip
"""QEMU's names, by register number."""
_AUIPC, _JALR, _JAL = 0x17, 0x67, 0x6F
_SHORT_JUMP, _SHORT_REGISTER = 0xA001, 0x8002


@cache
def _load() -> Instructions:
    return _RiscV64()


@dataclass(frozen=True, slots=True)
class _Far:
    """A jump or call whose target is partly in the instruction before it."""

    address: int
    size: int
    bytes: bytes
    target: int


class _RiscV64(Disassembler):
    """The instructions, with capstone; jumps and calls by their encoding, since capstone has several names
    for one."""

    def __init__(self) -> None:
        import capstone

        mode = capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC
        super().__init__({False: capstone.Cs(capstone.CS_ARCH_RISCV, mode)})

    def decode(self, code: bytes, address: int, alternate: bool) -> Iterator[Insn]:
        before, base = _ZERO, 0
        for insn in super().decode(code, address, alternate):
            word = _word(insn)
            register = word >> 15 & 31
            if word & 0x7F == _JALR and register == before:
                yield _Far(insn.address, insn.size, insn.bytes, base + _signed(word >> 20, 12) & _ADDRESS)
            else:
                yield insn
            before = word >> 7 & 31 if word & 0x7F == _AUIPC else _ZERO
            base = insn.address + _signed(word & 0xFFFFF000, 32)

    def condition(self, insn: Insn) -> int:
        return ALWAYS

    def returns(self, insn: Insn) -> bool:
        return not isinstance(insn, _Far) and _by_register(insn) == (_ZERO, _RA)

    def jump(self, insn: Insn) -> int | None:
        link, target = _to(insn)
        return target if link == _ZERO else None

    def call(self, insn: Insn) -> int | None:
        return _to(insn)[1]

    def called_register(self, insn: Insn) -> str | None:
        if isinstance(insn, _Far):
            return None
        link, register = _by_register(insn)
        # A short call through the register that is always 0 is a breakpoint, not a call.
        return _NAMES[register] if link == _RA and register != _ZERO else None

    def _may_grow(self, name: str, operands: str) -> bool:
        if name in ("sd", "c.sdsp"):
            return operands.startswith("ra, ") and operands.endswith("(sp)")
        if name in ("c.addi", "c.addi16sp"):
            return operands.startswith("sp, -")
        return name in ("addi", "sub", "add", "c.add") and operands.startswith(("sp, sp, ", "sp, t"))

    def _grows_by(self, insn: Insn) -> tuple[int, int]:
        numbers = [o.imm for o in insn.operands if o.type == _NUMBER]
        if insn.mnemonic in ("sd", "c.sdsp"):
            return 0, numbers[0] if numbers else insn.operands[-1].mem.disp
        if numbers:
            return max(0, -numbers[0]), NOWHERE
        return UNKNOWN, NOWHERE


_NUMBER = 2
"""capstone's kind for an immediate operand."""


def _word(insn: Insn) -> int:
    return int.from_bytes(insn.bytes, "little")


def _signed(value: int, bits: int) -> int:
    """A number of that many bits, the highest of which is the sign."""
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def _to(insn: Insn) -> tuple[int, int | None]:
    """(the register for the return address, the target of a jump or call); None for anything else."""
    word = _word(insn)
    if isinstance(insn, _Far):
        return word >> 7 & 31, insn.target
    if word & 0x7F == _JAL:
        parts = (
            (word >> 31) << 20
            | (word >> 12 & 0xFF) << 12
            | (word >> 20 & 1) << 11
            | (word >> 21 & 0x3FF) << 1
        )
        return word >> 7 & 31, insn.address + _signed(parts, 21) & _ADDRESS
    if insn.size == 2 and word & 0xE003 == _SHORT_JUMP:
        places = (12, 11), (11, 4), (10, 9), (9, 8), (8, 10), (7, 6), (6, 7), (5, 3), (4, 2), (3, 1), (2, 5)
        parts = sum((word >> at & 1) << to for at, to in places)
        return _ZERO, insn.address + _signed(parts, 12) & _ADDRESS
    return _ZERO, None


def _by_register(insn: Insn) -> tuple[int, int]:
    """(the register for the return address, the target register of a jump); 0 and 0 for anything else."""
    word = _word(insn)
    if word & 0x707F == _JALR:
        return word >> 7 & 31, word >> 15 & 31
    if insn.size == 2 and word & 0xE07F == _SHORT_REGISTER:
        return word >> 12 & 1, word >> 7 & 31
    return 0, 0


def _handed_over(image: bytes, memory: int) -> int:
    """Behind OpenSBI, which QEMU loads at the beginning of memory, at the next large-page boundary.

    Source: QEMU's hw/riscv/boot.c, riscv_calc_kernel_start_addr; OpenSBI has less than 2 MiB.
    """
    return memory + _LARGE_PAGE


RISCV64 = Architecture(
    name="riscv64",
    title="64-bit RISC-V",
    elf_machine="EM_RISCV",
    bits=64,
    elf_number=243,
    elf_flags=5,  # compressed instructions, double-precision floating point
    mode_bit=0,
    call_bytes=2,
    # two of the nops that the kernel turns into a call while it traces functions; a negative number added to
    # sp by c.addi, c.addi16sp and addi
    prologues=(
        (0xFFFFFFFF, 0x00010001),
        *((0xFF83, 0x1101), (0xFF83, 0x7101), (0x800FFFFF, 0x80010113)),
    ),
    idle=(Opcode(4, 0xFFFFFFFF, 0x10500073),),  # wfi
    calls=(Opcode(4, 0xFFF, 0x0EF), Opcode(4, 0x7FFF, 0x0E7), Opcode(2, 0xF07F, 0x9002)),  # jal, jalr, c.jalr
    tools=ToolChain(
        triplet="riscv64-linux-gnu",
        debian="riscv64",
        kernel="riscv",
        mkimage="riscv",
        qemu="qemu-system-riscv64",
        qemu_package="qemu-system-riscv",
        kernel_flags=("-mabi=lp64", "-march=rv64imac_zicsr_zifencei", "-mcmodel=medany"),
        libraries=("ld-linux-riscv64-lp64d.so.1", "libc.so.6", "libm.so.6", "libresolv.so.2"),
        library_flags=0x1003,
    ),
    registers=Registers(
        tuple(f"a{n}" for n in range(8)), "a0", counter="pc", stack="sp", link="ra", flags=""
    ),
    conditions=(),
    # Linux 6: arch/riscv/include/asm/syscall_wrapper.h and ptrace.h (the first argument is saved separately:
    # its register also holds the result), arch/riscv/kernel/entry.S, Documentation/arch/riscv/vm-layout.rst.
    kernel=KernelEntries(
        syscall="__riscv_sys_execve",
        syscall_register="",
        execve=221,
        switch="__switch_to",
        switch_from=0,
        switch_to=1,
        first_address=0xFF00000000000000,
        vectors=_ADDRESS,
        usual_offset=0,
        offset_mask=0,
        relative_initcalls=False,
        argument_on_stack=0,
        delays=("udelay", "ndelay", "__delay"),
        saved_arguments=(280, 88, 96, 104),
        syscall_functions=("__riscv_sys_",),
        handed_over=_handed_over,
    ),
    program_symbols={},
    load_instructions=_load,
    # Caches cannot be switched. csrw satp and sfence.vma. Linux maps its memory and itself in pages of 2 MiB.
    control=Control(
        registers=("satp",),
        translates=0x8 << 60,
        data=0,
        code=0,
        changed_by=(Opcode(4, 0xFFF0707F, 0x18001073), Opcode(4, 0xFE007FFF, 0x12000073)),
        large=(
            *((0xFFFFAF8000000000, 0xFFFFB00000000000), (0xFFFFFFD600000000, 0xFFFFFFFE00000000)),
            (0xFFFFFFFF80000000, 0xFFFFFFFFFFFF0000),
        ),
        large_shift=21,
    ),
)

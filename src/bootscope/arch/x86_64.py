# SPDX-License-Identifier: Apache-2.0
"""64-bit x86 (AMD64, Intel 64), including the 16- and 32-bit code that a PC starts with.

Sources: AMD64 Architecture Programmer's Manual, volume 2 (control registers) and 3 (opcodes); System V ABI,
AMD64 supplement (calls).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from bootscope.arch.disassembler import NOWHERE, UNKNOWN, Disassembler
from bootscope.arch.model import (
    ALWAYS,
    Architecture,
    Control,
    Input,
    Insn,
    Instructions,
    KernelEntries,
    Opcode,
    Output,
    Ports,
    Registers,
    StackGrowth,
    ToolChain,
)

_WORD = 8
_ADDRESS = 0xFFFFFFFFFFFFFFFF
_OPERAND_SIZE, _REPEAT = 0x66, 0xF3
_PAGING, _CACHES_OFF = 1 << 31, 1 << 30
"""CR0.PG and CR0.CD."""


@cache
def _load() -> Instructions:
    return _X86()


class _X86(Disassembler):
    """The instructions of 64-bit code, with capstone."""

    def __init__(self) -> None:
        import capstone
        from capstone import x86_const

        self._const = x86_const
        names = ("RET", "RETF", "RETFQ", "IRET", "IRETD", "IRETQ", "SYSRET", "SYSEXIT")
        self._returns = frozenset(getattr(x86_const, f"X86_INS_{name}") for name in names)
        super().__init__({False: capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)})

    def condition(self, insn: Insn) -> int:
        # Only jumps have one, and `jump` identifies the unconditional ones. The emulator keeps flags as the
        # operands of the last operation, which no plugin can read.
        return ALWAYS

    def returns(self, insn: Insn) -> bool:
        return insn.id in self._returns

    def jump(self, insn: Insn) -> int | None:
        return self._target(insn) if insn.id == self._const.X86_INS_JMP else None

    def call(self, insn: Insn) -> int | None:
        jumps = (self._const.X86_INS_CALL, self._const.X86_INS_JMP)
        return self._target(insn) if insn.id in jumps else None

    def called_register(self, insn: Insn) -> str | None:
        if insn.id != self._const.X86_INS_CALL or insn.operands[0].type != self._const.X86_OP_REG:
            return None
        return str(insn.reg_name(insn.operands[0].reg))

    def _target(self, insn: Insn) -> int | None:
        operand = insn.operands[0]
        return operand.imm & _ADDRESS if operand.type == self._const.X86_OP_IMM else None

    def stack_growth(self, code: bytes, address: int, alternate: bool) -> Iterator[StackGrowth]:
        # The call has pushed the return address before the first instruction runs.
        yield StackGrowth(address - 1, _WORD, 0)
        yield from super().stack_growth(code, address, alternate)

    def _may_grow(self, name: str, operands: str) -> bool:
        return name.startswith("push") or (name in ("sub", "add", "and") and operands.startswith("rsp, "))

    def _grows_by(self, insn: Insn) -> tuple[int, int]:
        x86 = self._const
        if insn.id not in (x86.X86_INS_SUB, x86.X86_INS_ADD, x86.X86_INS_AND):
            return _WORD, NOWHERE
        by = insn.operands[1]
        if by.type != x86.X86_OP_IMM or insn.id == x86.X86_INS_AND:
            return UNKNOWN, NOWHERE
        return max(0, int(by.imm if insn.id == x86.X86_INS_SUB else -by.imm)), NOWHERE


X86_64 = Architecture(
    name="x86-64",
    title="64-bit x86",
    elf_machine="EM_X86_64",
    bits=64,
    elf_number=62,
    elf_flags=0,
    mode_bit=0,
    call_bytes=1,  # the length of an instruction is unknown when looking backwards
    # endbr64; push rbp; the five-byte nop that the kernel turns into a call while it traces functions
    prologues=((0xFFFFFFFF, 0xFA1E0FF3), (0xFF, 0x55), (0xFFFFFFFF, 0x00441F0F)),
    idle=(Opcode(1, 0xFF, 0xF4), Opcode(3, 0xFFFFFF, 0xC9010F)),  # hlt, mwait
    yields=(Opcode(2, 0xFFFF, 0x90F3),),  # pause
    # call with an offset; call through a register or memory, by the length of its operand
    calls=(Opcode(5, 0xFF, 0xE8), *(Opcode(size, 0x38FF, 0x10FF) for size in (2, 3, 4, 6, 7))),
    tools=ToolChain(
        triplet="x86_64-linux-gnu",
        debian="amd64",
        kernel="x86",
        mkimage="x86_64",
        qemu="qemu-system-x86_64",
        qemu_package="qemu-system-x86",
        kernel_flags=("-m64", "-mno-sse", "-mno-red-zone", "-mcmodel=kernel", "-fno-pie"),
        libraries=("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libresolv.so.2"),
        library_flags=0x0303,
    ),
    registers=Registers(
        ("rdi", "rsi", "rdx", "rcx", "r8", "r9"), "rax", counter="rip", stack="rsp", link="", flags=""
    ),
    conditions=(),
    # Linux 6: arch/x86/include/asm/syscall_wrapper.h and ptrace.h (struct pt_regs: rdi, rsi and rdx),
    # arch/x86/entry/entry_64.S, Documentation/arch/x86/x86_64/mm.rst. The image begins at 2 MiB
    # or a multiple.
    kernel=KernelEntries(
        syscall="__x64_sys_execve",
        syscall_register="",
        execve=59,
        switch="__switch_to_asm",
        switch_from=0,
        switch_to=1,
        first_address=0xFFFF800000000000,
        vectors=_ADDRESS,
        usual_offset=0,
        offset_mask=0x1FFFFF,
        relative_initcalls=True,
        argument_on_stack=8,
        delays=("delay_tsc",),
        saved_arguments=(112, 104, 96, 56),
        syscall_functions=("__x64_sys_",),
        unpacker_jumps_by="rax",  # arch/x86/boot/compressed/head_64.S
        moves_unseeded=True,
    ),
    program_symbols={},
    load_instructions=_load,
    call_thunks="__x86_indirect_thunk_",
    # init_size in the header of a bzImage (Documentation/arch/x86/boot.rst):
    # arch/x86/boot/compressed/head_64.S copies itself to the end of that memory.
    unpacker_moves=0x260,
    clocks=(Opcode(2, 0xFFFF, 0x310F), Opcode(3, 0xFFFFFF, 0xF9010F)),  # rdtsc, rdtscp
    repeats=(0xF2, 0xF3),
    # In real mode; programs of that stage are below 1 MiB.
    segment_bytes=0x10000,
    # An operand size prefix selects 16 bits in 32- and 64-bit code, which drivers are.
    ports=Ports(
        mask=0xFFFF,
        prefixes=(
            *((0x26, 0x26), (0x2E, 0x2E), (0x36, 0x36), (0x3E, 0x3E), (0x64, 0x67)),
            *((0xF2, 0xF3), (0x40, 0x4F)),
        ),
        outputs=(
            Output(0xE6, 1, "", "rax"),
            Output(0xE7, 4, "", "rax", narrow=(_OPERAND_SIZE, 2)),
            Output(0xEE, 1, "rdx", "rax"),
            Output(0xEF, 4, "rdx", "rax", narrow=(_OPERAND_SIZE, 2)),
            Output(0x6E, 1, "rdx", "rsi", repeat=("rcx", _REPEAT)),
            Output(0x6F, 4, "rdx", "rsi", narrow=(_OPERAND_SIZE, 2), repeat=("rcx", _REPEAT)),
        ),
        inputs=(
            *(Input(opcode, "") for opcode in (0xE4, 0xE5)),
            *(Input(opcode, "rdx") for opcode in (0xEC, 0xED)),
            *(Input(opcode, "rdx", repeat=("rcx", _REPEAT)) for opcode in (0x6C, 0x6D)),
        ),
    ),
    control=Control(
        registers=("cr0",),
        translates=_PAGING,
        data=_CACHES_OFF,
        code=_CACHES_OFF,
        off=_CACHES_OFF,
        write_combining=True,
        changed_by=(
            # mov to a control register, from the first eight registers and from the others
            *(Opcode(3, 0xC0FFFF, 0xC0220F), Opcode(4, 0xC0FFFFFF, 0xC0220F41)),
            # invlpg of where a register points, without an offset; rsm, which ends system management mode
            *(Opcode(3, 0xF8FFFF, 0x38010F), Opcode(4, 0xF8FFFFFF, 0x38010F41), Opcode(2, 0xFFFF, 0xAA0F)),
        ),
        # All memory, its descriptions (vmemmap), and the kernel's image; modules are in pages of 4 KiB.
        large=(
            *((0xFFFF888000000000, 0xFFFFC88000000000), (0xFFFFEA0000000000, 0xFFFFEB0000000000)),
            (0xFFFFFFFF80000000, 0xFFFFFFFFC0000000),
        ),
        large_shift=21,
    ),
)

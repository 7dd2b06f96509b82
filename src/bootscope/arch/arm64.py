# SPDX-License-Identifier: Apache-2.0
"""64-bit ARM, little endian (AArch64, ARMv8-A)."""

from __future__ import annotations

from functools import cache

from bootscope.arch import nzcv
from bootscope.arch.disassembler import NOWHERE, UNKNOWN, Disassembler
from bootscope.arch.model import (
    Architecture,
    Control,
    Insn,
    Instructions,
    KernelEntries,
    Opcode,
    Registers,
    ToolChain,
)

_WORD = 8
_ADDRESS = 0xFFFFFFFFFFFFFFFF


@cache
def _load() -> Instructions:
    return _Arm64()


class _Arm64(Disassembler):
    """The instructions, with capstone."""

    def __init__(self) -> None:
        import capstone
        from capstone import arm64_const

        self._const = arm64_const
        self._returns = frozenset(
            getattr(arm64_const, f"ARM64_INS_{name}") for name in ("RET", "RETAA", "RETAB")
        )
        names = ("BLR", "BLRAA", "BLRAAZ", "BLRAB", "BLRABZ")
        self._calls = frozenset(getattr(arm64_const, f"ARM64_INS_{name}") for name in names)
        super().__init__({False: capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)})

    def condition(self, insn: Insn) -> int:
        return nzcv.condition(insn)

    def returns(self, insn: Insn) -> bool:
        return insn.id in self._returns

    def jump(self, insn: Insn) -> int | None:
        return _target(insn) if insn.id == self._const.ARM64_INS_B else None

    def call(self, insn: Insn) -> int | None:
        return _target(insn) if insn.id in (self._const.ARM64_INS_BL, self._const.ARM64_INS_B) else None

    def called_register(self, insn: Insn) -> str | None:
        return str(insn.reg_name(insn.operands[0].reg)) if insn.id in self._calls else None

    def _may_grow(self, name: str, operands: str) -> bool:
        if name in ("stp", "str"):
            # Most stores to the stack write a local variable.
            return "[sp" in operands and (operands.endswith("]!") or "x30" in operands)
        return name == "sub" and operands.startswith("sp, sp,")

    def _grows_by(self, insn: Insn) -> tuple[int, int]:
        arm, operands = self._const, insn.operands
        if insn.id == arm.ARM64_INS_SUB:
            last = operands[2]
            return (last.imm << last.shift.value if last.type == arm.ARM64_OP_IMM else UNKNOWN), NOWHERE
        stored = [o.reg for o in operands if o.type == arm.ARM64_OP_REG]
        link = stored.index(arm.ARM64_REG_X30) * _WORD if arm.ARM64_REG_X30 in stored else NOWHERE
        offset = next(o.mem.disp for o in operands if o.type == arm.ARM64_OP_MEM)
        if insn.writeback:
            # Pre-indexed: the post-indexed form is for loads at a function's end.
            return (-offset, link) if offset < 0 else (0, NOWHERE)
        return 0, offset + link if link >= 0 else NOWHERE


def _target(insn: Insn) -> int:
    """The target of a jump or call."""
    return int(insn.operands[0].imm) & _ADDRESS


_LOWEST_BYTES, _STEP_BYTES, _OLD_OFFSET = 0x1000, 0x200000, 0x80000


def _handed_over(image: bytes, memory: int) -> int:
    """QEMU's own first instructions are at the beginning of memory, so a kernel that would be there goes to
    the next address with its alignment.

    Source: Linux Documentation/arch/arm64/booting.rst (offset and size of the image), QEMU's hw/arm/boot.c.
    """
    offset, size = int.from_bytes(image[8:16], "little"), int.from_bytes(image[16:24], "little")
    if not size:  # before Linux 3.17
        return memory + _OLD_OFFSET
    return memory + offset + (_STEP_BYTES if offset < _LOWEST_BYTES else 0)


ARM64 = Architecture(
    name="arm64",
    title="64-bit ARM",
    elf_machine="EM_AARCH64",
    bits=64,
    elf_number=183,
    elf_flags=0,
    mode_bit=0,
    call_bytes=4,
    # nop, which the kernel turns into a call while it traces functions; paciasp; bti c; stp x29, x30, [sp,
    # #-N]!; sub sp, sp, #N
    prologues=(
        (0xFFFFFFFF, 0xD503201F),
        *((0xFFFFFFFF, 0xD503233F), (0xFFFFFFFF, 0xD503245F)),
        *((0xFFE07FFF, 0xA9A07BFD), (0xFFC003FF, 0xD10003FF)),
    ),
    idle=(Opcode(4, 0xFFFFFFFF, 0xD503207F),),  # wfi
    yields=(Opcode(4, 0xFFFFFFFF, 0xD503205F), Opcode(4, 0xFFFFFFFF, 0xD503203F)),  # wfe, yield
    calls=(Opcode(4, 0xFC000000, 0x94000000), Opcode(4, 0xFFFFFC1F, 0xD63F0000)),  # bl, blr
    tools=ToolChain(
        triplet="aarch64-linux-gnu",
        debian="arm64",
        kernel="arm64",
        mkimage="arm64",
        qemu="qemu-system-aarch64",
        qemu_package="qemu-system-arm",
        kernel_flags=("-mlittle-endian", "-mgeneral-regs-only", "-mabi=lp64", "-DKASAN_SHADOW_SCALE_SHIFT="),
        libraries=("ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libresolv.so.2"),
        library_flags=0x0A03,
    ),
    # The procedure call standard (AAPCS64): x0 to x7, the rest on the stack.
    registers=Registers(
        tuple(f"x{n}" for n in range(8)), "x0", counter="pc", stack="sp", link="x30", flags="cpsr"
    ),
    conditions=nzcv.CONDITIONS,
    # Linux 6: arch/arm64/include/asm/syscall_wrapper.h (struct pt_regs begins with x0 to x30),
    # arch/arm64/kernel/process.c, arch/arm64/include/asm/memory.h (52 bits of virtual addresses).
    kernel=KernelEntries(
        syscall="__arm64_sys_execve",
        syscall_register="",
        execve=221,
        switch="__switch_to",
        switch_from=0,
        switch_to=1,
        first_address=0xFFF0000000000000,
        vectors=_ADDRESS,
        usual_offset=0,
        offset_mask=0,
        relative_initcalls=True,
        argument_on_stack=0,
        handed_over=_handed_over,
        mapped=("__primary_switched", "start_kernel"),
        delays=("__delay",),
        saved_arguments=(0, 8, 16, 24),
        syscall_functions=("__arm64_sys_",),
    ),
    program_symbols={},
    load_instructions=_load,
    # SCTLR_ELx's bits M, C and I. msr to SCTLR_ELx, to TTBRx_ELx and TCR_ELx, and tlbi. Linux maps its memory
    # and itself in blocks of 2 MiB.
    control=Control(
        registers=("SCTLR", "SCTLR_EL2", "SCTLR_EL3"),
        translates=0x1,
        data=0x5,
        code=0x1000,
        changed_by=(
            *(Opcode(4, 0xFFF8FFE0, 0xD5181000), Opcode(4, 0xFFF8FF00, 0xD5182000)),
            Opcode(4, 0xFFF8F000, 0xD5088000),
        ),
        large=((0xFFFF000000000000, 0xFFFF800000000000), (0xFFFF800080000000, 0xFFFF800090000000)),
        large_shift=21,
    ),
)

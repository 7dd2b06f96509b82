# SPDX-License-Identifier: Apache-2.0
"""32-bit ARM, little endian, with ARM and Thumb code (ARMv7-A)."""

from __future__ import annotations

from functools import cache

from bootscope.arch import nzcv
from bootscope.arch.arm_classes import ARM_CLASSES
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

_WORD = 4
_NAMES = (*(f"r{n}" for n in range(13)), "sp", "lr", "pc")


@cache
def _load() -> Instructions:
    return _Arm()


class _Arm(Disassembler):
    """ARM and Thumb instructions, with capstone."""

    def __init__(self) -> None:
        import capstone
        from capstone import arm_const

        self._const = arm_const
        numbered = [getattr(arm_const, f"ARM_REG_R{n}") for n in range(13)]
        numbered += [arm_const.ARM_REG_SP, arm_const.ARM_REG_LR, arm_const.ARM_REG_PC]
        # Registers are stored in the order of their numbers, which is not that of capstone's constants.
        self._number = {register: number for number, register in enumerate(numbered)}
        self._singles = frozenset(getattr(arm_const, f"ARM_REG_S{n}") for n in range(32))
        self._names = {register: _NAMES[number] for register, number in self._number.items()}
        names = ("POP", "LDM", "LDMDA", "LDMDB", "LDMIB")
        self._loads = frozenset(getattr(arm_const, f"ARM_INS_{name}") for name in names)
        modes = {False: capstone.CS_MODE_ARM, True: capstone.CS_MODE_THUMB}
        super().__init__({thumb: capstone.Cs(capstone.CS_ARCH_ARM, mode) for thumb, mode in modes.items()})

    def condition(self, insn: Insn) -> int:
        return nzcv.condition(insn)

    def returns(self, insn: Insn) -> bool:
        # It jumps to a register, or loads the program counter from the stack.
        arm = self._const
        if insn.id == arm.ARM_INS_BX:
            return True
        operands = insn.operands
        if insn.id in self._loads:
            return any(o.type == arm.ARM_OP_REG and o.reg == arm.ARM_REG_PC for o in operands)
        if insn.id in (arm.ARM_INS_LDR, arm.ARM_INS_MOV):
            if operands[0].type != arm.ARM_OP_REG or operands[0].reg != arm.ARM_REG_PC:
                return False
            # ldr pc, [table + ...] is a switch, not a return; from the stack it is a return.
            return bool(insn.id == arm.ARM_INS_MOV or operands[1].mem.base == arm.ARM_REG_SP)
        return False

    def jump(self, insn: Insn) -> int | None:
        return insn.operands[0].imm & 0xFFFFFFFF if insn.id == self._const.ARM_INS_B else None

    def call(self, insn: Insn) -> int | None:
        arm = self._const
        if insn.id not in (arm.ARM_INS_BL, arm.ARM_INS_BLX, arm.ARM_INS_B):
            return None
        operand = insn.operands[0]
        return operand.imm & 0xFFFFFFFF if operand.type == arm.ARM_OP_IMM else None

    def called_register(self, insn: Insn) -> str | None:
        arm = self._const
        if insn.id != arm.ARM_INS_BLX or insn.operands[0].type != arm.ARM_OP_REG:
            return None
        return self._names[insn.operands[0].reg]

    def _may_grow(self, name: str, operands: str) -> bool:
        if name.startswith(("push", "vpush")):
            return True
        if "sp" not in operands:
            return False
        # Most stores to the stack write a local variable.
        stores = name.startswith("str") and (operands.endswith("!") or operands.startswith("lr,"))
        return stores or name.startswith(("stmdb", "sub"))

    def _grows_by(self, insn: Insn) -> tuple[int, int]:
        arm, operands = self._const, insn.operands
        if insn.id == arm.ARM_INS_PUSH:
            return self._pushed([o.reg for o in operands])
        if insn.id == arm.ARM_INS_STMDB and operands[0].reg == arm.ARM_REG_SP and insn.writeback:
            return self._pushed([o.reg for o in operands[1:]])
        if insn.id == arm.ARM_INS_VPUSH:
            return sum(_WORD if o.reg in self._singles else 2 * _WORD for o in operands), NOWHERE
        if insn.id in (arm.ARM_INS_STR, arm.ARM_INS_STRD) and operands[-1].mem.base == arm.ARM_REG_SP:
            return self._stored(insn)
        if insn.id == arm.ARM_INS_SUB and operands[0].reg == arm.ARM_REG_SP:
            if len(operands) == 3 and operands[1].reg != arm.ARM_REG_SP:
                return 0, NOWHERE  # restores sp from the frame pointer: the function is about to end
            last = operands[-1]
            return (last.imm if last.type == arm.ARM_OP_IMM else UNKNOWN), NOWHERE
        return 0, NOWHERE

    def _stored(self, insn: Insn) -> tuple[int, int]:
        """The same for a store to the stack, which may move the stack pointer."""
        arm, operands = self._const, insn.operands
        is_lr = insn.id == arm.ARM_INS_STR and operands[0].reg == arm.ARM_REG_LR
        offset = operands[-1].mem.disp
        if insn.writeback:
            return (-offset, 0 if is_lr else NOWHERE) if offset < 0 else (0, NOWHERE)
        return 0, offset if is_lr and offset >= 0 else NOWHERE

    def _pushed(self, registers: list[int]) -> tuple[int, int]:
        ordered = sorted(registers, key=lambda r: self._number.get(r, 99))
        link = self._const.ARM_REG_LR
        return _WORD * len(ordered), ordered.index(link) * _WORD if link in ordered else NOWHERE


_WITHOUT_ARGUMENTS = (
    *("fork", "vfork", "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "setsid"),
    *("sync", "pause", "sched_yield", "munlockall", "inotify_init", "vhangup"),
)
"""System calls without arguments."""

ARM = Architecture(
    name="arm",
    title="32-bit ARM",
    elf_machine="EM_ARM",
    bits=32,
    elf_number=40,
    elf_flags=0x05000000,  # version 5 of the EABI
    mode_bit=1,  # marks Thumb code
    call_bytes=2,
    # push {..., lr}; mov ip, sp
    prologues=((0xFFFF4000, 0xE92D4000), (0xFFFFFFFF, 0xE1A0C00D)),
    # wfi, and its Thumb form
    idle=(Opcode(4, 0xFFFFFFFF, 0xE320F003), Opcode(2, 0xFFFF, 0xBF30)),
    # wfe, yield, and their Thumb forms
    yields=(
        *(Opcode(4, 0xFFFFFFFF, 0xE320F002), Opcode(4, 0xFFFFFFFF, 0xE320F001)),
        *(Opcode(2, 0xFFFF, 0xBF20), Opcode(2, 0xFFFF, 0xBF10)),
    ),
    calls=(
        *(Opcode(4, 0x0F000000, 0x0B000000), Opcode(4, 0x0FFFFFF0, 0x012FFF30)),  # bl, blx register
        *(Opcode(4, 0xC000F800, 0xC000F000), Opcode(2, 0xFF87, 0x4780)),  # Thumb: bl or blx, blx register
    ),
    tools=ToolChain(
        triplet="arm-linux-gnueabihf",
        other_abis=("arm-linux-gnueabi",),
        debian="armhf",
        kernel="arm",
        mkimage="arm",
        qemu="qemu-system-arm",
        qemu_package="qemu-system-arm",
        kernel_flags=(
            *("-mlittle-endian", "-mabi=aapcs-linux", "-marm", "-march=armv7-a", "-D__LINUX_ARM_ARCH__=7"),
            *("-msoft-float", "-Uarm"),
        ),
        libraries=("ld-linux-armhf.so.3", "libc.so.6", "libm.so.6", "libresolv.so.2"),
        library_flags=0x0903,
    ),
    # The procedure call standard (AAPCS): r0 to r3, the rest on the stack.
    registers=Registers(("r0", "r1", "r2", "r3"), "r0", counter="pc", stack="sp", link="lr", flags="cpsr"),
    conditions=nzcv.CONDITIONS,
    # Linux 6: arch/arm/kernel/entry-common.S and entry-armv.S; the EABI passes the call's number in r7.
    kernel=KernelEntries(
        syscall="vector_swi",
        syscall_register="r7",
        execve=11,
        stack_bytes=8192,
        # include/linux/syscalls.h: those with arguments have a second, unique name.
        syscall_functions=("__se_sys_", *(f"sys_{name}" for name in _WITHOUT_ARGUMENTS)),
        switch="__switch_to",
        switch_from=0,
        switch_to=2,
        first_address=0xBF000000,  # modules are below the kernel
        vectors=0xFFFF0000,
        usual_offset=0x8000,
        offset_mask=0x0FFFFFFC,
        relative_initcalls=False,
        argument_on_stack=0,
        delays=("__timer_delay",),
        unpacker_jumps_by="r4",
        unpacker_caches=0x200000,  # arch/arm/boot/compressed/head.S, __setup_mmu: two sections of 1 MiB
    ),
    program_symbols={
        "VFP": "programs use the floating point unit",
        "ARM_THUMB": "programs may be Thumb code",
        "COMPAT_32BIT_TIME": "programs of 32 bits count time in 32 bits",
    },
    load_instructions=_load,
    # SCTLR's bits M, C and I, secure and non-secure. mcr p15 to c1 (SCTLR), c2 (page tables), c8 (TLB) and
    # c13 (CONTEXTIDR), as ARM and as Thumb code. Linux maps its memory in sections of 1 MiB. Its decompressor
    # (arch/arm/boot/compressed/head.S: CB_BITS) and boot loaders (DCACHE_WRITEBACK) use TEX 0, C and B:
    # write-back, no allocation on stores.
    control=Control(
        registers=("SCTLR_S", "SCTLR"),
        translates=0x1,
        data=0x5,
        code=0x1000,
        changed_by=(
            *(Opcode(4, 0x0FFF0F10, 0x0E000F10 | number << 16) for number in (1, 2, 8, 13)),
            *(Opcode(4, 0x0F10FFFF, 0x0F10EE00 | number) for number in (1, 2, 8, 13)),
        ),
        large=((0xC0000000, 0xF0000000),),
        large_shift=20,
        flat_passes=True,
    ),
    classes=ARM_CLASSES,
)

# SPDX-License-Identifier: Apache-2.0
"""The description of an architecture. Each file beside this one fills it in for one architecture."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

ALWAYS = -1
"""The condition of an instruction that has none."""
Insn = Any
"""A decoded instruction of the disassembler's."""


@dataclass(frozen=True, slots=True)
class StackGrowth:
    """At `address` the stack grows by `size` bytes (-1: nobody knows); the return address went `link_at`
    bytes above the new stack pointer, or nowhere (-1)."""

    address: int
    size: int
    link_at: int


@dataclass(frozen=True, slots=True)
class Opcode:
    """Instructions of `size` bytes, 8 at most, that equal `value` under `mask`."""

    size: int
    mask: int
    value: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What an instruction is that takes longer than others, or which registers it loads or reads: the words
    `kind` of the plugin's watch file (native/plugin/watch_classes.h) for instructions like `opcode`.
    `fields`: (shift, bits) of the numbers of registers in it; `registers`: a bit for each that it moves."""

    kind: str
    opcode: Opcode
    fields: tuple[tuple[int, int], ...] = ()
    registers: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """Instructions with the one-byte `opcode` give `size` bytes to the I/O port in register `port` (empty:
    that in the byte behind the opcode): those of register `value`, or, where they `repeat`, those in memory
    that it points to. `narrow`: (a prefix, how many bytes behind it); `repeat`: (the register that counts
    down, the prefix that has it count)."""

    opcode: int
    size: int
    port: str
    value: str
    narrow: tuple[int, int] | None = None
    repeat: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Ports:
    """I/O ports, an address space that only instructions of their own reach. `mask`: the bits of a register
    that are the number of a port; `prefixes`: (first, last) of bytes that may stand before an opcode."""

    mask: int
    prefixes: tuple[tuple[int, int], ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Control:
    """How software switches caches and the MMU. `registers`: by QEMU's names, whichever a CPU has of them;
    the one that changed last counts. `translates`, `data`, `code`: bits that are all set while addresses are
    translated, data and code are cached; 0 for what is never switched (caches are on, then). `changed_by`:
    what writes these registers, those of page tables, and the TLB. `large`: addresses of the kernel that are
    translated in pages of 2**`large_shift` bytes. `flat_passes`: stores bring no lines into a cache where
    memory is mapped as it is, which is how boot loaders map it."""

    registers: tuple[str, ...]
    translates: int
    data: int
    code: int
    changed_by: tuple[Opcode, ...]
    large: tuple[tuple[int, int], ...]
    large_shift: int
    flat_passes: bool = False


class Instructions(Protocol):
    """Reads machine code. `alternate` names the second instruction set of an architecture that has two."""

    def decode(self, code: bytes, address: int, alternate: bool) -> Iterator[Insn]:
        """The instructions of some code, with their operands; what is data is gone over."""

    def condition(self, insn: Insn) -> int:
        """Which of `Architecture.conditions` an instruction is carried out under; ALWAYS for none."""

    def returns(self, insn: Insn) -> bool:
        """Whether an instruction ends its function by going back to the caller."""

    def jump(self, insn: Insn) -> int | None:
        """The address that a plain jump goes to; None for any other instruction."""

    def call(self, insn: Insn) -> int | None:
        """The address that a call or a plain jump goes to; None for any other instruction."""

    def called_register(self, insn: Insn) -> str | None:
        """The register whose address an instruction calls; None for any other instruction."""

    def stack_growth(self, code: bytes, address: int, alternate: bool) -> Iterator[StackGrowth]:
        """The instructions of a function that make its frame larger, in order."""


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers by the names that QEMU has for them; empty for one that there is not."""

    arguments: tuple[str, ...]
    """Of a function, first to last."""
    result: str
    counter: str
    """Of the program: the address of the instruction."""
    stack: str
    link: str
    """Holds the address that a function returns to; empty where a call puts that on the stack."""
    flags: str
    """What conditions look at."""


@dataclass(frozen=True, slots=True)
class KernelEntries:
    """Where Linux is entered and left on this architecture. Numbers of arguments count from 0."""

    syscall: str
    """The code that every system call comes through, or that of execve alone."""
    syscall_register: str
    """Holds the number of the call; empty where `syscall` is that of execve alone."""
    execve: int
    """The number of that system call."""
    switch: str
    """Changes from one task to another."""
    switch_from: int
    switch_to: int
    first_address: int
    """Where the kernel's addresses begin, with the usual split; those of programs are below."""
    vectors: int
    """Where exception vectors and the kernel's helpers for programs lie; the addresses' end for none."""
    usual_offset: int
    """From the beginning of memory to the first instruction, which board profiles are written for."""
    offset_mask: int
    """The bits of the kernel's entry that are this offset."""
    relative_initcalls: bool
    """Whether the table of initcalls has distances of 32 bits from where they stand, not addresses."""
    argument_on_stack: int
    """Bytes above the stack pointer of the first argument that has no register, as a function begins."""
    delays: tuple[str, ...]
    """Functions that wait by the processor's own counter, none by way of another; the first argument is how
    long."""
    unpacker_jumps_by: str = ""
    """The register with the kernel's first address when what unpacked it jumps there; empty where that is not
    known."""
    unpacker_caches: int = 0
    """How many bytes of storage that is read as memory are cached for what unpacks it, from the MiB on in
    which that begins; nothing else outside of memory is."""
    handed_over: Callable[[bytes, int], int] | None = None
    """Where QEMU puts a kernel that it starts itself: (the uncompressed image, the first address of memory)
    -> address of its first instruction. None where that is not known."""
    moves_unseeded: bool = False
    """Whether a kernel with KASLR moves by what it finds on the CPU, where nobody gives it a seed."""
    mapped: tuple[str, ...] = ()
    """The first code behind its MMU being switched on: the first of these that it has."""
    saved_arguments: tuple[int, ...] = ()
    """How many bytes into what the first argument of a system call's function points to the caller's
    arguments lie, up to four; empty where it has them as its own."""
    stack_bytes: int = 16384
    """What a task has for its stack in the kernel, which begins at a multiple of this (THREAD_SIZE)."""
    syscall_functions: tuple[str, ...] = ()
    """The beginning of the names of functions that carry out system calls; and whole names of others."""


@dataclass(frozen=True, slots=True)
class ToolChain:
    """What programs for it are made with, and how others call the architecture."""

    triplet: str
    """Of the cross compiler, in Debian's spelling."""
    debian: str
    """Debian's name of it."""
    kernel: str
    """What Linux and BusyBox call it: ARCH=, and the folder below arch/."""
    mkimage: str
    qemu: str
    """The program that emulates a whole machine."""
    qemu_package: str
    kernel_flags: tuple[str, ...]
    """What the kernel's own Makefiles tell the compiler, as far as it decides where members lie."""
    libraries: tuple[str, ...]
    """Files of the C library that a root file system needs, the program loader first."""
    library_flags: int
    """How glibc marks a library of this architecture in /etc/ld.so.cache (sysdeps/generic/ldconfig.h)."""
    other_abis: tuple[str, ...] = ()
    """Triplets of compilers for the same processors whose programs have other libraries."""

    @property
    def prefix(self) -> str:
        """What the names of the compiler's programs begin with."""
        return f"{self.triplet}-"

    @property
    def qemu_user(self) -> str:
        """The program that emulates the processor alone, for one program of Linux."""
        return self.qemu.replace("-system-", "-", 1)

    @property
    def is_host(self) -> bool:
        """Whether this computer has this architecture, so that its own compiler is the one."""
        return platform.machine() == self.triplet.partition("-")[0]

    def package(self, name: str) -> str:
        """Debian's package with a program of the tool chain: gcc, binutils."""
        return name if self.is_host else f"{name}-{self.triplet.replace('_', '-')}"

    @property
    def library_package(self) -> str:
        """Debian's package with the C library that programs for it are linked to."""
        return "libc6-dev" if self.is_host else f"libc6-dev-{self.debian}-cross"

    @property
    def library_folders(self) -> tuple[str, ...]:
        """Where that library may lie, below /: that of a cross compiler, and the host's own."""
        return f"usr/{self.triplet}/lib", f"usr/lib/{self.triplet}"

    @property
    def searched_folders(self) -> tuple[str, ...]:
        """Where a program's loader looks for libraries without being told, below /, in this order."""
        places = (f"lib/{self.triplet}", f"usr/lib/{self.triplet}", "lib", "usr/lib")
        return (*places, "lib64", "usr/lib64")

    def tool(self, name: str) -> str:
        """A program of the tool chain: gcc, ld, strip, nm."""
        return self.prefix + name

    @property
    def make(self) -> str:
        """What tells a kernel's or BusyBox's make what it builds for."""
        return f"ARCH={self.kernel}"


@dataclass(frozen=True, slots=True)
class Architecture:
    """An instruction set."""

    name: str
    title: str
    """What it is called in a sentence."""
    elf_machine: str
    bits: int
    elf_number: int
    elf_flags: int
    """What the header of an ELF program says: `elf_machine` in figures, and the calling convention."""
    mode_bit: int
    """The bit of a code address that says which of two instruction sets lies there; 0 where there is one."""
    call_bytes: int
    """How far before its return address a call begins, in bytes, at least: an address inside the call."""
    prologues: tuple[tuple[int, int], ...]
    """(mask, value) of words that functions begin with."""
    idle: tuple[Opcode, ...]
    """What puts the CPU to sleep."""
    calls: tuple[Opcode, ...]
    """What a return address follows."""
    tools: ToolChain
    registers: Registers
    conditions: tuple[tuple[tuple[int, int], ...], ...]
    """When an instruction with a condition is carried out: the flags are `value` under `mask`, for one of its
    (mask, value)."""
    kernel: KernelEntries
    program_symbols: Mapping[str, str]
    """Symbols of the kernel that programs linked against the C library need, and why."""
    load_instructions: Callable[[], Instructions]
    """The reader of its code. The disassembler takes a tenth of a second to load, and few views need it."""
    call_thunks: str = ""
    """What names of functions begin with that call the address in a register, which ends the name; empty for
    an architecture without such."""
    segment_bytes: int = 0
    """The size of segments that addresses may count from before an MMU is on; 0 where there are none."""
    ports: Ports | None = None
    control: Control | None = None
    """None where nobody has described it, so that caches cannot be followed."""
    classes: tuple[Rule, ...] = ()
    """Of instructions; empty where nobody has described them: all of them take the same time, then."""
    unpacker_moves: int = 0
    """Where the image of a kernel that unpacks itself holds how many bytes of memory it needs, for an
    architecture where the code that unpacks it moves to the end of these; 0 where it does not."""
    yields: tuple[Opcode, ...] = ()
    """What gives up the CPU's turn to other CPUs in the emulator: loops that wait for one of them."""

    def code_address(self, value: int) -> int:
        """The address that a pointer to code stands for."""
        return value & ~self.mode_bit

    def call_before(self, back: int) -> int:
        """An address inside the call that comes back to `back`."""
        return self.code_address(back) - self.call_bytes

    def begins_function(self, word: int) -> bool:
        """Whether a word of code is what compilers begin functions with."""
        return any(word & mask == value for mask, value in self.prologues)

    @property
    def word_bytes(self) -> int:
        """Bytes of an address."""
        return self.bits // 8

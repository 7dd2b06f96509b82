# SPDX-License-Identifier: Apache-2.0
"""The description of an architecture. Each file beside this one provides it for one architecture."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

ALWAYS = -1
"""The condition of an unconditional instruction."""
Insn = Any
"""A decoded instruction of the disassembler."""


@dataclass(frozen=True, slots=True)
class StackGrowth:
    """At `address` the stack grows by `size` bytes (-1: unknown); the return address was stored `link_at`
    bytes above the new stack pointer, or not at all (-1)."""

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
    """A property of instructions like `opcode`, that they take longer, or which registers they load or read:
    `kind` is the word in the plugin's watch file (native/plugin/watch_classes.h). `fields`: (shift, bits) of
    the register numbers in them; `registers`: a bit for each register that they move."""

    kind: str
    opcode: Opcode
    fields: tuple[tuple[int, int], ...] = ()
    registers: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """Instructions with the one-byte `opcode` write `size` bytes to the I/O port in register `port` (empty:
    in the byte behind the opcode): those of register `value`, or, where they `repeat`, those in memory that
    it points to. `narrow`: (a prefix, how many bytes with it); `repeat`: (the register that counts down, the
    prefix that enables repeating)."""

    opcode: int
    size: int
    port: str
    value: str
    narrow: tuple[int, int] | None = None
    repeat: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """Instructions with the one-byte `opcode` read from an I/O port; `port` and `repeat` as for
    :class:`Output`."""

    opcode: int
    port: str
    repeat: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Ports:
    """I/O ports, an address space with instructions of its own. `mask`: the bits of a register that are the
    port number; `prefixes`: (first, last) of bytes that may precede an opcode."""

    mask: int
    prefixes: tuple[tuple[int, int], ...]
    outputs: tuple[Output, ...]
    inputs: tuple[Input, ...]


@dataclass(frozen=True, slots=True)
class Control:
    """How software switches caches and the MMU. `registers`: by QEMU's names, of which a CPU has some; the
    one that changed last counts. `translates`, `data`, `code`: bits that are all set while addresses are
    translated, data and code are cached; 0 for what is never switched (caches are then on). `off`: those of
    these bits that switch off: 0 in the register means on. `changed_by`:
    what writes these registers, those of page tables, and the TLB. `large`: addresses of the kernel that are
    translated in pages of 2**`large_shift` bytes. `flat_passes`: stores do not allocate cache lines in
    identity-mapped memory, the mapping of boot loaders. `write_combining`: while data is
    cached, stores to a frame buffer are combined to lines."""

    registers: tuple[str, ...]
    translates: int
    data: int
    code: int
    changed_by: tuple[Opcode, ...]
    large: tuple[tuple[int, int], ...]
    large_shift: int
    flat_passes: bool = False
    off: int = 0
    write_combining: bool = False


class Instructions(Protocol):
    """Reads machine code. `alternate` names the second instruction set of an architecture that has two."""

    def decode(self, code: bytes, address: int, alternate: bool) -> Iterator[Insn]:
        """The instructions in code, with their operands; data are skipped."""

    def condition(self, insn: Insn) -> int:
        """The index in `Architecture.conditions` of an instruction's condition; ALWAYS for none."""

    def returns(self, insn: Insn) -> bool:
        """Whether an instruction returns from its function."""

    def jump(self, insn: Insn) -> int | None:
        """The target of an unconditional direct jump; None for any other instruction."""

    def call(self, insn: Insn) -> int | None:
        """The target of a direct call or unconditional direct jump; None for any other instruction."""

    def called_register(self, insn: Insn) -> str | None:
        """The register whose address an instruction calls; None for any other instruction."""

    def stack_growth(self, code: bytes, address: int, alternate: bool) -> Iterator[StackGrowth]:
        """The instructions of a function that grow its frame, in order."""


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers by QEMU's names; empty for one that does not exist."""

    arguments: tuple[str, ...]
    """Of a function's arguments, first to last."""
    result: str
    counter: str
    """The program counter: the address of the instruction."""
    stack: str
    link: str
    """Holds the return address of a function; empty where a call pushes it on the stack."""
    flags: str
    """The flags that conditions test."""


@dataclass(frozen=True, slots=True)
class KernelEntries:
    """Where Linux is entered and left on this architecture. Numbers of arguments count from 0."""

    syscall: str
    """The code that every system call enters, or execve alone."""
    syscall_register: str
    """Holds the call's number; empty where `syscall` is execve's alone."""
    execve: int
    """The number of that system call."""
    switch: str
    """The function that switches tasks."""
    switch_from: int
    switch_to: int
    first_address: int
    """The lowest address of the kernel, with the usual split; programs are below."""
    vectors: int
    """Where exception vectors and the kernel's helpers for programs are; the end of the addresses for
    none."""
    usual_offset: int
    """From the beginning of memory to the first instruction; the offset that board profiles assume."""
    offset_mask: int
    """The bits of the kernel's entry address that are this offset."""
    relative_initcalls: bool
    """Whether the table of initcalls has 32-bit offsets from each entry, not addresses."""
    argument_on_stack: int
    """Offset from the stack pointer, in bytes, of the first argument without a register, at the start of a
    function."""
    delays: tuple[str, ...]
    """Functions that wait by polling the processor's own counter, none of which calls another; the first
    argument is the duration."""
    unpacker_jumps_by: str = ""
    """The register that holds the kernel's first address when the decompressor jumps there; empty where
    unknown."""
    unpacker_caches: int = 0
    """How many bytes of memory-mapped storage are cached for the decompressor, from the MiB on in which it
    begins; nothing else outside of memory is."""
    handed_over: Callable[[bytes, int], int] | None = None
    """Where QEMU loads a kernel that it starts itself: (the uncompressed image, the first address of memory)
    -> address of its first instruction. None where unknown."""
    moves_unseeded: bool = False
    """Whether a kernel with KASLR uses randomness of the CPU to move, where it gets no seed."""
    mapped: tuple[str, ...] = ()
    """The first code after the MMU is on: the first of these names that the kernel has."""
    saved_arguments: tuple[int, ...] = ()
    """Offsets in bytes of the caller's arguments, up to four, in the structure that the first argument of a
    system call's function points to; empty where the function gets them as its own arguments."""
    stack_bytes: int = 16384
    """The size of a task's kernel stack, which is aligned to it (THREAD_SIZE)."""
    syscall_functions: tuple[str, ...] = ()
    """The name prefix of functions that carry out system calls; and whole names of others."""


@dataclass(frozen=True, slots=True)
class ToolChain:
    """How programs for the architecture are built, and what other projects call it."""

    triplet: str
    """The cross compiler's triplet, in Debian's spelling."""
    debian: str
    """Debian's name."""
    kernel: str
    """The name in Linux and BusyBox: ARCH=, and the folder below arch/."""
    mkimage: str
    qemu: str
    """The program that emulates a whole machine."""
    qemu_package: str
    kernel_flags: tuple[str, ...]
    """Compiler flags of the kernel's own Makefiles that affect the offsets of members."""
    libraries: tuple[str, ...]
    """Files of the C library that a root file system needs, the program loader first."""
    library_flags: int
    """The flags of this architecture's libraries in /etc/ld.so.cache (sysdeps/generic/ldconfig.h)."""
    other_abis: tuple[str, ...] = ()
    """Triplets of compilers for the same processors whose programs need other libraries."""

    @property
    def prefix(self) -> str:
        """The prefix of the tool chain's programs."""
        return f"{self.triplet}-"

    @property
    def qemu_user(self) -> str:
        """The program that emulates only the processor, for one Linux program."""
        return self.qemu.replace("-system-", "-", 1)

    @property
    def is_host(self) -> bool:
        """Whether this computer has this architecture, so that its own compiler is used."""
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
        """Where that library may be, below /: the cross compiler's folders, and the host's."""
        return f"usr/{self.triplet}/lib", f"usr/lib/{self.triplet}"

    @property
    def searched_folders(self) -> tuple[str, ...]:
        """The default library folders of a program's loader, below /, in order."""
        places = (f"lib/{self.triplet}", f"usr/lib/{self.triplet}", "lib", "usr/lib")
        return (*places, "lib64", "usr/lib64")

    def tool(self, name: str) -> str:
        """A program of the tool chain: gcc, ld, strip, nm."""
        return self.prefix + name

    @property
    def make(self) -> str:
        """The arguments of make that select the architecture for a kernel or BusyBox."""
        return f"ARCH={self.kernel}"


@dataclass(frozen=True, slots=True)
class Architecture:
    """An instruction set."""

    name: str
    title: str
    """Its name in a sentence."""
    elf_machine: str
    bits: int
    elf_number: int
    elf_flags: int
    """Fields of an ELF program's header: `elf_machine` as a number, and the calling convention."""
    mode_bit: int
    """The bit of a code address that marks the second instruction set; 0 where there is only one."""
    call_bytes: int
    """The minimum size of a call in bytes: an address inside the call is this far before its return
    address."""
    prologues: tuple[tuple[int, int], ...]
    """(mask, value) of words at the start of functions."""
    idle: tuple[Opcode, ...]
    """Instructions that put the CPU to sleep."""
    calls: tuple[Opcode, ...]
    """Instructions before a return address."""
    tools: ToolChain
    registers: Registers
    conditions: tuple[tuple[tuple[int, int], ...], ...]
    """The conditions of instructions: each is true if the flags are `value` under `mask` for one of its
    (mask, value)."""
    kernel: KernelEntries
    program_symbols: Mapping[str, str]
    """Kernel symbols that programs linked against the C library need, and why."""
    load_instructions: Callable[[], Instructions]
    """Loads the reader of its code. The disassembler takes a tenth of a second to load, and few views need
    it."""
    control: Control
    call_thunks: str = ""
    """The name prefix of functions that call the address in a register, whose name follows; empty for an
    architecture without such functions."""
    segment_bytes: int = 0
    """The size of segments that addresses may be relative to before the MMU is on; 0 where there are none."""
    ports: Ports | None = None
    classes: tuple[Rule, ...] = ()
    """Classes of instructions; empty where they are not described: then all take the same time."""
    unpacker_moves: int = 0
    """Offset, in the image of a self-extracting kernel, of the size in bytes of the memory that it needs, for
    an architecture whose decompressor moves to the end of that memory; 0 where it does not."""
    clocks: tuple[Opcode, ...] = ()
    """Instructions that read a clock of the CPU; empty where only functions that are known wait for it."""
    repeats: tuple[int, ...] = ()
    """Prefixes in `ports` with which an instruction repeats itself: each time is a block of its own for the
    emulator."""
    yields: tuple[Opcode, ...] = ()
    """Instructions that yield the CPU's turn to other CPUs in the emulator: in loops that wait for one of
    them."""

    def code_address(self, value: int) -> int:
        """The address that a code pointer refers to."""
        return value & ~self.mode_bit

    def call_before(self, back: int) -> int:
        """An address inside the call that returns to `back`."""
        return self.code_address(back) - self.call_bytes

    def begins_function(self, word: int) -> bool:
        """Whether a word of code is one that compilers begin functions with."""
        return any(word & mask == value for mask, value in self.prologues)

    @property
    def word_bytes(self) -> int:
        """The size of an address in bytes."""
        return self.bits // 8

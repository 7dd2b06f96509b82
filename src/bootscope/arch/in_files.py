# SPDX-License-Identifier: Apache-2.0
"""How files state their instruction set, including sets that are not emulated here.

Sources: the ELF specification and Linux include/uapi/linux/elf-em.h; the PE format's machine types;
mkimage(1) for its numbers and names; the UEFI specification, 3.5.1.1, for the names of removable media; Linux
Documentation/arch/arm64/booting.rst and Documentation/arch/riscv/boot-image-header.rst.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """An instruction set and its names: `elf` is the machine number in an ELF file and `bits` its class, `pe`
    the machine type of an EFI program, `mkimage` the number and `fit` the name in mkimage(1), `efi` the
    program that firmware starts by default from a card. 0 and empty where there is none."""

    name: str
    bits: int
    elf: int
    pe: int = 0
    mkimage: int = 0
    fit: str = ""
    efi: str = ""


NAMES = (
    Named("arm", 32, 40, 0x1C2, 2, "arm", "BOOTARM.EFI"),
    Named("arm64", 64, 183, 0xAA64, 22, "arm64", "BOOTAA64.EFI"),
    Named("riscv64", 64, 243, 0x5064, 26, "riscv", "BOOTRISCV64.EFI"),
    Named("riscv32", 32, 243, 0x5032, 0, "", "BOOTRISCV32.EFI"),
    Named("x86-64", 64, 62, 0x8664, 24, "x86_64", "BOOTX64.EFI"),
    Named("x86", 32, 3, 0x14C, 3, "x86", "BOOTIA32.EFI"),
    Named("mips", 32, 8, 0, 5, "mips"),
    Named("mips64", 64, 8, 0, 6, "mips64"),
    Named("powerpc", 32, 20, 0, 7, "powerpc"),
    Named("powerpc64", 64, 21),
    Named("loongarch64", 64, 258, 0x6264, 27, "loongarch", "BOOTLOONGARCH64.EFI"),
    Named("s390x", 64, 22, 0, 4, "s390"),
    Named("sh", 32, 42, 0, 9, "sh"),
    Named("arc", 32, 195, 0, 23, "arc"),
)
"""Each instruction set once; the name is that in board profiles, where there is one."""

IMAGE_MAGICS = ((0x38, b"ARM\x64", "arm64"), (0x38, b"RSC\x05", "riscv64"))
"""The header of an uncompressed kernel: (offset, magic, name)."""
LINUX_IN_EFI = b"\xcd\x23\x82\x81"
"""At 0x38 of a kernel that is an EFI program, for any instruction set."""


def of_elf(data: bytes) -> str:
    """From the header of an ELF file; empty if unknown."""
    if len(data) < 20 or data[:4] != b"\x7fELF":
        return ""
    bits, number = (
        (64 if data[4] == 2 else 32),
        int.from_bytes(data[18:20], "big" if data[5] == 2 else "little"),
    )
    return next((n.name for n in NAMES if (n.elf, n.bits) == (number, bits)), "")


def of_pe(machine: int) -> str:
    """From the machine type of an EFI program; empty if unknown."""
    return next((n.name for n in NAMES if n.pe == machine and machine), "")


def of_mkimage(number: int) -> str:
    """From the number in mkimage's header; empty if unknown."""
    return next((n.name for n in NAMES if n.mkimage == number and number), "")


def of_fit(name: str) -> str:
    """From the `arch` of an image in a FIT; empty if unknown."""
    return next((n.name for n in NAMES if n.fit == name and name), "")


def bits_of(name: str) -> int:
    """The size of its addresses; 0 for an unknown name."""
    return next((n.bits for n in NAMES if n.name == name), 0)

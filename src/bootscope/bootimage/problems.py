# SPDX-License-Identifier: Apache-2.0
"""Problems that keep an image from booting, or from being understood: the evidence, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.bootimage import probe
from bootscope.bootimage.found import Found
from bootscope.bootimage.howboots import chosen_entry, chosen_kernel
from bootscope.bootimage.records import Area, Kernel
from bootscope.core.text import listed

_OLDER = {"arm64": "arm", "x86-64": "x86", "mips64": "mips", "powerpc64": "powerpc", "riscv64": "riscv32"}
"""64-bit CPUs, and the 32-bit programs that they run, too."""


def problems(found: Found, is_disk: bool) -> list[str]:
    """All problems; empty where there are none. `is_disk`: whether it is an image of a whole disk."""
    kernel = chosen_kernel(found)
    told = [*_of_areas(found.areas), *_of_menu(found, kernel), *_of_kernels(found, kernel)]
    if is_disk and not found.kernels:
        told.append(_no_kernel(found))
    return told


def _of_areas(areas: list[Area]) -> Iterator[str]:
    for area in areas:
        for note in area.partition.notes if area.partition else ():
            yield f"{area.volume}: {note}: is the image whole? compare its size with that of the build's"
        for note in area.filesystem.notes if area.filesystem else ():
            if "larger than" in note:
                yield f"{area.volume}: {note} copy the image again"
        if area.filesystem and area.filesystem.kind in _READ_ELSEWHERE and area.notes:
            yield f"{area.volume}: {area.notes[0]}: give the root file system as the build made it, too"


_READ_ELSEWHERE = (probe.ENCRYPTED, "UBI", "LVM physical volume")


def _of_menu(found: Found, kernel: Kernel | None) -> Iterator[str]:
    entry = chosen_entry(found)
    if entry and entry.menu.kernel and not kernel and "$" not in entry.menu.kernel:
        yield (
            f"the chosen entry of {entry.menu.path} names {entry.menu.kernel}, which was not found: correct "
            "the entry, or put the kernel there"
        )


def _of_kernels(found: Found, kernel: Kernel | None) -> Iterator[str]:
    if kernel is None:
        return
    if not kernel.unpacked_bytes:
        name = kernel.place.path or kernel.place.volume
        yield f"the kernel {name} cannot be unpacked: {'; '.join(kernel.notes)}"
    for root in found.roots:
        programs, cpu = root.architecture, kernel.architecture
        if programs and cpu and programs not in (cpu, _OLDER.get(cpu)):
            yield (
                f"the kernel is for {cpu}, the programs of the root file system for {programs}: they belong "
                "to different machines"
            )


def doubts(found: Found) -> list[str]:
    """Possible problems that may be intended."""
    kernel, told = chosen_kernel(found), []
    for root in found.roots:
        if kernel and kernel.version and root.modules and kernel.version not in root.modules:
            told.append(
                f"the root has modules for {listed(root.modules)}, none for the kernel {kernel.version}"
            )
    return told


def _no_kernel(found: Found) -> str:
    closed = [a for a in found.areas if a.filesystem and not a.readable]
    kinds = listed(sorted({a.filesystem.kind for a in closed if a.filesystem}))
    if closed:
        return (
            f"no kernel was found; it may lie in {kinds}, which is not read: name the kernel's file, too "
            "(bootscope image DISK KERNEL)"
        )
    return "no kernel was found: name the kernel's file, too, if the boot loader has it from elsewhere"

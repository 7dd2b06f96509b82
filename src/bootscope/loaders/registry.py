# SPDX-License-Identifier: Apache-2.0
"""All boot loaders that bootscope can boot. To add one, write a file beside this one and list it here."""

from __future__ import annotations

from bootscope.loaders.direct import DIRECT, DIRECT_BIOS, DIRECT_OPENSBI, DIRECT_UNPACKING
from bootscope.loaders.grub import GRUB
from bootscope.loaders.model import Hooked, Loader, Program
from bootscope.loaders.nor import UBOOT_NOR
from bootscope.loaders.opensbi import UBOOT_OPENSBI
from bootscope.loaders.tfa import TFA
from bootscope.loaders.uboot import UBOOT
from bootscope.loaders.zynq import UBOOT_FILES

LOADERS: dict[str, Loader] = {
    found.name: found
    for found in (
        *(UBOOT, TFA, UBOOT_OPENSBI, UBOOT_FILES, UBOOT_NOR, GRUB),
        *(DIRECT, DIRECT_UNPACKING, DIRECT_OPENSBI, DIRECT_BIOS),
    )
}
BUILT = UBOOT
"""The boot loader that systems are built with."""
PROGRAMS = tuple(dict.fromkeys(program for found in LOADERS.values() for program in found.programs))


def merged(chains: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The phases of several chains in one order; phases that only a later chain has follow their
    neighbours."""
    found: list[str] = []
    for chain in chains:
        at = 0
        for phase in chain:
            if phase not in found:
                found.insert(at, phase)
            at = found.index(phase) + 1
    return tuple(found)


PHASES = merged([found.phases for found in LOADERS.values()])
"""The phases that a boot may have with any boot loader, in order."""
LOADER_PHASES = tuple(phase for phase in PHASES if any(found.program(phase) for found in LOADERS.values()))
MILESTONES = tuple(
    dict.fromkeys(
        stage.milestone
        for phase in PHASES
        for found in LOADERS.values()
        for stage in found.stages
        if stage.phase == phase and stage.milestone
    )
)
"""The milestones at the beginnings of phases, in order."""


def hooks(*kinds: Hooked) -> tuple[str, ...]:
    """The hooks of these kinds in the programs of all boot loaders."""
    return tuple(p.hook(kind) for p in PROGRAMS for kind in kinds if kind in (*p.functions, Hooked.START))


def program_of(hook: str) -> Program | None:
    """The program that contains a hook; None for hooks of Linux."""
    name = hook.partition(".")[0]
    return next((program for program in PROGRAMS if program.name == name), None)

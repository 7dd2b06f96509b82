# SPDX-License-Identifier: Apache-2.0
"""GRUB on a PC with a BIOS: the BIOS reads its first sector from the card and calls it; that reads the rest
from behind the partition table. Neither has a fixed address: GRUB's modules are where its loader finds
memory, and SeaBIOS moves what it needs only once to the end of the memory.

Sources: GRUB's manual, chapter 11 ("GRUB image files"); boot.S and diskboot.S in grub-core/boot/i386/pc of
GRUB 2.12.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bootscope.loaders.model import FIRMWARE, KERNEL, LOAD, ROM, Hooked, ImageLines, Program, Settings, Stage
from bootscope.loaders.uboot import UBOOT

BOOT_IMAGE, CORE_IMAGE = "boot.img", "core.img"
"""Its first sector, and the image that this reads."""
SCRIPT = "grub.cfg"
_NEVER = r"(?!)"
_WAIT = re.compile(r"(?m)^([ \t]*set timeout=)([1-9]\d{0,3})[ \t]*$", re.ASCII)
_NOTHING_SAID = "\0"


def without_wait(script: str) -> str:
    """A menu that does not wait for a choice; empty for one without such a wait."""
    return _WAIT.sub(r"\g<1>0", script) if _WAIT.search(script) else ""


def menu_wait_s(script: str) -> int:
    """How many seconds a menu waits for a choice; 0 for one without such a wait."""
    waits = _WAIT.findall(script)
    return int(waits[-1][1]) if waits else 0


def _program(name: str, title: str, phrase: str, tree: str) -> Program:
    return Program(
        name=name,
        title=title,
        phrase=phrase,
        symbols=name,
        symbols_file=f"{name}.map",
        code=f"{name}-program",
        code_file=f"{name}.elf",
        functions={},
        linked="",
        tree=tree,
        pieces=f"{name}-pieces",
    )


# Later programs call it to read and to print. It is below 1 MiB, behind that of the graphics card.
BIOS = replace(_program("seabios", "SeaBIOS", "SeaBIOS", FIRMWARE), stays=True, lies=(0xC0000, 0x100000))
LOADER = _program("grub", "GRUB", "GRUB", "")
GRUB = replace(
    UBOOT,
    name="grub",
    title="GRUB",
    countdown=_NEVER,
    script_commands=(),
    boot_commands=(),
    first_boots_title="",
    settings=Settings(
        commands_variable="",
        delay_variable="timeout",
        delay="",
        silent_variable="",
        silent="",
        rate="",
        first_boots="",
    ),
    images=ImageLines(
        header=_NOTHING_SAID,
        tree=_NOTHING_SAID,
        moves=_NOTHING_SAID,
        starts=_NOTHING_SAID,
        checks=(),
        plain="",
        headed=(),
    ),
    announced=(),
    stages=(
        ROM,
        Stage("firmware", BIOS.hook(Hooked.START), "firmware", BIOS),
        Stage("bootloader", LOADER.hook(Hooked.START), "bootloader", LOADER),
        Stage(LOAD, program=LOADER),
        *KERNEL,
    ),
    card_image=CORE_IMAGE,
    sector_image=BOOT_IMAGE,
    script_file=SCRIPT,
    wrapped_script=False,
    menu_wait_s=menu_wait_s,
)

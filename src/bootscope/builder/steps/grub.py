# SPDX-License-Identifier: Apache-2.0
"""GRUB for a PC with a BIOS, out of its package: its first sector and the image that this reads.

The tool that comes with GRUB installs it onto disks of the computer that it runs on, as root. Here both parts go
into an image: what that tool would write into them are the sectors that follow.
"""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import prebuilt
from bootscope.core.errors import ToolError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.loaders.grub import BOOT_IMAGE, CORE_IMAGE, SCRIPT
from bootscope.system.model import Prebuilt

_FORMAT, _PREFIX = "i386-pc", "(hd0,msdos1)/"
_MODULES = (
    "biosdisk", "part_msdos", "fat", "linux", "serial", "terminal", "configfile", "normal", "echo", "video",
    "vbe",
)  # fmt: skip
"""Built in: nothing is read from the card but its script, kernel and initramfs."""
_TOOL = "grub-mkimage"

_CODE_BYTES = 0x1B8
"""Of the first sector; behind them are the disk's identity and the table of partitions."""
_NEXT_SECTOR_AT = 0x5C
"""Where the first sector holds the number of the sector that it reads, in 64 bits."""
_LIST_AT, _LOAD_SEGMENT = 0x1F4, 0x820
"""Where the second sector holds which sectors follow: the first of them (64 bits), how many, and where to."""


def step(wanted: Prebuilt, source: Resolved, name: str) -> Step:
    """The step `name`: BOOT_IMAGE and CORE_IMAGE, which looks for SCRIPT on the first partition."""

    def work(context: Context) -> None:
        boot = prebuilt.only(prebuilt.unpacked(context, source), wanted.uboot)
        shutil.copy(boot, context.out / BOOT_IMAGE)
        begin = context.scratch / "begin.cfg"
        begin.write_text(f"configfile {_PREFIX}{SCRIPT}\n")
        options = ["-O", _FORMAT, "-d", boot.parent, "-p", _PREFIX, "-c", begin]
        context.run([_TOOL, *options, "-o", context.out / CORE_IMAGE, *_MODULES])

    inputs = {"prebuilt": wanted.uboot, "modules": _MODULES, "source": source.sha256}
    return Step(name, "putting GRUB together", 1, work, inputs, (), (prebuilt.DPKG, _TOOL))


def put(folder: Path, image: Path, sector: int, room_bytes: int) -> None:
    """Puts GRUB onto a card: its code into the first sector, the rest to `sector`.

    Raises ToolError when there is no room, or when the files are no GRUB.
    """
    boot, core = bytearray((folder / BOOT_IMAGE).read_bytes()), bytearray((folder / CORE_IMAGE).read_bytes())
    if len(core) > room_bytes:
        raise ToolError(f"the boot loader has {len(core):,} bytes, there is room for {room_bytes:,}")
    if len(boot) != SECTOR_BYTES or struct.unpack_from("<Q", boot, _NEXT_SECTOR_AT) != (1,):
        raise ToolError(f"{BOOT_IMAGE} is not the first sector of a GRUB")
    struct.pack_into("<Q", boot, _NEXT_SECTOR_AT, sector)
    sectors = -(-len(core) // SECTOR_BYTES) - 1
    struct.pack_into("<QHH", core, _LIST_AT, sector + 1, sectors, _LOAD_SEGMENT)
    with image.open("r+b") as f:
        f.write(boot[:_CODE_BYTES])
        f.seek(sector * SECTOR_BYTES)
        f.write(core)

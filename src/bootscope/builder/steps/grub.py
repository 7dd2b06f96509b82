# SPDX-License-Identifier: Apache-2.0
"""GRUB for a PC with a BIOS, from its package: its first sector and the image that this reads.

GRUB's own tool installs it on disks of the computer that it runs on, as root. Here both parts go into an
image, with the numbers of the following sectors that the tool would write into them.
"""

from __future__ import annotations

import shutil
import struct
from pathlib import Path, PurePosixPath

import msgspec

from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import grub_symbols, prebuilt
from bootscope.core.errors import ToolError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.loaders.grub import BOOT_IMAGE, CORE_IMAGE, GRUB, SCRIPT
from bootscope.system.model import Prebuilt

_FORMAT, _PREFIX = "i386-pc", "(hd0,msdos1)/"
_MODULES = (
    "biosdisk", "part_msdos", "fat", "linux", "serial", "terminal", "configfile", "normal", "echo", "video",
    "vbe",
)  # fmt: skip
"""Built in: from the card it only reads its script, kernel and initramfs."""
_TOOL = "grub-mkimage"

_NEXT_SECTOR_AT = 0x5C
"""Where the first sector holds the number of the sector that it reads, in 64 bits."""
_LIST_AT, _LOAD_SEGMENT = 0x1F4, 0x820
"""Where the second sector holds the following sectors: the first (64 bits), how many, and the segment."""


def step(wanted: Prebuilt, source: Resolved, name: str, sector: int, symbols: Resolved | None) -> Step:
    """The step `name`: BOOT_IMAGE, which reads CORE_IMAGE from `sector` of the card; that looks for SCRIPT on
    the first partition. Also its functions where `symbols` has the same programs unstripped."""

    def work(context: Context) -> None:
        boot, core = context.out / BOOT_IMAGE, context.out / CORE_IMAGE
        from_package = prebuilt.only(prebuilt.unpacked(context, source), wanted.uboot)
        shutil.copy(from_package, boot)
        begin = context.scratch / "begin.cfg"
        begin.write_text(f"configfile {_PREFIX}{SCRIPT}\n")
        options: list[str | Path] = ["-O", _FORMAT, "-d", from_package.parent, "-p", _PREFIX, "-c", begin]
        context.run([_TOOL, *options, "-o", core, *_MODULES])
        _installed(boot, core, sector)
        if symbols:
            unstripped = prebuilt.only(prebuilt.unpacked(context, symbols), _unstripped(wanted))
            found = grub_symbols.read(unstripped.parent, from_package.parent)
            (context.out / GRUB.main.pieces_file).write_bytes(msgspec.json.encode(found))

    inputs: dict[str, object] = {
        "prebuilt": wanted.uboot,
        "modules": _MODULES,
        "source": source.sha256,
        "sector": sector,
    }
    if symbols:
        inputs["functions"] = symbols.sha256
    return Step(name, "putting GRUB together", 1, work, inputs, (), (prebuilt.DPKG, _TOOL))


def _unstripped(wanted: Prebuilt) -> str:
    """The path of its unstripped kernel: in its package, the same folder as the stripped programs."""
    return str(PurePosixPath(wanted.uboot).with_name(grub_symbols.KERNEL))


def _installed(boot: Path, core: Path, sector: int) -> None:
    """Writes the places of the rest into both. Raises ToolError when they are not GRUB's."""
    first, rest = bytearray(boot.read_bytes()), bytearray(core.read_bytes())
    if len(first) != SECTOR_BYTES or struct.unpack_from("<Q", first, _NEXT_SECTOR_AT) != (1,):
        raise ToolError(f"{BOOT_IMAGE} is not the first sector of a GRUB")
    struct.pack_into("<Q", first, _NEXT_SECTOR_AT, sector)
    sectors = -(-len(rest) // SECTOR_BYTES) - 1
    struct.pack_into("<QHH", rest, _LIST_AT, sector + 1, sectors, _LOAD_SEGMENT)
    boot.write_bytes(first)
    core.write_bytes(rest)

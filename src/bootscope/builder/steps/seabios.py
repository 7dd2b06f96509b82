# SPDX-License-Identifier: Apache-2.0
"""SeaBIOS for a PC and for its graphics card, compiled from its sources, with all of its functions.

It runs from where it was linked, below 1 MiB, except for code needed only until it boots: it copies that to
the end of the memory, and says so on a port for debugging (src/post.c, reloc_preinit, of SeaBIOS 1.16.3).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context, Step
from bootscope.builder.steps.prebuilt import BIOS_IMAGE, VIDEO_IMAGE
from bootscope.builder.steps.unpack import tree_of
from bootscope.capture.objects import Piece, Pieces, Told
from bootscope.core.errors import ToolError
from bootscope.image.elf_functions import functions, opened, values
from bootscope.loaders.grub import BIOS
from bootscope.loaders.model import FIRMWARE
from bootscope.system.model import Firmware

# QEMU's standard graphics card; from src/Kconfig and vgasrc/Kconfig.
_VIDEO_OPTIONS = ("BUILD_VGABIOS=y", "VGA_BOCHS=y", "VGA_PCI=y")
_SEGMENT, _VIDEO_PLACE = 0xF0000, 0xC0000
"""Where its 16-bit code is, and where a BIOS copies that of a graphics card."""
_LINKED = {"rom.o": 0, "rom16.o": _SEGMENT, "rom32seg.o": _SEGMENT}
_MOVED = ("code32init_start", "code32init_end")
_SAYS, _SAID = "__dprintf", "Relocating init from %p to %p (size %d)\n"
"""The function, and its first argument; all are on the stack, after the return address."""


def step(firmware: Firmware, arch: Architecture) -> Step:
    """The step `firmware`: both images, and their functions."""
    compiler = arch.tools.tool("gcc")

    def work(context: Context) -> None:
        tree = context.scratch / "tree"
        shutil.copytree(tree_of(context, firmware.source), tree, symlinks=True)
        bios = _made(context, arch, tree, "bios", (f"{firmware.platform}=y", *firmware.options))
        video = _made(context, arch, tree, "vgabios", _VIDEO_OPTIONS)
        shutil.copy(bios / "bios.bin", context.out / BIOS_IMAGE)
        shutil.copy(video / "vgabios.bin", context.out / VIDEO_IMAGE)
        found = pieces(bios, video)
        (context.out / BIOS.pieces_file).write_bytes(msgspec.json.encode(found))

    inputs: dict[str, object] = {"firmware": firmware, "video": _VIDEO_OPTIONS}
    tools = (compiler, arch.tools.tool("ld"), "make", "cc")
    needs = (f"unpack-{firmware.source}",)
    return Step(FIRMWARE, "building SeaBIOS", 1, work, inputs, needs, tools, program="SeaBIOS")


def _made(context: Context, arch: Architecture, tree: Path, name: str, options: tuple[str, ...]) -> Path:
    """The folder that a program was built in, with its own configuration."""
    build = context.scratch / name
    build.mkdir()
    (build / ".config").write_text("".join(f"CONFIG_{option}\n" for option in options))
    told = (
        f"OUT={build}/",
        f"KCONFIG_CONFIG={build / '.config'}",
        f"CROSS_PREFIX={arch.tools.prefix}",
        "PYTHON=python3 -B",
        # Without it, the image contains the time and the computer's name.
        "EXTRAVERSION=-bootscope",
    )
    context.run(["make", "-C", tree, *told, "olddefconfig"])
    context.run(["make", "-C", tree, f"-j{context.jobs}", *told, f"{build}/{name}.bin"])
    return build


def pieces(bios: Path, video: Path) -> Pieces:
    """The functions from both build folders. Raises ToolError where these are not as expected."""
    main = opened(bios / "rom.o")
    files = [(bios / name, place) for name, place in _LINKED.items()]
    placed = [
        (place + at, size, name)
        for path, place in (*files, (video / "vgarom.o", _VIDEO_PLACE))
        for at, size, name in functions(opened(path))
    ]
    symbols = values(main)
    says = next((at for at, _, name in placed if name == _SAYS), None)
    if says is None or any(name not in symbols for name in _MOVED):
        raise ToolError("this SeaBIOS does not tell where it relocates its code", hint="build 1.16")
    start, end = (symbols[name] for name in _MOVED)
    moved = [(at - start, size, name) for at, size, name in functions(main) if start <= at < end]
    told = Told(says, "rsp+4:0", "rsp+12", "rsp+16", _SAID)
    return Pieces(sorted(placed), [Piece(_SAID, end - start, sorted(moved))], told)

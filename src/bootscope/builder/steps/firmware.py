# SPDX-License-Identifier: Apache-2.0
"""Trusted Firmware-A, with the boot loader in its package: the image of the board's flash."""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import programs
from bootscope.builder.steps.unpack import tree_of
from bootscope.core.errors import ToolError
from bootscope.loaders.model import Loader
from bootscope.loaders.tfa import IMAGE, TREE
from bootscope.system.model import Firmware

_PACKAGE = "fip.bin"


def step(firmware: Firmware, arch: Architecture, loader: Loader) -> Step:
    """The step `firmware`: the image, and the programs with symbols."""
    compiler = arch.tools.tool("gcc")

    def work(context: Context) -> None:
        # Its build writes into the sources.
        tree, build = context.scratch / "tree", context.scratch / "build"
        shutil.copytree(tree_of(context, firmware.source), tree, symlinks=True)
        context.run(
            [
                *("make", "-C", tree, f"-j{context.jobs}", f"CROSS_COMPILE={arch.tools.prefix}"),
                *(f"PLAT={firmware.platform}", f"BUILD_BASE={build}", "BUILD_STRING=bootscope"),
                *(f"BL33={context.results[loader.tree] / loader.payload}", *firmware.options, "all", "fip"),
            ]
        )
        made = build / firmware.platform / "release"
        for program in loader.programs:
            if program.tree == TREE:
                linked = made / program.linked
                programs.keep_symbols(context, arch, linked, program.code_file, program.symbols_file)
        first = made / f"{loader.first.name}.bin"
        _flash(context.out / IMAGE, firmware, {0: first, firmware.package_at: made / _PACKAGE})

    return Step(
        TREE, "building Trusted Firmware-A", 1, work, {"firmware": firmware},
        (f"unpack-{firmware.source}", loader.tree), (compiler, arch.tools.tool("ld"), "make", "cc"),
        program="Trusted Firmware-A", figures="firmware",
    )  # fmt: skip


def _flash(image: Path, firmware: Firmware, pieces: dict[int, Path]) -> None:
    """Puts pieces into the image, by where they begin. Raises ToolError for one without enough room."""
    ends = [*sorted(pieces)[1:], firmware.flash_bytes]
    with image.open("wb") as f:
        f.truncate(firmware.flash_bytes)
        for (start, path), end in zip(sorted(pieces.items()), ends, strict=True):
            data = path.read_bytes()
            if len(data) > end - start:
                raise ToolError(f"{path.name} has {len(data):,} bytes, there is room for {end - start:,}")
            f.seek(start)
            f.write(data)

# SPDX-License-Identifier: Apache-2.0
"""The programs before a boot loader that have sources of their own: Trusted Firmware-A, OpenSBI."""

from __future__ import annotations

import shutil
from pathlib import Path

from bootscope.boards.profile import Board
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import bl2_linux, programs
from bootscope.builder.steps.unpack import tree_of
from bootscope.core.errors import StepError
from bootscope.loaders import model as loaders
from bootscope.system.model import Firmware, System


def step(system: System, firmware: Firmware, board: Board) -> Step:
    """The step `firmware`: the image, and the programs with symbols. Raises UserError where it should load
    Linux and cannot."""
    arch, loader = board.arch, board.boot_loader
    known = loader.firmware
    assert known
    compiler = arch.tools.tool("gcc")
    loads_linux = system.uboot.falcon and not known.told_by
    told = bl2_linux.header(system, board) if loads_linux else ""
    options = (*firmware.options, *(bl2_linux.OPTIONS if loads_linux else ()))

    def work(context: Context) -> None:
        # Its build writes into the source tree.
        tree, build = context.scratch / "tree", context.scratch / "build"
        shutil.copytree(tree_of(context, firmware.source), tree, symlinks=True)
        for name, text in (bl2_linux.files(tree, told) if loads_linux else {}).items():
            (tree / name).write_text(text)
        payload = context.results[loader.tree] / loader.payload if loader.payload else ""
        words = {"platform": firmware.platform, "build": str(build), "payload": str(payload)}
        context.run(
            [
                *("make", "-C", tree, f"-j{context.jobs}", f"CROSS_COMPILE={arch.tools.prefix}"),
                *options,
                *(argument.format_map(words) for argument in known.arguments),
            ]
        )
        made = build / known.made.format_map(words)
        for program in loader.programs:
            if program.tree == loaders.FIRMWARE:
                linked = made / program.linked
                programs.keep_symbols(context, arch, linked, program.code_file, program.symbols_file)
        if known.package:
            pieces = {0: made / known.first, firmware.package_at: made / known.package}
            _flash(context.out / known.image, firmware, pieces)
        else:
            shutil.copy(made / known.image, context.out)

    before = () if known.told_by else (loader.tree,)
    inputs: dict[str, object] = {"firmware": firmware}
    if loads_linux:
        inputs["linux"] = bl2_linux.inputs(told)
    return Step(
        loaders.FIRMWARE, f"building {known.title}", 1, work, inputs,
        (f"unpack-{firmware.source}", *before), (compiler, arch.tools.tool("ld"), "make", "cc"),
        program=known.title, figures="firmware",
    )  # fmt: skip


def _flash(image: Path, firmware: Firmware, pieces: dict[int, Path]) -> None:
    """Puts pieces into the image, by offset. Raises ToolError for a piece that does not fit."""
    ends = [*sorted(pieces)[1:], firmware.flash_bytes]
    with image.open("wb") as f:
        f.truncate(firmware.flash_bytes)
        for (start, path), end in zip(sorted(pieces.items()), ends, strict=True):
            data = path.read_bytes()
            if len(data) > end - start:
                raise StepError(f"{path.name} has {len(data):,} bytes, there is room for {end - start:,}")
            f.seek(start)
            f.write(data)

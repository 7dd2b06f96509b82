# SPDX-License-Identifier: Apache-2.0
"""Offsets of the members that views need in a kernel's structures: from its BTF, else from its build folder.

Nothing of a build is run: its headers are compiled by bootscope's own compiler for the architecture.
"""

from __future__ import annotations

import json
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.boards.profile import Board
from bootscope.bootimage.symbols import VMLINUX
from bootscope.builder.ids import file_sha256
from bootscope.builder.step import Context, Runner, Step
from bootscope.builder.steps import kernel_headers
from bootscope.builder.steps.kernel_layout import LAYOUT, SOCKETS, STRUCTS
from bootscope.core.errors import ToolError, UserError
from bootscope.image import btf
from bootscope.imageboot import watching
from bootscope.imageboot.given import Given

_WANTED = {**STRUCTS, **SOCKETS, **watching.STRUCTS}


def of_kernel(got: Given, board: Board, runner: Runner) -> tuple[dict[str, int], str]:
    """(`structure.member` -> offset in bytes; why there are none, empty where there are some)."""
    types = btf.read(got.program)
    if types:
        found = types.offsets(f"{struct}.{name}" for struct, names in _WANTED.items() for name in names)
        return found, ""
    why = "the kernel does not describe the layout of its structures (CONFIG_DEBUG_INFO_BTF)"
    folder = _built_in(got)
    if folder is None:
        return {}, why
    try:
        return _asked(folder, got.kernel.version, board.arch, runner), ""
    except (ToolError, UserError, OSError, ValueError) as error:
        return {}, f"{why}, and the headers in {folder.name}, where it was built, do not either: {error}"


def _built_in(got: Given) -> Path | None:
    """The build folder of a kernel whose vmlinux was found there; None where the folder is incomplete."""
    told = got.kernel.symbols
    if told.source != VMLINUX or not got.kernel.build_id:
        return None
    folder = Path(told.path).parent
    return folder if all((folder / name).is_file() for name in kernel_headers.NEEDED) else None


def _asked(folder: Path, version: str, arch: Architecture, runner: Runner) -> dict[str, int]:
    def work(context: Context) -> None:
        kernel_headers.write(context, arch, [folder], version, sockets=True, more=watching.STRUCTS)

    step = Step(
        name="kernel-layout",
        title="asking the kernel's headers where its structures have their members",
        revision=1,
        work=work,
        inputs={"config": file_sha256(folder / kernel_headers.GENERATED), "version": version},
        tools=(arch.tools.tool("gcc"),),
    )
    found: dict[str, int] = json.loads((runner.run(step, step.step_id({}), {}) / LAYOUT).read_bytes())
    return found

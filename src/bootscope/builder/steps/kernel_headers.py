# SPDX-License-Identifier: Apache-2.0
"""The layout of a kernel's structures, from the packages with its headers.

These are for compiling modules: their structures are those that the kernel itself was compiled with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context
from bootscope.builder.steps import kernel_layout
from bootscope.core.errors import ToolError

GENERATED = "include/generated/autoconf.h"
_COMMON = "include/linux/sched.h"
_RELEASE = "include/config/kernel.release"
NEEDED = (GENERATED, _COMMON)
"""Files without which no layout can be found."""
# The options of the kernel's own Makefiles that affect where members are.
_OPTIONS = (*("-D__KERNEL__", "-std=gnu11", "-fshort-wchar", "-fno-strict-aliasing", "-w", "-O2"),)
_FIRST = ("compiler-version.h", "kconfig.h", "compiler_types.h")


def write(
    context: Context,
    arch: Architecture,
    trees: Sequence[Path],
    version: str,
    sockets: bool = False,
    more: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Writes the layout of kernel `version` into the step's result, from unpacked packages, or from the
    folder that it was built in; an empty one without either. With `sockets`, also the members needed to
    observe datagrams; `more`: other structures and their members.

    Raises ToolError when the headers are of another version than the kernel.
    """
    wanted = {**kernel_layout.STRUCTS, **(kernel_layout.SOCKETS if sockets else {}), **(more or {})}
    kernel_layout.write(context, _find(context, arch, trees, version, wanted) if trees else {})


def _find(
    context: Context,
    arch: Architecture,
    trees: Sequence[Path],
    version: str,
    wanted: Mapping[str, Sequence[str]],
) -> dict[str, int]:
    folders: list[Path] = []
    for tree in trees:
        folders += sorted(path for path in tree.glob("usr/src/linux-headers-*") if path.is_dir()) or [tree]
    generated = next((f for f in folders if (f / GENERATED).exists()), None)
    common = next((f for f in folders if (f / _COMMON).exists()), None)
    if not generated or not common:
        lacking = GENERATED if common else _COMMON
        raise ToolError(
            f"the kernel's headers lack {lacking}", hint="name all their packages under prebuilt.headers"
        )
    release = (generated / _RELEASE).read_text().strip() if (generated / _RELEASE).exists() else version
    if release != version:
        raise ToolError(
            f"the headers are of kernel {release}, the kernel is {version}",
            hint=f"remove {context.cache.sources}/linux* to fetch both again",
        )
    return kernel_layout.asked(context, generated, _command(arch, generated, common), wanted)


def _command(arch: Architecture, generated: Path, common: Path) -> list[str]:
    """The compiler call, with folders in the order of the kernel's Makefile."""
    folders, own = [], f"arch/{arch.tools.kernel}/include"
    for kind in ("", "/uapi"):
        folders += [f"-I{common}/{own}{kind}", f"-I{generated}/{own}/generated{kind}"]
        folders += [f"-I{common}/include{kind}"]
        folders += [f"-I{generated}/include/generated/uapi" if kind else f"-I{generated}/include"]
    first = [word for name in _FIRST for word in ("-include", f"{common}/include/linux/{name}")]
    return [arch.tools.tool("gcc"), "-nostdinc", *folders, *first, *_OPTIONS, *arch.tools.kernel_flags]

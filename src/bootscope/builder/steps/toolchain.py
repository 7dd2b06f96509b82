# SPDX-License-Identifier: Apache-2.0
"""A cross compiler from a distribution's packages, for BusyBox and the application, instead of the
computer's own. Both link to the same C library: that of the computer's cross compiler, which goes into the
root file system. So a change of the compiler changes nothing else.

A compiler for another ABI (armel's for ARM) links to the C library in its packages. Its programs must be
static, as the root file system has the computer's libraries.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import packages
from bootscope.builder.steps.packaged_compiler import only
from bootscope.core.errors import UserError

NAME = "toolchain"
PROGRAMS = "bin"
"""Folder of the result with the programs, under the names of cross tools."""
_CALLED, _TREE = "called", "tree"
"""Programs that gcc itself starts. A separate folder hides them from the computer's gcc."""
_BINUTILS = ("as", "ld", "nm", "ar", "ranlib", "objcopy", "objdump", "readelf", "strip")
_EXAMPLE = "such as gcc-14 as a cross compiler for the board"
_LOADER, _LIBRARIES = "lib64/ld-linux-*.so.2", "lib/*-linux-gnu"
"""For this computer's architecture: below / or, in newer packages, below /usr."""
_CALL = """\
#!/bin/sh
# {source}
here=${{0%/*}}/..
exec "$here/{loader}" --library-path "{libraries}" "$here/{program}" {options}"$@"
"""


def step(source: Resolved, arch: Architecture) -> Step:
    """The step `toolchain`: the packages unpacked, and a program for each one that builds call.

    Its work raises UserError where the packages have no such compiler, or several.
    """

    def work(context: Context) -> None:
        tree, folder = context.out / _TREE, context.out / PROGRAMS
        for each in (folder, context.out / _CALLED):
            each.mkdir()
        if source.is_tree:
            tree.symlink_to(source.path)
        else:
            tree.mkdir()
            for deb in packages.taken_out(context, Path(source.path)):
                context.run(["dpkg-deb", "--extract", deb, tree])
        loader = only(tree, _EXAMPLE, f"usr/{_LOADER}", _LOADER)
        _check_host(loader.name)
        libraries = [*tree.glob(_LIBRARIES), *tree.glob(f"usr/{_LIBRARIES}")]
        for name, program, options in _programs(tree, arch):
            call = _CALL.format(
                source=source.sha256,
                loader=loader.relative_to(context.out),
                libraries=":".join(f"$here/{path.relative_to(context.out)}" for path in libraries),
                program=program.relative_to(context.out),
                options=options,
            )
            (context.out / name).write_text(call)
            (context.out / name).chmod(0o755)

    inputs: dict[str, object] = {
        "source": source.sha256,
        "call": _CALL,
        "folders": [PROGRAMS, _CALLED],
        "for": arch.tools.triplet,
    }
    if source.is_tree:
        inputs["path"] = source.path
    return Step(NAME, "unpacking the compiler", 2, work, inputs, (), ("dpkg-deb",))


def take(context: Context, compiler: str) -> None:
    """Puts the programs of the step `compiler`, if given, before the computer's."""
    if compiler:
        context.programs = (context.results[compiler] / PROGRAMS, *context.programs)


def _check_host(loader: str) -> None:
    """Raises UserError for programs that this computer cannot run."""
    machine = platform.machine().replace("_", "-")
    if machine not in loader:
        raise UserError(
            f"the packaged compiler does not run on this computer: it needs {loader}, this is {machine}",
            hint="name packages of this computer's architecture under [sources]",
        )


def _programs(tree: Path, arch: Architecture) -> Iterator[tuple[str, Path, str]]:
    """(path in the result, program, its first arguments)."""
    names = (arch.tools.triplet, *arch.tools.other_abis)
    places = (f"usr/lib*/gcc-cross/{name}/*/cc1" for name in names)
    inside = only(tree, _EXAMPLE, *places).parent
    triplet = inside.parent.name
    begins = only(tree, _EXAMPLE, f"usr/lib/gcc-cross/{triplet}/*/libgcc.a").parent
    for name in ("cc1", "collect2"):
        yield f"{_CALLED}/{name}", inside / name, ""
    library = f"/usr/{triplet}" if triplet == arch.tools.triplet else f"$here/{_TREE}/usr/{triplet}"
    options = f'-B"$here/{_CALLED}/" -B"$here/{_TREE}/{begins.relative_to(tree)}/" -B"{library}/lib/" '
    options += f'-L"{library}/lib" -idirafter "{library}/include" -fno-use-linker-plugin '
    yield f"{PROGRAMS}/{arch.tools.prefix}gcc", only(tree, _EXAMPLE, f"usr/bin/{triplet}-gcc-[0-9]*"), options
    for name in _BINUTILS:
        program = only(tree, _EXAMPLE, f"usr/bin/{triplet}-{name}")
        yield f"{_CALLED}/{name}", program, ""
        yield f"{PROGRAMS}/{arch.tools.prefix}{name}", program, ""

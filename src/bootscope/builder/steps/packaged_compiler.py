# SPDX-License-Identifier: Apache-2.0
"""A compiler from a distribution's packages, run from its own folder.

Programs compiled with it can be compiled again byte for byte, whatever compiler the computer has. Its
own programs run with the C library that comes with them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps import packages
from bootscope.core.errors import UserError

COMPILER = "CC"
_EXAMPLE = "as the system debian-amd64 does"
_BINUTILS = ("as", "ld", "nm", "ar", "objcopy", "objdump", "readelf", "strip")


def install(context: Context, source: Resolved, arch: Architecture) -> dict[str, Path]:
    """Its programs by their names in Makefiles: COMPILER, `LD`, `NM` and so on.

    `source`: an archive of packages, or a folder with them unpacked. Raises UserError where they lack one.
    """
    tree = Path(source.path)
    if not source.is_tree:
        tree = context.scratch / "compiler"
        for deb in packages.taken_out(context, Path(source.path)):
            context.run(["dpkg-deb", "--extract", deb, tree])
    folder = context.scratch / "compiler-calls"
    folder.mkdir()
    for name, program, options in _programs(tree, arch.tools.triplet, folder):
        call = [only(tree, _EXAMPLE, f"usr/lib*/{arch.tools.libraries[0]}"), "--library-path"]
        call += [tree / "usr/lib" / arch.tools.triplet, program, *options]
        words = " ".join(shlex.quote(str(word)) for word in call)
        (folder / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (folder / name).chmod(0o755)
    return {COMPILER: folder / "gcc", **{name.upper(): folder / name for name in _BINUTILS}}


def _programs(tree: Path, triplet: str, folder: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """(name, program, its first arguments). The compiler finds the others in `folder`."""
    itself = only(tree, _EXAMPLE, f"usr/lib*/gcc/{triplet}/*/cc1")
    headers = only(tree, _EXAMPLE, f"usr/lib/gcc/{triplet}/*/include/stdarg.h").parents[1]
    yield "cc1", itself, []
    yield "gcc", only(tree, _EXAMPLE, f"usr/bin/{triplet}-gcc-[0-9]*"), [f"-B{folder}/", f"-B{headers}/"]
    for name in _BINUTILS:
        yield name, only(tree, _EXAMPLE, f"usr/bin/{triplet}-{name}"), []


def only(tree: Path, example: str, *patterns: str) -> Path:
    """The only file in a compiler's packages that matches the first pattern with a match.

    Raises UserError where there is none or several; `example` names a compiler for the hint.
    """
    found = next(filter(None, (sorted(tree.glob(pattern)) for pattern in patterns)), [])
    if len(found) != 1:
        raise UserError(
            f"the packages of the compiler have {len(found) or 'no'} files {patterns[0]}, expected one",
            hint=f"name one compiler of Debian under [sources], {example}",
        )
    return found[0]

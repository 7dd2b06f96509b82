# SPDX-License-Identifier: Apache-2.0
"""Programs of mtd-utils, which make images for flash: run from their packages, unpacked in a folder, with
the libraries from there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bootscope.builder.filesystems import steady
from bootscope.builder.step import Context
from bootscope.core.errors import UserError

NAME = "mtd-utils"
"""The step with their packages, and the source of these."""
TREE = "tree"


def run(context: Context, program: str, arguments: Sequence[str | Path], *, still: bool = False) -> None:
    """Runs one of the programs; `still`: with the library that makes its output reproducible (steady.py).

    Raises UserError where the packages lack it, ToolError when it fails.
    """
    tree = context.results[NAME] / TREE
    found = [
        *sorted(tree.glob("usr/lib*/ld-linux-*.so.*")),
        *sorted(tree.glob("usr/lib/*/libc.so.6")),
        *(tree / "usr" / folder / program for folder in ("sbin", "bin")),
    ]
    there = [path for path in found if path.exists()]
    if len(there) != 3:
        raise UserError(
            f"sources.{NAME}: the packages lack {program}, a C library or its loader",
            hint="name mtd-utils of Debian for this computer, as the system stock-vexpress does",
        )
    loader, library, binary = there
    command = [loader, "--library-path", library.parent, binary, *arguments]
    if still:
        steady.run(context, command)
    else:
        context.run(command)

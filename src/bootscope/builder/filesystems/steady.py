# SPDX-License-Identifier: Apache-2.0
"""Makes the output of a mkfs without options for owners, times and identifiers reproducible.

A small library (native/steady) is loaded into it. To the mkfs, all files belong to root and come in a fixed
order, and time stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bootscope.builder.ids import file_sha256
from bootscope.builder.step import Context
from bootscope.core import hints
from bootscope.core.errors import ToolError
from bootscope.core.paths import steady_source

TOOLS = ("cc",)


def source_id() -> str:
    """A hash of the library's source. Raises ToolError when it is not there."""
    if not steady_source().exists():
        raise ToolError(
            f"{steady_source()} is missing: without it each build of this file system would differ",
            hint=hints.REINSTALL,
        )
    return file_sha256(steady_source())


def run(context: Context, command: Sequence[str | Path]) -> None:
    """Runs `command` with the library. Raises ToolError when either fails."""
    library = context.scratch / "steady.so"
    context.run(["cc", "-O2", "-Wall", "-fPIC", "-shared", "-o", library, steady_source(), "-ldl"])
    context.run(command, env={"LD_PRELOAD": str(library)})

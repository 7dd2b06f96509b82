# SPDX-License-Identifier: Apache-2.0
"""A small static program of ours: with the kernel's nolibc, or with the compiler's own C library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.step import Context
from bootscope.builder.steps.unpack import tree_of
from bootscope.core.errors import UserError


def compile_small(
    context: Context,
    arch: Architecture,
    source: Path,
    program: Path,
    kernel: str = "",
    more: Sequence[str] = (),
) -> None:
    """Compiles the C file `source` to `program`. `kernel`: the source of the kernel's tree whose nolibc is
    used; empty for the compiler's own C library. `more`: other options.

    Raises UserError where that tree has no nolibc, ToolError where the compiler fails.
    """
    options = ["-Os", "-Wall", "-static", "-s", *more, f"-ffile-prefix-map={source.parent}=."]
    last: list[str] = []
    if kernel:
        headers = tree_of(context, kernel) / "tools" / "include" / "nolibc"
        if not (headers / "nolibc.h").is_file():
            raise UserError(
                f"the tree of {kernel} has no nolibc", hint="Linux has it from 5.1 on; glibc takes its place"
            )
        options += ["-nostdlib", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"]
        options += [f"-ffile-prefix-map={headers}=.", "-include", str(headers / "nolibc.h")]
        last = ["-lgcc"]
    compiler = arch.tools.tool("gcc")
    context.run([compiler, *options, "-o", program, source.name, *last], cwd=source.parent)

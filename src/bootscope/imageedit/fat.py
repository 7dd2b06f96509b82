# SPDX-License-Identifier: Apache-2.0
"""Replaces one file of a FAT, with mtools."""

from __future__ import annotations

import os
from pathlib import Path

from bootscope.builder.step import BUILD_ENV, EPOCH
from bootscope.core import tools
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.process import build_environment, run
from bootscope.imageedit import names

_PATTERNS = "*?[]:"
_TIMEOUT_S = 300


def put(image: Path, offset_bytes: int, path: str, data: bytes, folder: Path) -> None:
    """Replaces a file in the FAT that begins `offset_bytes` into `image`; `folder` is one of ours.

    Raises UserError where there is no room, or the name would be a pattern; ToolError where mtools fails.
    """
    tools.require("mcopy")
    real = names.checked(path)
    if any(c in real for c in _PATTERNS):
        raise UserError(f"'{printable(path)}' is a name that mtools takes for a pattern")
    source = folder / "new.fat"
    source.write_bytes(data)
    os.utime(source, (EPOCH, EPOCH))
    env = {**build_environment(BUILD_ENV), "MTOOLS_SKIP_CHECK": "1", "MTOOLSRC": os.devnull}
    where = f"{image.absolute()}@@{offset_bytes}"  # mcopy runs in `folder`
    command: list[str | Path] = ["mcopy", "-o", "-m", "-i", where, source, f"::{real}"]
    done = run(command, cwd=folder, env=env, timeout_s=_TIMEOUT_S, check=False)
    if done.status:
        said = printable((done.output.strip().splitlines() or ["mcopy says nothing"])[-1])[:200]
        message = f"{printable(path)} cannot be replaced: {said}"
        if "full" in said.lower():
            raise UserError(message, hint="the partition has no room for it")
        raise ToolError(message)

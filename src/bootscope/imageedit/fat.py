# SPDX-License-Identifier: Apache-2.0
"""One file of a FAT replaced, by mtools."""

from __future__ import annotations

import os
from pathlib import Path

from bootscope.builder.step import BUILD_ENV, EPOCH
from bootscope.core import tools
from bootscope.core.errors import UserError, printable
from bootscope.core.process import build_environment, run
from bootscope.imageedit import names

_PATTERNS = "*?[]:"
_TIMEOUT_S = 300


def put(image: Path, offset_bytes: int, path: str, data: bytes, folder: Path) -> None:
    """Replaces a file in the FAT that begins `offset_bytes` into `image`; `folder` is one of ours.

    Raises UserError where there is no room, or the name would be a pattern.
    """
    tools.require("mcopy")
    real = names.checked(path)
    if any(c in real for c in _PATTERNS):
        raise UserError(f"'{printable(path)}' is a name that mtools takes for a pattern")
    source = folder / "new.fat"
    source.write_bytes(data)
    os.utime(source, (EPOCH, EPOCH))
    env = {**build_environment(BUILD_ENV), "MTOOLS_SKIP_CHECK": "1", "MTOOLSRC": os.devnull}
    command: list[str | Path] = ["mcopy", "-o", "-m", "-i", f"{image}@@{offset_bytes}", source, f"::{real}"]
    done = run(command, cwd=folder, env=env, timeout_s=_TIMEOUT_S, check=False)
    if done.status:
        said = printable((done.output.strip().splitlines() or ["it says nothing"])[-1])[:200]
        raise UserError(
            f"{printable(path)} cannot be replaced: {said}",
            hint="the partition has no room for it" if "full" in said.lower() else None,
        )

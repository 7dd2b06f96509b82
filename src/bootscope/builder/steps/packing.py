# SPDX-License-Identifier: Apache-2.0
"""How images are compressed: each program reads standard input and writes standard output."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bootscope.builder.step import EPOCH, Context

COMPRESSORS: Mapping[str, tuple[str, ...]] = {
    "gzip": ("gzip", "-9n"),
    "lz4": ("lz4", "-l", "-9"),
    "lzo": ("lzop", "-9n"),
    "xz": ("xz", "--check=crc32", "--lzma2=dict=1MiB"),
    "zstd": ("zstd", "-19"),
}
FOR_LOADERS: Mapping[str, tuple[str, ...]] = {**COMPRESSORS, "lz4": ("lz4", "-9", "--no-frame-crc")}
"""The same for boot loaders, which take lz4's frame format, not Linux's."""


def pack(context: Context, command: tuple[str, ...], source: Path, target: Path) -> None:
    """Compresses a file with one of COMPRESSORS, with a fixed time."""
    # lzop stores the time of its input.
    os.utime(source, (EPOCH, EPOCH))
    program, *options = command
    line = 'program=$1; from=$2; to=$3; shift 3; exec "$program" "$@" -c < "$from" > "$to"'
    context.run(["sh", "-c", line, "sh", program, source, target, *options])

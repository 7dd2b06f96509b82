# SPDX-License-Identifier: Apache-2.0
"""U-Boot's environment: the default one in a program, and a stored one that replaces it."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping

from bootscope.core.errors import UserError, printable

_VARIABLES = re.compile(rb"(?:\0[A-Za-z_][\w.]{0,60}=[^\0]{0,8192})++")
_SEARCHED_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_CRC_BYTES = 4


def default_environment(program: bytes) -> dict[str, str]:
    """The default environment in the file of a U-Boot program; empty where it is not found."""
    at = program.find(b"\0bootcmd=")
    if at < 0:
        return {}
    # It is a sequence of texts; bootcmd is near its beginning.
    begin = max(0, program.rfind(b"\0\0", 0, at))
    runs = _VARIABLES.finditer(program, begin, begin + _SEARCHED_BYTES - 2)
    # Two zeros end it.
    found = next((run for run in runs if program.startswith(b"\0\0", run.end())), None)
    lines = found[0].split(b"\0") if found else []
    return dict(line.decode("utf-8", "replace").split("=", 1) for line in lines if b"=" in line)


def stored(variables: Mapping[str, str], size_bytes: int) -> bytes:
    """An environment in the form that U-Boot reads from storage, without a second copy: a CRC-32 over the
    rest, texts terminated by 0, `size_bytes` (CONFIG_ENV_SIZE) in total.

    Raises UserError for an invalid name, and where the variables do not fit.
    """
    wrong = next((n for n, v in variables.items() if not _NAME.fullmatch(n) or "\0" in v), None)
    if wrong is not None:
        raise UserError(f"uboot.environment: '{printable(wrong)}' is not a U-Boot variable")
    texts = b"".join(f"{name}={value}".encode() + b"\0" for name, value in sorted(variables.items())) + b"\0"
    room = size_bytes - _CRC_BYTES
    if len(texts) > room:
        raise UserError(f"uboot.environment: {len(texts):,} bytes of variables, room for {room:,}")
    data = texts.ljust(room, b"\0")
    return struct.pack("<I", zlib.crc32(data)) + data

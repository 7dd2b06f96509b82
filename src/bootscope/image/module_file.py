# SPDX-License-Identifier: Apache-2.0
"""Files of kernel modules: compressed or not, with or without the signature that the kernel's build
appends."""

from __future__ import annotations

import struct

from bootscope.core.errors import UserError, printable
from bootscope.image import packed
from bootscope.readers.unpack import Budget

_MARK = b"~Module signature appended~\n"
_HEAD = struct.Struct(">8xI")
"""The kernel's struct module_signature, whose last field is the length of the signature."""


def unpacked(name: str, data: bytes) -> bytes:
    """A module as linked by the kernel's build, with its signature.

    Raises UserError for a damaged file.
    """
    plain = packed.unpacked(name, data, Budget())
    if not plain.startswith(b"\x7fELF"):
        raise UserError(f"{printable(name)} is no kernel module")
    return plain


def unsigned(name: str, data: bytes) -> bytes:
    """The same without the signature, if there is one. Raises UserError for a damaged file."""
    plain = unpacked(name, data)
    if not plain.endswith(_MARK):
        return plain
    end = len(plain) - len(_MARK) - _HEAD.size
    length = _HEAD.unpack_from(plain, end)[0] if end >= 0 else 0
    if not 0 < length < end:
        raise UserError(f"{printable(name)}: its signature is damaged")
    return plain[: end - length]

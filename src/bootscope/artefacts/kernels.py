# SPDX-License-Identifier: Apache-2.0
"""Kernels and device trees as files: their kind, size and load address."""

from __future__ import annotations

import struct
from pathlib import PurePath

from bootscope.artefacts.file_facts import Piece
from bootscope.core.text import size
from bootscope.inventory.inventory import Image

_UIMAGE, _FDT, _ZIMAGE = 0x27051956, 0xD00DFEED, 0x016F2818
_ZIMAGE_AT, _ARM64_AT, _RISCV_AT = 0x24, 0x38, 0x38
_ARM64, _RISCV = b"ARM\x64", b"RSC\x05"
_TABLE_MAGIC, _SIZE_TAG = 0x45454545, 0x5A534C4B
_HEADER = 64
_TYPES = {2: "kernel", 3: "RAM disk", 4: "multi-file", 5: "firmware", 6: "script", 8: "flat device tree"}


def image(data: bytes, packed: bool = False) -> Image | None:
    """The kind of this kernel image or device tree; None for anything else.

    `packed`: the file was compressed as a whole, as Image.gz is.
    """
    if len(data) < _HEADER:
        return None
    (first,) = struct.unpack_from(">I", data)
    if first == _UIMAGE:
        return _uimage(data)
    if first == _FDT:
        (total,) = struct.unpack_from(">I", data, 4)
        return Image("dtb", min(total, len(data)))
    if struct.unpack_from("<I", data, _ZIMAGE_AT)[0] == _ZIMAGE:
        return _zimage(data)
    if data[_ARM64_AT : _ARM64_AT + 4] in (_ARM64, _RISCV):
        (in_memory,) = struct.unpack_from("<Q", data, 16)
        return Image("compressed" if packed else "Image", len(data), min(in_memory, 1 << 40))
    return None


def is_uimage(data: bytes) -> bool:
    """Whether this has a header of mkimage."""
    return len(data) >= _HEADER and data.startswith(struct.pack(">I", _UIMAGE))


def _uimage(data: bytes) -> Image:
    (load,) = struct.unpack_from(">I", data, 16)
    content = data[_HEADER:]
    # Headers may be nested thousands deep, each for 64 bytes: a second one is named, and not entered.
    inner = Image("uImage", len(content)) if is_uimage(content) else image(content)
    return Image("uImage", len(data), inner.unpacked_bytes if inner else 0, load, inner.kind if inner else "")


def _zimage(data: bytes) -> Image:
    start, end = struct.unpack_from("<II", data, 0x28)
    length = end - start
    appended = 0 < length <= len(data) - 4 and data[length : length + 4] == struct.pack(">I", _FDT)
    return Image("zImage", len(data), _unpacked(data), appended=appended)


def _unpacked(data: bytes) -> int:
    """The size in bytes of the kernel in a zImage, with its bss, from the image's own table; 0 without
    one."""
    magic, at = struct.unpack_from("<II", data, 0x34)
    if magic != _TABLE_MAGIC or not 0 < at <= len(data) - 16:
        return 0
    words, tag, where, bss = struct.unpack_from("<IIII", data, at)
    if words < 4 or tag != _SIZE_TAG or not 0 < where <= len(data) - 4:
        return 0
    count: int = struct.unpack_from("<I", data, where)[0]
    return count + int(bss)


def read(name: str, found: Image) -> Piece:
    """The piece for an image."""
    told = {
        "dtb": "device tree",
        "Image": "kernel, uncompressed",
        "compressed": "kernel, compressed as a whole",
    }
    words = f"{told.get(found.kind, found.kind)}: {size(found.size_bytes)}"
    words += f", {size(found.unpacked_bytes)} in memory" if found.unpacked_bytes else ""
    words += f", for {found.load:#x}" if found.load else ""
    words += f", holding a {found.payload}" if found.payload else ""
    words += ", with an appended device tree" if found.appended else ""
    key = "dtb" if found.kind == "dtb" else PurePath(name).name
    return Piece(
        name, "device tree" if found.kind == "dtb" else "kernel image", words, {"images": {key: found}}
    )


def other_uimage(data: bytes) -> str:
    """What a file with a header of mkimage is, if not a kernel, in words."""
    return _TYPES.get(data[30], f"type {data[30]}")

# SPDX-License-Identifier: Apache-2.0
"""A kernel as a file, with any wrappers: its format, its instruction set, and the uncompressed program.

Sources: Linux Documentation/arch/x86/boot.rst (bzImage), arch/arm/boot/compressed/head.S (zImage),
drivers/firmware/efi/libstub/zboot-header.S (EFI zboot), the documents named in :mod:`bootscope.arch.in_files`
(Image); mkimage(1) and its header (uImage), Android's boot_img_hdr (boot.img).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from bootscope.arch import in_files
from bootscope.image import packed
from bootscope.readers.unpack import Budget

MOST_BYTES = 512 << 20
"""Limit for a kernel with all that it unpacks to."""
_SMALLEST_BYTES = 64 << 10
_MOST_LAYERS, _MOST_STARTS = 6, 64
_UIMAGE, _UIMAGE_BYTES = b"\x27\x05\x19\x56", 64
_UIMAGE_KERNEL = 2
_ZIMAGE, _ZIMAGE_AT = b"\x18\x28\x6f\x01", 0x24
_FDT = b"\xd0\x0d\xfe\xed"
_BZIMAGE, _BZIMAGE_AT = b"HdrS", 0x202
_SECTOR = 512
_ZBOOT, _ZBOOT_AT = b"zimg", 4
_ANDROID = b"ANDROID!"
_HEAD = 0x260
_UIMAGE_COMPRESSIONS = ("none", "gzip", "bzip2", "lzma", "lzo", "lz4", "zstd")
_VERSION = re.compile(rb"Linux version (\d+\.\d+[\x20-\x7e]{0,400})")


@dataclass(frozen=True)
class KernelFile:
    """A kernel: its wrappers from outside to inside (`uImage`, `zImage`...), the compressions that were
    undone in that order, its instruction set (empty where unknown), and its uncompressed `program`, which is
    empty where it could not be unpacked. `device_tree`: an appended one. `notes`: doubts."""

    forms: tuple[str, ...]
    compressions: tuple[str, ...]
    architecture: str
    size_bytes: int
    program: bytes = field(repr=False, default=b"")
    device_tree: bytes = field(repr=False, default=b"")
    notes: tuple[str, ...] = ()

    @property
    def banner(self) -> str:
        """The kernel's first message, without `Linux version`; empty where the kernel does not contain it."""
        found = _VERSION.search(self.program)
        return found[1].decode("ascii").strip() if found else ""

    @property
    def version(self) -> str:
        """The first word of the banner."""
        return self.banner.partition(" ")[0]


@dataclass(frozen=True)
class _Layer:
    """One wrapper: `inner` is its content, empty where it could not be unpacked; `last` where that cannot be
    a wrapper itself."""

    form: str
    inner: bytes
    architecture: str = ""
    compression: str = ""
    device_tree: bytes = b""
    note: str = ""
    last: bool = False


def begins(head: bytes) -> str:
    """The format of a kernel with this head of at least 0x260 bytes; empty for anything else, or a file that
    is compressed as a whole."""
    if head.startswith(_UIMAGE) and head[30:31] == bytes([_UIMAGE_KERNEL]):
        return "uImage"
    if head[_ZIMAGE_AT : _ZIMAGE_AT + 4] == _ZIMAGE:
        return "zImage"
    if head[_BZIMAGE_AT : _BZIMAGE_AT + 4] == _BZIMAGE:
        return "bzImage"
    if head[:2] == b"MZ" and head[_ZBOOT_AT : _ZBOOT_AT + 4] == _ZBOOT:
        return "EFI zboot"
    if any(head[at : at + len(magic)] == magic for at, magic, _ in in_files.IMAGE_MAGICS):
        return "Image"
    return "Android boot.img" if head.startswith(_ANDROID) else ""


def opened(name: str, data: bytes, budget: Budget | None = None) -> KernelFile | None:
    """The kernel in a file; None for a file without one.

    Raises UserError for one that unpacks to more than MOST_BYTES, ToolError where a program to unpack it is
    missing.
    """
    budget = budget or Budget(MOST_BYTES)
    layers: list[_Layer] = []
    inner = data
    while inner and len(layers) < _MOST_LAYERS and not (layers and layers[-1].last):
        layer = _layer(name, inner, budget)
        if layer is None:
            break
        layers.append(layer)
        inner = layer.inner
    forms = tuple(layer.form for layer in layers if layer.form)
    if not forms:
        return None
    return _together(data, layers, forms, inner)


def _together(data: bytes, layers: list[_Layer], forms: tuple[str, ...], program: bytes) -> KernelFile:
    compressions = tuple(layer.compression for layer in layers if layer.compression)
    notes = [layer.note for layer in layers if layer.note]
    if len(compressions) > 1:
        notes.append(f"compressed more than once: {', then '.join(compressions)}")
    if program and not _VERSION.search(program):
        notes.append("nothing in it begins with 'Linux version': not Linux, or damaged")
    architecture = next((layer.architecture for layer in reversed(layers) if layer.architecture), "")
    device_tree = next((layer.device_tree for layer in layers if layer.device_tree), b"")
    return KernelFile(forms, compressions, architecture, len(data), program, device_tree, tuple(notes))


def _layer(name: str, data: bytes, budget: Budget) -> _Layer | None:
    form = begins(data[:_HEAD])
    if form in _LAYERS and len(data) >= _HEAD:
        return _LAYERS[form](name, data, budget)
    if data.startswith(b"\x7fELF") and _VERSION.search(data):
        return _Layer("ELF", data, in_files.of_elf(data), last=True)
    found = packed.kind(data)
    return _Layer("", packed.unpacked(name, data, budget), compression=found) if found else None


def _image(name: str, data: bytes, budget: Budget) -> _Layer:
    found = next(n for at, magic, n in in_files.IMAGE_MAGICS if data[at : at + len(magic)] == magic)
    return _Layer("Image", data, found, last=True)


def _uimage(name: str, data: bytes, budget: Budget) -> _Layer:
    (count,) = struct.unpack_from(">I", data, 12)
    inner = data[_UIMAGE_BYTES : _UIMAGE_BYTES + count]
    compressed = 0 < data[31] < len(_UIMAGE_COMPRESSIONS)
    note = "" if len(inner) == count else f"its header says {count:,} bytes, there are {len(inner):,}"
    if compressed and not packed.kind(inner):
        named = _UIMAGE_COMPRESSIONS[data[31]]
        note, inner = f"its header says {named}, its content is something else", b""
    return _Layer("uImage", inner, in_files.of_mkimage(data[29]), note=note)


def _zimage(name: str, data: bytes, budget: Budget) -> _Layer:
    start, end = struct.unpack_from("<II", data, _ZIMAGE_AT + 4)
    length = end - start
    behind = data[length:] if 0 < length < len(data) else b""
    tree = behind if behind.startswith(_FDT) else b""
    kernel, found = _searched(name, data, budget)
    note = "" if kernel else "no kernel was found in it: its compression is not known, or it is damaged"
    if length > len(data):
        note = f"truncated: its header says {length:,} bytes, there are {len(data):,}"
    return _Layer("zImage", kernel, "arm", found, tree, note, last=True)


def _searched(name: str, data: bytes, budget: Budget) -> tuple[bytes, str]:
    """The compressed kernel somewhere in a self-extracting program, and its compression."""
    for match in islice(re.finditer(packed.PACKED, data), _MOST_STARTS):
        part = data[match.start() :]
        kernel = packed.unpacked(name, part, budget) if packed.kind(part) else b""
        if len(kernel) >= _SMALLEST_BYTES and _VERSION.search(kernel):
            return kernel, packed.kind(part)
    return b"", ""


def _bzimage(name: str, data: bytes, budget: Budget) -> _Layer:
    sectors, wide = data[0x1F1] or 4, int.from_bytes(data[0x236:0x238], "little") & 1
    at, count = struct.unpack_from("<II", data, 0x248)
    start = (sectors + 1) * _SECTOR + at
    return _payload("bzImage", name, data[start : start + count], budget, "x86-64" if wide else "x86")


def _zboot(name: str, data: bytes, budget: Budget) -> _Layer:
    at, count = struct.unpack_from("<II", data, 8)
    where = int.from_bytes(data[0x3C:0x40], "little")
    machine = int.from_bytes(data[where + 4 : where + 6], "little")
    return _payload("EFI zboot", name, data[at : at + count], budget, in_files.of_pe(machine))


def _payload(form: str, name: str, inner: bytes, budget: Budget, architecture: str) -> _Layer:
    """A kernel whose position is in a header."""
    found = packed.kind(inner)
    kernel = packed.unpacked(name, inner, budget) if found else b""
    note = (
        ""
        if kernel
        else "the kernel in it could not be unpacked: truncated, or a compression that is not known"
    )
    return _Layer(form, kernel, architecture, found, note=note, last=not kernel or not begins(kernel[:_HEAD]))


def _android(name: str, data: bytes, budget: Budget) -> _Layer:
    (count,), (page,), (version,) = (struct.unpack_from("<I", data, at) for at in (8, 36, 40))
    page = 4096 if version in (3, 4) else page
    plausible = 0 < count <= len(data) - page and 512 <= page <= 65536
    note = "" if plausible else "its header contradicts its size"
    return _Layer("Android boot.img", data[page : page + count] if plausible else b"", note=note)


_LAYERS: dict[str, Callable[[str, bytes, Budget], _Layer]] = {
    "uImage": _uimage,
    "zImage": _zimage,
    "bzImage": _bzimage,
    "EFI zboot": _zboot,
    "Android boot.img": _android,
    "Image": _image,
}

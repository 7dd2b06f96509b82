# SPDX-License-Identifier: Apache-2.0
"""Containers of images: unpacked into a file of ours, with holes, or used in place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bootscope.bootimage import android_sparse, qcow2
from bootscope.bootimage.sparse_file import SparseFile
from bootscope.bootimage.volume import Volume, opened
from bootscope.core.errors import UserError, printable
from bootscope.image import packed
from bootscope.readers.unpack import DAMAGED, compression, decompressor

_MOST_LAYERS = 3
_CHUNK, _OUT = 1 << 18, 4 << 20
_BY_PROGRAM = (packed.LZ4, packed.LZO)
_OTHERS = (
    (b"KDMV", "a VMware disk (VMDK)"),
    (b"# Disk DescriptorFile", "a VMware disk (VMDK)"),
    (b"vhdxfile", "a Hyper-V disk (VHDX)"),
    (b"conectix", "a Hyper-V disk (VHD)"),
    (b"<<< ", "a VirtualBox disk (VDI)"),
)
_ARCHIVES = (
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a rar archive"),
)

_Unpack = Callable[[str, Volume, SparseFile], tuple[str, ...]]


@dataclass(frozen=True)
class Contained:
    """The raw image as a volume, whose descriptor the caller must close; the `layers` that were unpacked,
    from outside to inside, in words; doubts."""

    volume: Volume
    layers: tuple[str, ...]
    notes: tuple[str, ...]


def raw(path: Path, name: str, folder: Path) -> Contained:
    """The raw image in a file; unpacked data goes to `folder`, one of ours.

    Raises UserError for an unsupported container, and for a decompression bomb.
    """
    volume = opened(path, name)
    layers: list[str] = []
    notes: list[str] = []
    while len(layers) < _MOST_LAYERS and (step := _layer(name, volume)):
        layer, unpack = step
        target = folder / f"raw-{len(layers)}.img"
        try:
            with SparseFile(target, name) as out:
                notes += unpack(name, volume, out)
        finally:
            os.close(volume.descriptor)
        if layers:
            (folder / f"raw-{len(layers) - 1}.img").unlink()
        layers.append(layer)
        volume = opened(target, name)
    compressions = [layer for layer in layers if layer not in ("qcow2", "Android sparse")]
    if len(compressions) > 1:
        notes.append(f"compressed {len(compressions)} times: {', then '.join(compressions)}; once is enough")
    return Contained(volume, tuple(layers), tuple(notes))


def _layer(name: str, volume: Volume) -> tuple[str, _Unpack] | None:
    head = volume.read(0, 4096)
    if head.startswith(qcow2.MAGIC):
        return "qcow2", qcow2.unpack
    if head.startswith(android_sparse.MAGIC):
        return "Android sparse", android_sparse.unpack
    if b"<bmap version=" in head[:1024]:
        raise UserError(
            f"{printable(name)} is a block map (bmap): it lists what an image has, and holds nothing of it",
            hint="name the image itself, which lies beside it",
        )
    for magic, what in (*_OTHERS, *_ARCHIVES):
        if head.startswith(magic):
            archive = (magic, what) in _ARCHIVES
            hint = "unpack it first" if archive else "qemu-img convert -O raw IMAGE disk.img"
            raise UserError(f"{printable(name)} is {what}, which is not read", hint=hint)
    found = compression(head)
    if not found and packed.kind(head) in _BY_PROGRAM:
        raise UserError(
            f"{printable(name)} is compressed with {packed.kind(head)}, which is read for kernels only",
            hint=f"unpack it first: {packed.kind(head)} -d",
        )
    return (found, _stream) if found else None


def peek(head: bytes) -> bytes:
    """The beginning of a file with this head, unpacked where it is packed; formats that cannot be unpacked
    piece by piece are returned as they are."""
    kind = compression(head)
    if not kind:
        return head
    with contextlib.suppress(Exception):  # damaged: reported when it is read
        return decompressor(kind).decompress(head, _CHUNK) or b""
    return b""


def _stream(name: str, volume: Volume, out: SparseFile) -> tuple[str, ...]:
    """Unpacks streams that follow one another."""
    kind = compression(volume.read(0, 16))
    tool, at, to = decompressor(kind), 0, 0
    try:
        while True:
            feed = volume.read(at, _CHUNK) if tool.needs_input else b""
            if tool.needs_input and not feed:
                out.close()
                return (f"truncated: the {kind} data end too early; read up to there",)
            at += len(feed)
            part = tool.decompress(feed, _OUT)
            out.write(to, part)
            to += len(part)
            if tool.eof:
                at -= len(tool.unused_data)
                if compression(volume.read(at, 16)) != kind:
                    break
                tool = decompressor(kind)
    except DAMAGED as error:
        out.close()
        return (f"the {kind} data are damaged ({printable(str(error))[:100]}); read up to there",)
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        out.close()
        return (f"the {kind} data are damaged; read up to there",)
    out.close()
    return ()

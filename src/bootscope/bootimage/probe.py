# SPDX-License-Identifier: Apache-2.0
"""Which file system a volume contains, from its superblock: label, identifier, and the size stated there.

Sources: Linux include/uapi/linux/magic.h and the headers of each file system, util-linux libblkid for the
offsets of magics, mtd-utils ubi-media.h and ubifs-media.h, cryptsetup's on-disk formats of LUKS.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from bootscope.artefacts.images import ext_kind
from bootscope.bootimage.volume import Volume

EXT, FAT, SQUASHFS = ("ext2", "ext3", "ext4"), "FAT", "squashfs"
ENCRYPTED = "LUKS"
_HEAD_BYTES = 0x11000
_MOST_TEXT = 128


@dataclass(frozen=True)
class FileSystem:
    """`kind` in words; `size_bytes` from its superblock (0 if not there); `notes` are contradictions."""

    kind: str
    label: str = ""
    identifier: str = ""
    size_bytes: int = 0
    notes: tuple[str, ...] = ()


_Reader = Callable[[bytes, Volume], FileSystem | None]


def probe(volume: Volume) -> FileSystem | None:
    """The file system; None where none is recognised."""
    head = volume.read(0, _HEAD_BYTES).ljust(_HEAD_BYTES, b"\0")
    for reader in _READERS:
        found = reader(head, volume)
        if found:
            over = found.size_bytes - volume.size_bytes
            note = f"it says that it is {over:,} bytes larger than what it lies in: truncated?"
            return replace(found, notes=(*found.notes, note)) if over > 0 else found
    return None


def _text(data: bytes) -> str:
    return data[:_MOST_TEXT].split(b"\0")[0].decode("utf-8", "backslashreplace").strip()


def _id(data: bytes) -> str:
    return str(uuid.UUID(bytes=data)) if data.strip(b"\0") else ""


def _ext(head: bytes, volume: Volume) -> FileSystem | None:
    if head[0x438:0x43A] != b"\x53\xef":
        return None
    blocks, shift = struct.unpack_from("<I", head, 0x404)[0], struct.unpack_from("<I", head, 0x418)[0]
    incompatible = struct.unpack_from("<I", head, 0x460)[0]
    high = struct.unpack_from("<I", head, 0x550)[0] if incompatible & 0x80 else 0
    size = (high << 32 | blocks) << (10 + shift) if shift <= 6 else 0
    doubts = (
        (4, "its journal has not been replayed: it was not unmounted"),
        (0x10000, "some of its folders are encrypted"),
    )
    notes = tuple(words for bit, words in doubts if incompatible & bit)
    return FileSystem(ext_kind(head), _text(head[0x478:0x488]), _id(head[0x468:0x478]), size, notes)


def _fat(head: bytes, volume: Volume) -> FileSystem | None:
    sector, cluster = int.from_bytes(head[11:13], "little"), head[13]
    plausible = sector in (512, 1024, 2048, 4096) and cluster and not cluster & (cluster - 1)
    if not plausible or head[510:512] != b"\x55\xaa" or head[16] not in (1, 2) or head[0] not in (0xEB, 0xE9):
        return None
    sectors = int.from_bytes(head[19:21], "little") or int.from_bytes(head[32:36], "little")
    at = 67 if int.from_bytes(head[22:24], "little") == 0 else 39
    serial = int.from_bytes(head[at : at + 4], "little")
    label = _text(head[at + 4 : at + 15])
    identifier = f"{serial >> 16:04X}-{serial & 0xFFFF:04X}"
    return FileSystem(FAT, "" if label == "NO NAME" else label, identifier, sectors * sector)


def _squashfs(head: bytes, volume: Volume) -> FileSystem | None:
    return FileSystem(SQUASHFS, size_bytes=_number(head, 40, 8)) if head.startswith(b"hsqs") else None


def _erofs(head: bytes, volume: Volume) -> FileSystem | None:
    if head[1024:1028] != b"\xe2\xe1\xf5\xe0":
        return None
    size = _number(head, 1024 + 36, 4) << head[1024 + 12] if head[1024 + 12] <= 16 else 0
    return FileSystem("erofs", _text(head[1024 + 64 : 1024 + 80]), _id(head[1024 + 48 : 1024 + 64]), size)


def _btrfs(head: bytes, volume: Volume) -> FileSystem | None:
    at = 0x10000
    if head[at + 0x40 : at + 0x48] != b"_BHRfS_M":
        return None
    return FileSystem("btrfs", _text(head[at + 0x12B : at + 0x22B]), _id(head[at + 0x20 : at + 0x30]),
                      _number(head, at + 0x70, 8))  # fmt: skip


def _f2fs(head: bytes, volume: Volume) -> FileSystem | None:
    at = 1024
    if head[at : at + 4] != b"\x10\x20\xf5\xf2":
        return None
    label = head[at + 124 : at + 124 + 256].decode("utf-16-le", "replace").partition("\0")[0]
    return FileSystem("f2fs", label, _id(head[at + 108 : at + 124]), _number(head, at + 36, 8) << 12)


def _xfs(head: bytes, volume: Volume) -> FileSystem | None:
    if not head.startswith(b"XFSB"):
        return None
    size = int.from_bytes(head[4:8], "big") * int.from_bytes(head[8:16], "big")
    return FileSystem("XFS", _text(head[108:120]), _id(head[32:48]), size)


def _swap(head: bytes, volume: Volume) -> FileSystem | None:
    there = any(head[page - 10 : page] == b"SWAPSPACE2" for page in (0x1000, 0x4000, 0x10000))
    return FileSystem("swap", _text(head[1052:1068]), _id(head[1036:1052])) if there else None


def _luks(head: bytes, volume: Volume) -> FileSystem | None:
    if not head.startswith(b"LUKS\xba\xbe"):
        return None
    version = int.from_bytes(head[6:8], "big")
    return FileSystem(ENCRYPTED, f"version {version}", _text(head[168:208]))


def _lvm(head: bytes, volume: Volume) -> FileSystem | None:
    there = any(head[at : at + 8] == b"LABELONE" for at in range(0, 2048, 512))
    return FileSystem("LVM physical volume") if there else None


def _ubi(head: bytes, volume: Volume) -> FileSystem | None:
    return FileSystem("UBI") if head.startswith(b"UBI#") else None


def _ubifs(head: bytes, volume: Volume) -> FileSystem | None:
    return FileSystem("UBIFS") if head.startswith(b"\x31\x18\x10\x06") and head[20] == 6 else None


def _iso(head: bytes, volume: Volume) -> FileSystem | None:
    if head[0x8001:0x8006] != b"CD001":
        return None
    return FileSystem("ISO 9660", _text(head[0x8028:0x8048]), size_bytes=_number(head, 0x8050, 4) * 2048)


def _plain(kind: str, at: int, magic: bytes) -> _Reader:
    """A file system that is known by its magic only."""
    return lambda head, volume: FileSystem(kind) if head[at : at + len(magic)] == magic else None


def _number(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(data[at : at + count], "little")


_READERS: tuple[_Reader, ...] = (
    _luks, _squashfs, _erofs, _btrfs, _f2fs, _ext, _xfs, _swap, _lvm, _ubi, _ubifs, _iso,
    _plain("JFFS2", 0, b"\x85\x19\x03\x20"), _plain("JFFS2", 0, b"\x85\x19\x01\xe0"),
    _plain("cramfs", 0, b"\x45\x3d\xcd\x28"), _plain("romfs", 0, b"-rom1fs-"),
    _plain("NTFS", 3, b"NTFS    "), _plain("exFAT", 3, b"EXFAT   "), _fat,
)  # fmt: skip
"""FAT comes last: other file systems keep a boot sector of its form."""

# SPDX-License-Identifier: Apache-2.0
"""FIT images: their parts and configurations, and whether the hashes of the parts match.

Source: the Flattened Image Tree specification (fitspec.osfw.foundation).
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, field

from bootscope.readers.fdt import BadTree, Node, parse

_MOST_PARTS, _MOST_HASHES = 256, 8
_HASHES = ("md5", "sha1", "sha256", "sha384", "sha512")
GOOD, BAD, NONE, UNKNOWN = "good", "wrong", "none", "not known"


@dataclass(frozen=True)
class FitPart:
    """A part: its `type` (kernel, flat_dt, ramdisk...), architecture and compression in the FIT's words, its
    data, their offset in the file (-1: outside of it), and the result of checking its hashes."""

    name: str
    description: str
    type: str
    architecture: str
    compression: str
    at_bytes: int
    data: bytes = field(repr=False)
    hashes: str


@dataclass(frozen=True)
class FitConfiguration:
    """A named combination of parts; `compatible` says for which board."""

    name: str
    description: str
    kernel: str
    device_trees: tuple[str, ...]
    ramdisk: str
    compatible: str
    default: bool


@dataclass(frozen=True)
class Fit:
    """Its parts and configurations; doubts."""

    parts: dict[str, FitPart]
    configurations: tuple[FitConfiguration, ...]
    notes: tuple[str, ...]

    def of_type(self, *types: str) -> list[FitPart]:
        """The parts of these types, those of the default configuration first."""
        chosen = next((c for c in self.configurations if c.default), None)
        first = {chosen.kernel, *chosen.device_trees, chosen.ramdisk} if chosen else set()
        found = [part for part in self.parts.values() if part.type in types]
        return sorted(found, key=lambda part: part.name not in first)


def read(data: bytes) -> Fit | None:
    """A FIT; None for anything else, including a board's device tree."""
    try:
        root = parse(data)
    except (BadTree, ValueError):
        return None
    images = root.child("images")
    if images is None:
        return None
    total = int.from_bytes(data[4:8], "big")
    base = (total + 3) & ~3
    parts = _parts(data, images, base)
    notes = [
        f"the data of its part {part.name} "
        + ("lie outside of the file" if part.at_bytes < 0 else "are not read: too many parts share them")
        for part in parts.values()
        if not part.data
    ]
    notes += [f"the hash of its part {part.name} is wrong" for part in parts.values() if part.hashes == BAD]
    return Fit(parts, _configurations(root), tuple(notes))


def _parts(data: bytes, images: Node, base: int) -> dict[str, FitPart]:
    # Each part is a copy, and is hashed. Parts may share data, but not all of them all of the file.
    parts, room, behind = dict[str, FitPart](), 2 * len(data), 0
    for node in images.children[:_MOST_PARTS]:
        inside = node.properties.get("data")
        if inside is None:
            where, count = _range(data, node, base)
            part = _part(node, where, data[where : where + count] if count <= room else b"")
        else:
            # The parts come in the order of the file: no search begins at its start again.
            where = data.find(inside, behind) if inside else -1
            behind = max(behind, where + len(inside))
            part = _part(node, where, inside)
        room -= len(part.data)
        parts[node.name] = part
    return parts


def _range(data: bytes, node: Node, base: int) -> tuple[int, int]:
    """Offset and size in bytes of a part's data behind the tree; (-1, 0) where they lie outside of the
    file."""
    at, offset, count = (node.number(f"data-{name}") for name in ("position", "offset", "size"))
    where = at if at is not None else base + offset if offset is not None else -1
    return (where, count) if count and 0 <= where <= len(data) - count else (-1, 0)


def _part(node: Node, where: int, content: bytes) -> FitPart:
    texts = (node.text(name) or "" for name in ("description", "type", "arch", "compression"))
    description, kind, arch, compression = texts
    return FitPart(node.name, description, kind, arch, compression, where, content, _hashes(node, content))


def _hashes(node: Node, content: bytes) -> str:
    """The result of checking a part's hashes."""
    found = [child for child in node.children if child.name.startswith("hash")]
    states = [_hash(child, content) for child in found[:_MOST_HASHES]]
    states += [UNKNOWN] * (len(found) > _MOST_HASHES)
    if not states:
        return NONE
    if not content:
        return UNKNOWN
    return BAD if BAD in states else UNKNOWN if UNKNOWN in states else GOOD


def _hash(node: Node, content: bytes) -> str:
    name, value = node.text("algo") or "", node.properties.get("value", b"")
    if name == "crc32":
        told = zlib.crc32(content).to_bytes(4, "big")
    elif name in _HASHES:
        told = hashlib.new(name, content).digest()
    else:
        return UNKNOWN
    return GOOD if told == value else BAD


def _texts(value: bytes) -> tuple[str, ...]:
    return tuple(text.decode("ascii", "backslashreplace") for text in value.split(b"\0") if text)


def _configurations(root: Node) -> tuple[FitConfiguration, ...]:
    node = root.child("configurations")
    if node is None:
        return ()
    default = node.text("default") or ""
    return tuple(
        FitConfiguration(
            child.name,
            child.text("description") or "",
            child.text("kernel") or child.text("firmware") or "",
            tuple(
                t.decode("ascii", "backslashreplace")
                for t in child.properties.get("fdt", b"").split(b"\0")
                if t
            ),
            child.text("ramdisk") or "",
            child.text("compatible") or "",
            child.name == default,
        )
        for child in node.children[:_MOST_PARTS]
    )

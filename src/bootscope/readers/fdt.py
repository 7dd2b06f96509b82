# SPDX-License-Identifier: Apache-2.0
"""Flattened device trees: the blob in /sys/firmware/fdt and in .dtb files (devicetree.org, version 17)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

MAGIC = b"\xd0\x0d\xfe\xed"
_BEGIN, _END_NODE, _PROPERTY, _NOP, _END = 1, 2, 3, 4, 9
_HEADER = struct.Struct(">10I")
_MAX_DEPTH = 64


class BadTree(ValueError):
    """A blob that breaks off or contradicts itself."""


@dataclass
class Node:
    """A node: its name with unit address, its properties' bytes, its children in order."""

    name: str
    properties: dict[str, bytes] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def child(self, name: str) -> Node | None:
        """The child of that name, if there is one."""
        return next((child for child in self.children if child.name == name), None)

    def text(self, name: str) -> str | None:
        """A property that is a string, without what follows its NUL."""
        raw = self.properties.get(name)
        return None if raw is None else raw.split(b"\0")[0].decode("utf-8", "backslashreplace")

    def number(self, name: str) -> int | None:
        """A property that is one cell (32 bits) or two (64)."""
        raw = self.properties.get(name)
        return int.from_bytes(raw, "big") if raw is not None and len(raw) in (4, 8) else None


def parse(blob: bytes) -> Node:
    """The root of the tree in `blob`. Raises BadTree."""
    if len(blob) < _HEADER.size or blob[:4] != MAGIC:
        raise BadTree("no device tree header")
    _, total, structure, strings, _, _, _, _, strings_size, _ = _HEADER.unpack_from(blob)
    if total > len(blob):
        raise BadTree(f"the header declares {total:,} bytes, there are {len(blob):,}")
    return _Walk(blob, structure, blob[strings : strings + strings_size]).root()


class _Walk:
    def __init__(self, blob: bytes, at: int, strings: bytes) -> None:
        self._blob, self._at, self._strings = blob, at, strings

    def root(self) -> Node:
        above = [Node("")]
        while True:
            token = self._word()
            if token == _BEGIN:
                if len(above) > _MAX_DEPTH:
                    raise BadTree("nodes are nested too deeply")
                node = Node(self._string(self._blob, self._at))
                self._skip(self._blob.index(b"\0", self._at) + 1 - self._at)
                above[-1].children.append(node)
                above.append(node)
            elif token == _END_NODE and len(above) > 1:
                above.pop()
            elif token == _PROPERTY:
                self._property(above[-1])
            elif token == _END and len(above) == 1 and above[0].children:
                return above[0].children[0]
            elif token != _NOP:
                raise BadTree(f"token {token:#x} at {self._at - 4:#x}")

    def _property(self, node: Node) -> None:
        size, name = self._word(), self._word()
        if self._at + size > len(self._blob):
            raise BadTree("a property extends past the end")
        node.properties[self._string(self._strings, name)] = self._blob[self._at : self._at + size]
        self._skip(size)

    def _word(self) -> int:
        if self._at + 4 > len(self._blob):
            raise BadTree("it is truncated")
        self._at += 4
        return int.from_bytes(self._blob[self._at - 4 : self._at], "big")

    def _skip(self, size: int) -> None:
        self._at += (size + 3) & ~3

    @staticmethod
    def _string(data: bytes, at: int) -> str:
        end = data.find(b"\0", at)
        if end < 0 or end - at > 1024:
            raise BadTree("a name is not terminated")
        return data[at:end].decode("ascii", "backslashreplace")

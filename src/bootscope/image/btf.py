# SPDX-License-Identifier: Apache-2.0
"""Offsets of members in a kernel's structures, from the kernel's own image: its BTF section.

Kernels with CONFIG_DEBUG_INFO_BTF contain a description of all their types, exactly as they were compiled.
Source: Linux Documentation/bpf/btf.rst and include/uapi/linux/btf.h. Nothing in an image points to the
section, so it is found by its header, whose fields confirm one another.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_HEADER = struct.Struct("<HBBIIIII")
_MAGIC = re.compile(rb"\x9f\xeb\x01\x00\x18\x00\x00\x00\x00\x00\x00\x00")
"""Magic number, version 1, no flags, a header of 24 bytes, types immediately behind it."""
_MOST_HEADERS = 64
_FEWEST_TYPES, _MOST_TYPES = 100, 4_000_000
_TYPE = struct.Struct("<III")
_MEMBER = struct.Struct("<III")
_STRUCT, _UNION, _TYPEDEF = 4, 5, 8
_PASSED = frozenset({_TYPEDEF, 9, 10, 11, 18})
"""Kinds that only name another type: typedef, volatile, const, restrict, tag."""
_FIXED = {1: 4, 2: 0, 3: 12, 7: 0, 8: 0, 9: 0, 10: 0, 11: 0, 12: 0, 14: 4, 16: 0, 17: 4, 18: 0}
_PER_MEMBER = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
"""Bytes behind a type, by its kind: fixed, or per member or other part."""
_MOST_DEPTH, _MOST_PARTS = 16, 200
_OFFSET_BITS = 0xFFFFFF


@dataclass(frozen=True, slots=True)
class _Type:
    name: int
    kind: int
    flag: bool
    parts: int
    other: int
    at: int


class Btf:
    """The types of a kernel."""

    def __init__(self, types: bytes, strings: bytes) -> None:
        self._data, self._strings = types, strings
        self._types = list(_types(types))
        self._structs: dict[str, _Type] = {}
        for one in self._types:
            if one.kind == _STRUCT and one.name:
                self._structs.setdefault(self._text(one.name), one)

    def __len__(self) -> int:
        return len(self._types)

    def offset(self, struct_name: str, path: str) -> int | None:
        """The offset of a member in a structure, in bytes; `path` is dotted and leads through nested
        structures. None where there is no such member, or it does not begin at a byte."""
        at: _Type | None = self._structs.get(struct_name)
        bits = 0
        for name in path.split("."):
            found = self._member(at, name, set()) if at else None
            if found is None:
                return None
            bits += found[0]
            at = self._resolved(found[1])
        return None if bits % 8 else bits // 8

    def offsets(self, members: Iterable[str]) -> dict[str, int]:
        """`structure.member` -> offset in bytes, for those that the kernel has."""
        found = {member: self.offset(*member.split(".", 1)) for member in members}
        return {member: offset for member, offset in found.items() if offset is not None}

    def _member(self, one: _Type, name: str, seen: set[int]) -> tuple[int, int] | None:
        """(offset in bits, number of the type) of a member, also within unnamed members.

        `seen`: offsets of the types that were searched: a damaged one may contain itself.
        """
        if one.kind not in (_STRUCT, _UNION) or one.at in seen or len(seen) > _MOST_PARTS:
            return None
        seen.add(one.at)
        nameless: list[tuple[int, int]] = []
        for place in range(one.parts):
            text, type_number, bits = _MEMBER.unpack_from(self._data, one.at + place * _MEMBER.size)
            bits = bits & _OFFSET_BITS if one.flag else bits
            if text and self._text(text) == name:
                return bits, type_number
            if not text:
                nameless.append((bits, type_number))
        for bits, type_number in nameless:
            inner = self._resolved(type_number)
            found = self._member(inner, name, seen) if inner else None
            if found:
                return bits + found[0], found[1]
        return None

    def _resolved(self, number: int) -> _Type | None:
        """The type behind a number's aliases; None for void and for a circle."""
        for _ in range(_MOST_DEPTH):
            if not 0 < number <= len(self._types):
                return None
            found = self._types[number - 1]
            if found.kind not in _PASSED:
                return found
            number = found.other
        return None

    def _text(self, at: int) -> str:
        end = self._strings.find(b"\0", at, at + 256)
        return self._strings[at:end].decode("ascii", "replace") if end >= 0 else ""


def _types(data: bytes) -> Iterator[_Type]:
    """All types; raises struct.error and ValueError for damaged data."""
    at = 0
    while at < len(data):
        name, info, other = _TYPE.unpack_from(data, at)
        kind, parts = info >> 24 & 0x1F, info & 0xFFFF
        if kind not in _FIXED and kind not in _PER_MEMBER:
            raise ValueError(f"a type of kind {kind}")
        at += _TYPE.size
        yield _Type(name, kind, bool(info >> 31), parts, other, at)
        at += _FIXED.get(kind, 0) + _PER_MEMBER.get(kind, 0) * parts
        if at > len(data):
            raise ValueError("a type that reaches over the end")


def read(image: bytes) -> Btf | None:
    """The types that an uncompressed little-endian kernel describes; None where it describes none."""
    for match in itertools.islice(_MAGIC.finditer(image), _MOST_HEADERS):
        start = match.start()
        if start + _HEADER.size > len(image):
            break
        _, _, _, header, _, type_bytes, strings_at, string_bytes = _HEADER.unpack_from(image, start)
        body, behind = start + header, start + header + strings_at + string_bytes
        plausible = strings_at == type_bytes and behind <= len(image) and not type_bytes % 4
        strings = image[body + strings_at : behind]
        if not plausible or not strings.startswith(b"\0") or not strings.endswith(b"\0"):
            continue
        if not _FEWEST_TYPES * _TYPE.size <= type_bytes <= _MOST_TYPES * _TYPE.size:
            continue
        try:
            return Btf(image[body : body + type_bytes], strings)
        except (struct.error, ValueError):
            continue
    return None

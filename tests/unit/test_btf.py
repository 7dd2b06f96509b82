# SPDX-License-Identifier: Apache-2.0
"""Offsets of structure members out of a kernel's BTF, and that damage costs no more than the offsets."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from bootscope.image import btf

INT, STRUCT, UNION, TYPEDEF, CONST = 1, 4, 5, 8, 10
FILLERS = 120
"""A kernel has many types; a section with few is not taken for one."""
Member = tuple[str, int, int]


class Types:
    """A BTF section in the making."""

    def __init__(self) -> None:
        self.types, self.strings, self.count = b"", b"\0", 0

    def text(self, name: str) -> int:
        if not name:
            return 0
        self.strings += name.encode() + b"\0"
        return len(self.strings) - len(name) - 1

    def add(
        self, name: str, kind: int, other: int, parts: int = 0, more: bytes = b"", flag: bool = False
    ) -> int:
        info = int(flag) << 31 | kind << 24 | parts
        self.types += struct.pack("<III", self.text(name), info, other) + more
        self.count += 1
        return self.count

    def members(self, name: str, kind: int, *members: Member, flag: bool = False) -> int:
        more = b"".join(struct.pack("<III", self.text(n), number, bits) for n, number, bits in members)
        return self.add(name, kind, 64, len(members), more, flag)

    def section(self) -> bytes:
        sizes = (24, 0, len(self.types), len(self.types), len(self.strings))
        return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, *sizes) + self.types + self.strings


def kernel() -> bytes:
    """A kernel's image with a section between other data."""
    made = Types()
    number = made.add("int", INT, 4, more=struct.pack("<I", 32))
    inner = made.members("inner", STRUCT, ("first", number, 0), ("second", number, 32))
    named = made.add("", CONST, made.add("inner_t", TYPEDEF, inner))
    nameless = made.members("", UNION, ("hidden", number, 0), ("other", number, 0))
    made.members(
        "outer", STRUCT, ("pid", number, 64), ("in", named, 128), ("", nameless, 192), ("bit", number, 3)
    )
    made.members("packed", STRUCT, ("field", number, 5 << 24 | 40), flag=True)
    itself = made.count + 1
    made.members("circle", STRUCT, *[("", itself, 8)] * 40)
    for _ in range(FILLERS):
        made.add("", INT, 4, more=bytes(4))
    return b"\x9f\xeb\x01\x00 of something else".ljust(64, b"\0") + made.section() + bytes(50)


IMAGE = kernel()
PATHS = [
    "outer.pid",
    "outer.in.second",
    "outer.hidden",
    "packed.field",
    "circle.nothing",
    "outer.bit",
    "no.such",
]


def test_members_are_found_also_through_other_names_and_parts_without_one() -> None:
    found = btf.read(IMAGE)
    assert found
    assert found.offsets(PATHS) == {
        "outer.pid": 8,
        "outer.in.second": 20,
        "outer.hidden": 24,
        "packed.field": 5,
    }


def test_a_structure_that_holds_itself_ends() -> None:
    found = btf.read(IMAGE)
    assert found
    assert found.offset("circle", "nothing") is None


def test_an_image_without_types_has_none() -> None:
    assert btf.read(b"") is None
    assert btf.read(bytes(1000)) is None
    assert btf.read(IMAGE[:200]) is None


@given(st.lists(st.tuples(st.integers(64, len(IMAGE) - 1), st.integers(0, 255)), min_size=1, max_size=20))
def test_damage_gives_offsets_or_none(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(IMAGE)
    for at, value in changes:
        damaged[at] = value
    found = btf.read(bytes(damaged))
    if found:
        assert all(offset >= 0 for offset in found.offsets(PATHS).values())


@given(st.integers(0, len(IMAGE)))
def test_what_is_cut_off_is_no_error(length: int) -> None:
    found = btf.read(IMAGE[:length])
    assert (found is not None) == (length >= len(IMAGE) - 50)

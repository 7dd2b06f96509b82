# SPDX-License-Identifier: Apache-2.0
"""CramFS as it is written here, read back by another reader."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from bootscope.builder.filesystems import cramfs
from bootscope.builder.filesystems.model import Entry, Order
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES

from .test_filesystems import BIG, CONTENTS, LINKS, order, with_entry

PAGE, FOLDER, LINK = 4096, 0x4000, 0xA000


class Reader:
    """Of an image, as Linux' fs/cramfs/inode.c reads it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        magic, size, self.flags, _, signature = struct.unpack_from("<IIII16s", data, 0)
        assert (magic, size, signature) == (0x28CD3D45, len(data), b"Compressed ROMFS")
        (crc,) = struct.unpack_from("<I", data, 32)
        assert crc == zlib.crc32(data[:32] + bytes(4) + data[36:])

    def files(self, at: int = 64, path: str = "") -> Iterator[tuple[str, int, bytes]]:
        """(path, mode, contents) of everything below a folder's inode."""
        mode, size, begin = self.inode(at)
        assert mode & 0xF000 == FOLDER
        names = []
        place = begin
        while place < begin + size:
            length = (struct.unpack_from("<I", self.data, place + 8)[0] & 0x3F) * 4
            name = self.data[place + 12 : place + 12 + length].rstrip(b"\0").decode()
            names.append(name.encode())
            kind, bytes_, where = self.inode(place)
            if kind & 0xF000 == FOLDER:
                yield f"{path}/{name}", kind, b""
                yield from self.files(place, f"{path}/{name}")
            else:
                yield f"{path}/{name}", kind, b"".join(self.blocks(where, bytes_))
            place += 12 + length
        assert names == sorted(names)

    def inode(self, at: int) -> tuple[int, int, int]:
        mode, size, rest = struct.unpack_from("<III", self.data, at)
        return mode & 0xFFFF, size & 0xFFFFFF, (rest >> 6) * 4

    def blocks(self, table: int, size: int) -> Iterator[bytes]:
        count = -(-size // PAGE)
        begin = table + 4 * count
        for number in range(count):
            (pointer,) = struct.unpack_from("<I", self.data, table + 4 * number)
            wanted = min(PAGE, size - number * PAGE)
            if pointer & 1 << 30 and self.flags & 0x800:
                at = (pointer & 0x3FFFFFFF) * 4
                if pointer & 1 << 31:
                    assert at % PAGE == 0
                    yield self.data[at : at + wanted]
                    continue
                (length,) = struct.unpack_from("<H", self.data, at)
                yield zlib.decompress(self.data[at + 2 : at + 2 + length])
            else:
                yield zlib.decompress(self.data[begin:pointer])
                begin = pointer


def program() -> bytes:
    """An ELF program for Arm of 32 bits: a page that is read only, and one that is written to."""
    head = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0x10000, 52, 0, 0x5000000, 52, 32, 2, 0, 0, 0)
    head += struct.pack("<IIIIIIII", 1, 0, 0x10000, 0x10000, 0x2100, 0x2100, 5, 0x1000)
    head += struct.pack("<IIIIIIII", 1, 0x3000, 0x13000, 0x13000, 0x100, 0x100, 6, 0x1000)
    return head + b"".join(b"%07d;" % n for n in range(0x700))[: 0x3100 - len(head)]


def with_program(folder: Path, *options: str) -> Order:
    made = order(folder, "cramfs", options)
    source = folder / "elf"
    source.write_bytes(program())
    return with_entry(made, Entry(PurePosixPath("bin/elf"), source=source, program=True))


@pytest.mark.parametrize("options", [(), ("xip",), ("xip=/bin/elf",)])
def test_everything_can_be_read_back(tmp_path: Path, options: tuple[str, ...]) -> None:
    made = with_program(tmp_path, *options)
    cramfs.make(made)
    found = {path: (mode, data) for path, mode, data in Reader(made.image.read_bytes()).files()}
    for path, data in {**CONTENTS, "bin/elf": program()}.items():
        assert found.pop(f"/{path}")[1] == data
    for path, target in LINKS.items():
        assert found.pop(f"/{path}") == (LINK | 0o777, target.encode())
    assert {mode & 0xF000 for mode, _ in found.values()} == {FOLDER}


def test_code_that_runs_from_flash_lies_there_as_it_is(tmp_path: Path) -> None:
    made = with_program(tmp_path, "xip")
    cramfs.make(made)
    data = made.image.read_bytes()
    text = program()[:0x3000]
    at = data.find(text[:PAGE])
    assert at % PAGE == 0
    # The pages lie behind each other, so that one mapping has them all; the last one is as it is, too.
    assert data[at : at + 0x2100] == text[:0x2100]
    assert program()[0x3000:] not in data
    assert BIG[:PAGE] not in data


def test_only_the_program_that_is_named(tmp_path: Path) -> None:
    made = with_program(tmp_path, "xip=/bin/other")
    cramfs.make(made)
    assert program()[:PAGE] not in made.image.read_bytes()


def test_what_lies_where_is_told(tmp_path: Path) -> None:
    made = with_program(tmp_path, "xip")
    cramfs.make(made)
    data = made.image.read_bytes()
    places = {(name, at): first for first, _, name, at in cramfs.pieces(made)}
    first = places["/bin/elf", 0]
    assert data[first * SECTOR_BYTES :][:PAGE] == program()[:PAGE]
    assert any(name == "cramfs inodes" for name, _ in places)


def test_an_option_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cramfs has no option '-z', only xip"):
        cramfs.make(order(tmp_path, "cramfs", ("-z",)))

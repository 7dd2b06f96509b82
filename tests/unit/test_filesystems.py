# SPDX-License-Identifier: Apache-2.0
"""Every kind of root file system, made by its real tools: twice the same, whole, and with a true map."""

from __future__ import annotations

import filecmp
import mmap
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.builder.cache import Cache
from bootscope.builder.filesystems import KINDS, f2fs
from bootscope.builder.filesystems.model import Entry, Order, Piece, in_sectors, joined
from bootscope.builder.progress import Progress
from bootscope.builder.step import EPOCH, Context
from bootscope.core.errors import UserError
from bootscope.core.process import search_path
from bootscope.devices.model import SECTOR_BYTES
from bootscope.system.model import RootFs

from .lab_scenes import stock

SECTORS = 131072
LARGE_SECTORS = 524288
BIG = b"".join(b"%08d, a line of a program that is larger than a block\n" % n for n in range(90000))
CONTENTS = {
    "bin/program": BIG,
    "etc/empty": b"",
    "etc/init.d/rcS": b"#!/bin/sh\n",
    "etc/many": b"0123456789abcdef" * 700,
    "usr/lib/\u00e9#1;$(x)": b"an odd name",
}
PROGRAMS = {"bin/program", "etc/init.d/rcS"}
LINKS = {"bin/sh": "/bin/program", "etc/up": "../usr/lib", "sbin/" + "x" * 40: "y" * 200}
FOLDERS = ("bin", "dev", "etc", "etc/init.d", "sbin", "usr", "usr/lib")

VARIANTS: dict[str, tuple[str, ...]] = {
    **{name: () for name, kind in KINDS.items() if not kind.flash},
    "squashfs plain": ("-noI", "-noD", "-noF"),
    "squashfs lz4": ("-comp", "lz4", "-Xhc"),
    "erofs lz4hc": ("-zlz4hc",),
    "f2fs checksum": ("-O", "extra_attr,sb_checksum"),
    "btrfs large": ("--nodesize", "4096"),
}
"""Kinds with options, by name."""
STORED = ["ext4", "squashfs plain", "erofs", "f2fs", "f2fs checksum", "btrfs", "btrfs large", "xfs"]
"""Those that keep what is in a file as it is. (Of ext2 and ext3 debugfs counts blocks of addresses, too.)"""

each = pytest.mark.parametrize("name", VARIANTS)


def order(folder: Path, kind: str, options: tuple[str, ...] = ()) -> Order:
    """An image to make in `folder`, which gets the sources too."""
    (folder / "sources").mkdir(parents=True)
    for name in ("scratch", "out"):
        (folder / name).mkdir()
    context = Context({}, folder / "scratch", folder / "out", Cache(folder / "cache"), Progress(), 1, False)
    wanted: RootFs = msgspec.structs.replace(
        stock().system.rootfs, filesystem=kind, options=options, label="root"
    )
    found = {PurePosixPath(name): Entry(PurePosixPath(name)) for name in FOLDERS}
    for number, (name, data) in enumerate(CONTENTS.items()):
        source = folder / "sources" / str(number)
        source.write_bytes(data)
        path = PurePosixPath(name)
        found[path] = Entry(path, source=source, program=name in PROGRAMS)
    for name, target in LINKS.items():
        found[PurePosixPath(name)] = Entry(PurePosixPath(name), target=target)
    sectors = LARGE_SECTORS if "--nodesize" in options else SECTORS
    return Order(context, wanted, found, folder / "out" / "root.img", sectors)


def with_entry(made: Order, entry: Entry) -> Order:
    """The same image with one more in it."""
    return Order(made.context, made.rootfs, {**made.entries, entry.path: entry}, made.image, made.sectors)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a program prints; it must end well."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PATH": search_path(), "LC_ALL": "C", "TZ": "UTC"},
        input=b"n\n",  # dump.f2fs asks whether it shall write a file, too
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    text = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, text
    return text


@dataclass(frozen=True)
class Made:
    """An image, with its map, beside another one made of the same later."""

    order: Order
    pieces: list[Piece]
    again: Order
    pieces_again: list[Piece]

    @property
    def image(self) -> Path:
        return self.order.image

    def lies_there(self, path: str) -> list[bool]:
        """Of each piece of the file, whether its sectors hold what is in the file from that place on."""
        data, found = CONTENTS[path], []
        with self.image.open("rb") as f:
            for first, count, name, at in self.pieces:
                if name == f"/{path}":
                    f.seek(first * SECTOR_BYTES)
                    begin = at * SECTOR_BYTES
                    # A file may begin inside a sector, and then fills neither the first nor the last.
                    part = data[begin : begin + max(count - 2, 1) * SECTOR_BYTES]
                    found.append(part in f.read(count * SECTOR_BYTES))
        return found


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """An image of each variant, twice: at other times, in other places, from files in another order."""
    folder = tmp_path_factory.mktemp("images")

    def make(place: str, turned: bool) -> Iterator[tuple[str, Order, list[Piece]]]:
        for name, options in VARIANTS.items():
            kind = name.split()[0]
            wanted = order(folder / place / name.replace(" ", "-"), kind, options)
            if turned:
                items = reversed([*wanted.entries.items()])
                wanted = Order(wanted.context, wanted.rootfs, dict(items), wanted.image, wanted.sectors)
            KINDS[kind].make(wanted)
            yield name, wanted, sorted(KINDS[kind].pieces(wanted))

    first = {name: (made, pieces) for name, made, pieces in make("one", turned=False)}
    time.sleep(1.1)  # the file systems' times are in seconds
    old = os.umask(0o077)
    try:
        second = {name: (made, pieces) for name, made, pieces in make("another/one", turned=True)}
    finally:
        os.umask(old)
    return {name: Made(*first[name], *second[name]) for name in VARIANTS}


# ---- images ----


@each
def test_an_image_is_the_same_each_time(every: dict[str, Made], name: str) -> None:
    made = every[name]
    assert filecmp.cmp(made.image, made.again.image, shallow=False)
    assert made.pieces == made.pieces_again


@each
def test_an_image_fits_its_partition(every: dict[str, Made], name: str) -> None:
    made = every[name].order
    assert len(BIG) / 50 < made.image.stat().st_size <= made.room_bytes


@each
def test_its_own_checker_finds_nothing_wrong(every: dict[str, Made], name: str) -> None:
    image = every[name].image
    checkers: dict[str, tuple[str, ...]] = {
        **dict.fromkeys(("ext2", "ext3", "ext4"), ("e2fsck", "-fn")),
        "squashfs": ("unsquashfs", "-s"),
        "erofs": ("fsck.erofs", "--extract"),
        "f2fs": ("fsck.f2fs", "--dry-run"),
        "btrfs": ("btrfs", "check", "--check-data-csum"),
        "xfs": ("xfs_repair", "-n"),
        "cramfs": ("fsck.cramfs",),
    }
    told = run(*checkers[name.split()[0]], image)
    assert not re.search(r"\[FIX\]|\[ASSERT\]|\[Fail\]|\bERROR", told), told


@each
def test_no_image_names_the_machine_that_made_it(every: dict[str, Made], name: str) -> None:
    words = (os.uname().release, str(every[name].order.image.parent))
    with every[name].image.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
        assert [word for word in words if data.find(word.encode()) >= 0] == []


# ---- what is in them ----


@pytest.mark.parametrize("name", [n for n in VARIANTS if n.split()[0] in ("squashfs", "erofs")])
def test_a_packed_root_is_unpacked_to_what_went_in(every: dict[str, Made], name: str, tmp_path: Path) -> None:
    place = tmp_path / "unpacked"
    if name.startswith("squashfs"):
        run("unsquashfs", "-q", "-n", "-no-xattrs", "-d", place, every[name].image)
    else:
        run("fsck.erofs", f"--extract={place}", every[name].image)
    same_as_what_went_in(place)


def test_a_btrfs_root_is_restored_to_what_went_in(every: dict[str, Made], tmp_path: Path) -> None:
    run("btrfs", "restore", "-S", every["btrfs"].image, tmp_path)
    same_as_what_went_in(tmp_path, with_modes=False)


def same_as_what_went_in(place: Path, with_modes: bool = True) -> None:
    found = {p.relative_to(place).as_posix(): p for p in place.rglob("*")}
    assert set(found) == {*CONTENTS, *LINKS, *FOLDERS}
    for path, data in CONTENTS.items():
        mode = 0o755 if path in PROGRAMS else 0o644
        assert found[path].read_bytes() == data
        assert not with_modes or found[path].stat().st_mode & 0o777 == mode
    for path, target in LINKS.items():
        assert str(found[path].readlink()) == target
    for path in FOLDERS:
        assert found[path].is_dir()
        assert not with_modes or found[path].stat().st_mode & 0o777 == 0o755


LETTERS = {"755": "rwxr-xr-x", "644": "rw-r--r--"}


def told_of(made: Made, path: str, mode: str) -> tuple[str, str]:
    """(what the file system's own tool says of a file, a pattern for the mode, root and the build's time)."""
    image, kind, name = made.image, made.order.rootfs.filesystem, PurePosixPath(path).name
    if kind == "squashfs":
        pattern = rf"^.{LETTERS[mode]} 0/0 +\d+ 2026-01-01 00:00 squashfs-root/{path}$"
        return run("unsquashfs", "-lln", image), pattern
    if kind == "erofs":
        pattern = rf"Uid: 0 +Gid: 0 +Access: 0{mode}/.*\nTimestamp: 2026-01-01 00:00:00"
        return run("dump.erofs", f"--path=/{path}", image), pattern
    if kind == "xfs":
        fields = [w for f in ("mode", "uid", "gid", "mtime.sec") for w in ("-c", f"print core.{f}")]
        pattern = rf"mode = 0\d+{mode}\ncore.uid = 0\ncore.gid = 0\n.* = Thu Jan  1 00:00:00 2026\n"
        return run("xfs_db", "-r", "-c", f"path /{path}", *fields, image), pattern
    if kind == "cramfs":  # has no times
        extracted = made.order.context.scratch / "extracted"
        shutil.rmtree(extracted, ignore_errors=True)
        told = run("fsck.cramfs", "-v", f"--extract={extracted}", image)
        return told, rf"^[df] 0{mode} +\d+ +0:0 .*/extracted/{path}$"
    if kind == "btrfs":
        told = run("btrfs", "inspect-internal", "dump-tree", "-t", "5", image)
        (number,) = re.findall(rf"key \((\d+) INODE_REF .*\n.* name: {name}\n", told)
        item = rf"key \({number} INODE_ITEM 0\)(?:.*\n){{2}}.* mode \d+{mode} links 1 uid 0 gid 0 .*\n"
        return told, rf"{item}(?:.*\n){{3}}.*mtime {EPOCH}\.0 "
    if kind == "f2fs":
        nodes = re.findall(r"^nid: *(\d+)", (made.order.context.scratch / "dump_nat").read_text(), re.M)
        inodes = [run("dump.f2fs", "-i", hex(int(node)), image) for node in nodes]
        (told,) = [inode for inode in inodes if re.search(rf"^i_name\s+\[{name}\]", inode, re.M)]
        bits = int(mode, 8) | (0o40000 if path in FOLDERS else 0o100000)
        fields = [f"i_mode .*: {bits}", "i_uid .*: 0", "i_gid .*: 0", f"i_mtime .*: {EPOCH}"]
        return told, "".join(rf"{field}\][\s\S]*" for field in fields)
    pattern = rf"Mode:\s+0{mode} [\s\S]*User:\s+0\s+Group:\s+0\s[\s\S]* mtime: 0x{EPOCH:08x}"
    return run("debugfs", "-R", f'stat "/{path}"', image), pattern


@each
@pytest.mark.parametrize(
    ("path", "mode"), [("bin/program", "755"), ("etc/many", "644"), ("etc/init.d", "755")]
)
def test_all_belongs_to_root_with_its_mode(every: dict[str, Made], name: str, path: str, mode: str) -> None:
    told, pattern = told_of(every[name], path, mode)
    assert re.search(pattern, told, re.M), told


# ---- maps ----


@pytest.mark.parametrize("name", STORED)
def test_the_map_leads_to_what_is_in_the_files(every: dict[str, Made], name: str) -> None:
    pieces = [piece for piece in every[name].pieces if piece[2] == "/bin/program"]
    assert len(BIG) <= sum(count for _, count, _, _ in pieces) * SECTOR_BYTES < len(BIG) + (1 << 17)
    for path in CONTENTS:
        assert all(every[name].lies_there(path))


@each
def test_the_map_names_what_is_there_and_nothing_else(every: dict[str, Made], name: str) -> None:
    made = every[name]
    size = -(-made.image.stat().st_size // SECTOR_BYTES)
    own = re.compile(rf"{'ext4' if name.startswith('ext') else name.split()[0]} [a-z ]+")
    for first, count, what, at in made.pieces:
        assert 0 <= first < first + count <= size
        assert at >= 0
        assert what == "/" or PurePosixPath(what[1:]) in made.order.entries or own.fullmatch(what)
    assert any(own.fullmatch(piece[2]) for piece in made.pieces)


@pytest.mark.parametrize("name", ["squashfs", "squashfs lz4", "erofs lz4hc"])
def test_the_map_of_a_compressed_file_covers_what_is_unpacked(every: dict[str, Made], name: str) -> None:
    found = sorted(piece for piece in every[name].pieces if piece[2] == "/bin/program")
    places = [at for *_, at in found]
    assert places == sorted(places)
    assert places[0] == 0
    assert len(BIG) - places[-1] * SECTOR_BYTES < 1 << 18
    assert sum(count for _, count, _, _ in found) * SECTOR_BYTES < len(BIG) / 2


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5), st.sampled_from("ab"), st.integers(0, 9))))
def test_pieces_are_joined_without_a_change_of_what_they_say(pieces: list[Piece]) -> None:
    def each_sector(found: list[Piece]) -> set[tuple[int, str, int]]:
        return {(first + n, name, at + n) for first, count, name, at in found for n in range(count)}

    made = list(joined(pieces))
    assert each_sector(made) == each_sector(pieces)
    assert len(made) <= len(set(pieces))


def test_pieces_that_follow_each_other_are_one() -> None:
    assert list(joined([(8, 8, "a", 8), (0, 8, "a", 0), (16, 8, "b", 16), (24, 8, "b", 0)])) == [
        (0, 16, "a", 0),
        (16, 8, "b", 16),
        (24, 8, "b", 0),
    ]


def test_a_sector_that_is_begun_belongs_to_a_piece() -> None:
    assert in_sectors(0, 96, "x") == (0, 1, "x", 0)
    assert in_sectors(511, 2, "x", 1024) == (0, 2, "x", 2)
    assert in_sectors(512, 512, "x") == (1, 1, "x", 0)


# ---- what is refused ----


@pytest.mark.parametrize("kind", ["squashfs", "erofs", "f2fs", "btrfs", "xfs", "cramfs"])
@pytest.mark.parametrize("path", ["etc/up/below", "../above", "usr/../../above", "/etc/absolute"])
def test_nothing_is_written_beside_the_root(tmp_path: Path, kind: str, path: str) -> None:
    made = order(tmp_path, kind)
    with pytest.raises(UserError, match="cannot be in a root file system"):
        KINDS[kind].make(with_entry(made, Entry(PurePosixPath(path))))
    assert not (tmp_path / "scratch" / "above").exists()


def test_f2fs_calls_its_checksum_right() -> None:
    """The value that the kernel's own routine gives for these bytes."""
    crc = f2fs.MAGIC
    for byte in b"123456789":
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    assert f2fs.checksum(b"123456789") == crc

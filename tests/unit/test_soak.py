# SPDX-License-Identifier: Apache-2.0
"""Soaking: what tools say of file systems that are whole, to be recovered or damaged, made here by their own
tools; what became of a card; when the power is cut."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.builder.nand import array
from bootscope.soak.card import CardCheck, Checked, copied, regions
from bootscope.soak.checkers import CHECKERS, COPY
from bootscope.soak.chip import Chip, Flash
from bootscope.soak.soaking import moment_ns
from bootscope.soak.states import State, Verdict
from bootscope.system.load import load_system

from .conftest import Command

MIB = 1 << 20


def ran(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


def made(folder: Path, kind: str, size_bytes: int = 0) -> Path:
    """An empty file system of a kind, as the copy that a checker gets."""
    image = folder / COPY
    with image.open("wb") as f:
        f.truncate(size_bytes or {"f2fs": 64, "btrfs": 128, "XFS": 320}.get(kind, 16) * MIB)
    ran({"FAT": "mkfs.vfat", "XFS": "mkfs.xfs"}.get(kind, f"mkfs.{kind}"), image)
    return image


def debugfs(image: Path, *commands: str) -> None:
    (script := image.with_name("commands")).write_text("\n".join(commands) + "\n")
    ran("debugfs", "-w", "-f", script, image)


def overwritten(image: Path, at: int, data: bytes) -> None:
    with image.open("r+b") as f:
        f.seek(at)
        f.write(data)


@pytest.mark.parametrize("kind", CHECKERS)
def test_a_new_one_is_clean(tmp_path: Path, kind: str) -> None:
    made(tmp_path, kind)
    assert CHECKERS[kind](tmp_path) == State(Verdict.CLEAN)


def pulled(image: Path) -> None:
    """A journal with a transaction in it."""
    image.with_name("block").write_bytes(bytes(1024))
    debugfs(image, "jo", f"jw -b 300 {image.with_name('block')}", "jc")


TO_BE_RECOVERED: list[tuple[str, Callable[[Path], None], str]] = [
    ("ext4", pulled, "journal to replay"),
    ("ext2", lambda image: debugfs(image, "ssv state 0"), "not unmounted"),
    ("FAT", lambda image: overwritten(image, 0x25, b"\x01"), "marked as in use"),
]


@pytest.mark.parametrize(("kind", "used", "words"), TO_BE_RECOVERED)
def test_what_the_next_mount_does_is_no_damage(
    tmp_path: Path, kind: str, used: Callable[[Path], None], words: str
) -> None:
    used(made(tmp_path, kind))
    assert CHECKERS[kind](tmp_path) == State(Verdict.PENDING, words)


def test_what_fsck_mends_by_itself_is_told(tmp_path: Path) -> None:
    image = made(tmp_path, "ext2")
    debugfs(image, f"write {__file__} a", "ssv state 0", "sif a links_count 3")
    found = CHECKERS["ext2"](tmp_path)
    assert found.verdict == Verdict.MENDED
    assert "ref count is 3, should be 1.  FIXED" in found.words


def test_damage_of_ext_is_told_in_its_words(tmp_path: Path) -> None:
    image = made(tmp_path, "ext4")
    debugfs(image, f"write {__file__} h.txt", "clri h.txt")
    found = CHECKERS["ext4"](tmp_path)
    assert found.verdict == Verdict.DAMAGED
    assert "h.txt" in found.words
    assert str(tmp_path) not in found.words


def test_damage_of_fat_is_told(tmp_path: Path) -> None:
    image = made(tmp_path, "FAT")
    overwritten(image, 4 * 512, b"\xf8\xff\xff\xff" + b"\x11\x22" * 3000)  # links to nowhere
    assert CHECKERS["FAT"](tmp_path).verdict in (Verdict.MENDED, Verdict.DAMAGED)


def test_damage_of_f2fs_is_told(tmp_path: Path) -> None:
    overwritten(made(tmp_path, "f2fs"), 6 * MIB, b"\xa5" * 4096 * 300)
    assert CHECKERS["f2fs"](tmp_path).verdict == Verdict.DAMAGED


def test_damage_of_btrfs_is_told(tmp_path: Path) -> None:
    image = made(tmp_path, "btrfs")
    data = image.read_bytes()
    for at in range(0x100000, len(data), 16384):  # all trees; the superblock stays
        if any(data[at : at + 64]):
            overwritten(image, at, b"\xa5" * 4096)
    assert CHECKERS["btrfs"](tmp_path).verdict == Verdict.DAMAGED


def test_damage_of_xfs_is_told(tmp_path: Path) -> None:
    overwritten(made(tmp_path, "XFS"), 3 * 512, b"\xa5" * 512)  # the list of free blocks
    assert CHECKERS["XFS"](tmp_path).verdict == Verdict.DAMAGED


TABLE = "start=2048, size=32768, type=c\nstart=34816, size=32768, type=83\nstart=67584, size=2048, type=83\n"


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A card with a FAT, an ext4 with two files, and a SquashFS."""
    card = tmp_path / "built.img"
    with card.open("wb") as f:
        f.truncate(64 * MIB)
    subprocess.run(["sfdisk", "-q", card], input=TABLE, text=True, check=True, capture_output=True)
    (source := tmp_path / "files").mkdir()
    (source / "a").write_text("a")
    parts = tmp_path / "parts"
    parts.mkdir()
    fat = made(parts, "FAT").read_bytes()
    ext = made(parts, "ext4")
    debugfs(ext, f"write {source / 'a'} a", f"write {source / 'a'} b", "write /dev/null empty")
    root = ext.read_bytes()
    ran("mksquashfs", source, parts / "squash", "-quiet", "-no-progress")
    for sector, data in ((2048, fat), (34816, root), (67584, (parts / "squash").read_bytes())):
        overwritten(card, sector * 512, data)
    return card


def looked(card: Path, tmp_path: Path, change: Callable[[Path], None]) -> tuple[Checked, ...]:
    """What is found of a card that was changed."""
    used = tmp_path / "card.img"
    copied(card, used, card.stat().st_size)
    (folder := tmp_path / "work").mkdir()
    looker = CardCheck(card, used, folder)
    change(used)
    found = looker.check()
    assert list(folder.iterdir()) == []
    return found


def test_partitions_are_known_by_what_is_in_them(card: Path) -> None:
    assert [(one.name, one.kind) for one in regions(card)] == [
        ("p1", "FAT"),
        ("p2", "ext4"),
        ("p3", "squashfs"),
    ]


def test_what_is_as_it_was_built_is_not_checked(card: Path, tmp_path: Path) -> None:
    found = looked(card, tmp_path, lambda used: None)
    assert [one.state for one in found] == [State(Verdict.UNCHANGED)] * 3


def test_a_file_that_is_gone_or_empty_is_named(card: Path, tmp_path: Path) -> None:
    def change(used: Path) -> None:
        part = tmp_path / "p2"
        part.write_bytes(used.read_bytes()[34816 * 512 : 67584 * 512])
        debugfs(part, "rm a", "sif b size 0", "sif b block[0] 0", "sif b blocks 0")
        overwritten(used, 34816 * 512, part.read_bytes())

    found = looked(card, tmp_path, change)
    assert [one.lost for one in found] == [(), ("/a", "/b"), ()]
    assert found[0].state.verdict == found[2].state.verdict == Verdict.UNCHANGED


def test_what_is_only_read_may_not_change(card: Path, tmp_path: Path) -> None:
    found = looked(card, tmp_path, lambda used: overwritten(used, 67584 * 512 + 300, b"!"))
    assert found[2].state == State(Verdict.DAMAGED, "only read, and its bytes changed")


def test_what_nobody_can_look_into_is_said_to_have_changed(tmp_path: Path) -> None:
    (card := tmp_path / "raw.img").write_bytes(bytes(MIB))
    (found,) = looked(card, tmp_path, lambda used: overwritten(used, 4096, b"x"))
    assert (found.region.name, found.state) == ("card", State(Verdict.UNCHECKED, "changed"))


def test_a_table_that_promises_more_than_there_is_ends_where_the_card_ends(card: Path) -> None:
    with card.open("r+b") as f:
        f.truncate(33 * MIB)
    assert regions(card)[2].size_bytes == 0


def test_what_a_boot_wrote_into_a_chip_is_what_the_next_one_finds(tmp_path: Path) -> None:
    system = load_system("stock-nand").system
    assert system.nand
    nand, start = system.nand, system.kernel.memory_address
    built, page = tmp_path / "built.elf", b"page".ljust(nand.raw_page_bytes, b"\xff")
    array.write(nand, {5: page}, built)
    (folder := tmp_path / "work").mkdir()
    chip = Chip(Flash(nand, start, system.kernel.memory_bytes), built, folder)
    assert chip.check().state == State(Verdict.UNCHANGED)

    chip.begin()
    assert chip.memory.stat().st_size == system.kernel.memory_bytes
    place = nand.address - start
    inverted = bytes(255 - value for value in page)
    overwritten(chip.memory, place + 5 * nand.raw_page_bytes, inverted)
    chip.end()
    assert chip.check().state == State(Verdict.UNCHANGED)

    chip.begin()
    for row in (5, 9):
        overwritten(chip.memory, place + row * nand.raw_page_bytes, inverted)
    chip.end()
    found = chip.check()
    assert (found.region.name, found.region.kind) == ("nand", "UBI")
    assert found.state == State(Verdict.UNCHECKED, "changed")
    both = tmp_path / "both.elf"
    array.write(nand, {5: page, 9: page}, both)
    assert chip.content.read_bytes() == both.read_bytes()


def test_moments_follow_from_the_seed() -> None:
    assert [moment_ns(1, n, 10**9) for n in (1, 2, 3)] == [moment_ns(1, n, 10**9) for n in (1, 2, 3)]
    drawn = [moment_ns(seed, n, 1000) for seed in range(20) for n in range(1, 200)]
    assert min(drawn) >= 1
    assert max(drawn) <= 1000
    assert len(set(drawn)) > 900
    assert 450 < sum(drawn) / len(drawn) < 550


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["stock", "--board", "serial:/dev/ttyUSB0"], "an emulated board"),
        (["stock", "-n", "0"], "-n"),
        (["stock", "--after", "-1"], "--after must be 0 or more"),
        (["stock", "-o", "-"], "/dev/stdout"),
        (["nowhere"], "nowhere"),
        (["stock", "--until", "loginn"], "milestone"),
    ],
)
def test_what_cannot_be_soaked_is_refused_at_once(main_here: Command, words: list[str], told: str) -> None:
    done = main_here("soak", *words)
    assert done.returncode == 2
    assert told in done.stderr


def test_files_need_a_board(main_here: Command, tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(bytes(4096))
    done = main_here("soak", str(tmp_path / "disk.img"))
    assert done.returncode == 2
    assert "--board" in done.stderr

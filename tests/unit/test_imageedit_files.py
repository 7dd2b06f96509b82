# SPDX-License-Identifier: Apache-2.0
"""Files of ext4, SquashFS and FAT changed in images, also in such that lie, are full, or lead elsewhere."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest

from bootscope.core.errors import UserError
from bootscope.imageedit import ext, fat, squashfs
from bootscope.imageedit.edits import RootEdit
from bootscope.imageedit.ext import ExtPlace
from tests.unit.image_builders import boot_folder, ext4, root_folder, tool
from tests.unit.image_builders import fat as make_fat

UNIT = "/etc/systemd/system/app.service.d/early.conf"
WANTED = RootEdit({UNIT: "[Service]\n", "/etc/run": "#!/bin/sh\n"}, {"/etc/mask": "/dev/null"}, ("/boot",))
AT = 1 << 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return root_folder(tmp_path / "root")


def place(path: Path, tmp_path: Path, at: int = 0) -> ExtPlace:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return ExtPlace(path, work, at)


def ask(path: Path, command: str) -> str:
    return tool("debugfs", "-R", command, path).decode()


def test_files_of_ext4_are_written_linked_and_taken_out(root: Path, tmp_path: Path) -> None:
    (root / "etc/passwd").write_text("root\n")
    image = ext4(tmp_path / "root.ext4", root, 8)
    ext.edit(place(image, tmp_path), WANTED)
    assert ask(image, f"cat {UNIT}") == "[Service]\n"
    assert "Mode:  0755" in ask(image, "stat /etc/run")
    assert 'Fast link dest: "/dev/null"' in ask(image, "stat /etc/mask")
    assert "boot" not in ask(image, "ls /")
    assert ask(image, "cat /etc/passwd") == "root\n"
    tool("e2fsck", "-fn", image)


def test_a_file_and_a_link_in_a_folder_that_is_new(root: Path, tmp_path: Path) -> None:
    image = ext4(tmp_path / "root.ext4", root, 8)
    ext.edit(place(image, tmp_path), RootEdit({"/new/deep/file": "x\n"}, {"/new/deep/link": "file"}))
    assert ask(image, "cat /new/deep/file") == "x\n"
    assert 'Fast link dest: "file"' in ask(image, "stat /new/deep/link")
    tool("e2fsck", "-fn", image)


def test_what_is_written_into_a_folder_that_goes_stays(root: Path, tmp_path: Path) -> None:
    (root / "boot/old").write_text("old")
    wanted = RootEdit({"/boot/new": "new\n"}, {}, ("/boot",))
    image = ext4(tmp_path / "root.ext4", root, 8)
    ext.edit(place(image, tmp_path), wanted)
    assert ask(image, "cat /boot/new") == "new\n"
    assert "old" not in ask(image, "ls /boot")
    packed = squashfs.edited(made_squashfs(root, tmp_path / "root.sqfs"), 0, wanted, tmp_path / "work")
    assert squashfs_file(packed, "/boot/new") == "new\n"
    assert "/boot/old" not in tool("unsquashfs", "-lln", packed).decode()


def test_the_same_change_gives_the_same_bytes(root: Path, tmp_path: Path) -> None:
    image = ext4(tmp_path / "root.ext4", root, 8).read_bytes()
    made = []
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(image)
        ext.edit(place(tmp_path / name, tmp_path), WANTED)
        made.append(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert made[0] == made[1]


def test_a_partition_is_changed_in_its_place_and_nothing_beside_it(root: Path, tmp_path: Path) -> None:
    inner = ext4(tmp_path / "root.ext4", root, 8).read_bytes()
    card = tmp_path / "card.img"
    card.write_bytes(b"\x55" * AT + inner + b"\xaa" * AT)
    ext.edit(place(card, tmp_path, AT), WANTED)
    data = card.read_bytes()
    assert data[:AT] == b"\x55" * AT
    assert data[-AT:] == b"\xaa" * AT
    assert ask(Path(f"{card}?offset={AT}"), f"cat {UNIT}") == "[Service]\n"


def test_links_of_folders_are_followed_within_the_image(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "etc/systemd").symlink_to("../../../../../../usr")
    (root / "usr").symlink_to(f"/{outside.relative_to('/')}")
    image = ext4(tmp_path / "root.ext4", root, 8)
    ext.edit(place(image, tmp_path), RootEdit({"/etc/systemd/system/x": "text\n"}))
    assert not list(outside.iterdir())
    assert ask(image, f"cat {outside}/system/x") == "text\n"


@pytest.mark.parametrize("path", ["/etc/../../x", '/etc/a"b', "/", "/etc/a\nrm /bin", "/etc/a\\b"])
def test_paths_that_tools_would_take_for_something_else(root: Path, tmp_path: Path, path: str) -> None:
    image = ext4(tmp_path / "root.ext4", root, 8)
    before = image.read_bytes()
    with pytest.raises(UserError, match="not a path"):
        ext.edit(place(image, tmp_path), RootEdit({path: "x"}))
    assert image.read_bytes() == before


def test_links_in_a_circle_and_a_file_in_the_way(root: Path, tmp_path: Path) -> None:
    image = ext4(tmp_path / "root.ext4", root, 8)
    with pytest.raises(UserError, match="in a circle"):
        ext.edit(place(image, tmp_path), RootEdit({"/etc/circle/x": "x"}))
    with pytest.raises(UserError, match="is no folder"):
        ext.edit(place(image, tmp_path), RootEdit({"/etc/os-release/x": "x"}))
    with pytest.raises(UserError, match="would become a file"):
        ext.edit(place(image, tmp_path), RootEdit({"/etc": "x"}))


def test_a_full_ext4_is_refused(root: Path, tmp_path: Path) -> None:
    image = ext4(tmp_path / "root.ext4", root, 8)
    with pytest.raises(UserError, match=r"cannot be changed|faults"):
        ext.edit(place(image, tmp_path), RootEdit({"/etc/large": "x" * (9 << 20)}))


def test_a_damaged_ext4_is_refused_before_it_is_changed(root: Path, tmp_path: Path) -> None:
    image = ext4(tmp_path / "root.ext4", root, 8)
    tool("debugfs", "-w", "-R", "set_inode_field /bin/busybox links_count 7", image)
    before = image.read_bytes()
    with pytest.raises(UserError, match="e2fsck finds faults"):
        ext.edit(place(image, tmp_path), WANTED)
    assert image.read_bytes() == before


def test_a_journal_that_was_not_played_back(root: Path, tmp_path: Path) -> None:
    image = ext4(tmp_path / "root.ext4", root, 8)
    tool("debugfs", "-w", "-R", "feature needs_recovery", image)
    with pytest.raises(UserError, match="was not unmounted"):
        ext.edit(place(image, tmp_path), WANTED)


def made_squashfs(root: Path, path: Path, *options: str) -> Path:
    tool("mksquashfs", root, path, "-quiet", "-no-progress", "-all-root", "-no-xattrs", *options)
    return path


def squashfs_file(image: Path, path: str) -> str:
    return tool("unsquashfs", "-cat", image, path).decode()


def test_files_of_a_squashfs(root: Path, tmp_path: Path) -> None:
    (root / "etc/passwd").write_text("root\n")
    image = made_squashfs(root, tmp_path / "root.sqfs", "-comp", "xz", "-p", "dev/console c 600 0 0 5 1")
    work = tmp_path / "work"
    work.mkdir()
    new = squashfs.edited(image, 0, WANTED, work)
    assert squashfs_file(new, UNIT) == "[Service]\n"
    assert squashfs_file(new, "/etc/passwd") == "root\n"
    listed = tool("unsquashfs", "-lln", new).decode()
    assert "squashfs-root/etc/mask -> /dev/null" in listed
    assert "squashfs-root/boot" not in listed
    assert any(
        line.startswith("crw-------") and line.endswith("/dev/console") for line in listed.splitlines()
    )
    assert "Compression xz" in tool("unsquashfs", "-s", new).decode()


def test_a_squashfs_comes_out_the_same(root: Path, tmp_path: Path) -> None:
    image = made_squashfs(root, tmp_path / "root.sqfs")
    made = []
    for name in ("one", "two"):
        work = tmp_path / name
        work.mkdir()
        made.append(squashfs.edited(image, 0, WANTED, work).read_bytes())
    assert made[0] == made[1]


def test_names_in_a_squashfs_are_no_commands(root: Path, tmp_path: Path) -> None:
    # Rows of a list may name a command whose output becomes a file.
    (root / "etc" / "x f 644 0 0 touch gotcha").write_text("x")
    (root / "etc" / "y\nz f 644 0 0 touch gotcha").write_text("x")
    image = made_squashfs(root, tmp_path / "root.sqfs")
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(UserError, match="name cannot be written"):
        squashfs.edited(image, 0, WANTED, work)
    assert not list(tmp_path.rglob("gotcha"))


def test_a_squashfs_that_is_cut_off(root: Path, tmp_path: Path) -> None:
    image = made_squashfs(root, tmp_path / "root.sqfs")
    image.write_bytes(image.read_bytes()[:200])
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(UserError):
        squashfs.edited(image, 0, WANTED, work)


def test_a_file_of_a_fat(tmp_path: Path) -> None:
    inner = make_fat(tmp_path / "boot.fat", boot_folder(tmp_path / "boot"), 8).read_bytes()
    made = []
    for name in ("one", "two"):
        card = tmp_path / name
        card.write_bytes(bytes(AT) + inner)
        fat.put(card, AT, "/extlinux/extlinux.conf", b"label new\n", tmp_path)
        assert tool("mtype", "-i", f"{card}@@{AT}", "::/extlinux/extlinux.conf") == b"label new\n"
        made.append(card.read_bytes())
    assert made[0] == made[1]


def test_a_card_named_from_the_folder_that_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_fat(tmp_path / "boot.fat", boot_folder(tmp_path / "boot"), 8)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path)
    fat.put(Path("boot.fat"), 0, "/extlinux/extlinux.conf", b"label new\n", Path("work").absolute())
    assert b"label new\n" in Path("boot.fat").read_bytes()


def test_a_full_fat_and_names_that_are_patterns(tmp_path: Path) -> None:
    card = make_fat(tmp_path / "boot.fat", boot_folder(tmp_path / "boot"), 8)
    with pytest.raises(UserError, match="cannot be replaced") as told:
        fat.put(card, 0, "/initrd", bytes(range(256)) * (9 << 12), tmp_path)
    assert told.value.hint == "the partition has no room for it"
    with pytest.raises(UserError, match="pattern"):
        fat.put(card, 0, "/Im*", b"x", tmp_path)
    with pytest.raises(UserError, match="not a path"):
        fat.put(card, 0, "/../x", b"x", tmp_path)


def test_a_superblock_that_lies(tmp_path: Path) -> None:
    image = tmp_path / "lie.ext4"
    data = bytearray(1 << 20)
    struct.pack_into("<H", data, 0x438, 0xEF53)
    image.write_bytes(bytes(data))
    with pytest.raises(UserError, match="faults"):
        ext.edit(place(image, tmp_path), WANTED)

# SPDX-License-Identifier: Apache-2.0
"""An initramfs, a boot menu and U-Boot's headers changed, also damaged ones."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.artefacts.loader import script_of_image
from bootscope.bootimage import initramfs
from bootscope.bootimage.menus import EXTLINUX, GRUB, SCRIPT, UKI, MenuEntry
from bootscope.core.errors import UserError
from bootscope.imageedit import archive, menus, wrapped
from bootscope.imageedit.edits import EarlyEdit
from tests.unit.image_builders import cpio, tool
from tests.unit.time_bound import within

MODULE = b"\x7fELF" + bytes(200)
SIGNED = MODULE + b"s" * 20 + bytes(8) + (20).to_bytes(4, "big") + b"~Module signature appended~\n"
FILES = {"init": b"#!/bin/sh\nexec x\n", "lib/modules/6/a.ko.xz": lzma.compress(SIGNED)}
MICROCODE = cpio({"kernel/x86/microcode/GenuineIntel.bin": b"code"})


def plain(files: dict[str, bytes]) -> bytes:
    return cpio(files, folders=["lib", "lib/modules", "lib/modules/6"], links={"bin": "usr/bin"})


def read(data: bytes, path: str) -> bytes | None:
    opened = initramfs.opened("x", data)
    assert opened
    return opened.files.read(path, 1 << 20)


def test_it_is_packed_anew_and_microcode_stays(tmp_path: Path) -> None:
    old = MICROCODE + gzip.compress(plain(FILES), mtime=0)
    new = archive.edited(old, EarlyEdit(compression="zstd"), tmp_path)
    assert new.startswith(MICROCODE)
    opened = initramfs.opened("x", new)
    assert opened
    assert [part.compression for part in opened.parts] == ["", "zstd"]
    assert read(new, "/init") == FILES["init"]
    assert new == archive.edited(old, EarlyEdit(compression="zstd"), tmp_path)


@pytest.mark.parametrize(("form", "wanted"), [("unpacked", SIGNED), ("unsigned", MODULE)])
def test_modules_are_unpacked_with_their_names_in_lists(tmp_path: Path, form: str, wanted: bytes) -> None:
    files = {**FILES, "lib/modules/6/modules.dep": b"a.ko.xz: b.ko.xz\n"}
    new = archive.edited(plain(files), EarlyEdit(modules=form), tmp_path)
    assert read(new, "/lib/modules/6/a.ko") == wanted
    assert read(new, "/lib/modules/6/a.ko.xz") is None
    assert read(new, "/lib/modules/6/modules.dep") == b"a.ko: b.ko\n"


def test_an_index_of_packed_modules_is_not_left_wrong(tmp_path: Path) -> None:
    files = {**FILES, "lib/modules/6/modules.dep.bin": b"index"}
    with pytest.raises(UserError, match=r"modules\.dep\.bin"):
        archive.edited(plain(files), EarlyEdit(modules="unpacked"), tmp_path)


def test_files_are_replaced_with_the_mode_that_they_have(tmp_path: Path) -> None:
    new = archive.edited(plain(FILES), EarlyEdit(write={"/init": "exec y\n", "/new/a": "a"}), tmp_path)
    assert read(new, "/init") == b"exec y\n"
    assert read(new, "/new/a") == b"a"
    opened = initramfs.opened("x", new)
    assert opened
    entry = opened.files.find("/init")
    assert entry
    assert entry.program


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"noise" * 100,
        plain(FILES)[:-200],
        gzip.compress(plain(FILES), mtime=0) + b"something else that is no archive",
        plain(FILES).replace(b"070701", b"07070x"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UserError):
        archive.edited(data, EarlyEdit(compression="xz"), tmp_path)


def test_names_in_an_archive_that_lead_elsewhere_stay_names(tmp_path: Path) -> None:
    files = {"../../../../tmp/gotcha": b"x", "/etc/absolute": b"y", **FILES}
    new = archive.edited(cpio(files), EarlyEdit(modules="unpacked"), tmp_path)
    assert not list(tmp_path.rglob("gotcha"))
    assert b"../../../../tmp/gotcha\0" in new
    with pytest.raises(UserError, match="not a path"):
        archive.edited(cpio(files), EarlyEdit(write={"/../x": "x"}), tmp_path)


# ---- menus ----


def test_the_line_of_a_menu_is_changed_and_nothing_else() -> None:
    text = b"label a\n  kernel /Image\n  append  console=ttyS0   root=/dev/x\nlabel b\n  append other\n"
    menu = MenuEntry(EXTLINUX, "/extlinux/extlinux.conf", command_line="console=ttyS0   root=/dev/x")
    new = menus.with_line(menu, text, ("quiet", "root=/dev/y"), ("console",))
    assert new == text.replace(b"console=ttyS0   root=/dev/x", b"root=/dev/y quiet")


def test_grub_with_variables_is_left_to_its_build() -> None:
    menu = MenuEntry(GRUB, "/grub.cfg", command_line="root=UUID=1 ro")
    with pytest.raises(UserError, match="does not stand"):
        menus.with_line(menu, b"linux /vmlinuz root=UUID=${id} ro\n", ("quiet",), ())
    with pytest.raises(UserError, match="UKI"):
        menus.with_line(MenuEntry(UKI, "/a.efi", command_line="ro"), b"ro", ("quiet",), ())


def test_a_script_of_uboot_gets_sums_that_fit(tmp_path: Path) -> None:
    source, image = tmp_path / "boot.cmd", tmp_path / "boot.scr"
    source.write_text("setenv bootargs console=ttyS0 root=/dev/x\nbooti 1 - 2\n")
    tool("mkimage", "-T", "script", "-d", source, image)
    menu = MenuEntry(SCRIPT, "/boot.scr", command_line="console=ttyS0 root=/dev/x")
    new = menus.with_line(menu, image.read_bytes(), ("quiet",), ())
    assert script_of_image(new) == "setenv bootargs console=ttyS0 root=/dev/x quiet\nbooti 1 - 2\n"
    (tmp_path / "new.scr").write_bytes(new)
    assert "Image Name" in tool("mkimage", "-l", tmp_path / "new.scr").decode()
    assert int.from_bytes(new[24:28], "big") == zlib.crc32(new[64:])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_size_below_zero_is_refused(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """It led from a member back to itself."""
    data = cpio({"a/b": b""})
    for number in (b"-0000074", b"+0000000"):
        with within(10), pytest.raises(UserError, match=r"damaged|not an archive"):
            archive.edited(pack(data[:54] + number + data[62:]), EarlyEdit(write={"/c": "d"}), tmp_path)


def test_a_header_around_other_data() -> None:
    head = b"\x27\x05\x19\x56" + bytes(60)
    new = wrapped.rewrapped(head, b"data")
    assert wrapped.is_wrapped(new)
    assert int.from_bytes(new[12:16], "big") == 4
    zeroed = new[:4] + bytes(4) + new[8:64]
    assert int.from_bytes(new[4:8], "big") == zlib.crc32(zeroed)

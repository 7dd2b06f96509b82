# SPDX-License-Identifier: Apache-2.0
"""`system import` of what is damaged, misleading or no tree at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bootscope.core.errors import UserError

from . import artefact_builders as made
from . import tree_builders as trees
from .test_system_import import found, paths

# ---- bad input ----


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UserError, match="is not a build folder of Buildroot or Yocto or OpenWrt") as raised:
        found(tmp_path)
    assert all(
        word in str(raised.value.hint) for word in ("BR2_", "local.conf", "profiles.json", "Linux, U-Boot")
    )


def test_a_kind_that_it_is_not(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a build folder of Yocto"):
        found(trees.buildroot(tmp_path), made_by="yocto")


def test_links_that_lead_out_are_told_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(made.zimage())
    tree_folder = trees.buildroot(tmp_path / "out")
    (tree_folder / "images/zImage").unlink()
    (tree_folder / "images/zImage").symlink_to(tmp_path / "outside")
    tree = found(tree_folder)
    assert paths(tree, "kernel-image") == []
    assert "images/zImage is a link that leads out of the folder: not followed" in tree.notes


def test_a_loop_of_links_and_names_that_are_no_text(tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path)
    (folder / "images/Image").symlink_to("Image")
    Path(os.fsdecode(os.fsencode(folder) + b"/images/u-boot\xff.bin")).write_bytes(b"x")
    assert paths(found(folder), "uboot-image") == ["images/u-boot.bin"]


@pytest.mark.parametrize("text", ["{", "[]", '{"MACHINE": 3}', "\x00\xff", "[" * 100_000])
def test_variables_that_are_damaged(tmp_path: Path, text: str) -> None:
    folder = trees.yocto(tmp_path)
    name = "core-image-minimal-qemuarm.rootfs-20260101120000.testdata.json"
    (folder / "tmp/deploy/images/qemuarm" / name).write_text(text)
    assert paths(found(folder), "kernel-image")


def test_an_image_that_audit_cannot_read_is_noted(tmp_path: Path) -> None:
    folder = trees.put(trees.buildroot(tmp_path), {"images/rootfs.squashfs": b"broken"})
    tree = found(folder)
    assert any(note.startswith("images/rootfs.squashfs is not used by audit: ") for note in tree.notes)
    assert any(a.role == "initramfs" and a.audit for a in tree.artefacts)

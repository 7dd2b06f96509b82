# SPDX-License-Identifier: Apache-2.0
"""The steps that make root file systems: what they need, and what they refuse."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

import msgspec
import pytest

from bootscope.arch.arm import ARM
from bootscope.builder.filesystems import KINDS, steady, xfs
from bootscope.builder.filesystems.model import Entry, Order, check_size
from bootscope.builder.filesystems.squashfs_tables import Superblock
from bootscope.builder.steps import rootfs
from bootscope.core.errors import ToolError, UserError
from bootscope.core.process import search_path
from bootscope.core.tools import OPTIONAL_TOOLS, TOOLS
from bootscope.devices.model import SECTOR_BYTES
from bootscope.system.filesystems import DRIVERS
from bootscope.system.load import check_system

from .lab_scenes import stock
from .test_filesystems import order, with_entry

# ---- steps ----


def test_every_kind_that_a_system_may_name_can_be_made() -> None:
    assert set(KINDS) == set(DRIVERS)
    for kind in KINDS.values():
        assert set(kind.tools) <= TOOLS.keys() | OPTIONAL_TOOLS.keys()
        assert all(shutil.which(tool, path=search_path()) for tool in kind.tools)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_needs_the_tools_of_its_kind_alone(tmp_path: Path, kind: str) -> None:
    system = stock().system
    wanted = msgspec.structs.replace(system.rootfs, filesystem=kind)
    step = rootfs.step(msgspec.structs.replace(system, rootfs=wanted), tmp_path, ARM)
    others = {tool for name in KINDS for tool in KINDS[name].tools} - set(KINDS[kind].tools)
    assert set(KINDS[kind].tools) <= set(step.tools)
    assert not others & set(step.tools)
    known = {"rootfs", "overlay", "application_path", "sectors", "libraries"}
    # What ext systems were built of before stays known by the same id.
    assert (step.inputs.keys() == known) == kind.startswith("ext")
    assert ("steady" in step.inputs) == ("cc" in step.tools) == KINDS[kind].steady


def test_without_its_source_the_library_is_missed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady, "steady_source", lambda: tmp_path / "gone.c")
    system = stock().system
    wanted = msgspec.structs.replace(system.rootfs, filesystem="xfs")
    with pytest.raises(ToolError, match="would differ"):
        rootfs.step(msgspec.structs.replace(system, rootfs=wanted), tmp_path, ARM)


def test_a_btrfs_that_belongs_to_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would be made by a program that does not load the library, for whoever is not root."""
    made = order(tmp_path, "btrfs")
    for path in (made.folder(), *made.folder().rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, 1000, 1000, follow_symlinks=False)
    monkeypatch.setattr(steady, "run", lambda context, command: context.run(command))
    with pytest.raises(ToolError, match="another owner than root"):
        KINDS["btrfs"].make(made)


# ---- images ----


@pytest.mark.parametrize("entry", [Entry(PurePosixPath("a b")), Entry(PurePosixPath("a"), target="x y")])
def test_xfs_takes_no_name_with_a_space(tmp_path: Path, entry: Entry) -> None:
    with pytest.raises(UserError, match="an XFS image cannot have this name"):
        xfs.make(with_entry(order(tmp_path, "xfs"), entry))


def test_an_image_that_is_too_large_is_refused(tmp_path: Path) -> None:
    made = order(tmp_path, "squashfs")
    KINDS["squashfs"].make(made)
    sectors = made.image.stat().st_size // SECTOR_BYTES
    check_size(Order(made.context, made.rootfs, {}, made.image, sectors))
    with pytest.raises(ToolError, match="there is room for"):
        check_size(Order(made.context, made.rootfs, {}, made.image, sectors - 1))


@pytest.mark.parametrize("size", [4096, 65536, 1 << 20])
def test_squashfs_has_pieces_of_the_size_that_is_asked_for(tmp_path: Path, size: int) -> None:
    made = order(tmp_path, "squashfs")
    wanted = msgspec.structs.replace(made.rootfs, block_bytes=size)
    changed = Order(made.context, wanted, made.entries, made.image, made.sectors)
    KINDS["squashfs"].make(changed)
    assert Superblock.read(made.image.read_bytes()).block_bytes == size
    assert list(KINDS["squashfs"].pieces(changed))


@pytest.mark.parametrize(
    ("kind", "size"), [("ext4", 65536), ("squashfs", 2048), ("squashfs", 65537), ("squashfs", 1 << 21)]
)
def test_a_size_that_no_squashfs_has_is_refused(kind: str, size: int) -> None:
    loaded = stock()
    wanted = msgspec.structs.replace(loaded.system.rootfs, filesystem=kind, block_bytes=size)
    with pytest.raises(UserError, match=r"rootfs\.block_bytes.*power of two from 4096"):
        check_system(msgspec.structs.replace(loaded.system, rootfs=wanted), loaded.path)


def test_options_that_a_tool_does_not_know_are_an_error_with_its_words(tmp_path: Path) -> None:
    for kind in ("squashfs", "erofs", "f2fs", "btrfs", "xfs"):
        with pytest.raises(ToolError, match=r"failed \(status"):
            KINDS[kind].make(order(tmp_path / kind, kind, ("--nonsense",)))


@pytest.mark.parametrize("data", [b"", b"hsqs", b"x" * 200])
def test_what_is_no_squashfs_image_is_an_error(data: bytes) -> None:
    with pytest.raises(ToolError, match="has not written"):
        Superblock.read(data)

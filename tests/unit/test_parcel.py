# SPDX-License-Identifier: Apache-2.0
"""A folder as one file: it comes out as it went in; damaged and hostile ones are refused."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bootscope.builder import parcel
from bootscope.builder.ids import tree_id
from bootscope.core import zstd
from bootscope.core.errors import ToolError

HOLE_BYTES = 8 << 20


def made(root: Path) -> Path:
    folder = root / "folder"
    (folder / "inner" / "empty").mkdir(parents=True)
    (folder / "inner" / "program").write_bytes(b"#!/bin/sh\n")
    (folder / "inner" / "program").chmod(0o4755)
    (folder / "link").symlink_to("inner/program")
    with (folder / "image").open("wb") as f:
        f.seek(HOLE_BYTES)
        f.write(b"end")
    os.utime(folder / "inner" / "program", ns=(1, 1_767_225_600_000_000_001))
    (folder / "inner").chmod(0o555)
    return folder


def packed(folder: Path) -> bytes:
    out = io.BytesIO()
    parcel.pack(folder, out)
    return out.getvalue()


def test_a_folder_comes_out_as_it_went_in(tmp_path: Path) -> None:
    folder, new = made(tmp_path), tmp_path / "new"
    new.mkdir()
    parcel.unpack(io.BytesIO(packed(folder)), new)
    assert tree_id(new) == tree_id(folder)
    for path in folder.rglob("*"):
        there = new / path.relative_to(folder)
        assert there.lstat().st_mode == path.lstat().st_mode
        if not path.is_symlink():
            assert there.stat().st_mtime_ns == path.stat().st_mtime_ns
    assert (new / "image").stat().st_blocks * 512 < HOLE_BYTES // 4


@pytest.mark.parametrize("place", [0, 10, 40, 90, 150, -1])
def test_a_damaged_parcel_is_refused(tmp_path: Path, place: int) -> None:
    folder, new = made(tmp_path), tmp_path / "new"
    new.mkdir()
    data = bytearray(packed(folder))
    data[place] ^= 0x10
    with pytest.raises(ToolError):
        parcel.unpack(io.BytesIO(bytes(data)), new)


def test_a_parcel_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    data, new = packed(made(tmp_path)), tmp_path / "new"
    new.mkdir()
    with pytest.raises(ToolError):
        parcel.unpack(io.BytesIO(data[: len(data) // 2]), new)


def lying(items: list[Any], rest: bytes = b"") -> bytes:
    listed = msgspec.json.encode(items)
    out = io.BytesIO()
    with zstd.module().ZstdFile(out, "wb") as f:
        f.write(parcel.MAGIC + len(listed).to_bytes(8, "big") + listed + rest)
    return out.getvalue()


@pytest.mark.parametrize(
    "items",
    [
        [["../out", "file", 0o644, 0, 1]],
        [["/nowhere-out", "file", 0o644, 0, 1]],
        [["a/b", "file", 0o644, 0, 1]],
        [["..", "folder", 0o755, 0]],
        [["a", "link", 0o777, 0, 0, ".."], ["a/b", "file", 0o644, 0, 1]],
        [["a", "folder", 0o755, 0], ["a", "file", 0o644, 0, 1]],
        [["a", "device", 0o644, 0, 1]],
        [["a", "file", 0o644, 0, -1]],
        [["a\0b", "file", 0o644, 0, 1]],
    ],
)
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, items: list[Any]) -> None:
    new = tmp_path / "new"
    new.mkdir()
    with pytest.raises(ToolError, match="refused"):
        parcel.unpack(io.BytesIO(lying(items, b"x")), new)
    assert not (tmp_path / "out").exists()


def test_more_than_the_list_says_is_refused(tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    with pytest.raises(ToolError, match="more than its list says"):
        parcel.unpack(io.BytesIO(lying([["a", "file", 0o644, 0, 1]], b"xy")), new)

# SPDX-License-Identifier: Apache-2.0
"""Changes files of a SquashFS: extracted as a list with their data, the list changed, packed again; without
root.

Owners, modes, times and devices stay; nothing of the image becomes a file of this computer. Uses pseudo files
of squashfs-tools: see their USAGE document. A list may contain commands to run: such rows are rejected.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.step import BUILD_ENV, EPOCH
from bootscope.core import tools
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.process import build_environment, run
from bootscope.imageedit import names
from bootscope.imageedit.edits import RootEdit
from bootscope.system.changes import matches

_TIMEOUT_S = 900
_HEAD = struct.Struct("<4xIIIIHHHHHHQQQQ")
"""Inodes, time, block, fragments, compression, log2 of the block, flags, ids, version, root, size, id table,
attribute table."""
_COMPRESSIONS = {1: "gzip", 2: "lzma", 3: "lzo", 4: "xz", 5: "lz4", 6: "zstd"}
_NO_TABLE = 0xFFFFFFFFFFFFFFFF
_DATA = b"# START OF DATA - DO NOT MODIFY\n#\n"
_ROW = re.compile(r"^((?:[^\\ \n]|\\.)+) ([DRSBCILP]) (.*)$")
_COLUMNS = 7
"""Spaces in a file's row: one before each column after the path."""
_MOST_LIST_BYTES = 64 << 20


@dataclass(frozen=True)
class _Row:
    path: str
    kind: str
    line: str

    @property
    def target(self) -> str:
        """The target of a link."""
        return self.line.split(" ")[-1] if self.kind == "S" else ""


def edited(image: Path, offset_bytes: int, wanted: RootEdit, folder: Path) -> Path:
    """A SquashFS with changes, from the one that begins `offset_bytes` into a file; `folder` is one of ours.

    Raises UserError where the change would lose something, ToolError without squashfs-tools.
    """
    tools.require("unsquashfs", "mksquashfs")
    with image.open("rb") as opened:
        opened.seek(offset_bytes)
        raw = opened.read(_HEAD.size)
    if len(raw) < _HEAD.size:
        raise UserError("the SquashFS is cut off")
    _, made, block, _, compression, *_, attributes = _HEAD.unpack(raw)
    if attributes != _NO_TABLE:
        raise UserError("the SquashFS has extended attributes, which would be lost when it is packed again")
    listed = _listed(image, offset_bytes, folder)
    new = _changed(listed, wanted, folder)
    packer = _COMPRESSIONS.get(compression, "gzip")
    out = folder / "new.squashfs"
    env = build_environment({k: v for k, v in BUILD_ENV.items() if k != "SOURCE_DATE_EPOCH"})
    how = ("-comp", packer, "-b", str(block), "-noappend", "-quiet")
    command: list[str | Path] = ["mksquashfs", "-", out, "-pf", new, *how]
    done = run(
        [*command, "-no-progress", "-mkfs-time", str(made), "-processors", "1"],
        cwd=folder,
        env=env,
        timeout_s=_TIMEOUT_S,
        check=False,
    )
    if done.status or not out.exists():
        last = (done.output.strip().splitlines() or ["it says nothing"])[-1]
        raise ToolError(f"the SquashFS could not be packed again: {printable(last)[:200]}")
    return out


def _listed(image: Path, offset_bytes: int, folder: Path) -> Path:
    listed = folder / "old.pseudo"
    link = folder / "old.squashfs"
    link.unlink(missing_ok=True)
    link.symlink_to(image)
    begin = ("-offset", str(offset_bytes)) if offset_bytes else ()
    done = run(["unsquashfs", "-no-progress", *begin, "-pf", listed, link], timeout_s=_TIMEOUT_S, check=False)
    if done.status or not listed.exists():
        last = (done.output.strip().splitlines() or ["it says nothing"])[-1]
        raise UserError(f"the SquashFS cannot be unpacked: {printable(last)[:200]}")
    return listed


def _changed(listed: Path, wanted: RootEdit, folder: Path) -> Path:
    """The list with changes; data of new files follow the old data."""
    with listed.open("rb") as opened:
        head = opened.read(_MOST_LIST_BYTES)
        end = head.find(_DATA)
        if end < 0:
            raise UserError("unsquashfs did not list the files of the SquashFS")
        end += len(_DATA)
        size = listed.stat().st_size - end
        rows = list(_rows(head[: end - len(_DATA)]))
        new = folder / "new.pseudo"
        lines, blobs = _with_changes(rows, wanted, size)
        with new.open("wb") as out:
            out.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
            out.write(b"#\n" + _DATA)
            opened.seek(end)
            shutil.copyfileobj(opened, out)
            for blob in blobs:
                out.write(blob)
    return new


def _rows(head: bytes) -> Iterator[_Row]:
    for line in head.decode("utf-8", "surrogateescape").split("\n"):
        if not line or line.startswith("#"):
            continue
        match = _ROW.match(line)
        if match is None:
            raise UserError(f"the SquashFS has a file whose name cannot be written: {printable(line)[:80]}")
        path = re.sub(r"\\(.)", r"\1", match[1])
        yield _Row("/" + path.strip("/"), match[2], line)


def _with_changes(rows: list[_Row], wanted: RootEdit, size: int) -> tuple[list[str], list[bytes]]:
    kinds = {row.path: row.kind for row in rows}
    links = {row.path: row.target for row in rows if row.kind == "S"}
    write = {names.through_links(path, links.get): text.encode() for path, text in wanted.write.items()}
    link = {names.through_links(path, links.get): names.target(to) for path, to in wanted.link.items()}
    kept = {*wanted.write, *wanted.link, *write, *link}
    kept |= {folder for path in kept for folder in names.above(path)}
    lines = [
        row.line
        for row in rows
        if row.path not in write
        and row.path not in link
        and not (matches(row.path, wanted.remove) and row.path not in kept and row.path != "/")
    ]
    blobs: list[bytes] = []
    # squashfs-tools 4.6 has an additional column: whether the file has holes.
    sparse = (
        " 0"
        if any(row.kind == "R" and row.line.count(" ") - row.line.count("\\ ") > _COLUMNS for row in rows)
        else ""
    )
    have = {row.path for row in rows}
    for path in sorted({*write, *link}):
        if kinds.get(path) == "D":
            raise UserError(f"'{printable(path)}' is a folder in the image and would become a file")
        for folder in names.above(path):
            if folder not in have:
                have.add(folder)
                lines.append(f"{_escaped(folder)} D {EPOCH} 755 0 0")
        if path in write:
            mode = "755" if write[path].startswith(b"#!") else "644"
            lines.append(f"{_escaped(path)} R {EPOCH} {mode} 0 0 {len(write[path])} {size}{sparse}")
            blobs.append(write[path])
            size += len(write[path])
        else:
            lines.append(f"{_escaped(path)} S {EPOCH} 777 0 0 {link[path]}")
    return lines, blobs


def _escaped(path: str) -> str:
    return path.strip("/").replace("\\", "\\\\").replace(" ", "\\ ")

# SPDX-License-Identifier: Apache-2.0
"""The content of a root file system, or of a part of it, from a folder, an archive or an image."""

from __future__ import annotations

import lzma
import os
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from bootscope.artefacts.images import is_ext, is_squashfs
from bootscope.builder.ids import file_sha256
from bootscope.core import process
from bootscope.core.errors import UserError, printable

FILE, PROGRAM, LINK, FOLDER = "file", "program", "link", "folder"
MOST = 200_000
"""The most files in one root file system."""
_HEAD_BYTES, _TIMEOUT_S = 4096, 600
_NOT_FATAL = 2
"""unsquashfs's exit status when it could not set an attribute of a file."""


@dataclass(frozen=True, slots=True)
class Item:
    """What is at a path. `content`: a file's hash or a link's target; empty for a folder without files."""

    kind: str
    content: str = ""
    size_bytes: int = 0


def opened(given: Path, work: Path) -> Path:
    """The folder with the files of what is given: itself, or a folder below `work` that it is unpacked to.

    Raises UserError for what contains no files, ToolError when the tool that reads it is missing.
    """
    shown = printable(str(given))
    if given.is_dir():
        return given.resolve()
    if not given.is_file():
        raise UserError(
            f"{shown} is neither a folder nor a file", hint="a folder, an ext or SquashFS image, a tar"
        )
    with given.open("rb") as f:
        head = f.read(_HEAD_BYTES)
    # Tools get a link of ours: a name of the user's may look like an option.
    link, to = work / "given", work / "files"
    link.symlink_to(given.resolve())
    if is_squashfs(head):
        # Devices cannot be created without root; the system has its own.
        _run(["unsquashfs", "-no-progress", "-no-xattrs", "-ignore-errors", "-d", to, link], shown)
    elif is_ext(head):
        to.mkdir()
        _run(["debugfs", "-R", f"rdump / {to}", link], shown)
    elif not _taken_out(given, to):
        raise UserError(
            f"{shown} is neither an ext or SquashFS image nor a tar archive", hint="unpack it to a folder"
        )
    if not to.is_dir() or not any(to.iterdir()):
        raise UserError(f"no files are found in {shown}: damaged or empty")
    return to


def _run(command: list[str | Path], shown: str) -> None:
    """Raises UserError for a file that the tool cannot read."""
    done = process.run(command, timeout_s=_TIMEOUT_S, check=False)
    # Both tools complain of owners and devices that only root may set, but have done the rest.
    if done.status not in (0, _NOT_FATAL):
        last = next((line for line in reversed(done.output.splitlines()) if line.strip()), "")
        raise UserError(f"{command[0]} cannot unpack {shown}: {printable(last)[:200]}")


def _taken_out(given: Path, to: Path) -> bool:
    """Unpacks a tar archive into the folder; returns whether it is one."""
    try:
        with tarfile.open(given) as archive:
            to.mkdir()
            plain = (m for m in archive if m.isdir() or m.isreg() or m.issym() or m.islnk())
            archive.extractall(to, members=plain, filter="tar")
    except tarfile.FilterError as error:
        raise UserError(f"{printable(str(given))}: {printable(str(error))}") from error
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError):
        return False
    return True


def listed(root: Path) -> dict[str, Item]:
    """All files and links below a folder, and all empty folders, by path with a leading slash.

    Raises UserError for more than MOST, for names that an image cannot have, and what cannot be read.
    """
    found: dict[str, Item] = {}
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        if not folders and not files and here != root:
            found[_path(root, here)] = Item(FOLDER)
        for name in sorted([*files, *links]):
            place = here / name
            if place.is_symlink():
                found[_path(root, place)] = Item(LINK, os.fsdecode(place.readlink()))
            elif place.is_file():
                found[_path(root, place)] = _file(place)
        if len(found) > MOST:
            raise UserError(f"{printable(str(root))} has more than {MOST:,} files")
    return found


def _file(place: Path) -> Item:
    try:
        about = place.stat()
        kind = PROGRAM if about.st_mode & 0o100 else FILE
        return Item(kind, file_sha256(place), about.st_size)
    except OSError as error:
        raise UserError(f"cannot read {printable(str(place))}: {error.strerror}") from error


def _path(root: Path, place: Path) -> str:
    name = place.relative_to(root).as_posix()
    if '"' in name or not name.isprintable():
        raise UserError(f"an image cannot have this name: {printable(name)}")
    return f"/{name}"

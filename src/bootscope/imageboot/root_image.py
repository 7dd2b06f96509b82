# SPDX-License-Identifier: Apache-2.0
"""A root file system for a card, from an archive or a folder: an ext4, made without root rights; the same
files give the same bytes.

The files of an archive keep owners, modes and devices; those of a folder belong to root.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.step import BUILD_ENV
from bootscope.core import tools
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.process import build_environment, run
from bootscope.devices import sd_card

_UUID = "b0075c0b-0000-4000-8000-000000000001"
_ROOM_BYTES, _SHARE = 64 << 20, 1.3
"""Room beyond the files' own bytes: for the file system's metadata, and for writes."""
_BLOCK = 4096
_MOST_FILES, _MOST_BYTES = 200_000, 64 << 30
_DEVICES = {tarfile.CHRTYPE: "c", tarfile.BLKTYPE: "b"}


@dataclass(frozen=True)
class _Item:
    """A file of the root; `path` without a leading slash, `source` a file of this computer."""

    path: str
    mode: int
    uid: int = 0
    gid: int = 0
    source: Path | None = None
    target: str = ""
    device: str = ""
    same_as: str = ""


def of_tar(archive: Path, folder: Path) -> tuple[Path, list[str]]:
    """(an ext4 with the files of an unpacked tar archive, what was left out in words); `folder` is one of
    ours. Raises UserError for an archive that is damaged or too large."""
    lost: list[str] = []
    try:
        with tarfile.open(archive, "r:") as opened:
            items = list(_members(opened, folder, lost))
    except (tarfile.TarError, EOFError) as error:
        raise UserError(f"the archive of the root file system is damaged: {printable(str(error))}") from error
    return _made(items, folder), lost


def of_folder(root: Path, folder: Path) -> tuple[Path, list[str]]:
    """The same for a folder."""
    lost: list[str] = []
    return _made(list(_walked(root, lost)), folder), lost


def _members(opened: tarfile.TarFile, folder: Path, lost: list[str]) -> Iterator[_Item]:
    space, number = folder / "files", 0
    space.mkdir()
    for number, member in enumerate(opened):
        if number >= _MOST_FILES:
            raise UserError(f"a root file system of more than {_MOST_FILES:,} files is not read")
        path = _clean(member.name, lost)
        if not path:
            continue
        owner = (member.mode & 0o7777, member.uid & 0xFFFF, member.gid & 0xFFFF)
        if member.isdir():
            yield _Item(path, *owner)
        elif member.issym():
            yield _Item(path, *owner, target=member.linkname)
        elif member.islnk():
            yield _Item(path, *owner, same_as=_clean(member.linkname, lost))
        elif member.type in _DEVICES:
            device = f"{_DEVICES[member.type]} {member.devmajor} {member.devminor}"
            yield _Item(path, *owner, device=device)
        elif member.isfile():
            place = space / str(number)
            source = opened.extractfile(member)
            with place.open("wb") as out:
                while source and (data := source.read(1 << 20)):
                    out.write(data)
            yield _Item(path, *owner, source=place)


def _walked(root: Path, lost: list[str]) -> Iterator[_Item]:
    count = 0
    for here, folders, files in os.walk(root):
        folders.sort()
        for name in sorted([*folders, *files]):
            count += 1
            if count > _MOST_FILES:
                raise UserError(f"a root file system of more than {_MOST_FILES:,} files is not read")
            place = Path(here, name)
            path = _clean(str(place.relative_to(root)), lost)
            about = place.lstat()
            mode = stat.S_IMODE(about.st_mode)
            if not path:
                continue
            if stat.S_ISLNK(about.st_mode):
                yield _Item(path, mode, target=str(place.readlink()))
            elif stat.S_ISDIR(about.st_mode):
                yield _Item(path, mode)
            elif stat.S_ISREG(about.st_mode):
                yield _Item(path, mode, source=place)


def _clean(name: str, lost: list[str]) -> str:
    """A path that does not lead out of the root; empty for one that cannot be written."""
    path = "/".join(part for part in name.split("/") if part not in ("", "."))
    if ".." in path.split("/") or '"' in path or not path.isprintable():
        lost.append(f"left out: {printable(name)[:80]}, whose name cannot be written")
        return ""
    return path


def _made(items: list[_Item], folder: Path) -> Path:
    """The image: mkfs creates it empty, debugfs writes each file."""
    tools.require("mkfs.ext4", "debugfs")
    bytes_ = sum(-(-item.source.stat().st_size // _BLOCK) * _BLOCK for item in items if item.source)
    if bytes_ > _MOST_BYTES:
        raise UserError(f"the root file system has more than {_MOST_BYTES:,} bytes, the limit")
    image = folder / "root.img"
    with image.open("wb") as out:
        out.truncate(sd_card.size_for(int(bytes_ * _SHARE) + len(items) * _BLOCK // 2 + _ROOM_BYTES))
    env = build_environment(BUILD_ENV)
    fixed = f"hash_seed={_UUID},lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"
    run(["mkfs.ext4", "-q", "-F", "-U", _UUID, "-b", str(_BLOCK), "-E", fixed, image], cwd=folder, env=env)
    script = folder / "fill.debugfs"
    script.write_text("".join(f"{line}\n" for item in _with_folders(items) for line in _commands(item)))
    output = run(["debugfs", "-w", "-f", script, image], cwd=folder, env=env).output
    # debugfs continues after an error and ends with status 0, so its output decides.
    errors = [line for line in output.splitlines() if not line.startswith(("debugfs", "Allocated inode"))]
    if errors:
        raise ToolError(f"the root file system could not be filled: {printable(errors[0])}")
    return image


def _with_folders(items: list[_Item]) -> Iterator[_Item]:
    """Each path once, the last of duplicates; missing folders are added before their content."""
    last = {item.path: item for item in items}
    done: set[str] = {"lost+found"}
    for item in items:
        if last[item.path] is not item:
            continue
        parts = item.path.split("/")
        for count in range(1, len(parts)):
            above = "/".join(parts[:count])
            if above not in done and above not in last:
                done.add(above)
                yield _Item(above, 0o755)
        if item.path not in done:
            done.add(item.path)
            yield item


def _commands(item: _Item) -> Iterator[str]:
    kind = 0o100000
    if item.target:
        if '"' in item.target or not item.target.isprintable():
            return
        yield f'symlink "/{item.path}" "{item.target}"'
        return
    if item.same_as:
        yield f'ln "/{item.same_as}" "/{item.path}"'
        yield f'set_inode_field "/{item.path}" links_count 2'
        return
    if item.device:
        yield f'cd "/{item.path.rpartition("/")[0]}"'
        yield f'mknod "{item.path.rpartition("/")[2]}" {item.device}'
        yield 'cd "/"'
        kind = 0o020000 if item.device[0] == "c" else 0o060000
    elif item.source:
        yield f'write "{item.source}" "/{item.path}"'
    else:
        yield f'mkdir "/{item.path}"'
        kind = 0o040000
    yield f'set_inode_field "/{item.path}" mode 0{kind | item.mode:o}'
    for field, value in (("uid", item.uid), ("gid", item.gid)):
        if value:
            yield f'set_inode_field "/{item.path}" {field} {value}'

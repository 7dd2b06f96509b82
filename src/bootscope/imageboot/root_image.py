# SPDX-License-Identifier: Apache-2.0
"""A root file system for a card, from an archive or a folder: an ext4, made without root rights; the same
files give the same bytes.

The files of an archive keep owners, modes and devices; those of a folder belong to root.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.step import BUILD_ENV
from bootscope.core import tools
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.process import build_environment, run
from bootscope.devices import sd_card
from bootscope.readers.unpack import TarMember, tar_members

_UUID = "b0075c0b-0000-4000-8000-000000000001"
_ROOM_BYTES, _SHARE = 64 << 20, 1.3
"""Room beyond the files' own bytes: for the file system's metadata, and for writes."""
_BLOCK, _PART = 4096, 1 << 20
_MOST_FILES, MOST_BYTES = 200_000, 64 << 30
_DEVICES = {b"3": "c", b"4": "b"}


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


def of_tar(archive: Path, folder: Path, most_bytes: int = MOST_BYTES) -> tuple[Path, list[str]]:
    """(an ext4 with the files of an unpacked tar archive, what was left out in words); `folder` is one of
    ours. Raises UserError for an archive that is damaged or too large, or has a sparse file."""
    lost: list[str] = []
    with archive.open("rb") as opened:
        if not archive.stat().st_size:
            raise UserError("the archive of the root file system is empty")
        with mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as data:
            items = list(_members(data, folder, lost, most_bytes))
    return _made(items, folder), lost


def of_folder(root: Path, folder: Path) -> tuple[Path, list[str]]:
    """The same for a folder."""
    lost: list[str] = []
    return _made(list(_walked(root, lost)), folder), lost


def _members(data: mmap.mmap, folder: Path, lost: list[str], most_bytes: int) -> Iterator[_Item]:
    space, room = folder / "files", most_bytes
    space.mkdir()
    for number, member in enumerate(tar_members(data)):
        if number >= _MOST_FILES:
            raise UserError(f"a root file system of more than {_MOST_FILES:,} files is not read")
        if member.name is None or (member.kind == b"0" and member.start + member.size > len(data)):
            raise UserError("the archive of the root file system is damaged or truncated")
        path = _clean(_text(member.name), lost)
        if path and member.kind == b"0":
            room -= -(-member.size // _BLOCK) * _BLOCK
            if room < 0:
                raise _too_large(most_bytes)
            place = space / str(number)
            _copy(data, member.start, member.size, place)
            yield _Item(path, *_owner(member), source=place)
        elif path:
            yield from _without_data(path, member, lost)


def _without_data(path: str, member: TarMember, lost: list[str]) -> Iterator[_Item]:
    """What is no file; pipes and sockets are left out."""
    owner = _owner(member)
    if member.kind == b"S":
        raise UserError(
            f"'{printable(path)[:200]}' is stored as a sparse file, which is not read",
            hint="create the archive without --sparse",
        )
    if member.kind == b"5":
        yield _Item(path, *owner)
    elif member.kind == b"2":
        yield _Item(path, *owner, target=_text(member.target))
    elif member.kind == b"1":
        yield _Item(path, *owner, same_as=_clean(_text(member.target), lost))
    elif member.kind in _DEVICES:
        major, minor = member.device
        yield _Item(path, *owner, device=f"{_DEVICES[member.kind]} {major} {minor}")


def _owner(member: TarMember) -> tuple[int, int, int]:
    """Mode, user and group."""
    return member.mode & 0o7777, member.owner[0] & 0xFFFF, member.owner[1] & 0xFFFF


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _copy(data: mmap.mmap, start: int, count: int, place: Path) -> None:
    with place.open("wb") as out:
        for at in range(start, start + count, _PART):
            out.write(data[at : min(at + _PART, start + count)])


def _too_large(most_bytes: int) -> UserError:
    return UserError(f"the root file system has more than {most_bytes:,} bytes, the limit")


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
    if bytes_ > MOST_BYTES:
        raise _too_large(MOST_BYTES)
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

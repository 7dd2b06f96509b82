# SPDX-License-Identifier: Apache-2.0
"""Changes to an initramfs: members of its last archive replaced, modules unpacked, another compression.

Earlier archives, such as CPU microcode, stay byte by byte; so do the headers of members that stay.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.artefacts.archives import cpio_numbers
from bootscope.bootimage import initramfs
from bootscope.builder.step import BUILD_ENV, EPOCH
from bootscope.builder.steps.packing import COMPRESSORS
from bootscope.core import tools
from bootscope.core.errors import UserError, printable
from bootscope.core.process import build_environment, run
from bootscope.image import module_file
from bootscope.imageedit import names
from bootscope.imageedit.edits import EarlyEdit

_HEADER, _TRAILER = 110, b"TRAILER!!!"
_MODE, _LINKS, _SIZE, _NAME_SIZE = 1, 4, 6, 11
_INODE, _TIME = 0, 5
_MODULE = re.compile(rb"\.ko\.(?:xz|gz|zst)$")
_LISTS = re.compile(rb"/modules\.(?:dep|order|builtin)$")
_INDEX = b"modules.dep.bin"
_FORMS = {"unpacked": module_file.unpacked, "unsigned": module_file.unsigned}
_TIMEOUT_S = 600


@dataclass(frozen=True)
class Member:
    """A member as stored in an archive: the magic and its numbers, name and data."""

    magic: bytes
    fields: tuple[int, ...]
    name: bytes
    data: bytes

    @property
    def path(self) -> bytes:
        """Its path without anything before the first folder."""
        return self.name.removeprefix(b"./").strip(b"/")


def edited(data: bytes, wanted: EarlyEdit, folder: Path) -> bytes:
    """An initramfs with changes; `folder` is one of ours.

    Raises UserError where it is damaged, or where the change needs more than it contains.
    """
    parts = initramfs.pieces("the initramfs", data)
    if not parts:
        raise UserError("the initramfs is no archive that can be changed")
    kind, _, inner = parts[-1]
    members = list(_members(inner))
    if wanted.modules:
        members = _plain(members, _FORMS[wanted.modules])
    members = _with_files(members, wanted)
    before = b"".join(raw for _, raw, _ in parts[:-1])
    plain = b"".join(map(_written, members)) + _trailer(members)
    return before + _packed(plain, wanted.compression or kind or "none", folder)


def _members(data: bytes) -> Iterator[Member]:
    at = 0
    while at + _HEADER <= len(data):
        magic, fields = data[at : at + 6], cpio_numbers(data[at + 6 : at + _HEADER])
        if fields is None:
            raise UserError("an archive of the initramfs is damaged")
        start = _aligned(at + _HEADER + fields[_NAME_SIZE])
        end = start + fields[_SIZE]
        name = data[at + _HEADER : at + _HEADER + fields[_NAME_SIZE] - 1]
        if magic not in (b"070701", b"070702") or end > len(data) or not name:
            raise UserError("an archive of the initramfs is damaged")
        if name == _TRAILER:
            return
        yield Member(magic, fields, name, data[start:end])
        at = _aligned(end)
    raise UserError("an archive of the initramfs is cut off")


def _aligned(at: int) -> int:
    return -(-at // 4) * 4


def _written(member: Member) -> bytes:
    fields = list(member.fields)
    fields[_SIZE], fields[_NAME_SIZE] = len(member.data), len(member.name) + 1
    if member.magic == b"070702":
        fields[-1] = sum(member.data) & 0xFFFFFFFF
    head = member.magic + b"".join(b"%08X" % field for field in fields) + member.name + b"\0"
    return head + bytes(-len(head) % 4) + member.data + bytes(-len(member.data) % 4)


def _trailer(members: list[Member]) -> bytes:
    magic = members[0].magic if members else b"070701"
    return _written(Member(magic, (0,) * 4 + (1,) + (0,) * 8, _TRAILER, b""))


def _plain(members: list[Member], form_of: object) -> list[Member]:
    """Modules in the wanted form, under the name of that form, also in lists of modules."""
    if any(m.path.endswith(_INDEX) for m in members) and any(_MODULE.search(m.path) for m in members):
        raise UserError(
            "the initramfs has an index of its packed modules (modules.dep.bin), which names them as packed",
            hint="configure the build of the initramfs, or of the kernel (MODULE_COMPRESS_NONE), instead",
        )
    assert callable(form_of)
    made, touched = list[Member](), False
    for member in members:
        if re.search(rb"\.ko(?:\.(?:xz|gz|zst))?$", member.path) and stat.S_ISREG(member.fields[_MODE]):
            if member.fields[_LINKS] > 1:
                raise UserError(f"{_said(member)} has several names: it is not changed")
            touched = True
            data = form_of(_said(member), member.data)
            made.append(replace(member, name=_MODULE.sub(b".ko", member.name), data=data))
        elif _LISTS.search(b"/" + member.path):
            made.append(replace(member, data=re.sub(rb"\.ko\.(?:xz|gz|zst)\b", b".ko", member.data)))
        else:
            made.append(member)
    if not touched:
        raise UserError("the initramfs has no modules")
    return made


def _said(member: Member) -> str:
    return printable(member.path.decode("utf-8", "replace"))


def _with_files(members: list[Member], wanted: EarlyEdit) -> list[Member]:
    given: Mapping[str, tuple[int, bytes]] = {
        **{path: (stat.S_IFREG | (0o755 if text.startswith("#!") else 0o644), text.encode())
           for path, text in wanted.write.items()},
        **{path: (stat.S_IFLNK | 0o777, names.target(to).encode()) for path, to in wanted.link.items()},
    }  # fmt: skip
    new = {names.checked(path).strip("/").encode(): what for path, what in given.items()}
    kept = [m for m in members if m.path not in new]
    old = {m.path: m for m in members if m.path in new}
    for path, member in old.items():
        if stat.S_ISDIR(member.fields[_MODE]):
            raise UserError(f"'{printable(path.decode())}' is a folder in the initramfs")
    there = {m.path for m in members}
    number = max((m.fields[_INODE] for m in members), default=0)
    magic = members[0].magic if members else b"070701"
    prefix = b"./" if any(m.name.startswith(b"./") for m in members) else b""
    added: list[Member] = []
    for path, (mode, data) in sorted(new.items()):
        for above in names.above(path.decode()):
            folder = above.strip("/").encode()
            if folder not in there:
                there.add(folder)
                number += 1
                added.append(Member(magic, _numbers(number, stat.S_IFDIR | 0o755, 2), prefix + folder, b""))
        number += 1
        if path in old and stat.S_ISREG(mode) and stat.S_ISREG(old[path].fields[_MODE]):
            mode = old[path].fields[_MODE]
        added.append(Member(magic, _numbers(number, mode, 1), prefix + path, data))
    return [*kept, *added]


def _numbers(number: int, mode: int, links: int) -> tuple[int, ...]:
    return (number, mode, 0, 0, links, 0, 0, 0, 0, 0, 0, 0, 0)


def _packed(plain: bytes, kind: str, folder: Path) -> bytes:
    if kind == "none":
        return plain
    if kind not in COMPRESSORS:
        raise UserError(f"the initramfs is packed by {kind}, which is not packed here")
    command = COMPRESSORS[kind]
    tools.require(command[0])
    source, target = folder / "plain", folder / "packed"
    source.write_bytes(plain)
    # lzop stores the time of its input file.
    os.utime(source, (EPOCH, EPOCH))
    line = 'program=$1; from=$2; to=$3; shift 3; exec "$program" "$@" -c < "$from" > "$to"'
    env = build_environment(BUILD_ENV)
    run(
        ["sh", "-c", line, "sh", command[0], source, target, *command[1:]],
        cwd=folder,
        env=env,
        timeout_s=_TIMEOUT_S,
    )
    return target.read_bytes()

# SPDX-License-Identifier: Apache-2.0
"""A root file system, whatever contains it: its file list, its scripts, its programs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bootscope.artefacts import elf
from bootscope.artefacts.file_facts import Piece
from bootscope.core.errors import UserError, printable
from bootscope.inventory.inventory import Part, Program

FILE, LINK, FOLDER, DEVICE = "file", "link", "folder", "device"
MOST_ENTRIES = 200_000
SMALL_BYTES, PROGRAM_BYTES = 256 << 10, 16 << 20
"""The largest files that are read: texts, and programs."""
_ALL_BYTES = 512 << 20
_TEXTS = re.compile(
    r"^/etc/(?:inittab|fstab)$|/systemd/system/[^/]+\.service$|^/etc/(?:init\.d|rc\.d|rc[S\d]?\.d)/"
)
_ROOT_NAMES = {"etc", "bin", "sbin", "lib", "usr", "dev", "proc", "sys", "var", "init", "linuxrc"}
_ENOUGH_NAMES = 2


@dataclass(frozen=True)
class Entry:
    """One file. `path` begins with a slash and is untrusted text; `read(most)` returns its first bytes."""

    path: str
    kind: str
    size_bytes: int = 0
    program: bool = False
    target: str = ""
    read: Callable[[int], bytes] = lambda most: b""


def is_root(names: Iterable[str]) -> bool:
    """Whether these names, at the top of a folder or archive, look like a root file system."""
    return len({name.strip("/").partition("/")[0] for name in names} & _ROOT_NAMES) >= _ENOUGH_NAMES


def clean(path: str) -> str:
    """A path of an archive relative to the root: with one leading slash, without `.` and empty parts."""
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


class Contents:
    """Collects entries."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.scripts: dict[str, str] = {}
        self.programs: dict[str, Program] = {}
        self._left = _ALL_BYTES

    def add(self, entry: Entry) -> None:
        """Adds one file. Raises UserError when there are more than a root file system has."""
        if len(self.files) >= MOST_ENTRIES:
            raise UserError(f"a root file system with more than {MOST_ENTRIES:,} files is not read")
        if entry.kind == LINK:
            self.files[entry.path] = f"-> {entry.target}"
        elif entry.kind != FILE:
            self.files[entry.path] = entry.kind
        else:
            self._file(entry)

    def _file(self, entry: Entry) -> None:
        mode = "program" if entry.program else "file"
        data = self._read(entry)
        if data is None:
            self.files[entry.path] = mode
            return
        whole = len(data) == entry.size_bytes
        self.files[entry.path] = f"{mode} {hashlib.sha256(data).hexdigest()[:16]}" if whole else mode
        if whole and len(data) <= SMALL_BYTES and (data.startswith(b"#!") or _TEXTS.search(entry.path)):
            self.scripts[entry.path] = data.decode("utf-8", "replace")
        found = elf.program(data, entry.size_bytes)
        if found and entry.program:
            self.programs[entry.path] = found

    def _read(self, entry: Entry) -> bytes | None:
        """The needed part of a file; None for a file that is too large, or after very many."""
        most = PROGRAM_BYTES if entry.program else SMALL_BYTES
        if entry.size_bytes > most or entry.size_bytes > self._left:
            return None
        self._left -= entry.size_bytes
        return entry.read(most)

    def piece(self, name: str, kind: str, filesystem: str, notes: tuple[str, ...] = ()) -> Piece:
        """The collected content as a piece. Raises UserError when it is empty."""
        if not self.files:
            raise UserError(f"{printable(name)}: a root file system ({kind}) with no files in it")
        static = sum(program.static for program in self.programs.values())
        told = (
            f"root file system, {kind}: {len(self.files):,} entries, {len(self.scripts)} scripts, "
            f"{len(self.programs)} programs, {static} of them static"
        )
        fields: dict[str, Any] = {"files": self.files, "scripts": self.scripts, "programs": self.programs}
        if filesystem:
            fields["settings"] = {"rootfs.filesystem": filesystem}
        parts = frozenset({Part.FILES, Part.SCRIPTS, Part.PROGRAMS})
        return Piece(name, "root file system", told, fields, parts, notes)

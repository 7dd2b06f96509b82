# SPDX-License-Identifier: Apache-2.0
"""A folder of images: Yocto's deploy, Buildroot's output/images, an OpenWrt build, or any folder with images.

Links are followed within the folder only, and a file with several names is examined once.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.artefacts.folder import as_text
from bootscope.bootimage.files import Files
from bootscope.bootimage.symbols import Beside
from bootscope.buildtrees import boot_words
from bootscope.buildtrees.importing import Wish, looked_over
from bootscope.buildtrees.model import BUILDROOT, MAKERS
from bootscope.buildtrees.parts import Parts
from bootscope.buildtrees.parts import prefix as plain_prefix
from bootscope.core.errors import UserError, printable
from bootscope.core.text import listed as in_a_row

_ROLES = (
    "kernel-image",
    "disk-image",
    "rootfs-image",
    "initramfs",
    "device-tree",
    "uboot-image",
    "spl-image",
)
_MOST_ENTRIES, _MOST_FILES = 5_000, 64
_LEFT_OUT = (
    ".json", ".manifest", ".txt", ".conf", ".bmap", ".sha256", ".sha256sum", ".md5", ".asc", ".sig", ".spdx",
    ".env", ".config", ".cmd", ".map", ".sh", ".cfg", ".log", ".buildinfo", ".qemuboot", ".itc", ".its",
    ".zip",    ".deb", ".ipk", ".rpm", ".tgz", ".ko", ".dtbo", ".scr", ".md", ".xml", ".html",
)  # fmt: skip
_UNSTRIPPED = {
    BUILDROOT: tuple(
        f"{at}{name}" for at in ("", "output/") for name in ("build/busybox-*/busybox_unstripped", "staging")
    )
}
_DISKS = (".wic", ".img", ".sdcard", ".qcow2", ".hddimg", ".iso", ".simg")


@dataclass(frozen=True)
class Build:
    """The files to examine, the most important first; what made them, in words; the command line from the
    build. `unstripped`: programs before they were stripped for the root file system, and folders of such
    programs. `unsure`: names of files that may be something else."""

    kind: str
    root: Path
    files: tuple[Path, ...]
    vmlinux: tuple[Path, ...] = ()
    maps: tuple[Path, ...] = ()
    configs: tuple[Path, ...] = ()
    command_line: str = ""
    command_line_from: str = ""
    unstripped: tuple[Path, ...] = ()
    unsure: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def relative(self, path: Path) -> str:
        """A file's path relative to the folder."""
        return os.path.relpath(path, self.root)

    def beside(self, files: Files) -> Beside:
        """Further sources about its kernel and programs; `files`: those of the folder."""
        return Beside((files,), self.vmlinux, self.maps, self.configs, self.unstripped)

    def looked_at(self) -> str:
        """The names of the files in a list, for errors."""
        return printable(in_a_row([self.relative(path) for path in self.files], 6)) or "nothing"


def listed(folder: Path, machine: str) -> Build:
    """The files of a folder. Raises UserError where a build has several machines and none is chosen, and for
    a folder without files."""
    parts = _parts(folder, machine)
    if parts is None:
        return _flat(folder.resolve(), "folder of images")
    kind, root, found = parts
    words, source = boot_words.command_line(found, ())
    named = tuple(path for role in _ROLES for path in found.paths.get(role, ()))
    vmlinux = (*found.paths.get("kernel-elf", ()), *_beside_kernel(found, "vmlinux*"))
    maps = (*found.paths.get("kernel-symbols", ()), *_beside_kernel(found, "System.map*"))
    notes = (*found.look.notes, *_left_out(found))
    made = (
        Build(f"{MAKERS[kind]} build", root, named[:_MOST_FILES], notes=notes)
        if named
        else _flat(root, MAKERS[kind])
    )
    return replace(
        made,
        vmlinux=vmlinux,
        maps=maps,
        configs=tuple(found.paths.get("kernel-config", ())),
        unstripped=tuple(
            path for pattern in _UNSTRIPPED.get(kind, ()) for path in sorted(root.glob(pattern))
        ),
        command_line=words,
        command_line_from=source if words else "",
    )


def _beside_kernel(found: Parts, pattern: str) -> list[Path]:
    """Files of that name beside the kernel image: builds may deploy its symbols, too."""
    folders = dict.fromkeys(plain_prefix(found.look, p.parent) for p in found.paths.get("kernel-image", ()))
    every = [path for folder in folders for path in found.look.all(f"{folder}{pattern}")]
    return [path for path in every if pattern != "vmlinux*" or _is_elf(path)]


def _left_out(found: Parts) -> list[str]:
    several = len(found.paths.get("rootfs-image", ())) > 1
    return ["several root file system images: they are the same in other forms"] if several else []


def _parts(folder: Path, machine: str) -> tuple[str, Path, Parts] | None:
    try:
        return looked_over(folder, Wish(machine=machine))
    except UserError as error:
        if machine or "several" in error.message:
            raise
        return None


def _flat(root: Path, kind: str) -> Build:
    """The files in a folder, and in its immediate subfolders."""
    notes: list[str] = []
    seen: dict[Path, Path] = {}
    for path in _paths(root, notes):
        try:
            real = path.resolve(strict=True)
            mode = real.stat().st_mode
        except (OSError, RuntimeError):
            notes.append(f"{printable(path.name)} is a link that leads nowhere or in a circle")
            continue
        if not real.is_relative_to(root):
            notes.append(f"{printable(path.name)} is a link that leads out of the folder: not followed")
        elif stat.S_ISREG(mode) and not path.name.startswith(".") and real.stat().st_size:
            # The shorter name is the link for users; the other contains a date.
            seen[real] = min((seen.get(real, path), path), key=lambda p: len(p.name))
    vmlinux = tuple(p for p in seen.values() if p.name.startswith("vmlinux") and _is_elf(p))
    maps = tuple(p for p in seen.values() if p.name.startswith("System.map"))
    files = [
        p for p in seen.values() if p not in (*vmlinux, *maps) and not p.name.lower().endswith(_LEFT_OUT)
    ]
    files.sort(key=lambda p: (not _is_disk(p), len(p.parts), p.name))
    if len(files) > _MOST_FILES:
        notes.append(f"{len(files):,} files: the first {_MOST_FILES} were looked at")
    unsure = frozenset(p.name for p in files)
    return Build(
        kind, root, tuple(files[:_MOST_FILES]), vmlinux, maps, unsure=unsure, notes=tuple(notes[:20])
    )


def _paths(root: Path, notes: list[str]) -> list[Path]:
    found: list[Path] = []
    for folder in (root, *sorted(_folders(root))):
        try:
            with os.scandir(folder) as items:
                found += [Path(item.path) for item in items if as_text(item.name) == item.name]
        except OSError:
            notes.append(f"{printable(folder.name)} cannot be read")
        if len(found) > _MOST_ENTRIES:
            notes.append(f"more than {_MOST_ENTRIES:,} files: the rest is left out")
            return found[:_MOST_ENTRIES]
    return found


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as items:
            return [Path(item.path) for item in items if item.is_dir(follow_symlinks=False)][:64]
    except OSError as error:
        raise UserError(f"cannot read {printable(str(root))}: {error.strerror}") from error


def _is_elf(path: Path) -> bool:
    with path.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def _is_disk(path: Path) -> bool:
    return any(ending in path.name.lower() for ending in _DISKS)

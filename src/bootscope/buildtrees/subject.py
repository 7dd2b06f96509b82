# SPDX-License-Identifier: Apache-2.0
"""An imported tree as the subject of an audit: what its files say, by their roles."""

from __future__ import annotations

from pathlib import Path

from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.identify import read_pieces, together
from bootscope.buildtrees.model import MAKERS, Tree
from bootscope.core.errors import UserError, printable
from bootscope.image.uboot_env import default_environment
from bootscope.inventory.inventory import Part
from bootscope.inventory.values import found_in

_ROOTS = ("rootfs-image", "initramfs", "rootfs-folder")
_PROGRAMS = ("uboot-elf", "uboot-image")
READ = (
    "kernel-config", "uboot-config", "busybox-config", "kernel-image", "device-tree", "uboot-environment",
    "uboot-script", *_ROOTS, "emulator", *_PROGRAMS,
)  # fmt: skip
"""Roles whose files are read, in order of precedence."""
_MOST_BYTES = 64 << 20


def tells(role: str) -> str:
    """The subject of a role: one file per subject is enough."""
    if role in _ROOTS:
        return "rootfs"
    return "uboot-environment" if role in _PROGRAMS else role


def read(role: str, path: Path) -> Piece | None:
    """What a file says; None where audit does not use it. Raises UserError when it is not understood."""
    if path.name.endswith(".qemuboot.conf"):
        return None
    if role in _PROGRAMS:
        return _compiled_in(path)
    return read_pieces([str(path)])[0]


def _compiled_in(path: Path) -> Piece | None:
    """The environment that a U-Boot starts with when none is stored."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        found = default_environment(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {printable(str(path))}: {error.strerror}") from error
    if not found:
        return None
    told = f"U-Boot environment, compiled in: {len(found)} variables"
    fields = {"environment": found}
    return Piece(str(path), "U-Boot environment", told, fields, frozenset({Part.ENVIRONMENT}))


def pieces(tree: Tree) -> tuple[list[Piece], list[str]]:
    """What the files of a tree say now, and what has changed since it was imported.

    Raises UserError when the folder no longer exists.
    """
    root = Path(tree.folder)
    if not root.is_dir():
        raise UserError(
            f"{tree.name} was imported from {printable(tree.folder)}, which no longer exists",
            hint=f"bootscope system import DIR --as {tree.name}",
        )
    found: list[Piece] = []
    notes: list[str] = []
    for artefact in tree.artefacts:
        if not artefact.audit:
            continue
        path = (root / artefact.path).resolve()
        if not path.is_relative_to(root.resolve()):
            notes.append(f"{printable(artefact.path)} now leads out of the folder: left out")
            continue
        try:
            piece = read(artefact.role, path)
            found += [piece] if piece else []
            if artefact.size_bytes and path.stat().st_size != artefact.size_bytes:
                notes.append(f"{printable(artefact.path)} has changed since it was imported")
        except (UserError, OSError) as error:
            notes.append(printable(f"{artefact.path}: {error}"))
    if tree.command_line:
        told = f"kernel command line: {len(tree.command_line.split())} words"
        fields = {"command_line": tree.command_line}
        source = tree.command_line_from
        found.append(Piece(source, "kernel command line", told, fields, frozenset({Part.COMMAND_LINE})))
    return found, notes


def values(tree: Tree) -> dict[str, str]:
    """The values of techniques' placeholders (`@name@`) in a tree, as far as its files say.

    Raises UserError when the folder no longer exists.
    """
    told = {"command_line": tree.command_line} if tree.command_line else {}
    return {**found_in(together(pieces(tree)[0])), **told}


def title(tree: Tree) -> str:
    """The title of a tree."""
    version = tree.versions.get(tree.made_by, "")
    of = f" for {printable(tree.machine)}" if tree.machine else ""
    return f"{tree.name}: {MAKERS[tree.made_by]}{' ' + printable(version) if version else ''}{of}, imported"

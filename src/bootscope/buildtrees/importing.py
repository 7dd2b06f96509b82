# SPDX-License-Identifier: Apache-2.0
"""From the folder of a user's build to a record of its content."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bootscope.artefacts.file_facts import Piece
from bootscope.builder.ids import file_sha256
from bootscope.buildtrees import bare, boot_words, buildroot, openwrt, subject, yocto
from bootscope.buildtrees.look import Look, tree_folder
from bootscope.buildtrees.model import (
    BARE,
    BUILDROOT,
    KIND,
    MAKERS,
    OPENWRT,
    ROLES,
    SCHEMA,
    YOCTO,
    Artefact,
    Tree,
    Trial,
)
from bootscope.buildtrees.parts import Parts
from bootscope.core.errors import UserError, printable

_MOST_HASHED = 1 << 30
_MAKERS: dict[str, tuple[Callable[[Path], Path | None], str, Callable[[Parts], None]]] = {
    BUILDROOT: (buildroot.root_of, buildroot.LOOKED_FOR, buildroot.collect),
    YOCTO: (yocto.root_of, yocto.LOOKED_FOR, yocto.collect),
    OPENWRT: (openwrt.root_of, openwrt.LOOKED_FOR, openwrt.collect),
    BARE: (bare.root_of, bare.LOOKED_FOR, bare.collect),
}


@dataclass(frozen=True)
class Wish:
    """What the user says about a tree: the kind of build system, machine and image where there are several,
    the command that builds it (for the shell, when `shell`), and how its changes are tried."""

    made_by: str = ""
    machine: str = ""
    image: str = ""
    build: tuple[str, ...] = ()
    shell: bool = False
    trial: Trial = field(default_factory=Trial)


def recognised(name: str | Path, made_by: str = "") -> tuple[str, Path]:
    """The build system of a folder, and the folder to search.

    Raises UserError when it is unknown, with what was searched for.
    """
    folder = tree_folder(name)
    for kind, (root_of, _, _) in _MAKERS.items():
        root = root_of(folder) if made_by in ("", kind) else None
        if root:
            return kind, root
    looked = [(MAKERS[k], looked) for k, (_, looked, _) in _MAKERS.items() if made_by in ("", k)]
    raise UserError(
        f"{printable(str(name))} is not a build folder of {' or '.join(what for what, _ in looked)}",
        hint="looked for " + "; ".join(f"{what}: {where}" for what, where in looked),
    )


def looked_over(folder: str | Path, wish: Wish) -> tuple[str, Path, Parts]:
    """The build system of a folder, the folder to search, and the files in it by role; none of them is read.

    Raises UserError as :func:`recognised` does.
    """
    made_by, root = recognised(folder, wish.made_by)
    parts = Parts(Look(root), wish.machine, wish.image)
    _MAKERS[made_by][2](parts)
    return made_by, root, parts


def import_tree(name: str, folder: str | Path, wish: Wish) -> Tree:
    """The content of a folder, as a tree called `name`. Raises UserError as :func:`recognised` does."""
    made_by, root, parts = looked_over(folder, wish)
    artefacts, pieces = _artefacts(parts)
    words, source = boot_words.command_line(parts, pieces)
    if not words:
        parts.missing["kernel command line"] = source
    return Tree(
        schema=SCHEMA,
        kind=KIND,
        name=name,
        made_by=made_by,
        folder=str(root),
        machine=wish.machine or parts.machine,
        image=wish.image or parts.image,
        command_line=words,
        command_line_from=source if words else "",
        toolchain_prefix=parts.toolchain_prefix,
        build=wish.build,
        shell=wish.shell,
        trial=wish.trial,
        versions=parts.versions,
        artefacts=artefacts,
        missing=parts.missing,
        notes=tuple(parts.look.notes),
    )


def _artefacts(parts: Parts) -> tuple[tuple[Artefact, ...], list[Piece]]:
    pieces: dict[Path, Piece] = {}
    done: set[str] = set()
    for role in subject.READ:
        for path in parts.paths.get(role, ()):
            piece = _piece(parts, role, path) if subject.tells(role) not in done else None
            if piece:
                done.add(subject.tells(role))
                pieces[path] = piece
    if "uboot-environment" in done:
        parts.missing.pop(ROLES["uboot-environment"], None)
    named = [(role, path) for role in ROLES for path in parts.paths.get(role, ())]
    found = (_artefact(parts.look, role, path, pieces.get(path)) for role, path in named)
    return tuple(found), list(pieces.values())


def _piece(parts: Parts, role: str, path: Path) -> Piece | None:
    """A file as `audit` understands it; None, and a note, where it does not."""
    try:
        return subject.read(role, path)
    except UserError as error:
        why = error.message.replace(printable(str(path)), "it").replace(str(path), "it")
        parts.look.note(f"{printable(parts.look.relative(path))} is not used by audit: {why}")
        return None


def _artefact(look: Look, role: str, path: Path, piece: Piece | None) -> Artefact:
    size, digest = 0, ""
    try:
        about = path.stat()
        if stat.S_ISREG(about.st_mode):
            size = about.st_size
            digest = file_sha256(path) if size <= _MOST_HASHED else ""
    except OSError as error:
        look.note(f"{printable(look.relative(path))} could not be read: {error.strerror}")
    told = piece.told if piece else ""
    return Artefact(
        role=role,
        path=look.relative(path),
        size_bytes=size,
        sha256=digest,
        told=told,
        audit=piece is not None,
    )


def name_for(folder: str | Path, taken: Sequence[str]) -> str:
    """A name for the tree in a folder: that of the folder, or of its parent when the folder's says
    nothing."""
    path = tree_folder(folder)
    dull = ("output", "out", "build", "tmp", "images")
    named = path.parent if path.name in dull and path.parent.name else path
    slug = re.sub(r"[^a-z0-9_.-]+", "-", named.name.lower()).strip("-._") or "tree"
    return f"{slug}-tree" if slug in taken else slug

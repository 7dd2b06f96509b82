# SPDX-License-Identifier: Apache-2.0
"""fontconfig's cache of the fonts, as files of a root file system that is being built: without it every
program that draws text opens all fonts to find out what they contain.

The fc-cache of the root file system itself makes it, run by QEMU: the files are for one version of
fontconfig and one processor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from bootscope.arch.model import Architecture
from bootscope.builder.filesystems.model import Entry, lay_out
from bootscope.builder.step import Context
from bootscope.core.errors import ToolError, UserError

FOLDER = PurePosixPath("var/cache/fontconfig")
"""The folder of the cache in fontconfig's own /etc/fonts/fonts.conf."""
PROGRAM = PurePosixPath("usr/bin/fc-cache")
_NEEDED = ("usr/share/fonts", "usr/local/share/fonts", "usr/share/fontconfig", "etc/fonts")
"""Folders that it needs completely."""


def tools(there: Mapping[PurePosixPath, Entry]) -> dict[PurePosixPath, Entry]:
    """fc-cache and its libraries, from a root file system that may leave them out afterwards."""
    return {path: entry for path, entry in there.items() if path == PROGRAM or _is_library(path)}


def entries(
    context: Context,
    there: Mapping[PurePosixPath, Entry],
    arch: Architecture,
    made_by: Mapping[PurePosixPath, Entry],
) -> Iterator[Entry]:
    """The files of the cache, for the fonts in a root file system: `there` by path without the leading slash;
    `made_by` has :func:`tools` of it.

    A cache is valid while the folder of its fonts has the time stored in it: that of the build, which all
    kinds of images give their folders. Raises UserError where there is no fc-cache, ToolError where it fails.
    """
    if PROGRAM not in made_by:
        raise UserError(
            f"the root file system has no /{PROGRAM}, which would make the cache of its fonts",
            hint="add the package fontconfig, or leave rootfs.font_cache out",
        )
    root = context.scratch / "fonts"
    lay_out(_chosen({**made_by, **there}), root)
    # With the root as its system root, it writes no path of this computer into the cache.
    command: list[str | Path] = [
        arch.tools.qemu_user,
        "-L",
        root,
        root / PROGRAM,
        "--really-force",
        "--system-only",
    ]
    context.run(command, env={"FONTCONFIG_SYSROOT": str(root)})
    made = sorted((root / FOLDER).glob("*.cache-*"))
    if not made:
        raise ToolError(f"fc-cache made no cache of fonts in /{FOLDER}")
    for path in made:
        yield Entry(FOLDER / path.name, source=path)


def _chosen(there: Mapping[PurePosixPath, Entry]) -> dict[PurePosixPath, Entry]:
    """What fc-cache needs: itself, libraries, fonts and their configuration, with the folders that contain
    them. An absolute link would be followed on this computer, so it is made relative."""
    found = {path: entry for path, entry in there.items() if _needed(path)}
    for path in (*found, FOLDER / "any"):
        found |= {parent: there.get(parent, Entry(parent)) for parent in path.parents[:-1]}
    for path, entry in found.items():
        if entry.target and entry.target.startswith("/"):
            near = os.path.relpath(entry.target, f"/{path.parent}")
            found[path] = replace(entry, target=near)
    return found


def _needed(path: PurePosixPath) -> bool:
    text = str(path)
    inside = any(text == folder or text.startswith(f"{folder}/") for folder in _NEEDED)
    # /lib and /lib64 may be links into /usr.
    return _is_library(path) or inside or path == PROGRAM or (text.startswith("lib") and "/" not in text)


def _is_library(path: PurePosixPath) -> bool:
    return ".so" in path.name and str(path).startswith(("lib", "usr/lib"))

# SPDX-License-Identifier: Apache-2.0
"""Files of the root file system that a boot never looked up.

Based on evidence, with care for what happens later: configuration stays, and so does what a start script or
another configuration file runs by name. A name that a program looked up in its own folder keeps all files
with that name. A boot recorded without its system calls only shows which programs ran.
"""

from __future__ import annotations

import glob
import posixpath
import re
from collections.abc import Container, Iterable, Iterator, Mapping

from bootscope.analysis import syscalls
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.recorded import Recorded, Unrecorded
from bootscope.inventory.start_scripts import runs

_KEPT = ("/etc", "/dev", "/var", "/root", "/home", "/lib/modules", "/usr/lib/modules")
"""Configuration, data and drivers: these may be needed after the boot."""
_BUILTINS = frozenset({"[", "[[", "echo", "false", "kill", "printf", "test", "true"})
"""Commands of the shell itself: a script that contains them needs no file with that name."""
_PROGRAMS = ("bin", "sbin")
_LATER = frozenset({"halt", "login", "poweroff", "reboot", "shutdown", "sulogin"})
"""Programs that init and getty run by themselves, after the boot."""
_MOST_LINKS = 40
_SMALLEST_SECTORS = 16384
"""The minimum size of a root partition: 8 MiB."""
_ALIGNED_SECTORS = 2048


def unused_files(known: Inventory) -> str:
    """Patterns of paths, one each: files and links that nothing looked up, and folders that contain nothing
    else. Empty where everything is used. Raises UserError without a recorded boot."""
    used = _looked_up(known)
    return " ".join(glob.escape(path) for path in shortest(known.files, _unused(known, used), used))


def used_sectors(known: Inventory) -> str:
    """A size for the root's partition, in sectors: the size of the remaining files on the storage, plus half
    of that for the file system, updates and logs, at least 8 MiB; empty where it is no smaller."""
    unused = set(_unused(known, _looked_up(known)))
    assert isinstance(known, Recorded)
    sizes = [known.settings.get(f"card.root_{name}", "") for name in ("sector", "sectors")]
    if not all(size.isdecimal() for size in sizes):
        raise UserError("the partition of the root file system is not known")
    first, sectors = map(int, sizes)
    pieces = known.view.evidence.blocks.split(first, sectors)
    left = sum(p.sectors for p in pieces if p.name not in unused and p.name in known.files)
    aligned = -(-max(_SMALLEST_SECTORS, left * 3 // 2) // _ALIGNED_SECTORS) * _ALIGNED_SECTORS
    return str(aligned) if aligned < sectors else ""


def _looked_up(known: Inventory) -> set[str]:
    """All paths of the root file system that the boot looked up, including targets of links."""
    if not isinstance(known, Recorded):
        raise Unrecorded(
            "which files the boot looks up is not known", hint="bootscope record --syscalls tells"
        )
    if not known.knows(Part.FILES, Part.SCRIPTS):
        raise UserError("the files of the root file system are not known")
    evidence = known.view.evidence
    if syscalls.recorded(evidence):
        names = syscalls.looked_up(evidence)
    else:
        names = [run.file for task in evidence.scene.tasks for run in task.execs]
    return behind(known.files, [*names, known.settings.get("application.path", "")])


def _unused(known: Inventory, used: Container[str]) -> list[str]:
    """Paths of files and links. Only system calls show which files were just read or checked for."""
    assert isinstance(known, Recorded)
    alone = not syscalls.recorded(known.view.evidence)
    spare = [path for path, what in known.files.items() if what != "folder" and path not in used]
    spare = [path for path in spare if not alone or posixpath.basename(posixpath.dirname(path)) in _PROGRAMS]
    spare = [path for path in spare if not _kept(path, known)]
    gone = set(spare)
    # The target of a link that stays must stay with it.
    needed = behind(known.files, (path for path in known.files if path not in gone))
    return [path for path in spare if path not in needed]


def _kept(path: str, known: Inventory) -> bool:
    """Whether a file that the boot did not need must stay nevertheless."""
    name = posixpath.basename(path)
    # A change separates patterns by spaces.
    if path.startswith(tuple(f"{folder}/" for folder in _KEPT)) or len(path.split()) > 1:
        return True
    # A library may belong to a program that stays for its name.
    if name in _LATER or ".so" in name:
        return True
    mentioned = name not in _BUILTINS and any(runs(text, name) for text in known.scripts.values())
    return mentioned or any(path in re.split(r"[\s:;'\"=!]", text) for text in known.scripts.values())


FOUND = {"unused_files": unused_files, "used_sectors": used_sectors}
"""Placeholders, and functions for their values in a system; `try` records a boot's system calls for them."""


def behind(files: Mapping[str, str], names: Iterable[str]) -> set[str]:
    """What names that were looked up lead to: files, links on the way, folders. `files` are contents by
    path."""
    bare, found = set[str](), set[str]()
    for name in names:
        if name.startswith("/"):
            found.update(_way(files, posixpath.normpath(name)))
        elif name:
            bare.add(posixpath.basename(name.rstrip("/")))
    for path in files:
        if posixpath.basename(path) in bare:
            found.update(_way(files, path))
    return found


def _way(files: Mapping[str, str], path: str) -> Iterator[str]:
    """A path, and everything that links in it lead to."""
    for _ in range(_MOST_LINKS):
        yield path
        link = next((p for p in _above(path) if files.get(p, "").startswith("-> ")), "")
        if not link:
            return
        yield link
        target = files[link].removeprefix("-> ")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(link), target) + path[len(link) :])


def _above(path: str) -> list[str]:
    """The parent folders of a path, from the root down, and the path itself."""
    parts = path.split("/")
    return ["/".join(parts[: n + 1]) for n in range(1, len(parts))]


def shortest(files: Mapping[str, str], unused: Iterable[str], used: Iterable[str]) -> list[str]:
    """Paths of `unused` files, with one path for a folder in which nothing remains or was looked up."""
    gone = set(unused)
    there = (path for path, what in files.items() if what != "folder" and path not in gone)
    left = {folder for path in (*there, *used) for folder in _above(path)}
    return sorted({next(p for p in _above(path) if p not in left) for path in gone})

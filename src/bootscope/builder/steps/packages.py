# SPDX-License-Identifier: Apache-2.0
"""A distribution's packages, unpacked as the root file system that they make; none of their programs runs.

Of what their installation scripts would do, only this is done to the files: users and groups, and which units
of systemd are enabled (builder/offline).
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

import msgspec

from bootscope.builder.filesystems.model import Entry
from bootscope.builder.offline import presets, users
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.system import unit_files

NAME = "packages"
TREE, MODES = "tree", "modes.json"
_DPKG = "dpkg-deb"
_SYSUSERS = ("/usr/lib/sysusers.d", "/etc/sysusers.d")
_USUAL_FOLDER, _USUAL_FILES = 0o755, (0o644, 0o755)
_OWN = 0o5777
"""All permissions but set-group-ID: a file of ours does not record its group."""
_LARGEST_TEXT_BYTES = 256 * 1024
_MOST_LINKS = 16


def step(source: Resolved) -> Step:
    """The step `packages`: their files in a folder, and unusual permissions."""

    def work(context: Context) -> None:
        tree = context.out / TREE
        if source.is_tree:
            tree.symlink_to(source.path)
            (context.out / MODES).write_text("{}")
            return
        tree.mkdir()
        modes: dict[str, int] = {}
        for deb in taken_out(context, Path(source.path)):
            contents = context.scratch / "contents.tar"
            context.run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$1" > "$2"', "sh", deb, contents])
            with tarfile.open(contents, "r:") as archive:
                modes.update(_unpacked(archive, tree))
        (context.out / MODES).write_bytes(msgspec.json.encode(modes, order="deterministic"))

    inputs = {"source": source.sha256}
    return Step(NAME, "unpacking the packages of the root file system", 1, work, inputs, (), (_DPKG,))


def taken_out(context: Context, whole: Path) -> Iterator[Path]:
    """The packages in the archive that holds them all."""
    with tarfile.open(whole, "r:") as archive:
        for number, member in enumerate(archive):
            data = archive.extractfile(member)
            if data is None:
                raise ToolError(f"{whole.name} holds something that is no package: {printable(member.name)}")
            deb = context.scratch / f"{number}.deb"
            deb.write_bytes(data.read())
            yield deb
            deb.unlink()


def _unpacked(archive: tarfile.TarFile, tree: Path) -> Iterator[tuple[str, int]]:
    """Unpacks the files of a package; yields (path, permissions) of those with unusual permissions.

    Raises ToolError for a path that leads out of the folder.
    """
    for member in archive:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or any((tree / p).is_symlink() for p in name.parents):
            raise ToolError(f"a package has the path {printable(member.name)}, which leads somewhere else")
        place = tree / name
        if member.isdir():
            place.mkdir(parents=True, exist_ok=True)
        elif member.issym():
            place.unlink(missing_ok=True)
            place.symlink_to(member.linkname)
        elif member.isfile() or member.islnk():
            data = archive.extractfile(member)
            place.unlink(missing_ok=True)
            place.write_bytes(data.read() if data else b"")
            place.chmod(0o755 if member.mode & 0o100 else 0o644)
        mode, usual = member.mode & _OWN, (_USUAL_FOLDER,) if member.isdir() else _USUAL_FILES
        if name.parts and not member.issym() and mode not in usual:
            yield str(name), mode


def entries(result: Path) -> Iterator[Entry]:
    """The entries that the packages add to a root file system, from the step's result."""
    tree = (result / TREE).resolve()
    modes = msgspec.json.decode((result / MODES).read_bytes(), type=dict[str, int])
    for path in sorted(tree.rglob("*")):
        name = PurePosixPath(path.relative_to(tree).as_posix())
        for text in (str(name), str(path.readlink()) if path.is_symlink() else ""):
            if '"' in text or not text.isprintable():
                raise UserError(f"an image cannot have this name: {printable(text)}")
        if path.is_symlink():
            yield Entry(name, target=str(path.readlink()))
        else:
            program = not path.is_dir() and bool(path.stat().st_mode & 0o100)
            source = None if path.is_dir() else path
            yield Entry(name, source=source, program=program, permissions=modes.get(str(name)))


class Merged:
    """Entries of a root file system in which folders such as /lib may be links, into /usr."""

    def __init__(self, entries: dict[PurePosixPath, Entry] | None = None) -> None:
        self.entries = {} if entries is None else entries

    def add(self, entry: Entry, links: int = 0) -> None:
        """Adds an entry with its parent folders, following links among these; a folder replaces nothing.

        Raises UserError where a link leads out of the root file system, or in a circle (too many `links`).
        """
        if links > _MOST_LINKS:
            raise UserError(f"/{printable(str(entry.path))} lies below links that lead to each other")
        for parent in reversed(entry.path.parents[:-1]):
            there = self.entries.setdefault(parent, Entry(parent))
            if there.target is not None:
                below = entry.path.relative_to(parent)
                self.add(replace(entry, path=_leads_to(parent, there.target) / below), links + 1)
                return
        is_folder = entry.source is None and entry.target is None
        if not (is_folder and entry.path in self.entries):
            self.entries[entry.path] = entry


def _leads_to(link: PurePosixPath, target: str) -> PurePosixPath:
    path = PurePosixPath(target)
    path = path.relative_to("/") if path.is_absolute() else link.parent / path
    if ".." in path.parts or path == link or link in path.parents:
        raise UserError(f"/{printable(str(link))} is a link that leads to {printable(target)}")
    return path


def set_up(context: Context, there: Mapping[PurePosixPath, Entry]) -> Iterator[Entry]:
    """The additions to a root file system of packages: users, and links that enable units. Some paths may
    exist already: the caller skips those."""
    sysusers = texts(there.values(), _SYSUSERS, ".conf")
    written = users.files({PurePosixPath(path).name: text for path, text in sysusers.items()})
    for number, (path, text) in enumerate(sorted(written.items())):
        source = context.scratch / f"users-{number}"
        source.write_text(text)
        yield Entry(PurePosixPath(path[1:]), source=source, permissions=0o600 if "shadow" in path else None)
    rules = texts(there.values(), presets.FOLDERS, ".preset")
    for path, target in sorted(presets.links(unit_texts(there.values()), rules).items()):
        yield Entry(PurePosixPath(path[1:]), target=target)


def unit_texts(found: Iterable[Entry]) -> dict[str, str]:
    """The unit files of a root file system with their drop-ins and links, by path."""
    return texts(found, unit_files.FOLDERS, "")


def texts(found: Iterable[Entry], folders: Iterable[str], ending: str) -> dict[str, str]:
    """The files below these folders, by path: their text, or the target of a link."""
    places = tuple(f"{folder}/" for folder in folders)
    known: dict[str, str] = {}
    for entry in found:
        path = f"/{entry.path}"
        if not path.startswith(places) or not path.endswith(ending):
            continue
        if entry.target is not None:
            known[path] = unit_files.LINK + entry.target
        elif entry.source is not None and entry.source.stat().st_size <= _LARGEST_TEXT_BYTES:
            known[path] = entry.source.read_text(errors="replace")
    return known

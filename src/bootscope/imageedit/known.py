# SPDX-License-Identifier: Apache-2.0
"""Keeps facts about an image with its recording: settings, the list of its files, scripts, units, so that an
audit knows as much about it as about a system that was built here."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from bootscope.artefacts.ext_image import ExtImage
from bootscope.artefacts.images import squashfs_entries
from bootscope.artefacts.tree import FILE, FOLDER, LINK, MOST_ENTRIES, SMALL_BYTES, Contents, Entry
from bootscope.bootimage import probe
from bootscope.bootimage.files import Files
from bootscope.bootimage.understand import IMAGE, Image
from bootscope.capture import objects
from bootscope.capture.objects import Program
from bootscope.emulator.subject import Kept, flat
from bootscope.imageboot.subject import Ready
from bootscope.imageedit import user_programs
from bootscope.imageedit.system import root_of
from bootscope.system import unit_files
from bootscope.system.model import System

_DEEPEST = 32


def with_known(ready: Ready, system: System, more: Mapping[str, str], config: str = "") -> Ready:
    """An image, ready to boot, with the facts about it as a `system`, and `more` settings; `config` is the
    kernel's configuration where the image has none."""
    subject = ready.subject
    settings = {**flat(system), **subject.facts.settings, **more}
    contents, units = _collected(ready.image)
    kept: dict[str, Kept] = dict(subject.kept)
    if contents.files:
        kept[objects.ROOT_CONTENTS] = "".join(
            f"{path}\t{told}\n" for path, told in sorted(contents.files.items()) if _plain(path, told)
        ).encode("utf-8", "replace")
        kept[objects.SCRIPTS] = _packed(contents.scripts)
        kept[objects.PROGRAMS] = _packed(_programs(ready))
    if units:
        kept[objects.UNITS] = _packed(units)
    if config and objects.KERNEL_CONFIG not in kept:
        kept[objects.KERNEL_CONFIG] = config.encode()
    facts = msgspec.structs.replace(subject.facts, settings=settings)
    programs = replace(subject.programs, units=bool(units))
    return replace(ready, subject=replace(subject, facts=facts, kept=kept, programs=programs))


def _programs(ready: Ready) -> dict[str, Program]:
    root = root_of(ready.image)
    entries = _entries(ready.image, root.place.volume) if root else ()
    return user_programs.functions(entries, ready.image.unstripped, ready.board.arch)


def _plain(path: str, told: str) -> bool:
    """Whether a line of a list can contain the path."""
    return not any(c in path or c in told for c in "\t\n\r")


def _packed(value: object) -> bytes:
    return gzip.compress(msgspec.json.encode(value), mtime=0)


def paths_of(image: Image) -> list[str]:
    """All paths of the root file system."""
    return list(_collected(image)[0].files)


def _collected(image: Image) -> tuple[Contents, dict[str, str]]:
    """(the files of the root file system, its unit files by path)."""
    contents, units = Contents(), dict[str, str]()
    if root := root_of(image):
        for entry in _entries(image, root.place.volume):
            contents.add(entry)
            if entry.path.startswith(tuple(f"{folder}/" for folder in unit_files.FOLDERS)):
                units |= _unit(entry)
    return contents, units


def _unit(entry: Entry) -> dict[str, str]:
    if entry.kind == LINK:
        return {entry.path: unit_files.LINK + entry.target}
    if entry.kind == FILE and entry.size_bytes <= SMALL_BYTES:
        return {entry.path: entry.read(SMALL_BYTES).decode("utf-8", "replace")}
    return {}


def _entries(image: Image, volume: str) -> Iterator[Entry]:
    """The files of a volume: for ext all at once, which is much faster than folder by folder."""
    area = next((a for a in image.understood.areas if a.volume == volume), None)
    path = image.disk if area and area.partition else None
    if area and not area.partition:
        path = next((r.path for r in image.roots if r.form == IMAGE and r.volume == volume), None)
    if area and area.filesystem and path:
        at = area.partition.start_bytes if area.partition else 0
        if area.filesystem.kind in probe.EXT:
            yield from _of_ext(path, at, image.scratch)
            return
        if area.filesystem.kind == probe.SQUASHFS:
            yield from squashfs_entries(path, volume, at)
            return
    if files := image.files.get(volume):
        yield from _walked(files)


def _of_ext(path: Path, at: int, folder: Path) -> Iterator[Entry]:
    folder = Path(tempfile.mkdtemp(dir=folder))
    image = ExtImage(path.resolve(), folder, at)
    found = list(image.walk())
    image.take(found)
    yield from map(image.entry, found)


def _walked(files: Files) -> Iterator[Entry]:
    level, count = ["/"], 0
    for _ in range(_DEEPEST):
        below: list[str] = []
        for folder in level:
            for entry in files.folder(folder).values():
                count += 1
                if count > MOST_ENTRIES:
                    return
                yield entry
                if entry.kind == FOLDER:
                    below.append(entry.path)
        level = below

# SPDX-License-Identifier: Apache-2.0
"""An image with changes: changed copies of its parts. The user's files are only read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.bootimage import probe
from bootscope.bootimage.records import Area, Entry, Place
from bootscope.bootimage.symbols import KALLSYMS
from bootscope.bootimage.understand import Image
from bootscope.core.errors import UserError, printable
from bootscope.core.process import run
from bootscope.image import vmlinux
from bootscope.imageboot.given import Given
from bootscope.imageboot.subject import FIRMWARE, Wish
from bootscope.imageedit import archive, ext, fat, menus, squashfs, wrapped
from bootscope.imageedit.edits import Edits
from bootscope.imageedit.ext import ExtPlace
from bootscope.imageedit.system import root_of
from bootscope.system.changes import with_words

CARD, KERNEL, INITRAMFS, ROOT, SYMBOLS = (
    "card.img",
    "kernel.img",
    "initramfs.img",
    "root.img",
    "System.map",
)
"""The file names of a changed image."""


@dataclass(frozen=True)
class Changed:
    """A changed image: its `files`, as `bootscope image` takes them, how it boots, and `notes`: changes that
    are not in the files."""

    files: tuple[Path, ...]
    wish: Wish
    notes: tuple[str, ...] = ()


def changed(image: Image, got: Given, arch: Architecture, wish: Wish, edits: Edits, folder: Path) -> Changed:
    """An open image with changes; `folder` is an empty one of ours for the files.

    Raises UserError for a change that cannot be made in this image: it is full, damaged, or in a form that
    only its build can make. ToolError where a tool is missing or fails.
    """
    line = with_words(got.command_line.split(), edits.added, edits.dropped)
    folder = folder.absolute()  # tools run in another folder
    work = folder / ".work"
    work.mkdir()
    try:
        made = _of_card if image.disk else _of_parts
        return made(_Job(image, got, arch, replace(wish, append="", command_line=line), edits, folder, work))
    finally:
        shutil.rmtree(work, ignore_errors=True)


@dataclass(frozen=True)
class _Job:
    image: Image
    got: Given
    arch: Architecture
    wish: Wish
    edits: Edits
    folder: Path
    work: Path


# ---- a card ----


def _of_card(job: _Job) -> Changed:
    """A copy of a whole card, changed in place."""
    assert job.image.disk
    card = job.folder / CARD
    run(["cp", "--sparse=always", "--reflink=auto", job.image.disk, card])
    notes = list(_words_on_card(job, card)) if job.edits.words else []
    if job.edits.early:
        _early_on_card(job, card)
    if job.edits.root:
        _root_on_card(job, card)
    wish = job.wish if job.wish.through != FIRMWARE else replace(job.wish, command_line=None)
    return Changed((card,), wish, tuple(notes))


def _words_on_card(job: _Job, card: Path) -> Iterator[str]:
    """Changes the command line in the boot menu. Where that fails and the emulator starts the kernel, yields
    a note instead of failing; with the board's own boot loader the change would be lost."""
    try:
        entry = _entry(job.image)
        place = Place(entry.volume, entry.menu.path)
        data = job.image.files[entry.volume].read(entry.menu.path, 1 << 20) or b""
        _put(job, card, place, menus.with_line(entry.menu, data, job.edits.added, job.edits.dropped))
    except UserError as error:
        if job.wish.through == FIRMWARE:
            raise
        yield f"the command line is not changed in the image: {error.message}"


def _entry(image: Image) -> Entry:
    """The entry of a boot menu whose command line the kernel gets."""
    marked = [entry for entry in image.understood.entries if entry.menu.chosen]
    entry = next(iter(marked or image.understood.entries), None)
    if entry is None or not entry.menu.command_line:
        raise UserError(
            "no boot menu of the image has the command line: "
            f"{printable(image.understood.command_line_from) or 'nothing tells one'}"
        )
    return entry


def _early_on_card(job: _Job, card: Path) -> None:
    place = job.image.chosen().initramfs
    if place is None:
        raise UserError("the image has no initramfs")
    raw = job.image.read(place)
    new = archive.edited(job.got.initramfs, job.edits.early, job.work)
    _put(job, card, place, wrapped.rewrapped(raw, new) if wrapped.is_wrapped(raw) else new)


def _root_on_card(job: _Job, card: Path) -> None:
    root = root_of(job.image)
    if root is None:
        raise UserError("the image has no root file system that is understood")
    area = _area(job.image, root.place.volume)
    assert area.partition and area.filesystem
    at, size = area.partition.start_bytes, area.partition.size_bytes
    if area.filesystem.kind in probe.EXT:
        ext.edit(ExtPlace(card, job.work, at), job.edits.root)
    elif area.filesystem.kind == probe.SQUASHFS:
        _write_at(card, at, size, squashfs.edited(card, at, job.edits.root, job.work))
    else:
        raise UserError(f"files of {area.filesystem.kind} are not changed: ext2 to ext4 and SquashFS are")


def _write_at(card: Path, at: int, size: int, new: Path) -> None:
    count = new.stat().st_size
    if count > size:
        raise UserError(
            f"the changed root file system has {count:,} bytes, its partition {size:,}",
            hint="make the partition larger, or take something out first",
        )
    with card.open("r+b") as out, new.open("rb") as data:
        out.seek(at)
        shutil.copyfileobj(data, out)


def _area(image: Image, volume: str) -> Area:
    area = next((a for a in image.understood.areas if a.volume == volume and a.partition), None)
    if area is None or area.filesystem is None:
        raise UserError(f"{printable(volume)} has no file system in which something can be changed")
    return area


def _put(job: _Job, card: Path, place: Place, data: bytes) -> None:
    """Replaces a file on the card with data."""
    if not place.path or ":" in place.path or place.path.endswith(" (appended)"):
        raise UserError(
            f"{printable(f'{place.volume} {place.path}'.strip())} is a part of a package: its build makes it"
        )
    area = _area(job.image, place.volume)
    assert area.partition and area.filesystem
    at = area.partition.start_bytes
    if area.filesystem.kind == probe.FAT:
        fat.put(card, at, place.path, data, job.work)
    elif area.filesystem.kind in probe.EXT:
        ext.put(ExtPlace(card, job.work, at, place.volume), place.path, data)
    else:
        raise UserError(f"{printable(place.volume)} is {area.filesystem.kind}: its files are not changed")


# ---- loose files ----


def _of_parts(job: _Job) -> Changed:
    """The parts of a system, each in a file of the folder."""
    (job.folder / KERNEL).write_bytes(job.got.program)
    if job.got.symbols and job.got.kernel.symbols.source != KALLSYMS:
        (job.folder / SYMBOLS).write_text(vmlinux.symbol_map(job.got.symbols, job.arch))
    if job.got.initramfs:
        wanted, early = job.edits.early, job.got.initramfs
        new = archive.edited(early, wanted, job.work) if wanted else early
        (job.folder / INITRAMFS).write_bytes(new)
    elif job.edits.early:
        raise UserError("the image has no initramfs")
    if job.got.card:
        _root_part(job, job.got.card)
    elif job.edits.root:
        raise UserError("no root file system was given")
    notes = ["the command line is where the boot loader has it, and no part of these files"]
    return Changed((job.folder,), job.wish, tuple(notes) if job.edits.words else ())


def _root_part(job: _Job, card: Path) -> None:
    """The root file system; for an archive or a folder, the ext4 that was made from it."""
    root = job.folder / ROOT
    run(["cp", "--sparse=always", "--reflink=auto", card, root])
    if not job.edits.root:
        return
    whole = next((a for a in job.image.understood.areas if a.filesystem and not a.partition), None)
    if whole and whole.filesystem and whole.filesystem.kind == probe.SQUASHFS:
        shutil.copyfile(squashfs.edited(root, 0, job.edits.root, job.work), root)
    elif whole is None or (whole.filesystem and whole.filesystem.kind in probe.EXT):
        ext.edit(ExtPlace(root, job.work), job.edits.root)
    else:
        raise UserError("its root file system is not changed here: ext2 to ext4 and SquashFS are")

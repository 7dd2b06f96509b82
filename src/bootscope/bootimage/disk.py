# SPDX-License-Identifier: Apache-2.0
"""A disk image: its partitions, their file systems, the gaps between them, and the files that matter for a
boot."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bootscope.artefacts.tree import Entry as FileEntry
from bootscope.bootimage import menus, partitions, probe, root
from bootscope.bootimage.files import Files
from bootscope.bootimage.found import Found
from bootscope.bootimage.mounted import files_of
from bootscope.bootimage.partitions import Partition, Table
from bootscope.bootimage.records import Area, Entry, Loader, Place
from bootscope.bootimage.volume import Volume
from bootscope.core.errors import BootscopeError, printable
from bootscope.devices import boot_roms
from bootscope.image import efi_program, kernel_file, packed
from bootscope.loaders import in_images
from bootscope.loaders.in_images import Program

MOST_FILE_BYTES = 384 << 20
_SEARCHED_GAP, _SEARCHED_RAW, _SEARCHED_ALL = 64 << 20, 32 << 20, 256 << 20
"""How many bytes at most are searched for boot loaders: between partitions, in one, in a whole image."""
_MOST_PARTITIONS = 64
_AROUND = 2 << 20
"""Bytes on both sides of a version text that should contain the rest of its program."""
_MOST_LOADER_BYTES = 32 << 20
_KERNEL_FOLDERS = ("/", "/boot/", "/EFI/Linux/", "/EFI/debian/", "/efi/", "/*/")
_KERNELS = ("vmlinuz*", "vmlinux*", "Image*", "zImage*", "uImage*", "bzImage*", "fitImage*", "kernel*.img",
            "*.itb", "linux", "EFI/Linux/*.efi")  # fmt: skip
_INITRAMFS = ("initrd*", "initramfs*", "*.cpio*", "uInitrd*")
_TREES = ("*.dtb", "dtb/*.dtb", "dtbs/*.dtb")
_LOADERS = (
    "EFI/*/*.efi", "u-boot*.bin", "u-boot*.img", "MLO", "tiboot3.bin", "tispl.bin", "boot.bin", "BOOT.BIN",
    "bootcode.bin", "start*.elf", "fip*.bin", "bl31*.bin", "fw_*.bin",
)  # fmt: skip


def look(found: Found, disk: Volume, name: str, label: str, folder: Path) -> Table:
    """Examines a disk image, or an image of one file system; `label` prefixes the names of its volumes,
    `folder` is one of ours. Returns its partition table."""
    table = partitions.read(disk)
    whole = probe.probe(disk)
    if whole and whole.kind != probe.FAT:
        # The boot sector of a hybrid image has a table, too; other file systems have none in their first
        # bytes.
        table = table if whole.kind == "ISO 9660" else Table("")
    if whole and not table.partitions:
        _area(found, disk, None, name, f"{label}the whole image".strip(), folder)
        return table
    for part in table.partitions[:_MOST_PARTITIONS]:
        volume = disk.part(part.start_bytes, part.size_bytes)
        _area(found, volume, part, name, f"{label}partition {part.number}", folder)
    if len(table.partitions) > _MOST_PARTITIONS:
        found.note(f"{label}more than {_MOST_PARTITIONS} partitions: the rest is left out")
    gap = f"{label}outside of partitions"
    for chip, at in boot_roms.first_stages(disk.read(0, boot_roms.ROM_BYTES)):
        program = Program(f"first stage for {chip}", "", at, "where its boot ROM looks")
        found.loaders.append(Loader(program, Place(gap, at_bytes=at)))
    for start, end in _gaps(disk, table):
        _search(found, disk.part(start, end - start), Place(gap, at_bytes=start), _SEARCHED_GAP)
    return table


def _gaps(disk: Volume, table: Table) -> Iterator[tuple[int, int]]:
    """(from, to) of the gaps between partitions."""
    at = 0
    for part in table.partitions:
        if part.type == "extended":
            continue
        if part.start_bytes > at:
            yield at, min(part.start_bytes, disk.size_bytes)
        at = max(at, part.start_bytes + part.size_bytes)
    if at < disk.size_bytes:
        yield at, disk.size_bytes


def _search(found: Found, volume: Volume, place: Place, most: int) -> None:
    """Finds boot loaders by their texts in a range without a file system."""
    seen: set[tuple[str, str]] = set()
    most = max(0, min(most, _SEARCHED_ALL - found.searched_bytes))
    found.searched_bytes += min(most, volume.size_bytes)
    for at, data in volume.chunks(most=most):
        for program in in_images.named_in(data, place.at_bytes + at):
            if (program.what, program.version) not in seen:
                seen.add((program.what, program.version))
                start = max(0, program.at_bytes - place.at_bytes - _AROUND)
                around = volume.read(start, 2 * _AROUND) if program.what == in_images.UBOOT else b""
                found.add_loader(program, Place(place.volume, at_bytes=program.at_bytes), around)
    if volume.size_bytes > most and place.path != "partition":
        left = volume.size_bytes - most
        if volume.read(most, 4096).strip(b"\0"):
            found.note(f"{place.volume}: boot loaders were not searched for in its last {left:,} bytes")


def _area(found: Found, volume: Volume, part: Partition | None, name: str, label: str, folder: Path) -> None:
    system = probe.probe(volume) if volume.size_bytes else None
    files, why = files_of(volume, system, name, folder) if system else (None, "")
    notes = tuple(text for text in (why,) if text)
    found.areas.append(Area(label, part, system, files is not None, notes))
    if files is not None:
        found.files[label] = files
        look_into(found, files, label)
    elif system is None and volume.size_bytes and (part is None or part.type != "extended"):
        _raw(found, volume, label)


def _raw(found: Found, volume: Volume, label: str) -> None:
    """A partition without a file system: a raw kernel or package, or boot loaders."""
    head = volume.read(0, 0x4000)
    if kernel_file.begins(head[:0x260]) or head.startswith(b"\xd0\x0d\xfe\xed") or packed.kind(head):
        data = volume.read(0, min(volume.size_bytes, MOST_FILE_BYTES))
        found.add(data, Place(label), partial(volume.read, 0, len(data)))
    _search(found, volume, Place(label, "partition"), _SEARCHED_RAW)


def look_into(found: Found, files: Files, label: str) -> None:
    """Finds what matters for a boot in the files of the volume `label`."""
    entries = [Entry(label, entry) for entry in menus.entries(files)]
    found.entries += entries
    described = root.describe(files, Place(label))
    if described:
        found.roots.append(described)
    seen: set[str] = set()
    for file in _named(files, entries):
        real = files.find(file.path)
        if real is None or real.path in seen or not 0 < file.size_bytes <= MOST_FILE_BYTES:
            continue
        seen.add(real.path)
        _file(found, real, label)


def _named(files: Files, entries: list[Entry]) -> Iterator[FileEntry]:
    """Files with the names that kernels and the like have, and those that menus name."""
    for entry in entries:
        for name in (entry.menu.kernel, *entry.menu.initramfs, entry.menu.device_tree):
            for path in (name, f"{entry.menu.path.rpartition('/')[0]}/{name}", f"/boot/{name}"):
                named = files.find(path) if name else None
                if named and named.kind == "file":
                    yield named
    for folder in _KERNEL_FOLDERS:
        for pattern in (*_KERNELS, *_INITRAMFS, *_TREES, *_LOADERS):
            if folder != "/*/" or pattern in _KERNELS[:2]:
                yield from files.matching(folder + pattern)


def _file(found: Found, file: FileEntry, label: str) -> None:
    place = Place(label, file.path)
    read = partial(file.read, file.size_bytes)
    try:
        head = file.read(0x4000)
        if not may_be(head):
            if 0 < file.size_bytes <= _MOST_LOADER_BYTES:
                _programs(found, read(), place)
            return
        data = read()
        if len(data) < file.size_bytes:
            found.note(
                f"{label} {printable(file.path)}: only {len(data):,} of {file.size_bytes:,} bytes can be read"
            )
        if not found.add(data, place, read):
            _programs(found, data, place)
    except BootscopeError as error:
        found.note(f"{label} {printable(file.path)}: {error.message}")


def may_be(head: bytes) -> bool:
    """Whether it may be a kernel, a package, a device tree, an initramfs, or one of them compressed as a
    whole."""
    if kernel_file.begins(head[:0x260]):
        return True
    known = (b"\xd0\x0d\xfe\xed", b"07070", b"MZ", b"\x27\x05\x19\x56")
    return head.startswith(known) or bool(packed.kind(head)) or head.startswith(b"\x7fELF")


def _programs(found: Found, data: bytes, place: Place) -> None:
    programs = in_images.named_in(data)
    efi = efi_program.read(data[:0x4000])
    if efi and not programs:
        programs = [Program(f"EFI program for {efi.architecture or 'an unknown CPU'}", "", 0)]
    for program in programs:
        found.add_loader(program, place, data)

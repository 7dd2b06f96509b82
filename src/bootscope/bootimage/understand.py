# SPDX-License-Identifier: Apache-2.0
"""From a user's files and folders to the records of the image that they form.

with open_image(["sdcard.img.xz"]) as image:
    image.understood            # the records
    image.kernel()              # the kernel that boots, with its symbols
    image.disk                  # the raw disk, for an emulator's snapshot mode
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bootscope.artefacts.archives import is_root_tar, tar_entries
from bootscope.artefacts.folder import as_text
from bootscope.bootimage import (
    containers,
    disk,
    folders,
    howboots,
    initramfs,
    kernels,
    problems,
    root,
    symbols,
)
from bootscope.bootimage.files import Files, Listed, OnDisk
from bootscope.bootimage.found import Found
from bootscope.bootimage.records import Kernel, Place, Understood
from bootscope.bootimage.volume import Volume
from bootscope.core.errors import UserError, printable
from bootscope.image import kernel_file
from bootscope.image.kallsyms import Symbol
from bootscope.image.kernel_file import KernelFile
from bootscope.loaders import in_images

KINDS = (
    "a disk image (also packed, qcow2 or Android sparse), a kernel, a FIT or uImage, a device "
    "tree, an initramfs, a root file system (ext, FAT, SquashFS, tar, folder), or the folder "
    "of images that a build made"
)
_MOST_LOADER_BYTES = 64 << 20


@dataclass(frozen=True)
class Chosen:
    """Places in an image; None where there is nothing, or where it is unknown which of several."""

    initramfs: Place | None
    device_tree: Place | None


IMAGE, TAR, FOLDER = "image", "tar archive", "folder"


@dataclass(frozen=True)
class RootSource:
    """A root file system that is not a partition: `form` (IMAGE, TAR or FOLDER), its unpacked location, and
    its volume in the records."""

    form: str
    path: Path
    volume: str


@dataclass
class Image:
    """An open image. `disk` is the raw disk, if there is one; it and other unpacked data are removed when the
    image is closed. `roots`: root file systems beside it. `scratch`: a folder for extracted data."""

    understood: Understood
    disk: Path | None
    roots: tuple[RootSource, ...]
    scratch: Path
    _found: Found = field(repr=False)

    @property
    def files(self) -> Mapping[str, Files]:
        """Its volumes -> the files in them."""
        return self._found.files

    @property
    def unstripped(self) -> tuple[Path, ...]:
        """Programs of its root before stripping, and folders of such programs, where its build has them."""
        return self._found.beside.unstripped

    def opened_kernel(self) -> KernelFile | None:
        """The kernel that boots, unpacked; None where :meth:`kernel` gives none."""
        chosen = howboots.chosen_kernel(self._found)
        return kernel_file.opened(chosen.place.path, self.read(chosen.place)) if chosen else None

    def early_files(self) -> Files | None:
        """The files of the kernel's initramfs; None where there is none."""
        chosen = self.chosen().initramfs
        archive = initramfs.opened("initramfs", self._early(chosen)) if chosen else None
        return archive.files if archive else None

    def _early(self, place: Place) -> bytes:
        data = self.read(place)
        return data[initramfs.HEADER_BYTES :] if data.startswith(initramfs.HEADER) else data

    def initramfs(self) -> bytes:
        """The kernel's initramfs, without a boot loader's header; empty for none."""
        chosen = self.chosen().initramfs
        return self._early(chosen) if chosen else b""

    def kernel(self) -> tuple[bytes, Kernel, list[Symbol]] | None:
        """The kernel that boots: its file's bytes as stored, its record, its symbols by address; None where
        there is none, or where it is unknown which of several."""
        chosen = howboots.chosen_kernel(self._found)
        if chosen is None:
            return None
        data = self.read(chosen.place)
        opened = kernel_file.opened(chosen.place.path, data)
        beside = self._found.beside_all()
        found = symbols.of_kernel(opened, chosen.build_id, beside)[1] if opened else []
        return data, chosen, found

    def chosen(self) -> Chosen:
        """The places of the kernel's initramfs and device tree."""
        early, tree = howboots.chosen_initramfs(self._found), howboots.chosen_device_tree(self._found)
        return Chosen(early.place if early else None, tree.place if tree else None)

    def configuration(self) -> str:
        """The configuration of the kernel that boots; empty where it is not found."""
        chosen = howboots.chosen_kernel(self._found)
        opened = kernel_file.opened(chosen.place.path, self.read(chosen.place)) if chosen else None
        return kernels.configuration(opened, self._found.beside_all())[1] if opened else ""

    def read(self, place: Place) -> bytes:
        """The bytes of a kernel, device tree or initramfs in the records."""
        return self._found.raw[place]()


@contextlib.contextmanager
def open_image(names: Sequence[str], machine: str = "") -> Iterator[Image]:
    """The image that files and folders form together. `machine` chooses where a build has several.

    Raises UserError for files that do not exist, are not understood, or are for different, incompatible
    architectures.
    """
    found = Found()
    with tempfile.TemporaryDirectory(prefix="bootscope-") as folder, contextlib.ExitStack() as stack:
        work = _Work(found, Path(folder), stack, machine, many=len(names) > 1)
        for number, name in enumerate(dict.fromkeys(names)):
            work.take(name, number)
        found.finish()
        yield Image(work.understood(), work.disk, tuple(work.roots), Path(folder), found)


@dataclass
class _Work:
    found: Found
    folder: Path
    stack: contextlib.ExitStack
    machine: str
    many: bool
    disk: Path | None = None
    kinds: list[str] = field(default_factory=list)
    layers: list[str] = field(default_factory=list)
    table: str = ""
    size_bytes: int = 0
    names: list[str] = field(default_factory=list)
    told: tuple[str, str] = ("", "")
    failed: list[str] = field(default_factory=list)
    roots: list[RootSource] = field(default_factory=list)

    def take(self, name: str, number: int) -> None:
        """Examines a path that the user named."""
        path = Path(name)
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise UserError(f"cannot read {printable(name)}: {why}") from error
        self.names.append(as_text(name))
        if stat.S_ISDIR(mode):
            self._folder(path, as_text(name))
        elif stat.S_ISREG(mode):
            self._file(path, as_text(name), str(number), alone=not self.many)
        else:
            raise UserError(f"{printable(name)} is neither a file nor a folder", hint=f"give {KINDS}")

    # ---- folders ----

    def _folder(self, path: Path, name: str) -> None:
        files = Files(OnDisk(path.resolve()))
        described = root.describe(files, Place(as_text(path.name) or name))
        if described:
            self.kinds.append("root file system, folder")
            label = as_text(path.name) or name
            self.found.files[label] = files
            disk.look_into(self.found, files, label)
            self.roots.append(RootSource(FOLDER, path.resolve(), label))
            return
        build = folders.listed(path, self.machine)
        self.kinds.append(build.kind)
        self.told = (build.command_line, build.command_line_from)
        for note in build.notes:
            self.found.note(note)
        self.found.beside = build.beside(files)
        self.many = True
        for number, file in enumerate(build.files):
            try:
                self._file(file, build.relative(file), f"f{number}", alone=False)
            except UserError as error:
                if file.name not in build.unsure:
                    self.found.note(error.message)
        if not any((self.found.kernels, self.found.pending, self.found.areas, self.found.roots)):
            raise UserError(
                f"{printable(name)} has no kernel, disk image or root file system that is recognised",
                hint=f"looked at: {build.looked_at()}; give {KINDS}",
            )

    # ---- files ----

    def _file(self, path: Path, name: str, key: str, alone: bool) -> None:
        label = "" if alone else f"{Path(name).name}: "
        self.size_bytes += path.stat().st_size
        if path.stat().st_size == 0:
            raise UserError(f"{printable(name)} is empty")
        if self._small(path, name):
            return
        work = self.folder / key
        work.mkdir()
        contained = containers.raw(path, name, work)
        volume = contained.volume
        self.stack.callback(os.close, volume.descriptor)
        self.layers += contained.layers
        for note in contained.notes:
            (self.found.notes if "once is enough" in note else self.failed).append(f"{label}{note}")
        if self._archive(volume, name) or self._disk(volume, name, label, work) or self._loader(volume, name):
            return
        if self.found.notes and not self.many:
            # A format was recognised, and rejected.
            raise UserError(self.found.notes[-1], hint=f"give {KINDS}")
        after = " after unpacking it" if contained.layers else ""
        raise UserError(
            f"{printable(name)} is not recognised{after}: it has no partition table, no file system, and "
            "begins like no kernel",
            hint=f"give {KINDS}; for the log of a boot: bootscope import",
        )

    def _small(self, path: Path, name: str) -> bool:
        """A kernel, a package of kernels, a device tree or an initramfs, compressed or not."""
        count = path.stat().st_size
        with path.open("rb") as opened:
            inner = containers.peek(opened.read(0x4000))
        if count > disk.MOST_FILE_BYTES or not disk.may_be(inner):
            return False
        before = len(self.found.raw)
        place = Place(Path(name).name)
        if not self.found.add(path.read_bytes(), place, path.read_bytes) or len(self.found.raw) == before:
            return False
        self.kinds.append(_kind(self.found, place))
        return True

    def _archive(self, volume: Volume, name: str) -> bool:
        """A root file system in a tar archive, of any size."""
        if not volume.size_bytes:
            return False
        mapped = mmap.mmap(volume.descriptor, 0, prot=mmap.PROT_READ)
        self.stack.callback(mapped.close)
        if not is_root_tar(mapped):
            return False
        files = Files(Listed("tar archive", tar_entries(mapped)))
        self.kinds.append("root file system, tar archive")
        self.found.files[Path(name).name] = files
        disk.look_into(self.found, files, Path(name).name)
        self.roots.append(RootSource(TAR, volume.path, Path(name).name))
        return True

    def _disk(self, volume: Volume, name: str, label: str, work: Path) -> bool:
        before = len(self.found.loaders)
        areas = len(self.found.areas)
        table = disk.look(self.found, volume, name, label, work)
        self.failed += [f"{label}{note}" for note in table.notes]
        if not table.kind and len(self.found.areas) == areas:
            del self.found.loaders[before:]
            return False
        whole = next(
            (a.filesystem.kind for a in self.found.areas[areas:] if a.filesystem and not a.partition), ""
        )
        self.kinds.append(f"{whole} image" if whole else "disk image")
        self.table = self.table or table.kind
        if table.kind:
            self.disk = self.disk or volume.path
        else:
            self.roots += [RootSource(IMAGE, volume.path, area.volume) for area in self.found.areas[areas:]]
        return True

    def _loader(self, volume: Volume, name: str) -> bool:
        """A boot loader as a separate file."""
        data = volume.read(0, min(volume.size_bytes, _MOST_LOADER_BYTES))
        place = Place(Path(name).name)
        # A console log contains the same texts as the program that printed them, but no zero byte.
        programs = in_images.named_in(data) if b"\0" in data else []
        for program in programs:
            self.found.add_loader(program, place, data)
        if programs:
            self.kinds.append("boot loader")
        return bool(programs)

    # ---- together ----

    def understood(self) -> Understood:
        """All results."""
        found = self.found
        words, source = howboots.command_line(found)
        if not words or (self.told[0] and not found.entries):
            words, source = self.told if self.told[0] else (words, source)
        notes = [*found.notes, *problems.doubts(found)]
        return Understood(
            name=", ".join(self.names),
            kind=", ".join(dict.fromkeys(self.kinds)),
            size_bytes=self.size_bytes,
            layers=tuple(self.layers),
            table=self.table,
            areas=tuple(found.areas),
            loaders=tuple(found.loaders),
            kernels=tuple(found.kernels),
            device_trees=tuple(found.device_trees),
            initramfs=tuple(found.initramfs),
            roots=tuple(found.roots),
            entries=tuple(found.entries),
            environment=dict(found.environment),
            architecture=howboots.architecture(found),
            command_line=words,
            command_line_from=source,
            steps=tuple(howboots.steps(found)),
            boards=tuple(howboots.boards(found)),
            problems=tuple(dict.fromkeys([*self.failed, *problems.problems(found, bool(self.table))])),
            notes=tuple(dict.fromkeys(notes)),
        )


def _kind(found: Found, place: Place) -> str:
    """The kind that a file was recognised as, in words."""
    for records, what in ((found.initramfs, "initramfs"), (found.device_trees, "device tree")):
        if any(record.place == place for record in records):
            return what
    return "kernel"

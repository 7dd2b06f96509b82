# SPDX-License-Identifier: Apache-2.0
"""What has been found in images, files and folders: the records, and how to read their contents again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bootscope.arch.in_files import of_fit
from bootscope.bootimage import initramfs, kernels, root
from bootscope.bootimage.files import Files
from bootscope.bootimage.menus import UKI, MenuEntry
from bootscope.bootimage.records import (
    Area,
    DeviceTree,
    Entry,
    Initramfs,
    Kernel,
    Loader,
    Place,
    Root,
)
from bootscope.bootimage.symbols import Beside
from bootscope.core.errors import BootscopeError, printable
from bootscope.image import fit, kernel_file
from bootscope.image.efi_program import read as read_efi
from bootscope.image.fit import Fit
from bootscope.image.kernel_file import KernelFile
from bootscope.image.uboot_env import default_environment
from bootscope.loaders import in_images
from bootscope.loaders.in_images import Program

MOST_KERNELS, MOST_TREES = 12, 400
_FDT = b"\xd0\x0d\xfe\xed"
_UIMAGE_TYPE_AT = 30
VARIABLES = ("bootcmd", "bootargs", "bootdelay", "boot_targets", "fdtfile")
"""Variables of U-Boot's environment that determine how it boots."""
_MOST_TEXT = 4096

Reader = Callable[[], bytes]


@dataclass
class Found:
    """Collects results. `environment`: the variables that a U-Boot was built with; `raw`: place -> the bytes
    there; `opened`: kernels by their place, with their wrappers."""

    areas: list[Area] = field(default_factory=list)
    loaders: list[Loader] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    device_trees: list[DeviceTree] = field(default_factory=list)
    initramfs: list[Initramfs] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    files: dict[str, Files] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    searched_bytes: int = 0
    raw: dict[Place, Reader] = field(default_factory=dict)
    beside: Beside = field(default_factory=Beside)
    pending: list[tuple[KernelFile, Place]] = field(default_factory=list)

    def add_loader(self, program: Program, place: Place, data: bytes) -> None:
        """Adds a boot loader, and for a U-Boot the environment in the data around it."""
        self.loaders.append(Loader(program, place))
        if program.what == in_images.UBOOT and not self.environment:
            variables = default_environment(data)
            self.environment |= {
                name: variables[name][:_MOST_TEXT] for name in VARIABLES if name in variables
            }

    def note(self, text: str) -> None:
        """Notes something once."""
        if text not in self.notes:
            self.notes.append(text)

    def add(self, data: bytes, place: Place, read: Reader) -> bool:
        """Adds data that may be a kernel, a package of them, a device tree or an initramfs; returns whether
        it is."""
        try:
            return (
                self._fit(data, place, read) or self._efi(data, place, read) or self._one(data, place, read)
            )
        except BootscopeError as error:
            self.note(f"{_where(place)}: {error.message}{f' ({error.hint})' if error.hint else ''}")
            return True

    def _one(self, data: bytes, place: Place, read: Reader) -> bool:
        if data.startswith(_FDT):
            return self._tree(data, place, read)
        wrapped = (
            data.startswith(b"\x27\x05\x19\x56") and data[_UIMAGE_TYPE_AT : _UIMAGE_TYPE_AT + 1] == b"\x03"
        )
        archive = initramfs.opened(_where(place), data[64:] if wrapped else data)
        if archive:
            self.raw[place] = read
            path, what = root.init_of(archive.files, ("/init", "/sbin/init"))
            init = f"{path}: {what}" if path else "no /init: the kernel goes on to the root file system"
            self.initramfs.append(Initramfs(place, len(data), archive.parts, init, archive.notes))
            return True
        kernel = kernel_file.opened(_where(place), data)
        if kernel is None:
            return False
        self._kernel(kernel, place, read)
        return True

    def _kernel(self, kernel: KernelFile, place: Place, read: Reader) -> None:
        if len(self.pending) >= MOST_KERNELS:
            self.note(f"more than {MOST_KERNELS} kernels: the rest is left out")
            return
        self.raw[place] = read
        self.pending.append((kernel, place))
        if kernel.device_tree:
            self._tree(
                kernel.device_tree,
                Place(place.volume, f"{place.path} (appended)"),
                lambda: kernel.device_tree,
            )

    def _tree(self, data: bytes, place: Place, read: Reader) -> bool:
        tree = kernels.device_tree(data, place) if len(self.device_trees) < MOST_TREES else None
        if tree:
            self.raw[place] = read
            self.device_trees.append(tree)
        else:
            self.note(f"{_where(place)}: a device tree that is damaged, or one too many")
        return True

    def _fit(self, data: bytes, place: Place, read: Reader) -> bool:
        package = fit.read(data) if data.startswith(_FDT) else None
        if package is None:
            return False
        for note in (*package.notes, _configurations(package)):
            if note:
                self.note(f"{_where(place)}: {note}")
        for part in package.of_type("kernel", "flat_dt", "ramdisk", "firmware", "standalone"):
            inner = Place(place.volume, f"{place.path}:{part.name}", place.at_bytes)
            self._part(part, inner)
        return True

    def _part(self, part: fit.FitPart, place: Place) -> None:
        programs = in_images.named_in(part.data) if part.type in ("firmware", "standalone", "kernel") else []
        kernel = kernel_file.opened(_where(place), part.data) if part.type == "kernel" else None
        if kernel:
            forms = ("FIT", *kernel.forms)
            told = kernel.architecture or of_fit(part.architecture)
            self._kernel(
                KernelFile(
                    forms, kernel.compressions, told, len(part.data), kernel.program, b"", kernel.notes
                ),
                place,
                lambda: part.data,
            )
        elif part.type == "flat_dt" and part.data:
            self._tree(part.data, place, lambda: part.data)
        elif part.type == "ramdisk" and part.data:
            self._one(part.data, place, lambda: part.data)
        for program in programs:
            self.add_loader(program, place, part.data)

    def _efi(self, data: bytes, place: Place, read: Reader) -> bool:
        program = read_efi(data[:0x4000])
        if program is None or not program.unified:
            return False
        for name, what in ((".linux", "kernel"), (".initrd", "initramfs"), (".dtb", "device tree")):
            inner = program.section(data, name)
            if inner:
                part = Place(place.volume, f"{place.path}:{name}", place.at_bytes)
                if not self._one(inner, part, _kept(inner)):
                    self.note(f"{_where(part)}: not recognised as a {what}")
        words = program.section(data, ".cmdline").rstrip(b"\0").decode("utf-8", "backslashreplace").strip()
        self.entries.append(_uki_entry(place, words, program.section(data, ".osrel")))
        self.loaders += [Loader(p, place) for p in in_images.named_in(data) if p.what == "systemd-stub"]
        return True

    def beside_all(self) -> Beside:
        """All possible sources about a kernel."""
        return replace(self.beside, files=(*self.beside.files, *self.files.values()))

    def finish(self) -> None:
        """Describes the kernels, once all sources about them are known."""
        beside = self.beside_all()
        self.kernels += [kernels.describe(kernel, place, beside) for kernel, place in self.pending]
        self.pending.clear()


def _uki_entry(place: Place, words: str, release: bytes) -> Entry:
    """The menu entry for a unified kernel image."""
    lines = release.decode("utf-8", "backslashreplace").splitlines()
    title = next((x.partition("=")[2].strip("\"'\0") for x in lines if x.startswith("PRETTY_NAME=")), "")
    return Entry(
        place.volume, MenuEntry(UKI, place.path, title, place.path, command_line=words, chosen=False)
    )


def _kept(data: bytes) -> Reader:
    return lambda: data


def _configurations(package: Fit) -> str:
    rows = [
        " ".join(
            [f"{c.name}{' (default)' if c.default else ''}:", c.kernel, *c.device_trees, c.ramdisk]
        ).strip()
        for c in package.configurations[:8]
    ]
    return f"a FIT with {len(package.parts)} parts; configurations: {'; '.join(rows) or 'none'}"


def _where(place: Place) -> str:
    return printable(f"{place.volume} {place.path}".strip())

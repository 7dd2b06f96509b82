# SPDX-License-Identifier: Apache-2.0
"""What is known of an image: plain records, as written by `bootscope image --json`.

Texts from an image are untrusted; an empty text, 0 and an empty list mean unknown. `notes` are for the user:
contradictions, damage, what was left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.bootimage.menus import MenuEntry
from bootscope.bootimage.partitions import Partition
from bootscope.bootimage.probe import FileSystem
from bootscope.loaders.in_images import Program


@dataclass(frozen=True)
class Place:
    """The location of something: `volume` in words (`partition 2`, `the whole image`, a file's name), `path`
    within its file system, `at_bytes` from the start of the volume where there is no file system."""

    volume: str
    path: str = ""
    at_bytes: int = 0


@dataclass(frozen=True)
class Area:
    """A partition or the whole image: what the table says about it, and its content. `readable`: whether its
    files can be read here."""

    volume: str
    partition: Partition | None
    filesystem: FileSystem | None
    readable: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loader:
    """Firmware or a boot loader that was found."""

    program: Program
    place: Place


@dataclass(frozen=True)
class Symbols:
    """The source of the kernel's function names: `vmlinux`, `System.map`, `kallsyms`, or empty for none;
    `path` of the file, numbers of `functions` and of all names (`count`); `note` says why there are none, or
    what is missing."""

    source: str = ""
    path: str = ""
    functions: int = 0
    count: int = 0
    form: str = ""
    note: str = ""


@dataclass(frozen=True)
class Kernel:
    """A kernel. `forms` from outside to inside; `compressions` that were undone; sizes in bytes
    (`unpacked_bytes` 0 where it could not be unpacked). `config`: where its configuration is."""

    place: Place
    forms: tuple[str, ...]
    compressions: tuple[str, ...]
    architecture: str
    version: str
    banner: str
    size_bytes: int
    unpacked_bytes: int
    build_id: str
    config: str
    command_line: str
    kaslr: bool | None
    symbols: Symbols
    debug_files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceTree:
    """A device tree: its board, its command line, and memory as (from, bytes) pairs."""

    place: Place
    size_bytes: int
    model: str
    compatible: tuple[str, ...]
    command_line: str
    memory: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class InitramfsPart:
    """An archive of an initramfs: its compression (empty for none), sizes in bytes, the number of files, and
    its purpose in words."""

    compression: str
    packed_bytes: int
    unpacked_bytes: int
    files: int
    what: str


@dataclass(frozen=True)
class Initramfs:
    """An initramfs with its consecutive parts; `init`: what the kernel starts, in words."""

    place: Place
    size_bytes: int
    parts: tuple[InitramfsPart, ...]
    init: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Root:
    """A root file system: `init` is its init system in words, `architecture` that of its programs; `modules`
    are the kernel versions that it has modules for."""

    place: Place
    kind: str
    system: str
    init: str
    init_path: str
    architecture: str
    modules: tuple[str, ...]
    device_trees: int = 0


@dataclass(frozen=True)
class Entry:
    """An entry of a boot menu, and the volume of its file."""

    volume: str
    menu: MenuEntry


@dataclass(frozen=True)
class Step:
    """A step of the boot: what runs, and the evidence. `sure` is false where it is only likely."""

    what: str
    why: str
    sure: bool


@dataclass(frozen=True)
class Fit:
    """Whether a board of bootscope can boot it: None where only a boot can tell."""

    board: str
    fits: bool | None
    why: str


@dataclass(frozen=True)
class Understood:
    """All that is known of an image. `environment`: variables that U-Boot was built with. `problems` keep it
    from booting, or from being understood. `kind` in words; `architecture` empty where unknown, or where it
    has kernels of several; `command_line` is the kernel's, and its source."""

    name: str
    kind: str
    size_bytes: int
    layers: tuple[str, ...]
    table: str
    areas: tuple[Area, ...]
    loaders: tuple[Loader, ...]
    kernels: tuple[Kernel, ...]
    device_trees: tuple[DeviceTree, ...]
    initramfs: tuple[Initramfs, ...]
    roots: tuple[Root, ...]
    entries: tuple[Entry, ...]
    environment: dict[str, str]
    architecture: str
    command_line: str
    command_line_from: str
    steps: tuple[Step, ...]
    boards: tuple[Fit, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

# SPDX-License-Identifier: Apache-2.0
"""A system: everything that boots, as configuration. One TOML file; see docs/systems.md."""

from __future__ import annotations

from bootscope.settings import Setting

SCHEMA = 1

Symbols = dict[str, str | int | bool]
"""Kconfig symbols without ``CONFIG_``: true is y, false is n, "m" is a module, else a value."""


class Archive(Setting, frozen=True):
    """Where a source lies in Debian's archive: a file of a source package (`source` and `file`) or
    a file inside a binary package (`package` and `member`)."""

    suite: str
    source: str | None = None
    file: str | None = None
    package: str | None = None
    member: str | None = None


class Source(Setting, frozen=True):
    """Where a source tree comes from, in order of preference: `path`, `url`, `archive`."""

    version: str
    path: str | None = None
    url: str | None = None
    sha256: str | None = None
    archive: Archive | None = None


class UBoot(Setting, frozen=True):
    """The boot loader: configuration, and the script that it finds on the boot partition.

    `falcon`: the SPL loads Linux by itself, from `card.raw_sector`, and U-Boot is only the way back.
    """

    source: str
    defconfig: str
    script: str
    config: Symbols = {}
    falcon: bool = False


class Kernel(Setting, frozen=True):
    """The kernel: configuration, device tree, command line, and where it is loaded.

    `memory_address` and `memory_bytes` say what Falcon mode must tell the kernel of the board's memory.
    """

    source: str
    defconfig: str
    device_tree: str
    command_line: str
    load_address: int
    device_tree_address: int
    config: Symbols = {}
    memory_address: int = 0x40000000
    memory_bytes: int = 1 << 30


class FrameBuffer(Setting, frozen=True):
    """A simple-framebuffer in reserved memory."""

    address: int
    width: int
    height: int
    stride_bytes: int
    format: str
    reserved_bytes: int


class BusyBox(Setting, frozen=True):
    """The user land's programs: BusyBox's own default configuration plus `config`."""

    source: str
    config: Symbols = {}


class Application(Setting, frozen=True):
    """What the product is for: C sources in a folder beside the system file, and its process name."""

    process: str
    sources: str
    path: str
    compiler_options: tuple[str, ...] = ("-O2",)


class RootFs(Setting, frozen=True):
    """The root file system: an overlay folder beside the system file, copied over BusyBox.

    `files` (path -> text) and `links` (path -> target) are put over that; a text that begins with `#!` is
    a program. What matches a pattern of `remove` is left out, unless it is one of those.
    """

    overlay: str
    filesystem: str
    uuid: str
    label: str
    options: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    remove: tuple[str, ...] = ()


class Card(Setting, frozen=True, omit_defaults=True):
    """The SD card image; sizes and positions in 512-byte sectors, the size a power of two bytes.

    `raw_sector`: where device tree and kernel lie outside of all partitions, for Falcon mode; 0: nowhere.
    """

    size_bytes: int
    disk_id: int
    loader_sector: int
    boot_sector: int
    boot_sectors: int
    root_sector: int
    root_sectors: int
    boot_volume_id: int
    raw_sector: int = 0


class Milestone(Setting, frozen=True):
    """An event a user cares about: a text on the console."""

    console: str


class System(Setting, frozen=True):
    """A system."""

    schema: int
    name: str
    title: str
    board: str
    sources: dict[str, Source]
    uboot: UBoot
    kernel: Kernel
    busybox: BusyBox
    application: Application
    rootfs: RootFs
    card: Card
    framebuffer: FrameBuffer | None = None
    milestones: dict[str, Milestone] = {}

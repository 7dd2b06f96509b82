# SPDX-License-Identifier: Apache-2.0
"""A system: everything that boots, as configuration. One TOML file; see docs/systems.md."""

from __future__ import annotations

import msgspec

from bootscope.core.settings import Setting
from bootscope.system.application import Application
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.nand import Nand
from bootscope.system.small_init import SmallInit
from bootscope.system.source import Source
from bootscope.system.source_edits import SourceEdit
from bootscope.system.splash import Splash

SCHEMA = 1
COMPRESSED_IMAGE = "zImage"
"""The kernel image that unpacks itself."""
UNPACKING_IMAGES = (COMPRESSED_IMAGE, "bzImage")
"""All images that unpack themselves; the second is a PC's."""

XIP_IMAGE = "xipImage"
"""The kernel image that runs where it is stored, in flash."""

Symbols = dict[str, str | int | bool]
"""Kconfig symbols without ``CONFIG_``: true is y, false is n, "m" is a module, else a value."""


class Environment(Setting, frozen=True):
    """U-Boot's stored environment: its defaults plus `variables`; `size_bytes` is its CONFIG_ENV_SIZE."""

    variables: dict[str, str]
    size_bytes: int


class UBoot(Setting, frozen=True, kw_only=True):
    """The boot loader: its configuration, and the script that it finds on the boot partition. Without a
    `source` there is none: the emulator starts the kernel. `falcon`: the SPL itself loads Linux, from
    `card.raw_sector` or, where that is 0, from files of the boot partition; U-Boot proper is only the
    fallback. With Trusted Firmware-A, BL2 does so, from sectors. `environment`: as `saveenv` stores it on
    that partition. `files` (path in U-Boot's tree -> text) replace or add sources; `edits` change places in
    them.
    """

    source: str = ""
    defconfig: str = ""
    script: str = ""
    config: Symbols = {}
    falcon: bool = False
    environment: Environment | msgspec.UnsetType = msgspec.UNSET
    files: dict[str, str] = {}
    edits: dict[str, SourceEdit] | msgspec.UnsetType = msgspec.UNSET


class Firmware(Setting, frozen=True, kw_only=True):
    """Programs before the boot loader that have sources of their own, as the board's boot loader needs them.

    `platform` and `options` are for their make. A board that starts from flash has `flash_bytes` of it, with
    the first program at its beginning and, at `package_at`, the package of all others, the boot loader among
    them.
    """

    source: str
    platform: str
    options: tuple[str, ...] = ()
    flash_bytes: int = 0
    package_at: int = 0


class Kernel(Setting, frozen=True, kw_only=True):
    """The kernel: configuration, device tree, command line, and where it is loaded.

    `wishes` are symbols like those of `config` that may not be available: they are set before those of
    `config`, and not checked.
    `memory_address` and `memory_bytes` say what Falcon mode must tell the kernel of the board's memory.
    `image`: ``zImage`` (unpacks itself), ``bzImage`` (the same, of a PC), ``Image`` (not compressed) or
    ``xipImage`` (runs where it is stored). `append_device_tree`: the device tree, with the command line,
    follows the image in one file. `modules`: the modules that the configuration gives go to /lib/modules of
    the root file system. `disabled_nodes`: paths of the device tree that are marked as disabled.
    `uimage_address`: the image gets the header of a legacy uImage and is moved to that address before it
    starts; 0: no header. `packed`: how an ``Image`` is compressed for a boot loader that unpacks it (none,
    gzip, lz4, lzo, zstd).
    `unpacker_options`: extra compiler options for the decompressor in an image that unpacks itself.
    `files` (path in the kernel's tree -> text) replace or add sources. `device_tree_cells` (node and
    property of the device tree -> hexadecimal words, `true` for one without a value) are set in it.
    `function_order`: names of functions that are linked before all others, in this order. `probe_later`:
    drivers can be told to defer their probe. `library_self_tests`: false compiles lib/crypto without the
    tests that it runs at boot.
    """

    source: str
    defconfig: str = ""
    device_tree: str
    command_line: str
    load_address: int
    device_tree_address: int
    config: Symbols = {}
    wishes: Symbols = {}
    memory_address: int = 0x40000000
    memory_bytes: int = 1 << 30
    image: str = COMPRESSED_IMAGE
    append_device_tree: bool = False
    modules: bool = False
    uimage_address: int = 0
    packed: str = "none"
    disabled_nodes: tuple[str, ...] = ()
    initramfs_address: int = 0x44000000
    unpacker_options: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    files: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    device_tree_cells: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    function_order: str | msgspec.UnsetType = msgspec.UNSET
    probe_later: bool | msgspec.UnsetType = msgspec.UNSET
    library_self_tests: bool | msgspec.UnsetType = msgspec.UNSET


class Prebuilt(Setting, frozen=True, kw_only=True):
    """What is taken prebuilt from the sources of U-Boot, kernel and BusyBox.

    `kernel` and `kernel_config` may be empty: then the kernel is compiled, from `kernel.source`. Paths are
    those in the unpacked source; they may contain `*`, for example for a version. `headers` names the sources
    with the headers of exactly that kernel: without them, views lack everything that needs the layout of its
    structures. `modules` go into the root file system and the initramfs, by file name; `module_form`: as the
    package has them, or ``unpacked``, or ``unsigned``, which are unpacked as well.
    `device_tree`: empty where the boot loader has the board's. `uboot`: empty where only U-Boot is compiled.
    `uboot_symbols`: the source with the unstripped programs of a GRUB, of exactly that build.
    `unpacker_symbols`: two sources, those of exactly that kernel and its compiler in packages for this
    computer. `firmware` and `video`: a PC's BIOS and that of its graphics card, in the source called
    `firmware`. `root`: the source of the packages that the root file system is made of; BusyBox is then only
    for the initramfs.
    """

    uboot: str = ""
    kernel: str = ""
    kernel_config: str = ""
    device_tree: str = ""
    busybox: str
    headers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    module_form: str | msgspec.UnsetType = msgspec.UNSET
    uboot_symbols: str | msgspec.UnsetType = msgspec.UNSET
    unpacker_symbols: tuple[str, str] | msgspec.UnsetType = msgspec.UNSET
    firmware: str | msgspec.UnsetType = msgspec.UNSET
    video: str | msgspec.UnsetType = msgspec.UNSET
    root: str | msgspec.UnsetType = msgspec.UNSET


class BusyBox(Setting, frozen=True):
    """The basic programs: a configuration that BusyBox makes itself (`defconfig`: with nearly
    everything, or `allnoconfig`: with nothing) plus `config`. `libc`: as the application's, of its source."""

    source: str
    config: Symbols = {}
    defconfig: str = "defconfig"
    libc: str | msgspec.UnsetType = msgspec.UNSET


SQUASHFS_BLOCKS = tuple(1 << n for n in range(12, 21))
"""The block sizes of SquashFS, in bytes."""


class RootFs(Setting, frozen=True):
    """The root file system: an overlay folder beside the system file, copied over BusyBox.

    `files` (path -> text) and `links` (path -> target) go on top of that; a text that begins with `#!` is
    a program. What matches a pattern of `remove` is left out, unless it is one of those.
    `library_cache`: /etc/ld.so.cache with the shared libraries, as ldconfig makes it. `font_cache`:
    fontconfig's cache of the fonts, as fc-cache makes it.
    `volume`: ``ubi``, to put a file system that does not need UBI into a volume of it. `block_bytes`: the
    block size of SquashFS, a power of two from 4096 to 1048576; unset: 131072, mksquashfs's default.
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
    library_cache: bool | msgspec.UnsetType = msgspec.UNSET
    font_cache: bool | msgspec.UnsetType = msgspec.UNSET
    volume: str | msgspec.UnsetType = msgspec.UNSET
    block_bytes: int | msgspec.UnsetType = msgspec.UNSET


class Initramfs(Setting, frozen=True):
    """The root file system, or a part of it, as an archive in memory.

    `place`: ``built-in`` (a part of the kernel image) or ``external`` (a file of the boot partition, with
    `compression` of its own: none, gzip, lz4, lzo, xz, zstd). `only`: patterns of paths of the root file
    system that go in; empty: all. `files`, `links`: like those of the root file system, put on top of it;
    `nodes`: devices by path, for example ``c 5 1``; /dev/console is always there.
    """

    place: str
    compression: str = "none"
    only: tuple[str, ...] = ()
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    nodes: dict[str, str] = {}


class Card(Setting, frozen=True, omit_defaults=True):
    """The SD card image; sizes and positions in 512-byte sectors, the whole size a power of two in bytes.

    `loader_sector`: where the boot loader is; 0: in the board's own memory, or in files of the card.
    `raw_sector`: where device tree and kernel are, outside of all partitions, for Falcon mode; 0: nowhere.
    `raw_kernel`: false leaves the kernel's place empty, as after a failed update. `argument_sectors`: how
    many of the 256 sectors for the device tree there the SPL reads; 0: all.
    `seed_sector`: a place for a seed of random numbers (`small_init.seed`); 0: none. `seed_left`: true for a
    card that has booted before and holds a seed, the same in each image: to measure, not to ship.
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
    raw_kernel: bool = True
    argument_sectors: int = 0
    seed_sector: int = 0
    seed_left: bool = False


class Milestone(Setting, frozen=True):
    """An event that a user cares about: a text on the console, or `journal`: fields, as ``FIELD=value``, that
    are all in one record that a program sends to the journal.

    `required`: a variant that does not reach it does not work, whatever it saves. For services: a text that
    they print when they are ready, such as ``login:``.
    """

    console: str = ""
    required: bool = False
    journal: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class System(Setting, frozen=True):
    """A system. `toolchain`: a source with the cross compiler of BusyBox and the application. `nand`: a chip
    added to the board; it holds the root file system."""

    schema: int
    name: str
    title: str
    board: str
    sources: dict[str, Source]
    kernel: Kernel
    busybox: BusyBox
    application: Application
    rootfs: RootFs
    card: Card
    uboot: UBoot = UBoot()
    framebuffer: FrameBuffer | None = None
    initramfs: Initramfs | None = None
    milestones: dict[str, Milestone] = {}
    prebuilt: Prebuilt | msgspec.UnsetType = msgspec.UNSET
    firmware: Firmware | msgspec.UnsetType = msgspec.UNSET
    splash: Splash | msgspec.UnsetType = msgspec.UNSET
    small_init: SmallInit | msgspec.UnsetType = msgspec.UNSET
    toolchain: str | msgspec.UnsetType = msgspec.UNSET
    nand: Nand | msgspec.UnsetType = msgspec.UNSET


def has_loader(system: System) -> bool:
    """Whether a boot loader starts the kernel."""
    return bool(system.uboot.source)


def builds_loader(system: System) -> bool:
    """Whether the boot loader is compiled."""
    return has_loader(system) and (not isinstance(system.prebuilt, Prebuilt) or not system.prebuilt.uboot)


def builds_kernel(system: System) -> bool:
    """Whether the kernel is compiled."""
    return not isinstance(system.prebuilt, Prebuilt) or not system.prebuilt.kernel


def builds(system: System, tree: str) -> bool:
    """Whether `kernel`, `uboot` or `busybox`, as named, is compiled, so that it can be configured."""
    compiled = {"kernel": builds_kernel, "uboot": builds_loader}
    return compiled[tree](system) if tree in compiled else not isinstance(system.prebuilt, Prebuilt)


def has_bios(system: System) -> bool:
    """Whether the board starts in prebuilt firmware."""
    return isinstance(system.prebuilt, Prebuilt) and isinstance(system.prebuilt.firmware, str)


def has_firmware(system: System) -> bool:
    """Whether a build compiles or takes programs that run before the boot loader."""
    return isinstance(system.firmware, Firmware) or has_bios(system)


def has_device_tree(system: System) -> bool:
    """Whether the device tree comes from the system, not from the boot loader."""
    prebuilt = system.prebuilt
    if not isinstance(prebuilt, Prebuilt) or prebuilt.device_tree:
        return True
    return builds_kernel(system) and bool(system.kernel.device_tree)


def has_modules(system: System) -> bool:
    """Whether modules of the kernel go into the root file system."""
    return system.kernel.modules or (isinstance(system.prebuilt, Prebuilt) and bool(system.prebuilt.modules))

# SPDX-License-Identifier: Apache-2.0
"""Finding and checking system files."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.core.errors import UserError, printable
from bootscope.core.paths import package_dir, store_dir
from bootscope.core.settings import expected as wrong
from bootscope.core.settings import find, load, names_in
from bootscope.devices import sd_card
from bootscope.devices.model import SECTOR_BYTES
from bootscope.loaders.model import Loader
from bootscope.loaders.registry import MILESTONES
from bootscope.system import source_edits
from bootscope.system.filesystems import DRIVERS
from bootscope.system.model import (
    SCHEMA,
    SQUASHFS_BLOCKS,
    UNPACKING_IMAGES,
    XIP_IMAGE,
    Firmware,
    Milestone,
    Prebuilt,
    System,
    builds,
    builds_kernel,
    builds_loader,
    has_device_tree,
    has_loader,
)
from bootscope.system.named_sources import (
    loader_symbols,
    packaged_root,
    toolchain,
    unpacker_sources,
)
from bootscope.system.nand import Nand, check_nand
from bootscope.system.placeholders import FRAMEBUFFER_BY_LOADER
from bootscope.system.program_checks import LIBCS, check_programs
from bootscope.system.small_init import LIBRARIES, SmallInit, seed_of
from bootscope.system.source import Source
from bootscope.system.splash import FORMS, Splash

KERNEL_IMAGES = (*UNPACKING_IMAGES, "Image", XIP_IMAGE)
KERNEL_PACKINGS = ("none", "gzip", "lz4", "lzo", "zstd")
MODULE_FORMS = ("unpacked", "unsigned")
VOLUMES = ("ubi",)
INITRAMFS_PLACES = ("built-in", "external")
INITRAMFS_COMPRESSIONS = ("none", "gzip", "lz4", "lzo", "xz", "zstd")

_LONGEST_TEXT_BYTES, _MOST_FIELDS = 120, 4
"""Limits of what the plugin can search for."""
_MOST_BYTES = 16 << 20
"""The most a TOML file may have."""

ON_THE_SCREEN = ("first-light", "first-frame")
BUILT_IN_MILESTONES = (*MILESTONES, *ON_THE_SCREEN)


@dataclass(frozen=True)
class LoadedSystem:
    """A system and the file it came from; paths in it are relative to that file's folder."""

    system: System
    path: Path

    def beside(self, name: str) -> Path:
        """A path of the system file, made absolute."""
        return (self.path.parent / name).resolve()


def system_dir() -> Path:
    """The folder of the systems that come with bootscope."""
    return package_dir() / "systems.d"


def system_names() -> list[str]:
    """The names of the systems that come with bootscope."""
    return names_in(system_dir())


def load_system(name: str) -> LoadedSystem:
    """The system called `name`, or the one in the file `name` when that ends in .toml.

    Raises UserError for an unknown name or a file that does not describe a system.
    """
    _refuse_image(name)
    _refuse_tree(name)
    path = find("system", name, system_dir())
    system = load(path, System)
    check_system(system, path)
    loaded = LoadedSystem(system, path.resolve())
    for key, name in folders_beside(system).items():
        if not loaded.beside(name).is_dir():
            raise wrong(path, key, f"a folder, there is none at {loaded.beside(name)}")
    sources = system.application.sources
    if sources and not any(loaded.beside(sources).glob("*.c")):
        raise wrong(path, "application.sources", "a folder with C files in it")
    return loaded


def folders_beside(system: System) -> dict[str, str]:
    """The folders that a system names: key -> name, relative to the system's file or absolute."""
    sources = system.application.sources
    return {"rootfs.overlay": system.rootfs.overlay, **({"application.sources": sources} if sources else {})}


def is_tree_file(path: Path) -> bool:
    """Whether a TOML file is the record of another build system's tree; False where it cannot be read."""
    return _kind(path) == "tree"


def _kind(path: Path) -> object:
    try:
        about = path.stat()
        # A user may well name an image of any size, or a device.
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
            return None
        return tomllib.loads(path.read_text()).get("kind")
    except (OSError, ValueError, RecursionError):
        return None


def _refuse_image(name: str) -> None:
    """Raises UserError when `name` is an image's: nothing of it is built here."""
    if _kind(Path(name) if name.endswith(".toml") else store_dir() / "images" / f"{name}.toml") == "image":
        raise UserError(
            f"{printable(name)} is an image that is built already: nothing of it is built here",
            hint="record, audit, try and optimize take it; bootscope help your-image",
        )


def _refuse_tree(name: str) -> None:
    """Raises UserError when `name` is a tree imported from another build system, not a bootscope system."""
    if is_tree_file(Path(name) if name.endswith(".toml") else store_dir() / "trees" / f"{name}.toml"):
        raise UserError(
            f"{printable(name)} was imported from another build system: it cannot boot on the emulated board",
            hint=f"bootscope audit {printable(name)}; bootscope build {printable(name)} runs its own build",
        )


def milestones(system: System, loader: Loader) -> list[str]:
    """A system's milestones with a boot loader: observed from outside, or declared."""
    there = {stage.milestone for stage in loader.stages}
    return [*(m for m in built_in(system) if m in there or m not in MILESTONES), *system.milestones]


def built_in(system: System) -> list[str]:
    """The milestones that are observed from outside."""
    return [m for m in BUILT_IN_MILESTONES if m not in ON_THE_SCREEN or system.framebuffer]


def check_system(system: System, path: Path) -> None:
    """Raises UserError for values that are invalid together."""

    def require(good: bool, key: str, expected: str) -> None:
        if not good:
            raise wrong(path, key, expected)

    _check_prebuilt(system, require)
    require(
        re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", system.name) is not None, "name", "letters, digits, '-', '_'"
    )
    require(system.schema == SCHEMA, "schema", f"{SCHEMA}, got {system.schema}")
    _check_card(system, require)
    for key, value, known in _choices(system):
        require(value in known, key, f"one of {list(known)}")
    block = system.rootfs.block_bytes
    fits = not isinstance(block, int) or (system.rootfs.filesystem == "squashfs" and block in SQUASHFS_BLOCKS)
    require(fits, "rootfs.block_bytes", "a power of two from 4096 to 1048576, for squashfs")
    for key in ("uboot", "kernel", "busybox"):
        name = getattr(system, key).source
        none = key == "uboot" and not has_loader(system)
        require(name in system.sources or none, f"{key}.source", f"a name under [sources], got '{name}'")
    for name, source in system.sources.items():
        _check_source(name, source, path)
    _check_loader(system, require)
    check_programs(system, require)
    if isinstance(system.nand, Nand):
        check_nand(system.nand, require)
    for name, milestone in system.milestones.items():
        require(name not in built_in(system), f"milestones.{name}", "another name: this one is built in")
        _check_milestone(f"milestones.{name}", milestone, require)
    if system.framebuffer:
        fb = system.framebuffer
        require(fb.width > 0 and fb.height > 0, "framebuffer", "a width and a height above 0")
        line = fb.width * PIXEL_BYTES[fb.format]
        require(fb.stride_bytes >= line, "framebuffer.stride_bytes", f"{line} or more, the length of a line")
        for x, y, w, h in fb.changing if isinstance(fb.changing, tuple) else ():
            inside = 0 <= x < x + w <= fb.width and 0 <= y < y + h <= fb.height
            require(inside, "framebuffer.changing", "rectangles (x, y, width, height) inside the picture")


def _check_loader(system: System, require: Callable[[bool, str, str], None]) -> None:
    """Checks the boot loader and the programs before it."""
    uboot = system.uboot
    sources = uboot.files or source_edits.of(uboot.edits)
    used = bool(uboot.script or uboot.environment or sources or uboot.config or uboot.defconfig)
    used = used or isinstance(system.firmware, Firmware) or bool(system.card.loader_sector)
    require(has_loader(system) or not used, "uboot.source", "a name under [sources]: one is set up")
    if isinstance(system.firmware, Firmware):
        named = system.firmware.source in system.sources
        require(named, "firmware.source", f"a name under [sources], got '{system.firmware.source}'")
        at, size = system.firmware.package_at, system.firmware.flash_bytes
        fits = 0 < at < size or at == size == 0
        require(fits, "firmware.package_at", f"more than 0, and less than flash_bytes, {size}")
    for name in uboot.files:
        inside = source_edits.inside(name)
        require(inside, "uboot.files", f"paths in U-Boot's tree, got '{printable(name)}'")
    source_edits.check("uboot.edits", source_edits.of(uboot.edits), require)


def _check_milestone(key: str, milestone: Milestone, require: Callable[[bool, str, str], None]) -> None:
    text, fields = milestone.console.encode(), milestone.journal
    if isinstance(fields, msgspec.UnsetType):
        require(0 < len(text) <= _LONGEST_TEXT_BYTES, f"{key}.console", "a string of 1 to 120 bytes")
        return
    require(not text, f"{key}.console", "nothing beside journal")
    require(0 < len(fields) <= _MOST_FIELDS, f"{key}.journal", "1 to 4 fields")
    for field in fields:
        good = re.fullmatch(r"[A-Z_0-9]+=[^\n]+", field) is not None
        fits = len(field.encode()) + 2 <= _LONGEST_TEXT_BYTES
        require(good and fits, f"{key}.journal", "fields as 'UNIT=getty.target', of 118 bytes at most")


def _choices(system: System) -> Iterator[tuple[str, str, Collection[str]]]:
    """(key, value, allowed values) of every setting with a fixed list of values."""
    yield "rootfs.filesystem", system.rootfs.filesystem, DRIVERS
    yield "kernel.image", system.kernel.image, KERNEL_IMAGES
    yield "kernel.packed", system.kernel.packed, KERNEL_PACKINGS
    if isinstance(system.rootfs.volume, str):
        yield "rootfs.volume", system.rootfs.volume, VOLUMES
    if isinstance(system.prebuilt, Prebuilt) and isinstance(system.prebuilt.module_form, str):
        yield "prebuilt.module_form", system.prebuilt.module_form, MODULE_FORMS
    if archive := system.initramfs:
        yield "initramfs.place", archive.place, INITRAMFS_PLACES
        yield "initramfs.compression", archive.compression, INITRAMFS_COMPRESSIONS
    yield "application.libc", system.application.libc, LIBCS
    if isinstance(system.small_init, SmallInit):
        yield "small_init.libc", system.small_init.libc, LIBRARIES
    if isinstance(system.splash, Splash):
        yield "splash.form", system.splash.form, FORMS
    if isinstance(system.busybox.libc, str):
        yield "busybox.libc", system.busybox.libc, LIBCS if builds(system, "busybox") else LIBCS[:1]
    if system.framebuffer:
        yield "framebuffer.format", system.framebuffer.format, PIXEL_BYTES


def _check_card(system: System, require: Callable[[bool, str, str], None]) -> None:
    card = system.card
    size = card.size_bytes
    require(sd_card.fits(size), "card.size_bytes", sd_card.IMAGE_SIZE)
    ends = (card.boot_sector + card.boot_sectors, card.root_sector + card.root_sectors)
    require(card.boot_sector >= 1, "card.boot_sector", "1 or more")
    before = 0 <= card.loader_sector < card.boot_sector
    require(before, "card.loader_sector", "0 or more, before boot_sector")
    between = not card.seed_sector or card.loader_sector < card.seed_sector < card.boot_sector
    require(between, "card.seed_sector", "0, or a sector between the boot loader and boot_sector")
    place = seed_of(system.small_init) if isinstance(system.small_init, SmallInit) else None
    if place and card.seed_sector:
        require(
            place.sector == card.seed_sector, "card.seed_sector", f"{place.sector}, as small_init.seed has it"
        )
    require(max(ends) * SECTOR_BYTES <= size, "card", "partitions that end inside the card")
    require(ends[0] <= card.root_sector, "card.root_sector", f"{ends[0]} or more, after the boot partition")
    end = max(ends[1], card.boot_sector)
    most = sd_card.ROOM_SECTORS
    require(0 <= card.argument_sectors <= most, "card.argument_sectors", f"0 (all of them) to {most}")
    if card.raw_sector:
        free = f"{end} or more, after the partitions, and inside the card"
        require(end <= card.raw_sector < size // SECTOR_BYTES, "card.raw_sector", free)


def _check_prebuilt(system: System, require: Callable[[bool, str, str], None]) -> None:
    """Checks that what is compiled has a configuration, and that nothing prebuilt is configured."""
    prebuilt, compiler = system.prebuilt, toolchain(system)
    known = not compiler or compiler in system.sources
    require(known, "toolchain", f"a name under [sources], got '{compiler}'")
    for key, tree in (("uboot", system.uboot), ("kernel", system.kernel), ("busybox", system.busybox)):
        if key == "uboot" and not has_loader(system):
            continue
        if builds(system, key):
            require(bool(tree.defconfig), f"{key}.defconfig", "the name of a configuration to start from")
        else:
            require(not tree.config, f"{key}.config", "nothing: [prebuilt] is not compiled here")
    if not isinstance(prebuilt, msgspec.UnsetType):
        kept = not system.uboot.falcon or builds_loader(system)
        require(kept, "uboot.falcon", "false: a prebuilt U-Boot stays as it is")
        archive = system.initramfs
        inside = archive is not None and archive.place != "external" and not builds_kernel(system)
        require(not inside, "initramfs.place", "'external': a prebuilt kernel stays as it is")
        whole = bool(prebuilt.kernel) == bool(prebuilt.kernel_config)
        require(whole, "prebuilt.kernel_config", "the configuration of prebuilt.kernel")
        require(bool(prebuilt.kernel or not prebuilt.modules), "prebuilt.modules", "none without its kernel")
        by_loader = any(name in system.uboot.script for name in FRAMEBUFFER_BY_LOADER)
        framebuffer = system.framebuffer and not by_loader
        changed = framebuffer or system.kernel.disabled_nodes or system.kernel.append_device_tree
        require(has_device_tree(system) or not changed, "prebuilt.device_tree", "one to change or append")
        for name in prebuilt.headers:
            require(name in system.sources, "prebuilt.headers", f"names under [sources], got '{name}'")
        symbols = loader_symbols(system)
        there = not symbols or symbols in system.sources
        require(there, "prebuilt.uboot_symbols", f"a name under [sources], got '{symbols}'")
        for name in unpacker_sources(system):
            known = name in system.sources
            require(known, "prebuilt.unpacker_symbols", f"names under [sources], got '{name}'")
        root = packaged_root(system)
        require(not root or root in system.sources, "prebuilt.root", f"a name under [sources], got '{root}'")


PIXEL_BYTES = {"a8r8g8b8": 4, "x8r8g8b8": 4, "r5g6b5": 2}
"""Frame buffer formats that can be shown, and the bytes of one pixel."""
COLOUR_BITS = {"a8r8g8b8": 0xFFFFFF, "x8r8g8b8": 0xFFFFFF, "r5g6b5": 0xFFFF}
"""The colour bits of a pixel: where none of them is set, it is black."""


def _check_source(name: str, source: Source, path: Path) -> None:
    archive = source.archive
    if not (source.path or source.url or archive or source.package or source.packages):
        raise wrong(path, f"sources.{name}", "a path, a url, an archive, a package or packages")
    if source.url and not source.sha256:
        raise wrong(path, f"sources.{name}.sha256", "a hash beside the url")
    if archive and not ((archive.source and archive.file) or (archive.package and archive.member)):
        raise wrong(path, f"sources.{name}.archive", "source and file, or package and member")
